import TallyCRDT

/// The triggers that note in `tally_pending` what other connections write to the app's tables: the row as it was
/// before.
///
/// They are BEFORE triggers, so that the first note of a row holds what stood there before anything was written, by
/// triggers of the app's as well, and so that none of those can end the statement first. The store's own writes are
/// known by the clock that it has announced (`tally_zone.own`), or the whole transaction stands aside
/// (`tally_zone.hooked`) because the hook of the store's connection notes what happens. A row that REPLACE removes
/// fires no delete trigger unless the connection asks for it (https://www.sqlite.org/lang_conflict.html), so what may
/// be replaced is noted before: the row of the same name, and rows equal in a unique index of the app's.
struct CaptureTriggers {
  private let connection: Connection
  /// By name, as SQLite keeps them in its schema table.
  private let wanted: [String: Trigger]
  private let tables: [String]

  private struct Trigger {
    var table: String
    var name: String
    /// Everything after the name.
    var rest: String

    /// As SQLite keeps it.
    var sql: String { "CREATE TRIGGER \"\(name)\" \(rest)" }
    /// A temporary table of the app's may have the same name as a replicated one.
    var creation: String { "CREATE TRIGGER main.\"\(name)\" \(rest)" }
  }

  init(_ connection: Connection, _ catalog: Catalog, _ objects: AppObjects) {
    self.connection = connection
    var wanted: [String: Trigger] = [:]
    func add(_ table: String, _ name: String, _ rest: String) {
      let name = "tally_\(table)_\(name)"
      wanted[name] = Trigger(table: table, name: name, rest: rest)
    }
    for kind in catalog.orderedKinds {
      for (name, rest) in Self.triggers(kind, UniqueRows(kind.type, objects)) {
        add(kind.type, name, rest)
      }
    }
    for link in catalog.knownLinks {
      for (name, rest) in Self.triggers(link, UniqueRows(link.table, objects)) {
        add(link.table, name, rest)
      }
    }
    self.wanted = wanted
    tables = catalog.ownTables
  }

  /// Makes the triggers again unless they are in the file as they should be.
  /// - Returns: the tables that lacked some, so that writes to them can have gone unnoticed, and those whose triggers
  ///   were made for an index that they cannot follow.
  func install() throws -> (unwatched: Set<String>, opaque: Set<String>) {
    let found = try found()
    guard found != wanted.mapValues(\.sql) else { return ([], []) }
    for name in found.keys.sorted() where found[name] != wanted[name]?.sql {
      try connection.execute("DROP TRIGGER main.\"\(name)\"")
    }
    for trigger in wanted.values.sorted(by: { $0.name < $1.name }) where found[trigger.name] != trigger.sql {
      try connection.execute(trigger.creation)
    }
    let opaque = tables.filter { found["tally_\($0)_update"]?.contains(Self.isNewest) == true }
    return (try unwatched(found), Set(opaque))
  }

  /// The tables that lack triggers, so that writes to them may go unnoticed.
  func unwatched() throws -> Set<String> { try unwatched(found()) }

  private func unwatched(_ found: [String: String]) throws -> Set<String> {
    let unwatched = Set(wanted.values.filter { found[$0.name] == nil }.map(\.table))
    // A new table has none yet, which is no loss.
    return try unwatched.isEmpty || hasRows() ? unwatched : []
  }

  /// The triggers that are in the file, by name.
  private func found() throws -> [String: String] {
    var found: [String: String] = [:]
    let query = try SQLStatement(
      connection,
      "SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger' AND name GLOB 'tally_*'")
    while try query.step() { found[query.text(0) ?? ""] = query.text(1) ?? "" }
    query.reset()
    return found
  }

  private func hasRows() throws -> Bool {
    if try connection.exists("SELECT 1 FROM tally_vector LIMIT 1") || !LogTail.load(connection).isEmpty { return true }
    // Nothing of the store's: what is there was written by others.
    return try tables.contains { try connection.integer(text: "SELECT 1 FROM main.\"\($0)\" LIMIT 1") != nil }
  }

  /// Drops them all, for a change of the tables.
  static func remove(_ connection: Connection) throws {
    let query = try SQLStatement(
      connection,
      "SELECT name FROM main.sqlite_master WHERE type = 'trigger' AND name GLOB 'tally_*'")
    var names: [String] = []
    while try query.step() { if let name = query.text(0) { names.append(name) } }
    query.reset()
    for name in names { try connection.execute("DROP TRIGGER main.\"\(name)\"") }
  }

  // MARK: SQL

  // SQLite parses all of it for each connection that is opened, so what several would ask is asked once.

