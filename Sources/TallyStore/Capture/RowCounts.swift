import TallyCRDT

/// Detects rows that `REPLACE` deleted without firing a trigger, by counting the rows of each table with a unique index
/// that is partial, on an expression or with an app-defined collation.
///
/// The file keeps each table's row count as of the last transaction of a store (`tally_meta`, `rows N`). If triggers
/// have noted inserts or updates since, the rows are counted again. A difference that the notes do not explain means
/// that rows were deleted unnoticed, and `LostRows` finds out which. A count that is wrong for any other reason costs
/// one search and is then corrected. Cost: `count(*)` of the table for each capture that finds notes of it.
final class RowCounts {
  private let connection: Connection
  /// The counts in the file.
  private var kept: [KindNumber: Int] = [:]

  init(_ connection: Connection) { self.connection = connection }

  /// The kinds that are counted.
  var kinds: Set<KindNumber> { Set(kept.keys) }

  /// Forgets the counts, for a file that has none.
  func forget() { kept = [:] }

  /// Reads the counts from the file.
  func load() throws {
    let query = try connection.statement(
      "SELECT CAST(substr(key, 6) AS INTEGER), value FROM tally_meta WHERE key GLOB 'rows [0-9]*' ORDER BY key")
    defer { query.reset() }
    forget()
    while try query.step() { kept[query.number(0)] = query.int(1) }
  }

  /// The kinds that lost rows without a note. `changes` says by how many rows each table has grown through the store's
  /// own writes and captures since the counts were last kept. `opaque` are the kinds that are to be counted. One
  /// without a count has a new index, and may have lost rows.
  func kindsThatLostRows(
    _ changes: [KindNumber: Int], opaque: Set<KindNumber>, _ catalog: Catalog
  ) throws -> Set<KindNumber> {
    guard !kept.isEmpty || !opaque.isEmpty else { return [] }
    let query = try SQLStatement(connection, "SELECT DISTINCT kind FROM tally_pending WHERE op IN (0, 1)")
    var written: [KindNumber] = []
    while try query.step() { written.append(query.number(0)) }
    var lost = Set<KindNumber>()
    for kind in written {
      guard let count = kept[kind] else {
        if opaque.contains(kind) { lost.insert(kind) }
        continue
      }
      guard let table = CountedTable(kind, catalog), let now = try table.count(connection) else { continue }
      if try count + changes[kind, default: 0] - table.notedBefore(connection) != now - table.notedNow(connection) {
        lost.insert(kind)
      }
    }
    return lost
  }

  /// Keeps counts of these kinds and of no others; with `again`, tables that have a count already are counted again.
  func follow(_ kinds: Set<KindNumber>, _ catalog: Catalog, again: Bool) throws {
    guard !kinds.isEmpty || !kept.isEmpty else { return }
    var next: [KindNumber: Int] = [:]
    for kind in kinds {
      next[kind] = again ? nil : kept[kind]
      if next[kind] == nil { next[kind] = try CountedTable(kind, catalog)?.count(connection) }
    }
    try keep(next)
  }

  /// Adds the growth of the tables to the counts.
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

/// The SQL that counts the rows of one table.
private struct CountedTable {
  var kind: KindNumber
  var name: String
  /// An SQL condition: the row has the key of `note`.
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

  /// The number of rows; nil if the table has no capture triggers because the app has just rebuilt it. The next
  /// transaction creates them and looks for missed writes.
  func count(_ connection: Connection) throws -> Int? {
    let query = try SQLStatement(connection, "SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name = ?")
    query.bind(1, "tally_\(name)_insert")
    guard try query.step() else { return nil }
    return try connection.integer(text: "SELECT count(*) FROM main.\"\(name)\"")
  }

  private var notes: String { "FROM tally_pending WHERE kind = \(kind) AND op < 4" }

  /// Returns the number of noted rows that existed before they were first noted.
  func notedBefore(_ connection: Connection) throws -> Int {
    try connection.integer(
      text: """
        SELECT count(*) FROM tally_pending WHERE clock IS NOT NULL AND n IN (SELECT min(n) \(notes) GROUP BY key)
        """) ?? 0
  }

  /// Returns the number of noted rows that exist now.
  func notedNow(_ connection: Connection) throws -> Int {
    try connection.integer(
      text: """
        SELECT count(*) FROM (SELECT DISTINCT key \(notes)) AS note
        WHERE EXISTS(SELECT 1 FROM main."\(name)" WHERE \(hasKey))
        """) ?? 0
  }
}
