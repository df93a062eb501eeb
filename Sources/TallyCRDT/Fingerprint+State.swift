/// The contributions of states to the fingerprint. `name` is the hash of the record's name, `fieldHash` returns the
/// hash of a field's wire name.
extension RecordState {
  /// Returns the contribution of this record to the fingerprint: everything in its state, covered by deletes or not.
  public func fingerprint(name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    var sum = Fingerprint()
    var hashers = CellHashers(name: name)
    if let existence { sum += hashers[existence].existence() }
    for cell in fields { sum += hashers[cell.stamp].field(fieldHash(cell.field), cell.value) }
    if !supersededTouches.isEmpty { sum += supersededTouches.fingerprint(name: name, without: StateVector()) }
    for delete in deletes { sum += delete.fingerprint(name: name) }
    if let seed { sum += seed.fingerprint(name: name, fieldHash: fieldHash) }
    if let life { sum += fingerprint(of: life, name: name, fieldHash: fieldHash) }
    return sum
  }

  /// The part of the fingerprint that covers the life and the dots that registers travel by.
  private func fingerprint(of life: Life, name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    let hasher = CellHasher(name: name, stamp: life.stamp)
    var sum = hasher.hash(.life, life.context.hash)
    if let said = life.said { sum += hasher.hash(.said, 0, .text("\(said)")) }
    var hashers = CellHashers(name: name)
    for (cell, via) in zip(fields, fieldVias) where via != cell.stamp.dot {
      sum += hashers[cell.stamp].hash(.via, fieldHash(cell.field), .text("\(via)"))
    }
    return sum
  }

  /// Returns the amount to add to the fingerprint when this state replaces `old`. Cost: what differs is hashed, the
  /// rest compared.
  public func fingerprint(replacing old: RecordState, name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    var sum = Fingerprint()
    var (gone, new) = (CellHashers(name: name), CellHashers(name: name))
    if old.existence != existence {
      if let stamp = old.existence { sum -= gone[stamp].existence() }
      if let stamp = existence { sum += new[stamp].existence() }
    }
    forEachField(replacing: old.fields) { cell in
      sum -= gone[cell.stamp].field(fieldHash(cell.field), cell.value)
    } comes: { cell in
      sum += new[cell.stamp].field(fieldHash(cell.field), cell.value)
    }
    if old.supersededTouches != supersededTouches {
      sum -= old.supersededTouches.fingerprint(name: name, without: supersededTouches)
      sum += supersededTouches.fingerprint(name: name, without: old.supersededTouches)
    }
    if old.deletes != deletes {
      for delete in old.deletes where !deletes.contains(delete) { sum -= delete.fingerprint(name: name) }
      for delete in deletes where !old.deletes.contains(delete) { sum += delete.fingerprint(name: name) }
    }
    if old.seed != seed {
      if let seed = old.seed { sum -= seed.fingerprint(name: name, fieldHash: fieldHash) }
      if let seed { sum += seed.fingerprint(name: name, fieldHash: fieldHash) }
    }
    // What a register travels by is hashed with the register's stamp, which may have changed by itself.
    if old.life != nil || life != nil {
      if let life = old.life { sum -= old.fingerprint(of: life, name: name, fieldHash: fieldHash) }
      if let life { sum += fingerprint(of: life, name: name, fieldHash: fieldHash) }
    }
    return sum
  }

  /// Calls `goes` with each cell of `old` that this state lacks, and `comes` with each that `old` lacks. Both ascend by
  /// field.
  private func forEachField(
    replacing old: [FieldCell], goes: (FieldCell) -> Void, comes: (FieldCell) -> Void
  ) {
    var next = 0
    for cell in fields {
      while next < old.count, old[next].field < cell.field {
        goes(old[next])
        next += 1
      }
      if next < old.count, old[next].field == cell.field {
        defer { next += 1 }
        if old[next] == cell { continue }
        goes(old[next])
      }
      comes(cell)
    }
    for cell in old[next...] { goes(cell) }
  }
}

/// The hashers of one record, whose cells mostly have one stamp.
package struct CellHashers {
  private let name: UInt64
  private var last: (stamp: Stamp, hasher: CellHasher)?

  package init(name: UInt64) { self.name = name }

  package subscript(stamp: Stamp) -> CellHasher {
    mutating get {
      if let last, last.stamp == stamp { return last.hasher }
      let hasher = CellHasher(name: name, stamp: stamp)
      last = (stamp, hasher)
      return hasher
    }
  }
}