  /// Whether nothing on this connection notes what happens by other means, and a condition holds in which `own` is the
  /// clock that the store is writing in this very moment; null at any other time.
  private static func isUnhooked(_ condition: String) -> String {
    "(SELECT hooked = 0 AND \(condition) FROM tally_zone WHERE n = 0)"
  }

  /// Before REPLACE puts the default in its place, a clock may be null.
  private static let isInsertedByApp = isUnhooked("(own IS NULL OR NEW.tally_clock IS NOT own)")
  /// A nested write by an app-defined trigger leaves the clock as the store has just written it.
  private static let isUpdatedByApp = isUnhooked(
    "(own IS NULL OR NEW.tally_clock IS OLD.tally_clock OR NEW.tally_clock IS NOT own)")

  /// The clock alone does not tell, since any program can write it: the store announces its deletes as well.
  private static let isDeletedByApp = isUnhooked(
    "(OLD.tally_clock IS NOT own OR own IS NOT \(InlineClock.leavingSQL))")

  /// Whether the newest note is of something other than an insert into or update of this table. Looks at one note only,
  /// so that a bulk update stays linear.
  private static func isFirst(_ kind: KindNumber) -> String {
    "(SELECT kind = \(kind) AND op < 2 \(isNewest)) IS NOT 1"
  }
  private static let isNewest = "FROM tally_pending ORDER BY n DESC LIMIT 1"

  /// Whether an UPDATE changes the clock. It is noted, so that the capture writes the right clock.
  private static let clockDiffers = "OLD.tally_clock IS NOT NEW.tally_clock"

  /// As a tree: SQLite limits the depth of an expression, and a table can have a thousand columns.
  private static func any(of terms: [String]) -> String {
    guard terms.count > 2 else { return terms.joined(separator: " OR ") }
    let middle = terms.count / 2
    return "(\(any(of: Array(terms[..<middle])))) OR (\(any(of: Array(terms[middle...]))))"
  }

  private static func sum(of terms: [String]) -> String {
    guard terms.count > 2 else { return terms.joined(separator: " | ") }
    let middle = terms.count / 2
    return "(\(sum(of: Array(terms[..<middle])))) | (\(sum(of: Array(terms[middle...]))))"
  }

  /// SQL conditions from the app's unique indexes on columns. Rows that REPLACE removes through any other unique index
  /// are looked for when writes are captured: see `OpaqueTables`.
  private struct UniqueRows {
    /// For each index the condition that a row is equal to `NEW` in it.
    var conditions: [String]
    /// The conditions that a column of an index changes.
    var changes: [String]
    /// Whether the table has other unique indexes. Then any insert or update can remove rows, and must leave a note.
    var isOpaque: Bool

    init(_ table: String, _ objects: AppObjects) {
      func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
      let found = objects.tables[table] ?? AppObjects.Table()
      isOpaque = found.traits.contains(.opaqueUniqueIndex)
      let indexes = found.wholeIndexes.filter(AppObjects.hasBuiltInCollations)
      conditions = indexes.map { index in
        index.map { column, collation in
          // REPLACE puts its default into a column that may not be null, after the trigger.
          let new = found.defaults[column].map { "coalesce(NEW.\(quoted(column)), \($0))" }
          return "\(quoted(column)) = \(new ?? "NEW.\(quoted(column))") COLLATE \(quoted(collation))"
        }
        .joined(separator: " AND ")
      }
      changes = Set(indexes.flatMap { $0.map(\.column) }).sorted().map {
        "OLD.\(quoted($0)) IS NOT NEW.\(quoted($0)) COLLATE BINARY"
      }
    }
  }

  private static let isRenamed = "OLD.id IS NOT NEW.id"
  /// Whether an UPDATE changes the `rowid`, which can make it replace the row that has that number.
  private static let moves = "NEW.rowid IS NOT OLD.rowid"

