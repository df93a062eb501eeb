import GRDB
import TallyCRDT

/// The rows of one record's ordered list, as the app's tables have them.
///
/// Rows without a position come first, by name. Who puts something into such a list gives them positions before that,
/// in the order in which they are shown.
struct OrderedRows {
  private struct Row {
    var member: String
    var position: ListPosition?
    /// Whether it is a member that this transaction has inserted: those go behind all others.
    var isNew = false
  }

  private let db: Database
  private let list: OrderedList
  private let owner: String

  init(_ db: Database, _ list: OrderedList, of owner: String) { (self.db, self.list, self.owner) = (db, list, owner) }

  /// The names of the elements, in order.
  static func names(_ list: OrderedList) -> String {
    "SELECT \"\(list.member)\" FROM \"\(list.table)\" WHERE \"\(list.source)\" = ? "
      + "ORDER BY \"\(list.position)\", \"\(list.member)\""
  }

  /// - Returns: a position for an element that comes to this place, or that moves there.
  /// - Throws: `StoreError.noSuchRecord` if the place names what is not in the list; `.positionTooDeep`.
  func position(at place: ListPlace<String>, for member: String?) throws -> ListPosition {
    if let ends = try ends(except: member) {
      switch place {
      case .last: return try between(ends.last, nil)
      case .first: return try between(nil, ends.first)
      default: break
      }
    }
    let rows = try positioned().filter { $0.member != member }
    let index: Int
    switch place {
    case .first: index = 0
    case .last: index = rows.count
    case .before(let other): index = try self.index(of: other, in: rows)
    case .after(let other): index = try self.index(of: other, in: rows) + 1
    case .index(let number): index = min(max(0, number), rows.count)
    }
    let left = index == 0 ? nil : rows[index - 1].position
    // Equal positions are another program's; what comes between them comes behind them.
    let right = rows[index...].first { row in left.map { left in row.position.map { left < $0 } ?? false } ?? true }
    return try between(left, right?.position)
  }

  /// Inserts a member at a place, or moves it there.
  func put(_ member: String, at place: ListPlace<String>) throws {
    let position = try position(at: place, for: member)
    let query = "SELECT 1 FROM \"\(list.table)\" WHERE \"\(list.source)\" = ? AND \"\(list.member)\" = ?"
    guard try Int.fetchOne(try db.cachedStatement(sql: query), arguments: [owner, member]) == nil else {
      return try write(position, to: member)
    }
    try db.execute(
      sql: """
        INSERT INTO "\(list.table)"("\(list.source)", "\(list.member)", "\(list.position)") VALUES(?, ?, ?)
        """, arguments: [owner, member, position])
    guard db.changesCount > 0 else { throw StoreError.ignored("adding \(member) to \(list.name) of \(owner)") }
  }

  private func index(of member: String, in rows: [Row]) throws(StoreError) -> Int {
    guard let index = rows.firstIndex(where: { $0.member == member }) else {
      throw StoreError(.noSuchRecord, "\(printable(member)) is not in the list \(list.name) of \(owner)")
    }
    return index
  }

  /// Writes positions so that these elements stand in this order: as few as that takes. Elements that are not in the
  /// list are passed over, and those that are not given stay where they are.
  func setOrder(_ members: [String]) throws {
    let rows = try rows()
    let known = Dictionary(uniqueKeysWithValues: rows.map { ($0.member, $0.position) })
    var seen = Set<String>()
    let wanted = members.filter { known[$0] != nil && seen.insert($0).inserted }
    let positions = wanted.map { known[$0] ?? nil }
    let staying = ListMoves.staying(positions)
    guard staying.contains(false) else {
      // Whoever finds no room at an end of the list calls this to get some.
      let ends = rows.compactMap(\.position)
      if try !hasRoom(nil, ends.min()) || !hasRoom(ends.max(), nil) {
        try writing { try renew(rows.map(\.member)) }
      }
      return
    }
    do {
      // Every position is made before the first is written.
      var (new, left): ([(String, ListPosition)], ListPosition?) = ([], nil)
      for (index, member) in wanted.enumerated() {
        guard !staying[index] else {
          left = positions[index]
          continue
        }
        let right = staying[index...].firstIndex(of: true).flatMap { positions[$0] }
        let position = try between(left, right)
        new.append((member, position))
        left = position
      }
      try writing { for (member, position) in new { try write(position, to: member) } }
    } catch let error as StoreError where error.code == .positionTooDeep {
      try writing { try renew(wanted + rows.map(\.member).filter { !seen.contains($0) }) }
    }
  }

