import TallyCRDT

/// How many rows the tables have from which REPLACE can remove some that nobody notes: through a unique index that is
/// partial, on an expression or with a collation of the app's, what is equal only SQLite knows.
///
/// The counts are kept in the file as of the last capture. Where triggers have noted writes to such a table, it is
/// counted again, and a difference that the notes do not explain is rows that went unnoticed. Then the change log tells
/// which: see `LostRows`. A count that is wrong for another reason costs a look for nothing, and is put right.
final class RowCounts {
  private let connection: Connection
  /// As the file has them.
  private var kept: [KindNumber: Int] = [:]

  init(_ connection: Connection) { self.connection = connection }

  /// The kinds that are counted.
  var kinds: Set<KindNumber> { Set(kept.keys) }

  /// Reads what the file says.
  func load() throws {
    let query = try connection.statement(
      "SELECT CAST(substr(key, 6) AS INTEGER), value FROM tally_meta WHERE key GLOB 'rows [0-9]*' ORDER BY key")
    defer { query.reset() }
    kept = [:]
    while try query.step() { kept[query.number(0)] = query.int(1) }
  }

  /// The kinds of which rows are gone that nobody has noted.
  /// - Parameters:
  ///   - changes: how many rows of each kind the store has captured and written since `load` or `add`.
  ///   - opaque: the kinds that should be counted. One that has not been may have lost some: its index is new.
  func kindsThatLostRows(
    _ changes: [KindNumber: Int], opaque: Set<KindNumber>, _ catalog: Catalog
  ) throws -> Set<KindNumber> {
    guard !kept.isEmpty || !opaque.isEmpty else { return [] }
    let query = try SQLStatement(connection.handle, "SELECT DISTINCT kind FROM tally_pending WHERE op IN (0, 1)")
    var written: [KindNumber] = []
    while try query.step() { written.append(query.number(0)) }
    var lost = Set<KindNumber>()
    for kind in written {
      if kept[kind] == nil, opaque.contains(kind) { lost.insert(kind) }
      guard let count = kept[kind], let table = CountedTable(kind, catalog), let now = try table.count(connection)
      else {
        continue
      }
      if try count + changes[kind, default: 0] - table.notedBefore(connection) != now - table.notedNow(connection) {
        lost.insert(kind)
      }
    }
    return lost
  }

  /// Counts what must be counted from now on, and forgets the rest.
  /// - Parameter again: counts also what has been.
  func follow(_ kinds: Set<KindNumber>, _ catalog: Catalog, again: Bool) throws {
    guard !kinds.isEmpty || !kept.isEmpty else { return }
    var next: [KindNumber: Int] = [:]
    for kind in kinds {
      next[kind] = again ? nil : kept[kind]
      if next[kind] == nil { next[kind] = try CountedTable(kind, catalog)?.count(connection) }
    }
    try keep(next)
  }

  /// Adds what the store has captured and written.
  func add(_ changes: [KindNumber: Int]) throws {
    guard !changes.isEmpty else { return }
    try keep(kept.merging(changes.filter { kept[$0.key] != nil }, uniquingKeysWith: +))
  }

  private func keep(_ next: [KindNumber: Int]) throws {
    for kind in Set(kept.keys).union(next.keys).sorted() where next[kind] != kept[kind] {
      let statement: SQLStatement
      if let count = next[kind] {
        statement = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('rows ' || ?1, ?2)")
        statement.bind(2, count)
      } else {
        statement = try connection.statement("DELETE FROM tally_meta WHERE key = 'rows ' || ?1")
      }
      statement.bind(1, kind)
      try statement.run()
    }
    kept = next
  }
}

/// By how many rows of the counted kinds there are more than was taken note of.
struct RowChanges {
  /// The kinds whose rows are counted: mostly none.
  var kinds = Set<KindNumber>()
  private(set) var numbers: [KindNumber: Int] = [:]

  /// What has changed since this was last asked.
  mutating func take() -> [KindNumber: Int] {
    defer { numbers = [:] }
    return numbers
  }

  fileprivate mutating func count(_ kind: KindNumber, _ number: Int) {
    if !kinds.isEmpty, kinds.contains(kind) { numbers[kind, default: 0] += number }
  }
}

extension StateWriter {
  /// Takes note of rows that came, or went if the number is negative.
  func count(_ kind: KindNumber, _ number: Int) { rowChanges.count(kind, number) }
}

/// The table of a kind, for who counts its rows.
private struct CountedTable {
  var kind: KindNumber
  var name: String
  /// That a row has the key of a note.
  var hasKey: String

  init?(_ kind: KindNumber, _ catalog: Catalog) {
    self.kind = kind
    if let record = catalog.records[kind] {
      (name, hasKey) = (record.type, "id = note.key")
    } else if let link = catalog.links[kind] {
      name = link.table
      hasKey = """
        source = substr(note.key, 1, instr(note.key, char(10)) - 1)
          AND target = substr(note.key, instr(note.key, char(10)) + 1)
        """
    } else {
      return nil
    }
  }

  /// How many rows there are; nil if nothing notes what happens to them. A table that the app has just rebuilt has no
  /// triggers; the next transaction makes them, and then looks for missed writes.
  func count(_ connection: Connection) throws -> Int? {
    let query = try SQLStatement(
      connection.handle, "SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name = ?")
    query.bind(1, "tally_\(name)_insert")
    guard try query.step() else { return nil }
    return try connection.integer(text: "SELECT count(*) FROM main.\"\(name)\"")
  }

  private var notes: String { "FROM tally_pending WHERE kind = \(kind) AND op < 4" }

  /// How many of the noted rows were there before.
  func notedBefore(_ connection: Connection) throws -> Int {
    try connection.integer(
      text: """
        SELECT count(*) FROM tally_pending WHERE clock IS NOT NULL AND n IN (SELECT min(n) \(notes) GROUP BY key)
        """) ?? 0
  }

  /// How many of them are there now.
  func notedNow(_ connection: Connection) throws -> Int {
    try connection.integer(
      text: """
        SELECT count(*) FROM (SELECT DISTINCT key \(notes)) AS note
        WHERE EXISTS(SELECT 1 FROM main."\(name)" WHERE \(hasKey))
        """) ?? 0
  }
}