  private static func triggers(
    _ kind: RecordKind, _ unique: UniqueRows
  ) -> [(String, String)] {
    let (table, number) = ("\"\(kind.type)\"", kind.number)
    let slots = kind.columns.indices.map { ", c\($0)" }.joined()
    func values(_ row: String) -> String { kind.columns.map { ", \(row)\"\($0.name)\"" }.joined() }
    func note(_ operation: Int, _ row: String, _ source: String) -> String {
      "INSERT INTO tally_pending(kind, op, key, clock, number\(slots)) "
        + "SELECT \(number), \(operation), \(row)id, \(row)tally_clock, \(row)rowid\(values(row))\(source);"
    }
    // By bytes: a table that the app has rebuilt may have columns with another collation.
    let changes = kind.columns.map { "OLD.\"\($0.name)\" IS NOT NEW.\"\($0.name)\" COLLATE BINARY" }
    let others = any(of: ["id = NEW.id", "rowid = NEW.rowid"] + unique.conditions)
    let mayReplace = any(of: [moves, isRenamed] + unique.changes)
    let edit: String
    if kind.columns.count <= PendingTable.mostMarked, !kind.columns.isEmpty {
      // Which columns changed, one bit each: only they are noted, and all of a record whose name goes.
      // SQLite gives << the precedence of |.
      let bits = changes.enumerated().map { "((\($0.element)) << \($0.offset))" }
      let noted = kind.columns.enumerated().map {
        ", CASE WHEN changes & \(1 << $0.offset) THEN OLD.\"\($0.element.name)\" END"
      }
      let differs = any(of: ["changes", clockDiffers] + (unique.isOpaque ? [isFirst(number)] : []))
      edit = """
        INSERT INTO tally_pending(kind, op, key, clock, number, changed\(slots))
            SELECT \(number), 1, OLD.id, OLD.tally_clock, OLD.rowid, changes\(noted.joined())
            FROM (SELECT \(sum(of: ["(\(isRenamed)) * \((1 << kind.columns.count) - 1)"] + bits)) AS changes)
            WHERE \(differs);
        """
    } else {
      let differs = any(
        of: [isRenamed] + changes + [clockDiffers] + (unique.isOpaque ? [isFirst(number)] : []))
      edit = note(1, "OLD.", " WHERE \(differs)")
    }
    return [
      (
        "insert",
        """
        BEFORE INSERT ON \(table) WHEN \(isInsertedByApp) BEGIN
          \(note(3, "", " FROM \(table) WHERE \(others)"))
          INSERT INTO tally_pending(kind, op, key) SELECT \(number), 0, NEW.id WHERE NEW.id IS NOT NULL;
        END
        """
      ),
      (
        "update",
        """
        BEFORE UPDATE ON \(table) WHEN \(isUpdatedByApp) BEGIN
          \(note(3, "", " FROM \(table) WHERE (\(mayReplace)) AND rowid <> OLD.rowid AND (\(others))"))
          \(edit)
          INSERT INTO tally_pending(kind, op, key, number)
            SELECT \(number), 0, NEW.id, NEW.rowid WHERE \(isRenamed) AND NEW.id IS NOT NULL;
        END
        """
      ),
      (
        "delete",
        """
        BEFORE DELETE ON \(table) WHEN \(isDeletedByApp) BEGIN
          \(note(2, "OLD.", ""))
        END
        """
      ),
    ]
  }

  private static func triggers(
    _ link: LinkKind, _ unique: UniqueRows
  ) -> [(String, String)] {
    let (table, number) = ("\"\(link.table)\"", link.number)
    let differs = any(
      of: ["OLD.source IS NOT NEW.source", "OLD.target IS NOT NEW.target", clockDiffers, moves] + unique.changes
        + (link.isOrdered ? ["OLD.position IS NOT NEW.position"] : []) + (unique.isOpaque ? [isFirst(number)] : []))
    func key(_ row: String) -> String { "\(row)source || char(10) || \(row)target" }
    func note(_ operation: Int, _ row: String, _ source: String) -> String {
      let (slot, position) = link.isOrdered ? (", c0", ", \(row)position") : ("", "")
      return "INSERT INTO tally_pending(kind, op, key, clock, number\(slot)) "
        + "SELECT \(number), \(operation), \(key(row)), \(row)tally_clock, \(row)rowid\(position)\(source);"
    }
    let others = any(
      of: ["source = NEW.source AND target = NEW.target", "rowid = NEW.rowid"] + unique.conditions)
    return [
      (
        "insert",
        """
        BEFORE INSERT ON \(table) WHEN \(isInsertedByApp) BEGIN
          \(note(3, "", " FROM \(table) WHERE \(others)"))
          INSERT INTO tally_pending(kind, op, key)
            SELECT \(number), 0, \(key("NEW.")) WHERE \(key("NEW.")) IS NOT NULL;
        END
        """
      ),
      (
        "update",
        """
        BEFORE UPDATE ON \(table)
          WHEN \(isUpdatedByApp) AND (\(differs)) BEGIN
          \(note(3, "", " FROM \(table) WHERE rowid <> OLD.rowid AND (\(others))"))
          \(note(1, "OLD.", ""))
          INSERT INTO tally_pending(kind, op, key)
            SELECT \(number), 0, \(key("NEW.")) WHERE \(key("NEW.")) IS NOT NULL;
        END
        """
      ),
      (
        "delete",
        """
        BEFORE DELETE ON \(table) WHEN \(isDeletedByApp) BEGIN
          \(note(2, "OLD.", ""))
        END
        """
      ),
    ]
  }
}
