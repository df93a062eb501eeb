import Synchronization
import TallyCRDT

/// SQL that writes columns of a row with its clock: binds the clock, the values, and the row's id.
final class UpdateSQL: Sendable {
  private let single: [RowSQL]
  /// Of several columns, by their places, and those that were wanted last.
  private let several = Mutex<(known: [[Int]: RowSQL], last: (places: [Int], sql: RowSQL)?)>(([:], nil))
  private let text: @Sendable ([Int]) -> String

  init(_ type: String, _ columns: [Column]) {
    let text: @Sendable ([Int]) -> String = { places in
      let values = places.map { ", \"\(columns[$0].name)\" = ?" }.joined()
      return "UPDATE main.\"\(type)\" SET tally_clock = ?\(values) WHERE rowid = ?"
    }
    single = columns.indices.map { place in RowSQL(text([place])) }
    self.text = text
  }

  subscript(changed: [(place: Int, value: Value)]) -> RowSQL {
    if changed.count == 1 { return single[changed[0].place] }
    return several.withLock { sql in
      if let last = sql.last, last.places.elementsEqual(changed, by: { $0 == $1.place }) { return last.sql }
      let places = changed.map(\.place)
      let found = sql.known[places] ?? RowSQL(self.text(places))
      (sql.known[places], sql.last) = (found, (places, found))
      return found
    }
  }
}
