import TallyCRDT

/// The triggers that note in `tally_pending` what other connections write to the app's tables: the row as it was
/// before.
///
/// They are BEFORE triggers, so that the first note of a row holds what stood there before anything was written,
/// whatever triggers of the app's write in between. The store's own writes are known by the clock that it has announced
/// (`tally_zone.own`), or the whole transaction stands aside (`tally_zone.hooked`) because the hook of the store's
/// connection notes what happens. A row that REPLACE removes fires no delete trigger unless the connection asks for it
/// (https://www.sqlite.org/lang_conflict.html), so what may be replaced is noted before: the row of the same name, and
/// rows equal in a unique index of the app's.
struct CaptureTriggers {
  private let connection: Connection
  /// By name, as SQLite keeps them in its schema table.
  private let wanted: [String: String]

  init(_ connection: Connection, _ catalog: Catalog, _ objects: AppObjects) {
    self.connection = connection
    var wanted: [String: String] = [:]
    func add(_ table: String, _ name: String, _ rest: String) {
      let name = "tally_\(table)_\(name)"
      wanted[name] = "CREATE TRIGGER \"\(name)\" \(rest)"
    }
    for kind in catalog.orderedKinds {
      for (name, rest) in Self.triggers(kind, objects.uniqueIndexes[kind.type] ?? []) {
        add(kind.type, name, rest)
      }
    }
    for link in catalog.knownLinks {
      for (name, rest) in Self.triggers(link, objects.uniqueIndexes[link.table] ?? []) {
        add(link.table, name, rest)
      }
    }
    self.wanted = wanted
  }

  /// The result of an installation.
  enum Outcome {
    case asTheyShouldBe
    /// Some had another form: from an older version, or for other indexes.
    case madeAnew
    /// Some were missing, so writes can have gone unnoticed.
    case wereMissing
  }

  /// Makes the triggers again unless they are in the file as they should be.
  func install() throws -> Outcome {
    var found: [String: String] = [:]
    let query = try SQLStatement(
      connection.handle,
      "SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger' AND name LIKE 'tally\\_%' ESCAPE '\\'")
    while try query.step() { found[query.text(0) ?? ""] = query.text(1) ?? "" }
    query.reset()
    guard found != wanted else { return .asTheyShouldBe }
    for name in found.keys.sorted() where found[name] != wanted[name] {
      try connection.execute("DROP TRIGGER main.\"\(name)\"")
    }
    for name in wanted.keys.sorted() where found[name] != wanted[name] { try connection.execute(wanted[name] ?? "") }
    let isComplete = wanted.keys.allSatisfy { found[$0] != nil }
    // A new table has none yet, which is no loss.
    return try isComplete || !hasRows() ? .madeAnew : .wereMissing
  }

  private func hasRows() throws -> Bool {
    try connection.exists("SELECT 1 FROM tally_vector LIMIT 1")
  }

  /// Drops them all, for a change of the tables.
  static func remove(_ connection: Connection) throws {
    let query = try SQLStatement(
      connection.handle,
      "SELECT name FROM main.sqlite_master WHERE type = 'trigger' AND name LIKE 'tally\\_%' ESCAPE '\\'")
    var names: [String] = []
    while try query.step() { if let name = query.text(0) { names.append(name) } }
    query.reset()
    for name in names { try connection.execute("DROP TRIGGER main.\"\(name)\"") }
  }

  // MARK: SQL

  /// Whether nobody on this connection notes what happens by other means.
  private static let isUnhooked = "(SELECT hooked FROM tally_zone WHERE n = 0) = 0"

  /// The clock that the store is writing in this very moment; null at any other time.
  private static let own = "(SELECT own FROM tally_zone WHERE n = 0)"
  private static let isInsertedByApp = "NEW.tally_clock IS NOT \(own) AND \(isUnhooked)"
  /// A nested write by an app-defined trigger leaves the clock as the store has just written it.
  private static let isUpdatedByApp =
    "(NEW.tally_clock IS OLD.tally_clock OR NEW.tally_clock IS NOT \(own)) AND \(isUnhooked)"

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

  private static func equal(_ indexes: [AppObjects.UniqueIndex]) -> [String] {
    indexes.map { index in
      index.map { "\"\($0.column)\" = NEW.\"\($0.column)\" COLLATE \"\($0.collation)\"" }.joined(separator: " AND ")
    }
  }