  /// Writes several rows, or none if something of the app's refuses one.
  private func writing(_ body: () throws -> Void) throws {
    try db.inSavepoint {
      try body()
      return .commit
    }
  }

  /// Whether there are positions at an end of the list. Where a store has made its positions there always are.
  private func hasRoom(_ left: ListPosition?, _ right: ListPosition?) throws -> Bool {
    guard let end = left ?? right, end.bytes.count > ListPosition.byteLimit / 2 || end.bytes[0] == 0 else {
      return true
    }
    do {
      _ = try between(left, right)
      return true
    } catch let error as StoreError where error.code == .positionTooDeep {
      return false
    }
  }

  /// Gives all elements new positions, of one run.
  private func renew(_ members: [String]) throws {
    var left: ListPosition?
    for member in members {
      let position = try between(left, nil)
      try write(position, to: member)
      left = position
    }
  }

  // MARK: Reading

  private func rows() throws -> [Row] {
    let isNew = list.member == "id" ? "0" : "\"\(list.position)\" = x'' AND tally_clock = \(InlineClock.unstampedSQL)"
    let sql = """
      SELECT "\(list.member)", "\(list.position)", \(isNew) AS isNew FROM "\(list.table)" WHERE "\(list.source)" = ?
      ORDER BY isNew, "\(list.position)", CASE WHEN isNew THEN rowid END, "\(list.member)"
      """
    return try GRDB.Row.fetchAll(try db.cachedStatement(sql: sql), arguments: [owner]).compactMap { row in
      String.fromDatabaseValue(row[0]).map {
        Row(member: $0, position: ListPosition.fromDatabaseValue(row[1]), isNew: row[2])
      }
    }
  }

  /// The least and the greatest position; nil if there are rows without one.
  private func ends(except member: String?) throws -> (first: ListPosition?, last: ListPosition?)? {
    let position = "\"\(list.position)\""
    let sql = """
      SELECT min(\(position)), max(\(position)), count(*) - count(CASE WHEN \(position) > x'' THEN 1 END)
      FROM "\(list.table)" WHERE "\(list.source)" = ? AND "\(list.member)" IS NOT ?
      """
    guard let row = try GRDB.Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [owner, member]),
      row[2] == 0
    else { return nil }
    return (ListPosition.fromDatabaseValue(row[0]), ListPosition.fromDatabaseValue(row[1]))
  }

  /// The rows, after each has got a position.
  private func positioned() throws -> [Row] {
    var rows = try rows()
    guard rows.contains(where: { $0.position == nil }) else { return rows }
    let first = rows.compactMap(\.position).min()
    var left: ListPosition?
    for index in rows.indices where rows[index].position == nil {
      let isBehind = index > 0 && rows[index].isNew
      let position =
        try isBehind ? between(rows[index - 1].position, nil) : between(left, rows[index].isNew ? nil : first)
      try write(position, to: rows[index].member)
      rows[index].position = position
      left = position
    }
    return rows
  }

  private func between(_ left: ListPosition?, _ right: ListPosition?) throws -> ListPosition {
    let sql = "SELECT tally_between(?, ?, NULL)"
    let found = try ListPosition.fetchOne(try db.cachedStatement(sql: sql), arguments: [left, right])
    guard let found else {
      throw StoreError(
        .positionTooDeep, "there is no room for a position at this place of \(list.name) of \(owner); use setOrder")
    }
    return found
  }

  private func write(_ position: ListPosition, to member: String) throws {
    try db.execute(
      sql: """
        UPDATE "\(list.table)" SET "\(list.position)" = ? WHERE "\(list.source)" = ? AND "\(list.member)" = ?
        """, arguments: [position, owner, member])
    guard db.changesCount > 0 else { throw StoreError.ignored("the move of \(member) in \(list.name) of \(owner)") }
  }
}

extension StoreError {
  static func notOrdered(_ table: String) -> StoreError {
    StoreError(.invalidSchema, "\(table) is not ordered: declare the relationship with ordered: true")
  }
}
