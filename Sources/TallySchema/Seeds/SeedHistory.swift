import TallyCRDT
import TallyWire

/// The history of a seed set's virtual replica: one transaction that writes one version of every record.
///
/// Every installation generates the same one. The virtual replica's id is the first half of the SHA-256 of
/// `"TallySeeds", generator version, length and UTF-8 of the set's name, version, block`, where the block is the
/// canonical block of the delta format, version 1, with the replica id zero: what version 2 writes, but for the mark
/// behind a reference's name. So the id covers all values and their dots, and the order of members where a relationship
/// is ordered, and depends on nothing else: not on the order of declaration, the platform, the locale or the time.
package struct SeedHistory {
  /// The version of the generator, which every change of the encoding would raise.
  package static let generator: UInt8 = 1
  /// The type of the record that says which set and version a virtual replica is. Apps do not see it; it travels like
  /// any record.
  package static let setType = "TallySeed"

  /// The virtual replica.
  package let replica: ReplicaID
  /// The block that it wrote.
  package let block: DeltaBlock

  package var dot: Dot { Dot(replica: replica, sequence: 1) }
  package var vector: StateVector {
    var vector = StateVector()
    vector.include(dot)
    return vector
  }

  /// A history of these parts; that of a set is made of the set.
  package init(replica: ReplicaID, block: DeltaBlock) { (self.replica, self.block) = (replica, block) }

  /// The history of a set that has been checked against `schema`.
  package init(_ set: CheckedSeedSet) {
    let nobody = ReplicaID(high: 0, low: 0)
    var writer = ByteWriter()
    writer.bytes += Array("TallySeeds".utf8)
    writer.byte(Self.generator)
    writer.text(set.name)
    writer.varint(set.version)
    var identity = set.block(by: nobody)
    for place in identity.records.indices {
      identity.records[place].fields = identity.records[place].fields.map { FieldKey.name(in: $0) }
    }
    writer.bytes += identity.encoded(replicas: [nobody])
    replica = SeedIdentity.replica(of: writer.bytes)
    block = set.block(by: replica)
  }
}

extension CheckedSeedSet {
  package func block(by replica: ReplicaID) -> DeltaBlock {
    let stamp = Stamp(
      rank: .seed, time: HybridTime(milliseconds: UInt64(version)), dot: Dot(replica: replica, sequence: 1))
    var groups: [String: DeltaBlock.Records] = [:]
    for record in records {
      let type = record.name.type
      // In its place: a copy of the group for each record would make the cost quadratic.
      groups[type, default: .init(type: type, fields: [], items: [])].append(record, stamp) { cells in
        state(stamp, isRetired: record.isRetired, cells)
      }
    }
    var tagged: [String: DeltaBlock.Links] = [:]
    for link in links {
      let id = "\(link.source.type).\(link.relationship).\(link.target.type)"
      let empty = DeltaBlock.Links(
        source: link.source.type, relationship: link.relationship, target: link.target.type, items: [])
      var element = ORSetElement(added: stamp)
      if let place = link.place, let position = ListPosition(element: place, ofRun: replica.high >> 16) {
        element.move(stamp, to: position)
      }
      tagged[id, default: empty].items.append(.init(source: link.source, target: link.target, element: element))
    }
    return DeltaBlock(records: Array(groups.values), links: Array(tagged.values))
  }

  private func state(_ stamp: Stamp, isRetired: Bool, _ cells: [FieldCell]) -> RecordState {
    var state = RecordState()
    state.seed = SeedState(layers: [SeedLayer(stamp: stamp, isRetired: isRetired, fields: cells)])
    return state
  }
}

extension DeltaBlock.Records {
  fileprivate mutating func append(
    _ record: CheckedSeedSet.Record, _ stamp: Stamp, _ state: ([FieldCell]) -> RecordState
  ) {
    var cells: [FieldCell] = []
    for (field, value) in record.values {
      let place = fields.firstIndex(of: field) ?? fields.count
      if place == fields.count { fields.append(field) }
      cells.append(FieldCell(field: FieldID(rawValue: UInt32(place)), stamp: stamp, value: value))
    }
    cells.sort { $0.field < $1.field }
    items.append(.init(name: record.name, state: state(cells)))
  }
}