extension Fingerprint {
  /// Returns the amount to add when a record's superseded touches replace `old`.
  package static func touches(_ touches: StateVector, replacing old: StateVector, name: UInt64) -> Fingerprint {
    var sum = touches.fingerprint(name: name, without: old)
    sum -= old.fingerprint(name: name, without: touches)
    return sum
  }
}

extension StateVector {
  /// Returns the contribution of a record's superseded touches to the fingerprint, without the entries that `other`
  /// has as well.
  fileprivate func fingerprint(name: UInt64, without other: StateVector) -> Fingerprint {
    var sum = Fingerprint()
    for dot in dots where other[dot.replica] != dot.sequence {
      let stamp = Stamp(rank: .seed, time: HybridTime(milliseconds: 0), dot: dot)
      sum += CellHasher(name: name, stamp: stamp).hash(.touch)
    }
    return sum
  }

  /// A sum as well.
  fileprivate var hash: UInt64 {
    dots.reduce(0) { sum, dot in
      var hash = SipHash13()
      hash.combine(word: dot.replica.high)
      hash.combine(word: dot.replica.low)
      hash.combine(word: dot.sequence)
      return sum &+ hash.finalized()
    }
  }
}

/// Hashes one delete of many records, which have what it had seen in common.
package struct DeleteHasher: Sendable {
  private let stamp: Stamp
  private let context: UInt64

  package init(_ delete: Delete) { (stamp, context) = (delete.stamp, delete.context.hash) }

  /// Returns the delete's contribution to the fingerprint. `name` is the hash of the record's name.
  package func fingerprint(name: UInt64) -> Fingerprint { CellHasher(name: name, stamp: stamp).hash(.delete, context) }
}

extension Delete {
  /// Returns the contribution of a delete of the record to the fingerprint. The context counts because the deletes of
  /// two copies of one replica can have one stamp, and not have seen the same.
  fileprivate func fingerprint(name: UInt64) -> Fingerprint {
    DeleteHasher(self).fingerprint(name: name)
  }
}

extension SeedState {
  /// Returns the contribution of the layers and the basis to the fingerprint.
  public func fingerprint(name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    var sum = Fingerprint()
    var hashers = CellHashers(name: name)
    for layer in layers {
      sum += hashers[layer.stamp].hash(.layer, layer.isRetired ? 1 : 0)
      for cell in layer.fields { sum += hashers[cell.stamp].hash(.layerField, fieldHash(cell.field), cell.value) }
    }
    if let basis { sum += hashers[basis.stamp].hash(.basis, 0, .text("\(basis.layer.dot)")) }
    return sum
  }
}

/// `link` is the hash of relationship and source, `target` that of the target's name.
extension ORSetElement {
  /// Returns the contribution of this element to the fingerprint: its tags and their removals, and its place.
  public func fingerprint(link: UInt64, target: UInt64) -> Fingerprint {
    var sum = tags.reduce(into: Fingerprint()) { $0 += $1.fingerprint(link: link, target: target) }
    if let place { sum += place.fingerprint(link: link, target: target) }
    return sum
  }

  /// Returns the amount to add to the fingerprint when this element replaces `old`. Cost: what differs is hashed, the
  /// rest compared.
  public func fingerprint(replacing old: ORSetElement, link: UInt64, target: UInt64) -> Fingerprint {
    var sum = Fingerprint()
    for tag in old.tags where !contains(tag) { sum -= tag.fingerprint(link: link, target: target) }
    for tag in tags where !old.contains(tag) { sum += tag.fingerprint(link: link, target: target) }
    guard old.place != place else { return sum }
    if let place = old.place { sum -= place.fingerprint(link: link, target: target) }
    if let place { sum += place.fingerprint(link: link, target: target) }
    return sum
  }
}

extension ORSetElement.Place {
  fileprivate func fingerprint(link: UInt64, target: UInt64) -> Fingerprint {
    CellHasher(name: link, stamp: stamp).hash(.place, target, .blob(position.bytes))
  }
}

extension ORSetElement.Tag {
  fileprivate func fingerprint(link: UInt64, target: UInt64) -> Fingerprint {
    var sum = CellHasher(name: link, stamp: added).hash(.tag, target)
    if let removed {
      // One removal can remove several tags.
      sum += CellHasher(name: link, stamp: removed).hash(.removal, target, .text("\(added.dot)"))
    }
    return sum
  }
}
