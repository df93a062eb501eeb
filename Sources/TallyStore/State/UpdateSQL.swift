import Synchronization
import TallyCRDT

/// SQL that writes columns of a row with its clock: binds the clock, the values, and the row's id.
final class UpdateSQL: Sendable {
  private let single: [RowSQL]
  private let several = Mutex<[[Int]: RowSQL]>([:])
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
    return several.withLock { known in
      let places = changed.map(\.place)
      let sql = known[places] ?? RowSQL(self.text(places))
      known[places] = sql
      return sql
    }
  }
}
