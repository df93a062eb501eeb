import TallyCRDT
import TallyWire

/// What the keys of a file's fields say of them, by their numbers: bodies keep the number alone.
package struct FieldMarks: Sendable {
  /// The fields that a join must tell from ordinary ones.
  private var marked: [FieldID?] = []
  /// For each kind its counters, by wire name: the numbers of their offsets.
  private var counters: [KindNumber: [String: UInt32]] = [:]

  /// Whether there are fields that keep the greatest or the least value.
  private var hasExtrema = false

  /// Whether members of a relationship have, or have had, places in an order.
  var hasPlaces = false

  /// The version of the wire format that a delta of the store is in: the third as soon as the store knows of a counter,
  /// of a greatest or least value or of an order, so that it is decided before anything is read.
  package var wireVersion: UInt8 { counters.isEmpty && !hasExtrema && !hasPlaces ? 2 : 3 }

  /// The header of a delta of everything up to `target`.
  package func header(to target: StateVector) -> DeltaHeader {
    DeltaHeader(base: StateVector(), target: target, version: wireVersion)
  }

  /// The field with a number.
  subscript(number: UInt32) -> FieldID {
    number < marked.count ? marked[Int(number)] ?? FieldID(rawValue: number) : FieldID(rawValue: number)
  }

  /// Whether a state's counters hold what counters can, integers, and totals under stamps of their replicas; and what
  /// keeps the greatest or the least, numbers.
  func accept(_ state: RecordState, _ fields: [FieldID: Catalog.Field]) -> Bool {
    counters.isEmpty && !hasExtrema
      || state.fields.allSatisfy { cell in
        let kind = fields[cell.field].map { FieldKey.kind(of: $0.key) } ?? .field
        return kind.accepts(cell.stamp, cell.value.tag)
      }
  }

  /// Adds a field. That of a counter's offset comes before those of its totals.
  mutating func add(_ number: UInt32, _ field: Catalog.Field) -> FieldID {
    let kind = FieldKey.kind(of: field.key)
    if kind == .counter { counters[field.kind, default: [:]][field.name] = number }
    var id = FieldID(rawValue: number, isPresence: kind.isPresence)
    if case .total = kind, let counter = counters[field.kind]?[field.name] {
      id = FieldID(rawValue: number, totalOf: counter)
    }
    if case .extremum(let extremum) = kind {
      hasExtrema = true
      id = FieldID(rawValue: number, keeping: extremum)
    }
    guard id.isPresence || id.extremum != nil else { return id }
    while marked.count <= number { marked.append(nil) }
    marked[Int(number)] = id
    return id
  }
}
