import GRDBSQLite
import TallyCRDT
import TallyStore

/// Some rows of one type, the newest first, and where to go on.
package struct RowPage: Sendable {
  /// A record in a list.
  package struct Row: Sendable {
    /// The record's name, as the row has it.
    package var name: String
    /// The values of the columns that were asked for, in their order.
    package var values: [ValuePreview]
  }

  /// The rows.
  package var rows: [Row] = []
  /// The place after which to go on; nil at the end.
  package var next: Int64?
}

/// An order of rows other than that in which they came.
package struct RowOrder: Sendable, Equatable {
  /// The column to sort by, or `id`. Texts are compared without regard to capitals of ASCII, and nulls come last.
  package var column: String
  /// Whether the greatest value comes first.
  package var isDescending: Bool

  /// An order by a column.
  package init(by column: String, isDescending: Bool = false) {
    (self.column, self.isDescending) = (column, isDescending)
  }
}

/// A search through the rows of a type, and where it stands.
package struct RowQuery: Sendable {
  /// The type of the records.
  package var type: String
  /// The columns to show, by their places in the schema; those beyond the end are ignored.
  package var columns: Range<Int>
  /// The text that the name or a value must contain, letters of ASCII capital or small; nil for all rows.
  package var text: String?
  /// Go on after this place; nil to begin.
  package var after: Int64?
  /// The most rows to give.
  package var limit: Int
  /// The order; nil for the newest first. Then `after` is the number of rows to pass over.
  package var order: RowOrder?

  /// A query for the first rows of a type.
  package init(_ type: String, columns: Range<Int> = 0..<40, text: String? = nil, after: Int64? = nil, limit: Int = 50)
  {
    (self.type, self.columns, self.text, self.after, self.limit) = (type, columns, text, after, limit)
  }
}

extension Store {
  /// Reads rows that the app sees, the newest first. A search looks at rows until it has found enough or `isOver` says
  /// that it has taken long enough; then `next` says where to go on, with or without rows. In an order of their own all
  /// rows are looked at before the first is known.
  /// - Throws: `StoreError.unknownType`, `.unknownField` for an order by a column that there is not;
  ///   `QueryRefusal.tookTooLong` if `isOver` ends sorting.
  package func rows(_ query: RowQuery, until isOver: () -> Bool = { false }) throws -> RowPage {
    guard let order = query.order else { return try snapshot { try $0.rows(query, until: isOver) } }
    do {
      return try withoutActuallyEscaping(isOver) { isOver in
        try snapshot { try $0.sortedRows(query, by: order, until: isOver) }
      }
    } catch is SQLInterruption {
      throw QueryRefusal.tookTooLong
    }
  }

  /// Reads hidden records of a type, also of one that the schema does not have.
  package func hiddenRows(_ query: RowQuery, until isOver: () -> Bool = { false }) throws -> RowPage {
    try snapshot { try $0.hiddenRows(query, until: isOver) }
  }

  /// The names of records that begin as a key does, seen or hidden, of all types.
  package func names(withKey prefix: String, limit: Int) throws -> [AnyRecordName] {
    try snapshot { try $0.names(withKey: prefix, limit: limit) }
  }
}

extension StateReader {
  /// How many rows are looked at between two looks at the clock, and at first, when their length is not known.
  private static let (stretch, firstStretch) = (1_024, 16)
  /// How many bytes of hidden records are looked at between two looks at the clock.
  private static let stretchBytes = 1 << 20

  private func kindWithTable(_ type: String) throws -> (kind: RecordKind, entity: EntitySchema) {
    guard let kind = catalog.kind(of: type), let entity = kind.entity else {
      throw StoreError(.unknownType, "the schema has no type of this name")
    }
    return (kind, entity)
  }

