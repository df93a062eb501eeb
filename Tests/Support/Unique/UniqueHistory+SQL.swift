import Foundation
import GRDB
import TallyCRDT
import TallyStore
import TallyTesting

/// What is played between the steps of a history: any SQL that an app may write, and clocks that are set back while
/// records begin other lives.
///
/// Of SQL one law holds beside those of the steps: a row shows what it had at the end of its transaction. Only of a
/// value that other records want, a rule decides.
extension UniqueHistory {
  func another() throws {
    time.value += 1000
    let device = others.below(Self.devices)
    switch others.below(12) {
    case 0..<6: try play(device, try statements())
    case 6: try beginAgain(device)
    case 7: setClock(device)
    case 8: try changeTable(device)
    case 9: try attach(device)
    case 10: try exchangeAtOnce(device)
    default: try settings(device)
    }
    try check(device)
  }

  /// A name: one of few, one that differs from it in a way that bytes know of, or one as renamed records show.
  private func someName() -> String {
    let name = others.pick(Self.names)
    return switch others.below(8) {
    case 0: "'\(name.lowercased())'"
    case 1: "'\(name.uppercased())'"
    case 2: "'\(name) '"
    case 3: "''"
    case 4: "'\(name) ~' || lower(substr(hex('\(name)'), 1, 4))"
    case 5: others.chance(50) ? "'Caf\u{e9}'" : "'Cafe\u{301}'"
    default: "'\(name)'"
    }
  }

  private func statements() throws -> [String] {
    let (a, b) = ("'\(others.pick(Self.shops))'", "'\(others.pick(Self.shops))'")
    let (name, number) = (someName(), others.below(3))
    switch others.below(15) {
    case 0: return ["INSERT OR REPLACE INTO Shop(id, name, code) VALUES(\(a), \(name), \(number))"]
    case 1: return ["INSERT INTO Shop(id, name) VALUES(\(a), \(name)) ON CONFLICT DO UPDATE SET floor = \(number)"]
    case 2:
      return ["INSERT INTO Shop(id, name) VALUES(\(a), \(name)) ON CONFLICT(id) DO UPDATE SET name = excluded.name"]
    case 3: return ["UPDATE OR REPLACE Shop SET name = \(name), code = \(number) WHERE id = \(a)"]
    case 4: return ["UPDATE OR IGNORE Shop SET name = \(name), door = \(number)"]
    case 5: return ["UPDATE Shop SET code = o.floor, door = o.code FROM Shop AS o WHERE o.id = \(a) AND Shop.id = \(b)"]
    case 6: return ["UPDATE Shop SET id = \(b) WHERE id = \(a)"]
    case 7: return ["UPDATE OR REPLACE Shop SET id = \(b) WHERE id = \(a)"]
    case 8: return OtherSteps.exchange(a, b, in: "Shop")
    case 9: return ["DELETE FROM Shop WHERE id = \(a)", "INSERT INTO Shop(id, name) VALUES(\(a), \(name))"]
    case 10:
      return [
        "SAVEPOINT app", "UPDATE Shop SET name = NULL, code = NULL", "UPDATE Shop SET name = \(name) WHERE id = \(a)",
        "ROLLBACK TO app", "RELEASE app", "UPDATE Shop SET floor = \(number) WHERE id = \(a)",
      ]
    case 11:
      let value = others.pick([
        "code = 'many'", "code = 1.5", "name = x'576f726b'", "name = 7", "code = '2'", "code = 1.0",
      ])
      return ["UPDATE Shop SET \(value) WHERE id = \(a)", "UPDATE Shop SET door = \(number) WHERE id = \(b)"]
    case 12:
      // A name goes round by another one.
      return [
        "UPDATE Shop SET name = 'between' WHERE id = \(a)",
        "UPDATE OR IGNORE Shop SET name = \(name) WHERE id = \(b)",
        "UPDATE OR IGNORE Shop SET name = \(someName()) WHERE id = \(a)",
      ]
    case 13:
      return ["DELETE FROM Shop WHERE name = \(name)", "UPDATE OR IGNORE Shop SET name = \(name) WHERE id = \(a)"]
    default:
      return ["INSERT INTO Shop(id, name, floor, door) SELECT \(a), name, floor, door FROM Shop WHERE id = \(b)"]
    }
  }

