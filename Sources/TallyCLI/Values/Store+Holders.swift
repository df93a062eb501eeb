import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore

extension Store {
  /// Finds the record that has the value for which a unique rule of the schema does not show another one: under the
  /// policy `hide` SQLite refuses the row and names only the columns.
  /// - Returns: nil if no such rule is in the way.
  func holder(keepingOut name: AnyRecordName) throws -> AnyRecordName? {
    guard let entity = try schema[name.type] else { return nil }
    let rules = entity.unique.filter { $0.policy == .hide }
    guard !rules.isEmpty, let history = try history(of: name), history.isAlive, !history.isVisible else { return nil }
    for rule in rules {
      let values = rule.fields.compactMap { column in
        history.fields.first { entity.column($0.field) == column && !$0.value.isNull }?.value
      }
      guard values.count == rule.fields.count else { continue }
      // GRDB binds a text up to its first NUL, a blob whole.
      let conditions = zip(rule.fields, values).map { column, value in
        if case .text = value { "\"\(column)\" = CAST(? AS TEXT)" } else { "\"\(column)\" = ?" }
      }
      let arguments = values.map { value in
        if case .text(let text) = value { Data(text.utf8).databaseValue } else { value.databaseValue }
      }
      let sql = "SELECT id FROM \"\(entity.type)\" WHERE \(conditions.joined(separator: " AND ")) AND id <> ? LIMIT 1"
      let id = try read { db in
        try String.fetchOne(db, sql: sql, arguments: StatementArguments(arguments + [name.text.databaseValue]))
      }
      if let holder = id.flatMap({ try? AnyRecordName($0) }) { return holder }
    }
    return nil
  }

  /// The holders of the values for which rows are set aside, by the names of these rows.
  func holders(of status: StoreStatus) throws -> [String: AnyRecordName] {
    var holders: [String: AnyRecordName] = [:]
    for row in status.setAside where !row.isShown {
      guard let name = try? AnyRecordName(row.row) else { continue }
      holders[row.row] = try holder(keepingOut: name)
    }
    return holders
  }
}