  func rows(_ query: RowQuery, until isOver: () -> Bool) throws -> RowPage {
    let (kind, entity) = try kindWithTable(query.type)
    let names = entity.columnNames
    let shown = names[query.columns.clamped(to: 0..<names.count)]
    var page = RowPage()
    var after = query.after ?? Int64.max
    let statement = try SQLStatement(
      connection.handle,
      Self.list(query, shown: Array(shown)) + " WHERE rowid >= ?1 AND rowid < ?2"
        + (query.text == nil ? "" : " AND " + Self.condition(all: names, entity)) + " ORDER BY rowid DESC")
    if let text = query.text { statement.bind(3, FoldedText(text).bytes) }
    let ends = try SQLStatement(
      connection.handle,
      """
      SELECT min(n), count(*)
      FROM (SELECT rowid AS n FROM main."\(kind.type)" WHERE rowid < ? ORDER BY rowid DESC LIMIT ?)
      """)
    var stretch = Self.firstStretch
    while true {
      let size = query.text == nil ? query.limit : stretch
      stretch = min(stretch * 2, Self.stretch)
      ends.bind(1, after)
      ends.bind(2, size)
      guard try ends.step() else { break }
      let (last, count) = (ends.int64(0), ends.int(1))
      ends.reset()
      guard count > 0 else { break }
      statement.bind(1, last)
      statement.bind(2, after)
      while try statement.step() {
        page.rows.append(row(statement, shown.count))
        if page.rows.count == query.limit {
          page.next = statement.int64(0)
          break
        }
      }
      statement.reset()
      if page.rows.count == query.limit { break }
      after = last
      guard count == size else { break }
      page.next = last
      if isOver() { break }
      page.next = nil
    }
    return page
  }

  private func row(_ statement: SQLStatement, _ count: Int) -> RowPage.Row {
    RowPage.Row(name: statement.text(1) ?? "", values: (0..<count).map { statement.preview(3 + $0) })
  }

  private static func list(_ query: RowQuery, shown: [String]) -> String {
    let list = shown.map { ", \"\($0)\"" }.joined()
    return "SELECT rowid, id, tally_clock\(list) FROM main.\"\(query.type)\""
  }

  /// The condition that the name or a column that a person can read has the text of the third parameter.
  private static func condition(all: [String], _ entity: EntitySchema) -> String {
    let blobs = Set(entity.fields.filter { $0.kind == .blob }.map(\.name))
    let columns = (["id"] + all.filter { !blobs.contains($0) }).map { "\"\($0)\"" }
    let terms = stride(from: 0, to: columns.count, by: FoldedText.valueLimit).map { start in
      let part = columns[start..<min(start + FoldedText.valueLimit, columns.count)]
      return "\(FoldedText.function)(?3, \(part.joined(separator: ", ")))"
    }
    return "(" + terms.joined(separator: " OR ") + ")"
  }

  func sortedRows(_ query: RowQuery, by order: RowOrder, until isOver: @escaping () -> Bool) throws -> RowPage {
    let (kind, entity) = try kindWithTable(query.type)
    let names = entity.columnNames
    guard let column = (["id"] + names).first(where: { $0 == order.column }) else {
      throw StoreError(.unknownField, "the type has no column of this name to sort by")
    }
    let shown = Array(names[query.columns.clamped(to: 0..<names.count)])
    let start = max(query.after ?? 0, 0)
    // The numbers of the rows alone are sorted, so that no long value is moved about but those that are compared.
    let sorted = try SQLStatement(
      connection.handle,
      """
      SELECT rowid FROM main."\(kind.type)"\(query.text == nil ? "" : " WHERE " + Self.condition(all: names, entity))
      ORDER BY "\(column)" IS NULL, "\(column)" COLLATE NOCASE \(order.isDescending ? "DESC" : "ASC"), rowid DESC
      LIMIT ?1 OFFSET ?2
      """)
    sorted.bind(1, query.limit + 1)
    sorted.bind(2, start)
    if let text = query.text { sorted.bind(3, FoldedText(text).bytes) }
    var places: [Int64] = []
    try connection.interrupting(when: isOver) {
      while try sorted.step() { places.append(sorted.int64(0)) }
    }
    var page = RowPage()
    let statement = try SQLStatement(connection.handle, Self.list(query, shown: shown) + " WHERE rowid = ?1")
    for place in places.prefix(query.limit) {
      statement.bind(1, place)
      if try statement.step() { page.rows.append(row(statement, shown.count)) }
      statement.reset()
    }
    if places.count > query.limit { page.next = start + Int64(query.limit) }
    return page
  }

