import TallyCRDT
import TallyWire

/// Edits and deletes of records of one kind that a block brings packed.
final class PackedChanges {
  let packed: PackedRecords
  let kind: RecordKind
  /// For each field of the packed records its number here.
  private let fields: [FieldID]
  /// For each field the place of its column, if it has one.
  private let places: [Int?]
  private let buffer: NameBuffer

  init(_ packed: PackedRecords, _ kind: RecordKind, _ fields: [FieldID]) {
    (self.packed, self.kind, self.fields) = (packed, kind, fields)
    places = fields.map { kind.index(of: $0.counter ?? $0) }
    buffer = NameBuffer(count: 1)
  }

  /// The registers of an edit, and the places of their columns, if each has one that takes the value.
  func cells(of item: PackedRecords.Item) throws -> (cells: [FieldCell], places: [Int])? {
    guard packed.stamps[item.stamp].rank == .user else { return nil }
    var places: [Int] = []
    places.reserveCapacity(item.mask.nonzeroBitCount)
    var rest = item.mask
    while rest != 0 {
      guard let place = self.places[rest.trailingZeroBitCount] else { return nil }
      places.append(place)
      rest &= rest - 1
    }
    let cells = try packed.cells(of: item) { fields[$0] }
    for (cell, place) in zip(cells, places) where !kind.columns[place].accepts(cell.value) { return nil }
    return (cells, places)
  }

  /// The record's name, until the next one is asked for.
  func name(of item: PackedRecords.Item) -> UnsafeBufferPointer<UInt8> {
    buffer.removeAll()
    return buffer.add(kind.typePrefix, item.high, item.low)
  }
}
