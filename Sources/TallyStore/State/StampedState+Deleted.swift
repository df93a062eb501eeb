import TallyCRDT
import TallyWire

/// One delete of many records, which have in common what it had seen.
struct SharedDelete {
  let delete: Delete
  /// Whether `tally_context` holds what it had seen; otherwise each body does.
  let isStored: Bool
  private let hasher: DeleteHasher

  /// Stores what the delete had seen.
  init(_ delete: Delete, _ writer: StateWriter) throws {
    try writer.store(delete.context, of: delete.stamp)
    self.delete = delete
    isStored = writer.reader.knows(context: delete.context, of: delete.stamp)
    hasher = DeleteHasher(delete)
  }

  /// Returns the delete's contribution to the fingerprint. `name` is the hash of a record's name.
  func fingerprint(name: UInt64) -> Fingerprint { hasher.fingerprint(name: name) }

  /// Whether the delete has seen all of a state, and is not of a transaction that wrote any of it.
  func hasSeen(_ dots: [Dot]) -> Bool {
    dots.allSatisfy { $0 != delete.stamp.dot && delete.context.covers($0) }
  }
}

extension StampedState {
  /// The body of the state with one delete more, and without a row: the same bytes as `StateCoding` makes of it.
  /// `forEachValue` gives those of its row, each with the place of its column and in that order; all stamps are of
  /// these (`listsOnly`).
  func encoded(
    deleted shared: SharedDelete, _ kind: RecordKind, _ replicaNumber: (ReplicaID) throws -> ReplicaNumber,
    _ forEachValue: ((Int, PackedValue) throws -> Void) throws -> Void
  ) throws -> [UInt8] {
    var stamps = StampTable(capacity: stampLimit, known: known)
    stamps.note(existence)
    var cells = 0
    // What follows the stamps has their numbers, which are given in this order.
    var fields = ByteWriter()
    fields.bytes.reserveCapacity(160)
    try forEachValue { place, value in
      let column = kind.columns[place]
      guard let stamp = stamp(of: column.field, isDefault: column.isDefault(value)) else { return }
      cells += 1
      stamps.note(stamp)
      fields.varint(UInt64(column.field.rawValue) << 1 | 1)
      fields.varint(stamps.number(of: stamp))
      fields.value(value)
    }
    stamps.note(shared.delete.stamp)
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(fields.bytes.count + 64)
    writer.byte(StateCoding.record)
    writer.append(sum)
    try stamps.encode(to: &writer, replicaNumber)
    writer.varint(1)
    writer.varint(cells << 1)
    writer.bytes += fields.bytes
    try StateCoding.encode(supersededTouches, to: &writer, replicaNumber)
    writer.varint(1)
    writer.varint(stamps.number(of: shared.delete.stamp) << 1 | (shared.isStored ? 0 : 1))
    if !shared.isStored { try StateCoding.encode(shared.delete.context, to: &writer, replicaNumber) }
    return writer.bytes
  }
}