  private static func triggers(
    _ kind: RecordKind, _ indexes: [AppObjects.UniqueIndex]
  ) -> [(String, String)] {
    let (table, number) = ("\"\(kind.type)\"", kind.number)
    let slots = kind.columns.indices.map { ", c\($0)" }.joined()
    func values(_ row: String) -> String { kind.columns.map { ", \(row)\"\($0.name)\"" }.joined() }
    func note(_ operation: Int, _ row: String, _ source: String) -> String {
      "INSERT INTO tally_pending(kind, op, key, clock, number\(slots)) "
        + "SELECT \(number), \(operation), \(row)id, \(row)tally_clock, \(row)rowid\(values(row))\(source);"
    }
    let changes = kind.columns.map { "OLD.\"\($0.name)\" IS NOT NEW.\"\($0.name)\"" }
    let differs = any(of: ["OLD.id IS NOT NEW.id"] + changes)
    let others = any(of: ["id = NEW.id"] + equal(indexes))
    let unique = Set(["id"] + indexes.flatMap { $0.map(\.column) }).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
    // Which columns changed, one bit each: only they are noted.
    let isCompact = kind.columns.count <= 60 && !kind.columns.isEmpty
    let changed = isCompact ? sum(of: changes.enumerated().map { "((\($0.element)) << \($0.offset))" }) : "NULL"
    let noted = kind.columns.map {
      isCompact
        ? ", CASE WHEN OLD.\"\($0.name)\" IS NOT NEW.\"\($0.name)\" THEN OLD.\"\($0.name)\" END"
        : ", OLD.\"\($0.name)\""
    }.joined()
    return [
      (
        "replace",
        """
        BEFORE INSERT ON \(table) WHEN \(isInsertedByApp) BEGIN
          \(note(3, "", " FROM \(table) WHERE \(others)"))
        END
        """
      ),
      (
        "insert",
        """
        AFTER INSERT ON \(table) WHEN \(isInsertedByApp) BEGIN
          INSERT INTO tally_pending(kind, op, key, number) VALUES(\(number), 0, NEW.id, NEW.rowid);
        END
        """
      ),
      (
        "move",
        """
        BEFORE UPDATE OF \(unique) ON \(table) WHEN \(isUpdatedByApp) AND OLD.id IS NEW.id BEGIN
          \(note(3, "", " FROM \(table) WHERE rowid <> OLD.rowid AND (\(others))"))
        END
        """
      ),
      (
        "update",
        """
        BEFORE UPDATE ON \(table) WHEN \(isUpdatedByApp) AND OLD.id IS NEW.id AND (\(differs)) BEGIN
          INSERT INTO tally_pending(kind, op, key, clock, number, changed\(slots))
            VALUES(\(number), 1, OLD.id, OLD.tally_clock, OLD.rowid, \(changed)\(noted));
        END
        """
      ),
      (
        "rename",
        """
        BEFORE UPDATE OF id ON \(table) WHEN \(isUpdatedByApp) AND NEW.id IS NOT OLD.id BEGIN
          \(note(3, "", " FROM \(table) WHERE rowid <> OLD.rowid AND (\(others))"))
          \(note(1, "OLD.", ""))
          INSERT INTO tally_pending(kind, op, key, number) VALUES(\(number), 0, NEW.id, NEW.rowid);
        END
        """
      ),
      (
        "delete",
        """
        BEFORE DELETE ON \(table) WHEN OLD.tally_clock IS NOT \(InlineClock.leavingSQL) AND \(isUnhooked) BEGIN
          \(note(2, "OLD.", ""))
        END
        """
      ),
    ]
  }

  private static func triggers(
    _ link: LinkKind, _ indexes: [AppObjects.UniqueIndex]
  ) -> [(String, String)] {
    let (table, number) = ("\"\(link.table)\"", link.number)
    func key(_ row: String) -> String { "\(row)source || char(10) || \(row)target" }
    func note(_ operation: Int, _ row: String, _ source: String) -> String {
      "INSERT INTO tally_pending(kind, op, key, clock, number) "
        + "SELECT \(number), \(operation), \(key(row)), \(row)tally_clock, \(row)rowid\(source);"
    }
    let others = any(of: ["source = NEW.source AND target = NEW.target"] + equal(indexes))
    return [
      (
        "replace",
        """
        BEFORE INSERT ON \(table) WHEN \(isInsertedByApp) BEGIN
          \(note(3, "", " FROM \(table) WHERE \(others)"))
        END
        """
      ),
      (
        "insert",
        """
        AFTER INSERT ON \(table) WHEN \(isInsertedByApp) BEGIN
          INSERT INTO tally_pending(kind, op, key, number) VALUES(\(number), 0, \(key("NEW.")), NEW.rowid);
        END
        """
      ),
      (
        "update",
        """
        BEFORE UPDATE ON \(table)
          WHEN \(isUpdatedByApp) AND (OLD.source IS NOT NEW.source OR OLD.target IS NOT NEW.target) BEGIN
          \(note(3, "", " FROM \(table) WHERE rowid <> OLD.rowid AND (\(others))"))
          \(note(1, "OLD.", ""))
          INSERT INTO tally_pending(kind, op, key) VALUES(\(number), 0, \(key("NEW.")));
        END
        """
      ),
      (
        "delete",
        """
        BEFORE DELETE ON \(table) WHEN OLD.tally_clock IS NOT \(InlineClock.leavingSQL) AND \(isUnhooked) BEGIN
          \(note(2, "OLD.", ""))
        END
        """
      ),
    ]
  }
}