  func hiddenRows(_ query: RowQuery, until isOver: () -> Bool) throws -> RowPage {
    guard let kind = catalog.kind(of: query.type) else {
      throw StoreError(.unknownType, "nothing of a type of this name is here")
    }
    var page = RowPage()
    let text = query.text.map(FoldedText.init)
    var (looked, bytes) = (0, 0)
    /// Takes a record that has this place, and says whether to go on.
    func take(_ place: Int64, _ name: String, _ state: RecordState, _ byteCount: Int) -> Bool {
      (looked, bytes) = (looked + 1, bytes + byteCount)
      if matches(text, name, state) {
        page.rows.append(
          RowPage.Row(name: name, values: previews(state, kind, query.columns)))
      }
      page.next = place
      if page.rows.count == query.limit { return false }
      guard looked >= Self.stretch || bytes >= Self.stretchBytes else { return true }
      (looked, bytes) = (0, 0)
      return !isOver()
    }
    let start = query.after ?? Int64.max
    if start > 0 {
      let statement = try SQLStatement(
        connection.handle, "SELECT n, key, body FROM tally_hidden WHERE kind = ? AND n < ? ORDER BY n DESC")
      statement.bind(1, kind.number)
      statement.bind(2, start)
      while try statement.step() {
        let state = try recordState(inBody: 2, of: statement)
        guard take(statement.int64(0), statement.text(1) ?? "", state, statement.byteCount(2)) else { return page }
      }
    }
    // Stubs have no number; they come last, and their places count down from 0.
    var place = min(start, 0)
    let isDone = try forEachStub(kind, from: Int(clamping: place.magnitude)) { name, state, byteCount in
      place = place == .min ? .min : place - 1
      return take(place, name.text, state, byteCount)
    }
    if isDone { page.next = nil }
    return page
  }

  private func matches(_ text: FoldedText?, _ name: String, _ state: RecordState) -> Bool {
    guard let text else { return true }
    return text.isIn(name)
      || state.fields.contains { cell in
        if case .text(let value) = cell.value { text.isIn(value) } else { false }
      }
  }

  /// What the row of a hidden record would show, by the columns of the schema; nothing for an unknown type.
  private func previews(_ state: RecordState, _ kind: RecordKind, _ columns: Range<Int>) -> [ValuePreview] {
    guard let entity = kind.entity else { return [] }
    let values = Dictionary(uniqueKeysWithValues: zip(kind.columns.map(\.name), kind.plainValues(of: state)))
    let names = entity.columnNames
    return names[columns.clamped(to: 0..<names.count)].map { ValuePreview(values[$0] ?? .null, limit: 200) }
  }

  func names(withKey prefix: String, limit: Int) throws -> [AnyRecordName] {
    var found: [AnyRecordName] = []
    func take(_ statement: SQLStatement, from start: String) throws {
      statement.bind(1, start)
      statement.bind(2, start + "\u{7F}")
      while found.count < limit, try statement.step() {
        if let name = try? AnyRecordName(statement.text(0) ?? "") { found.append(name) }
      }
    }
    for kind in catalog.records.values.sorted(by: { $0.type < $1.type }) where kind.type != SeedHistory.setType {
      let start = prefix.contains(AnyRecordName.delimiter) ? prefix : kind.type + AnyRecordName.delimiter + prefix
      guard start.hasPrefix(kind.type + AnyRecordName.delimiter) else { continue }
      if kind.isKnown {
        let sql = "SELECT id FROM main.\"\(kind.type)\" WHERE id >= ? AND id < ? ORDER BY id"
        try take(SQLStatement(connection.handle, sql), from: start)
      }
      let sql = "SELECT key FROM tally_hidden WHERE kind = \(kind.number) AND key >= ? AND key < ? ORDER BY key"
      try take(SQLStatement(connection.handle, sql), from: start)
      if found.count < limit { found += try stubs(of: kind, withName: start, limit: limit - found.count) }
    }
    return found
  }
}