  /// One transaction, in which an app ignores statements that SQLite refuses.
  private func play(_ device: Int, _ statements: [String]) throws {
    let store = devices[device].store
    let (vector, before, waiting) = (try store.vector, try rows(store), try contested(store))
    var (wanted, refused): ([String: [String: Value]], [Int]) = ([:], [])
    try store.write { db in
      refused = try OtherSteps.run(statements, in: db)
      wanted = try Self.rows(db)
    }
    log.append("\(device) \(OtherSteps.text(statements, refused: refused))")
    let after = try rows(store)
    guard refused.count < statements.count || after == before, try wanted != before || store.vector == vector else {
      throw UniqueFailure("a transaction that changed nothing has changed something")
    }
    guard !hasIndex else { return }
    let decided = waiting.union(try contested(store))
    for (name, fields) in wanted {
      // A record goes with its owner.
      guard let shown = after[name] else { continue }
      for (field, value) in fields where shown[field] != value && !decided.contains("\(name) \(field)") {
        throw UniqueFailure("\(name).\(field) was written as \(value), and is \(shown[field] ?? .null)")
      }
    }
    for name in after.keys where wanted[name] == nil { throw UniqueFailure("\(name) was gone, and is shown") }
  }

  /// The names and fields that rules decide.
  private func contested(_ store: Store) throws -> Set<String> {
    try store.read { Set(try String.fetchAll($0, sql: "SELECT name || ' ' || field FROM tally_unique")) }
  }

  private static func rows(_ db: Database) throws -> [String: [String: Value]] {
    var found: [String: [String: Value]] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT * FROM Shop") {
      var fields: [String: Value] = [:]
      for (column, value) in row where !["id", "tally_clock"].contains(column) { fields[column] = Value(value) }
      found[row["id"]] = fields
    }
    return found
  }

  /// One UPDATE gives two rows each other's names. SQLite looks at a unique index row by row, so where both have one it
  /// refuses, and nothing has changed.
  private func exchangeAtOnce(_ device: Int) throws {
    let (a, b) = (others.pick(Self.shops), others.pick(Self.shops))
    try write(
      device,
      """
      UPDATE Shop SET name = CASE id WHEN ?1 THEN (SELECT name FROM Shop WHERE id = ?2)
        ELSE (SELECT name FROM Shop WHERE id = ?1) END WHERE id IN (?1, ?2)
      """, [a.databaseValue, b.databaseValue])
  }

  // MARK: Lives and clocks

  private func setClock(_ device: Int) {
    devices[device].clock.value = Int64(others.below(9)) * 10_000 - 60_000
    log.append("\(device)'s clock is \(devices[device].clock.value) ms ahead")
  }

  /// A record goes, another one may get its name, and it comes back by a clock that has been set back meanwhile.
  private func beginAgain(_ device: Int) throws {
    let (a, b) = (others.pick(Self.shops), others.pick(Self.shops))
    let name = try devices[device].store.read {
      try String.fetchOne($0, sql: "SELECT name FROM Shop WHERE id = ?", arguments: [a])
    }
    try write(device, "DELETE FROM Shop WHERE id = ?", [a.databaseValue])
    if let name, others.chance(50) {
      try write(device, "UPDATE Shop SET name = ? WHERE id = ?", [name.databaseValue, b.databaseValue])
    }
    if others.chance(60) { setClock(device) }
    if others.chance(50) { try restore(device, a) }
    let inserted = others.chance(50) ? name : others.pick(Self.names)
    try write(device, "INSERT INTO Shop(id, name) VALUES(?, ?)", [a.databaseValue, inserted.databaseValue])
    try check(device)
    try write(
      device, "UPDATE Shop SET name = ?, code = 1 WHERE id = ?",
      [others.pick(Self.names).databaseValue, a.databaseValue])
  }

  // MARK: The file

  private func changeTable(_ device: Int) throws {
    try play(device, ["ALTER TABLE Shop ADD COLUMN own TEXT", "UPDATE Shop SET own = name"])
    try play(device, ["UPDATE OR IGNORE Shop SET name = \(someName())", "ALTER TABLE Shop RENAME COLUMN own TO mine"])
    try play(device, ["ALTER TABLE Shop DROP COLUMN mine"])
  }

  /// Names that come from another database.
  private func attach(_ device: Int) throws {
    let store = devices[device].store
    try store.writeWithoutTransaction { try $0.execute(sql: "ATTACH ':memory:' AS side") }
    try play(
      device,
      [
        "CREATE TABLE side.Shop AS SELECT id, name, note FROM main.Shop",
        "UPDATE side.Shop SET name = 'Work', note = 'side'",
        "UPDATE OR IGNORE main.Shop SET name = s.name FROM side.Shop AS s WHERE s.id = main.Shop.id",
      ])
    try store.writeWithoutTransaction { try $0.execute(sql: "DETACH side") }
  }

  private func settings(_ device: Int) throws {
    // A shop that is inserted without a name gets one by the trigger.
    let trigger = """
      AFTER INSERT ON Shop WHEN NEW.name IS NULL AND NOT tally_applying()
      BEGIN UPDATE OR IGNORE Shop SET name = 'Play' WHERE id = NEW.id; END
      """
    switch try others.changeSetting(of: devices[device].store, trigger: trigger) {
    case .changed(let setting): log.append("\(device) \(setting)")
    case .trigger(let sql): try play(device, [sql])
    }
  }
}
