/// Notices, where triggers capture what the store's own connection writes, that REPLACE has removed rows of which no
/// trigger has heard: through a unique index that is partial or on an expression, what is equal only SQLite knows.
///
/// It counts the rows before and after the app's statements. A difference that the notes do not explain is rows that
/// went unnoticed, and then the change log tells which. Cost: counts each such table twice in a transaction.
struct VanishedRows {
  private let session: WritingSession
  private let counts: [KindNumber: Int]

  /// - Returns: nil if there is nothing to count.
  init?(_ session: WritingSession) throws {
    guard !session.isHooked else { return nil }
    let kinds = session.opaqueKinds
    guard !kinds.isEmpty else { return nil }
    self.session = session
    var counts: [KindNumber: Int] = [:]
    for kind in kinds { counts[kind] = try Self.count(kind, session) }
    self.counts = counts
  }

  /// The kinds of which rows are gone that nobody has noted.
  func kindsThatLostRows() throws -> Set<KindNumber> {
    var kinds = Set<KindNumber>()
    for (kind, before) in counts {
      guard let (table, key) = Self.table(kind, session), try hasTriggers(table),
        let now = try Self.count(kind, session)
      else { continue }
      let notes = "FROM tally_pending WHERE kind = \(kind) AND op < 4"
      let known = try session.connection.integer(
        text: """
          SELECT count(*) FROM tally_pending WHERE clock IS NOT NULL AND n IN (SELECT min(n) \(notes) GROUP BY key)
          """)
      let present = try session.connection.integer(
        text: """
          SELECT count(*) FROM (SELECT DISTINCT key \(notes)) AS note
          WHERE EXISTS(SELECT 1 FROM main."\(table)" WHERE \(key))
          """)
      if before - (known ?? 0) != now - (present ?? 0) { kinds.insert(kind) }
    }
    return kinds
  }

  /// Whether the table has its capture triggers. One that the app has just rebuilt has none; the next transaction
  /// installs them, and then looks for missed writes.
  private func hasTriggers(_ table: String) throws -> Bool {
    let query = try SQLStatement(
      session.connection.handle, "SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name = ?")
    query.bind(1, "tally_\(table)_insert")
    return try query.step()
  }

  private static func count(_ kind: KindNumber, _ session: WritingSession) throws -> Int? {
    guard let (table, _) = table(kind, session) else { return nil }
    return try session.connection.integer(text: "SELECT count(*) FROM main.\"\(table)\"")
  }

  /// The table of a kind, and the condition that a row has the key of a note.
  private static func table(_ kind: KindNumber, _ session: WritingSession) -> (String, String)? {
    let catalog = session.reader.catalog
    if let record = catalog.records[kind] { return (record.type, "id = note.key") }
    return catalog.links[kind].map {
      (
        $0.table,
        """
        source = substr(note.key, 1, instr(note.key, char(10)) - 1)
          AND target = substr(note.key, instr(note.key, char(10)) + 1)
        """
      )
    }
  }
}
