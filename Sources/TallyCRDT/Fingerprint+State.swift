/// What states add to the fingerprint. `name` is the hash of the record's name, `fieldHash` gives the hash of a field's
/// wire name.
extension RecordState {
  /// What this record adds to the fingerprint: everything that is in its state, whatever its deletes cover.
  public func fingerprint(name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    var sum = Fingerprint()
    if let existence { sum += .existence(name: name, stamp: existence) }
    for cell in fields {
      sum += .field(name: name, field: fieldHash(cell.field), stamp: cell.stamp, value: cell.value)
    }
    if !supersededTouches.isEmpty { sum += supersededTouches.fingerprint(name: name, without: StateVector()) }
    for delete in deletes { sum += delete.fingerprint(name: name) }
    if let seed { sum += seed.fingerprint(name: name, fieldHash: fieldHash) }
    return sum
  }

  /// What is added to the fingerprint when this state takes the place of `old`. Cost: what differs is hashed, the rest
  /// compared.
  public func fingerprint(replacing old: RecordState, name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    var sum = Fingerprint()
    if old.existence != existence {
      if let stamp = old.existence { sum -= .existence(name: name, stamp: stamp) }
      if let stamp = existence { sum += .existence(name: name, stamp: stamp) }
    }
    addFields(replacing: old.fields, to: &sum) { cell in
      .field(name: name, field: fieldHash(cell.field), stamp: cell.stamp, value: cell.value)
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
    return sum
  }

  /// Both ascend by field.
  private func addFields(replacing old: [FieldCell], to sum: inout Fingerprint, hash: (FieldCell) -> Fingerprint) {
    var next = 0
    for cell in fields {
      while next < old.count, old[next].field < cell.field {
        sum -= hash(old[next])
        next += 1
      }
      if next < old.count, old[next].field == cell.field {
        defer { next += 1 }
        if old[next] == cell { continue }
        sum -= hash(old[next])
      }
      sum += hash(cell)
    }
    for cell in old[next...] { sum -= hash(cell) }
  }
}

extension Fingerprint {
  /// What is added when a record's superseded touches take the place of `old`.
  package static func touches(_ touches: StateVector, replacing old: StateVector, name: UInt64) -> Fingerprint {
    var sum = touches.fingerprint(name: name, without: old)
    sum -= old.fingerprint(name: name, without: touches)
    return sum
  }
}

extension StateVector {
  /// What a record's superseded touches add to the fingerprint, without the entries that `other` has as well.
  fileprivate func fingerprint(name: UInt64, without other: StateVector) -> Fingerprint {
    var sum = Fingerprint()
    for dot in dots where other[dot.replica] != dot.sequence {
      let stamp = Stamp(rank: .seed, time: HybridTime(milliseconds: 0), dot: dot)
      sum += .cell(kind: 7, name: name, part: 0, stamp: stamp, value: .null)
    }
    return sum
  }

  /// A sum as well.
  fileprivate var hash: UInt64 {
    dots.reduce(0) { sum, dot in
      var hash = SipHash()
      hash.combine(word: dot.replica.high)
      hash.combine(word: dot.replica.low)
      hash.combine(word: dot.sequence)
      return sum &+ hash.finalized()
    }
  }
}

extension Delete {
  /// What a delete of the record adds to the fingerprint. The context counts because the deletes of two copies of one
  /// replica can have one stamp, and not have seen the same.
  fileprivate func fingerprint(name: UInt64) -> Fingerprint {
    .cell(kind: 8, name: name, part: context.hash, stamp: stamp, value: .null)
  }
}

extension SeedState {
  /// What the layers and the basis add to the fingerprint.
  public func fingerprint(name: UInt64, fieldHash: (FieldID) -> UInt64) -> Fingerprint {
    var sum = Fingerprint()
    for layer in layers {
      sum += .cell(kind: 4, name: name, part: layer.isRetired ? 1 : 0, stamp: layer.stamp, value: .null)
      for cell in layer.fields {
        sum += .cell(kind: 5, name: name, part: fieldHash(cell.field), stamp: cell.stamp, value: cell.value)
      }
    }
    if let basis {
      sum += .cell(kind: 6, name: name, part: 0, stamp: basis.stamp, value: .text("\(basis.layer.dot)"))
    }
    return sum
  }
}

/// `link` is the hash of relationship and source, `target` that of the target's name.
extension ORSetElement {
  /// What this element adds to the fingerprint: its tags and their removals.
  public func fingerprint(link: UInt64, target: UInt64) -> Fingerprint {
    tags.reduce(into: Fingerprint()) { $0 += $1.fingerprint(link: link, target: target) }
  }

  /// What is added to the fingerprint when this element takes the place of `old`. Cost: what differs is hashed, the
  /// rest compared.
  public func fingerprint(replacing old: ORSetElement, link: UInt64, target: UInt64) -> Fingerprint {
    var sum = Fingerprint()
    for tag in old.tags where !tags.contains(tag) { sum -= tag.fingerprint(link: link, target: target) }
    for tag in tags where !old.tags.contains(tag) { sum += tag.fingerprint(link: link, target: target) }
    return sum
  }
}

extension ORSetElement.Tag {
  fileprivate func fingerprint(link: UInt64, target: UInt64) -> Fingerprint {
    var sum = Fingerprint.tag(link: link, target: target, stamp: added)
    if let removed {
      // One removal can remove several tags.
      sum += .cell(kind: 9, name: link, part: target, stamp: removed, value: .text("\(added.dot)"))
    }
    return sum
  }
}
