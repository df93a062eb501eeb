import TallyCRDT

/// The triggers that note in `tally_pending` what any connection writes to the app's tables: the row as it was before.
///
/// The app's writes leave `tally_clock` alone, the store's own change it: that tells them apart, row by row. A row that REPLACE
/// removes fires no delete trigger unless the connection asks for it (https://www.sqlite.org/lang_conflict.html), so what may be
/// replaced is noted before: the row of the same name, and rows equal in a unique index of the app's.
extension Engine {
  /// Makes the triggers again if they are an older version's, or if the app has added or dropped a unique index.
  func followIndexes() throws {
    let version = try connection.integer("PRAGMA schema_version")
    guard version != schemaVersion else { return }
    let query = try connection.statement("SELECT value FROM tally_meta WHERE key = 'triggers'")
    let known = try query.step() ? query.text(0) : nil
    query.reset()
    if try known != signature(appIndexes()), !catalog.schema.entities.isEmpty { try createTriggers() }
    schemaVersion = try connection.integer("PRAGMA schema_version")
  }

  func dropTriggers() throws {
    let query = try connection.statement(
      "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'tally\\_%' ESCAPE '\\'")
    var names: [String] = []
    while try query.step() { if let name = query.text(0) { names.append(name) } }
    for name in names { try connection.execute("DROP TRIGGER \"\(name)\"") }
  }

  func createTriggers() throws {
    try dropTriggers()
    let indexes = try appIndexes()
    for kind in catalog.orderedKinds { try connection.execute(Self.triggers(kind, indexes[kind.type] ?? [])) }
    for link in catalog.knownLinks { try connection.execute(Self.triggers(link)) }
    let note = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('triggers', ?)")
    note.bind(1, signature(indexes))
    try note.run()
  }

  // MARK: The app's indexes

  /// The columns of a unique index that the app added, each with its collation.
  private typealias UniqueIndex = [(column: String, collation: String)]

  private func appIndexes() throws -> [String: [UniqueIndex]] {
    var result: [String: [UniqueIndex]] = [:]
    for kind in catalog.orderedKinds {
      let list = try SQLStatement(
        connection.handle,
        "SELECT name FROM pragma_index_list('\(kind.type)') WHERE \"unique\" AND origin <> 'pk' ORDER BY name")
      while try list.step() {
        guard let name = list.text(0) else { continue }
        if let index = try columns(ofIndex: name) { result[kind.type, default: []].append(index) }
      }
    }
    return result
  }

  private func columns(ofIndex name: String) throws -> UniqueIndex? {
    let query = try SQLStatement(
      connection.handle, "SELECT cid, name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno")
    query.bind(1, name)
    var index: UniqueIndex = []
    while try query.step() {
      guard query.int(0) >= 0, let column = query.text(1), let collation = query.text(2) else {
        environment.logger.warning(
          "what REPLACE removes through an index on an expression is not captured", metadata: ["index": "\(name)"])
        return nil
      }
      index.append((column, collation))
    }
    return index
  }

  private func signature(_ indexes: [String: [UniqueIndex]]) -> String {
    let parts = indexes.sorted { $0.key < $1.key }.map { type, indexes in
      let columns = indexes.map { $0.map { "\($0.column) \($0.collation)" }.joined(separator: ",") }
      return "\(type)(\(columns.joined(separator: ";")))"
    }
    return ([String(Format.triggers)] + parts).joined(separator: " ")
  }

  // MARK: SQL

