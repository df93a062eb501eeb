import TallyCRDT

/// The tables with a unique index that is partial, on an expression or with a collation of the app's: no trigger can
/// tell which rows `REPLACE` deletes through it. `LostRows` finds them, by a pass over the change log.
///
/// After a write of another connection nothing less will do. Where triggers note the store's own writes as well, a
/// count of the rows before and after the app's statements spares it the pass.
final class OpaqueTables {
  private let connection: Connection
  /// Those with such an index now, and those that had one when what is captured next was written.
  private(set) var names = Set<String>()
  /// The number of rows before the app's statements, by table.
  private var counts: [String: Int] = [:]

  init(_ connection: Connection) { self.connection = connection }

  /// Adds tables that have such an index now.
  func add(_ tables: Set<String>) { if !tables.isEmpty { names.formUnion(tables) } }

  /// Forgets the tables that have no such index any more: what was written while they had one is captured.
  func keep(_ tables: Set<String>) { if names != tables { names = tables } }

  /// Counts rows, before the app's statements.
  func countRows() throws {
    counts = [:]
    for name in names { counts[name] = try connection.integer(text: "SELECT count(*) FROM main.\"\(name)\"") }
  }

  /// The kinds whose tables may have lost rows without a note in what is captured next.
  func suspects(_ origin: Capture.Origin, _ catalog: Catalog) throws -> Set<KindNumber> {
    guard !names.isEmpty else { return [] }
    let query = try SQLStatement(connection, "SELECT DISTINCT kind FROM tally_pending WHERE op IN (0, 1)")
    var found = Set<KindNumber>()
    while try query.step() {
      let kind: KindNumber = query.number(0)
      guard let name = catalog.table(of: kind), names.contains(name) else { continue }
      let mayHaveLost =
        switch origin {
        case .outside: true
        case .app: try hasLost(name, kind, isLink: catalog.links[kind] != nil)
        case .trigger: try somethingReplaces()
        }
      if mayHaveLost { found.insert(kind) }
    }
    return found
  }

  /// Whether fewer rows that no note is about are there than before the app's statements. Yes for an index that is as
  /// new as they are. No for a table without triggers, which the app has just rebuilt: the next transaction looks at
  /// all of it.
  private func hasLost(_ name: String, _ kind: KindNumber, isLink: Bool) throws -> Bool {
    guard let before = counts[name] else { return true }
    let isWatched = "SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name = 'tally_\(name)_insert'"
    let notes = "FROM tally_pending WHERE kind = \(kind) AND op < 4"
    let hasKey =
      isLink
      ? """
      source = substr(note.key, 1, instr(note.key, char(10)) - 1)
        AND target = substr(note.key, instr(note.key, char(10)) + 1)
      """ : "id = note.key"
    // Those that were there before they were first noted, and those that are there now.
    return try connection.integer(
      text: """
        SELECT \(before) - (SELECT count(*) FROM tally_pending
          WHERE clock IS NOT NULL AND n IN (SELECT min(n) \(notes) GROUP BY key))
        <> (SELECT count(*) FROM main."\(name)") - (SELECT count(*) FROM (SELECT DISTINCT key \(notes)) AS note
          WHERE EXISTS(SELECT 1 FROM main."\(name)" WHERE \(hasKey)))
        WHERE EXISTS(\(isWatched))
        """) == 1
  }

  /// Whether a trigger, which alone writes while the store does, can say REPLACE, or a table does for it.
  private func somethingReplaces() throws -> Bool {
    try connection.exists(
      """
      SELECT 1 FROM (SELECT type, name, sql FROM main.sqlite_master UNION ALL SELECT type, name, sql FROM sqlite_temp_master)
      WHERE type IN ('table', 'trigger') AND name NOT GLOB 'tally_*' AND instr(lower(sql), 'replace') LIMIT 1
      """)
  }
}