  private static func triggers(_ kind: RecordKind, _ indexes: [UniqueIndex]) -> String {
    let (table, number) = (kind.type, kind.number)
    let slots = kind.columns.indices.map { ", c\($0)" }.joined()
    func values(_ row: String) -> String { kind.columns.map { ", \(row)\"\($0.name)\"" }.joined() }
    let differs = (["OLD.id IS NOT NEW.id"] + kind.columns.map { "OLD.\"\($0.name)\" IS NOT NEW.\"\($0.name)\"" })
      .joined(separator: " OR ")
    let equal = indexes.map { index in
      " OR "
        + index.map { "\"\($0.column)\" = NEW.\"\($0.column)\" COLLATE \"\($0.collation)\"" }.joined(separator: " AND ")
    }.joined()
    let unique = Set(["id"] + indexes.flatMap { $0.map(\.column) }).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
    return """
      CREATE TRIGGER "tally_\(table)_replace" BEFORE INSERT ON "\(table)"
        WHEN NEW.tally_clock = \(InlineClock.unstampedSQL) BEGIN
        INSERT INTO tally_pending(kind, op, key, clock\(slots))
          SELECT \(number), 3, id, tally_clock\(values("")) FROM "\(table)" WHERE id = NEW.id\(equal);
      END;
      CREATE TRIGGER "tally_\(table)_insert" AFTER INSERT ON "\(table)"
        WHEN NEW.tally_clock = \(InlineClock.unstampedSQL) BEGIN
        INSERT INTO tally_pending(kind, op, key, number) VALUES(\(number), 0, NEW.id, NEW.rowid);
      END;
      CREATE TRIGGER "tally_\(table)_move" BEFORE UPDATE OF \(unique) ON "\(table)"
        WHEN NEW.tally_clock IS OLD.tally_clock BEGIN
        INSERT INTO tally_pending(kind, op, key, clock\(slots))
          SELECT \(number), 3, id, tally_clock\(values("")) FROM "\(table)"
          WHERE rowid <> OLD.rowid AND (id = NEW.id\(equal));
      END;
      CREATE TRIGGER "tally_\(table)_update" AFTER UPDATE ON "\(table)"
        WHEN NEW.tally_clock IS OLD.tally_clock AND (\(differs)) BEGIN
        INSERT INTO tally_pending(kind, op, key, clock, number\(slots))
          VALUES(\(number), 1, OLD.id, OLD.tally_clock, OLD.rowid\(values("OLD.")));
      END;
      CREATE TRIGGER "tally_\(table)_rename" AFTER UPDATE OF id ON "\(table)"
        WHEN NEW.tally_clock IS OLD.tally_clock AND NEW.id IS NOT OLD.id BEGIN
        INSERT INTO tally_pending(kind, op, key, number) VALUES(\(number), 0, NEW.id, NEW.rowid);
      END;
      CREATE TRIGGER "tally_\(table)_delete" AFTER DELETE ON "\(table)"
        WHEN OLD.tally_clock IS NOT \(InlineClock.leavingSQL) BEGIN
        INSERT INTO tally_pending(kind, op, key, clock\(slots))
          VALUES(\(number), 2, OLD.id, OLD.tally_clock\(values("OLD.")));
      END;
      """
  }

  private static func triggers(_ link: LinkKind) -> String {
    let (table, number) = (link.table, link.number)
    func key(_ row: String) -> String { "\(row)source || char(10) || \(row)target" }
    return """
      CREATE TRIGGER "tally_\(table)_replace" BEFORE INSERT ON "\(table)"
        WHEN NEW.tally_clock = \(InlineClock.unstampedSQL) BEGIN
        INSERT INTO tally_pending(kind, op, key, clock)
          SELECT \(number), 3, \(key("")), tally_clock FROM "\(table)"
          WHERE source = NEW.source AND target = NEW.target;
      END;
      CREATE TRIGGER "tally_\(table)_insert" AFTER INSERT ON "\(table)"
        WHEN NEW.tally_clock = \(InlineClock.unstampedSQL) BEGIN
        INSERT INTO tally_pending(kind, op, key, number) VALUES(\(number), 0, \(key("NEW.")), NEW.rowid);
      END;
      CREATE TRIGGER "tally_\(table)_move" BEFORE UPDATE OF source, target ON "\(table)"
        WHEN NEW.tally_clock IS OLD.tally_clock BEGIN
        INSERT INTO tally_pending(kind, op, key, clock)
          SELECT \(number), 3, \(key("")), tally_clock FROM "\(table)"
          WHERE source = NEW.source AND target = NEW.target AND rowid <> OLD.rowid;
      END;
      CREATE TRIGGER "tally_\(table)_update" AFTER UPDATE ON "\(table)"
        WHEN NEW.tally_clock IS OLD.tally_clock
          AND (OLD.source IS NOT NEW.source OR OLD.target IS NOT NEW.target) BEGIN
        INSERT INTO tally_pending(kind, op, key, clock) VALUES(\(number), 1, \(key("OLD.")), OLD.tally_clock);
        INSERT INTO tally_pending(kind, op, key) VALUES(\(number), 0, \(key("NEW.")));
      END;
      CREATE TRIGGER "tally_\(table)_delete" AFTER DELETE ON "\(table)"
        WHEN OLD.tally_clock IS NOT \(InlineClock.leavingSQL) BEGIN
        INSERT INTO tally_pending(kind, op, key, clock) VALUES(\(number), 2, \(key("OLD.")), OLD.tally_clock);
      END;
      """
  }
}
