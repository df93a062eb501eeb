import Foundation
import GRDB
import TallyStore
import TallyTesting

/// What is played between the steps of a history: any SQL that an app may write to these fields, and clocks that are
/// set back while records begin other lives.
///
/// Of SQL one law holds, whatever the statements: a row that is there before and after a transaction is raised to what
/// it has at the end, if that goes further than what it showed, and shows it again if not; a new row is an insert of
/// what it has, and a row that is gone is deleted.
extension ExtremumHistory {
  /// What a device shows of a record, or has at the end of a transaction.
  struct Shown {
    var values: [String: Int64?]
    var text: String
  }

  func rows(_ device: Int) throws -> [String: Shown] { try stores[device].read(rows) }

  private func rows(_ db: Database) throws -> [String: Shown] {
    var rows: [String: Shown] = [:]
    for key in Self.keys {
      let row = try Row.fetchOne(
        db, sql: "SELECT best, least, t FROM Tile WHERE id = ?", arguments: [name(key).text])
      if let row { rows[key] = Shown(values: ["best": row["best"], "least": row["least"]], text: row["t"]) }
    }
    return rows
  }

  func another() throws {
    clock.value += 1000
    let device = others.below(Self.devices)
    let (one, two) = (others.pick(Self.keys), others.pick(Self.keys))
    switch others.below(12) {
    case 0..<6: try play(device, try statements(one, two))
    case 6: try beginAgain(device, one)
    case 7: setClock(device)
    case 8: try changeTable(device, one)
    case 9: try setBetweenRaises(device, one)
    case 10: try attach(device, one)
    default: try settings(device)
    }
    try check(device)
  }

  private func id(_ key: String) throws -> String { "'\(try name(key).text)'" }

  private func statements(_ one: String, _ two: String) throws -> [String] {
    let (a, b) = (try id(one), try id(two))
    let number = others.below(60) - 20
    switch others.below(13) {
    case 0:
      return [
        "INSERT INTO Tile(id, best) VALUES(\(a), \(number)) ON CONFLICT(id) DO UPDATE SET best = excluded.best, "
          + "least = excluded.best"
      ]
    case 1: return ["INSERT OR REPLACE INTO Tile(id, best, t) VALUES(\(a), \(number), 'r')"]
    case 2: return ["REPLACE INTO Tile(id, least) SELECT id, best FROM Tile WHERE id IN (\(a), \(b))"]
    case 3: return ["UPDATE Tile SET best = o.best + 1 FROM Tile AS o WHERE o.id = \(a) AND Tile.id = \(b)"]
    case 4: return ["UPDATE Tile SET best = CASE id WHEN \(a) THEN \(number) ELSE best + 1 END, least = best"]
    case 5: return ["UPDATE Tile SET id = \(b) WHERE id = \(a)"]
    case 6: return ["UPDATE OR REPLACE Tile SET id = \(b) WHERE id = \(a)"]
    case 7: return ["DELETE FROM Tile WHERE id = \(a)", "INSERT INTO Tile(id, best) VALUES(\(a), \(number))"]
    case 8:
      return [
        "SAVEPOINT app", "UPDATE Tile SET best = 99, least = -99 WHERE id = \(a)", "ROLLBACK TO app", "RELEASE app",
        "UPDATE Tile SET least = \(number) WHERE id = \(a)",
      ]
    case 9:
      // There and back: what a row has at the end counts.
      return [
        "UPDATE Tile SET best = 98, least = NULL WHERE id = \(a)",
        "UPDATE Tile SET best = \(number) WHERE id = \(a)",
      ]
    case 10:
      let value = others.pick(["'many'", "1.5", "NULL", "x'07'", "9223372036854775807 + 1", "'27'", "31.0"])
      return [
        "UPDATE Tile SET t = 'not', best = \(value) WHERE id = \(a)", "UPDATE Tile SET least = -3 WHERE id = \(b)",
      ]
    case 11:
      return ["INSERT INTO Tile(id) VALUES(\(a)), (\(b))", "INSERT OR IGNORE INTO Tile(id, least) VALUES(\(a), 3)"]
    default: return OtherSteps.exchange(a, b, in: "Tile")
    }
  }

  /// One transaction, in which an app ignores statements that SQLite refuses.
  func play(_ device: Int, _ statements: [String]) throws {
    let before = try rows(device)
    var beginnings: [String: [String: Int64?]] = [:]
    for key in before.keys {
      for field in Self.fields { beginnings[key, default: [:]][field] = .some(try beginning(device, key, field)) }
    }
    var (after, refused): ([String: Shown], [Int]) = ([:], [])
    try stores[device].write { db in
      refused = try OtherSteps.run(statements, in: db)
      after = try rows(db)
    }
    log.append("\(device): \(OtherSteps.text(statements, refused: refused))")
    for key in Self.keys {
      switch (before[key], after[key]) {
      case (nil, nil): break
      case (_?, nil): note(device, key, "", .delete)
      case (nil, let new?): noteInsert(device, key, new.values, t: new.text)
      case (let old?, let new?):
        for field in Self.fields {
          let (value, former) = (new.values[field] ?? nil, old.values[field] ?? nil)
          guard ExtremumSpecification.goesFurther(value, than: former, field) else { continue }
          note(device, key, field, .raise, value, beginning: beginnings[key]?[field] ?? nil)
        }
        if new.text != old.text { note(device, key, "t", .edit, new.text == "plain" ? nil : 1) }
      }
    }
  }

  // MARK: Lives and clocks

  private func setClock(_ device: Int) {
    guard !purges else { return }
    skews[device].value = Int64(others.below(9)) * 5_000 - 30_000
    log.append("\(device)'s clock is \(skews[device].value) ms ahead")
  }

  /// A record goes and comes back, by a clock that has been set back meanwhile; then its new life is written to.
  private func beginAgain(_ device: Int, _ key: String) throws {
    if specification.isVisible(device, key) { try delete(device, key) }
    if others.chance(60) { setClock(device) }
    if others.chance(50) { try restore(device, key) }
    if !specification.isVisible(device, key) {
      let least = others.pick(["NULL", "4", "-8"])
      try play(device, ["INSERT INTO Tile(id, best, least) VALUES(\(try id(key)), \(others.below(20)), \(least))"])
    }
    try check(device)
    if others.chance(50) { try set(device, key, others.pick(Self.fields), Int64(others.below(30)) - 10) }
    try play(device, ["UPDATE Tile SET best = best + 1, least = least - 1 WHERE id = \(try id(key))"])
  }

  private func set(_ device: Int, _ key: String, _ field: String, _ value: Int64) throws {
    let id = try name(key)
    guard specification.isVisible(device, key) else { return }
    log.append("\(device) sets \(key).\(field) to \(value)")
    try stores[device].write { [schema] in try schema.set($0, id, field, to: .integer(value)) }
    note(device, key, field, .set, value)
  }

  /// One transaction that raises, sets and raises again.
  private func setBetweenRaises(_ device: Int, _ key: String) throws {
    guard !purges, let before = try rows(device)[key]?.values["best"] ?? nil else { return }
    let numbers = (0..<3).map { _ in Int64(others.below(60)) - 20 }
    log.append("\(device) writes \(numbers) to \(key).best, the second as a set")
    let id = try name(key)
    try stores[device].write { [schema] db in
      for (place, number) in numbers.enumerated() {
        if place == 1 {
          try schema.set(db, id, "best", to: .integer(number))
        } else {
          try db.execute(sql: "UPDATE Tile SET best = ? WHERE id = ?", arguments: [number, id.text])
        }
      }
    }
    if numbers[0] > before { note(device, key, "best", .raise, numbers[0]) }
    note(device, key, "best", .set, numbers[1])
    if numbers[2] > numbers[1] { note(device, key, "best", .raise, numbers[2]) }
  }

  // MARK: The file

  /// A column of the app's own comes, is renamed and goes, with raises in the same transactions.
  private func changeTable(_ device: Int, _ key: String) throws {
    let raise = "UPDATE Tile SET best = best + 1 WHERE id = \(try id(key))"
    try play(device, ["ALTER TABLE Tile ADD COLUMN own TEXT", "UPDATE Tile SET own = 'a', best = best - 1"])
    try play(device, [raise, "ALTER TABLE Tile RENAME COLUMN own TO mine"])
    try play(device, ["UPDATE Tile SET mine = NULL, least = least - 1"])
    try play(device, ["ALTER TABLE Tile DROP COLUMN mine"])
    try play(device, [raise])
  }

  /// Numbers that come from another database.
  private func attach(_ device: Int, _ key: String) throws {
    let (store, id) = (stores[device], try id(key))
    try store.writeWithoutTransaction { try $0.execute(sql: "ATTACH ':memory:' AS side") }
    try play(
      device,
      [
        "CREATE TABLE side.Tile AS SELECT id, best, least FROM main.Tile",
        "UPDATE side.Tile SET best = best + 5, least = NULL",
        "UPDATE main.Tile SET best = s.best, least = s.least FROM side.Tile AS s "
          + "WHERE s.id = main.Tile.id AND main.Tile.id = \(id)",
      ])
    try store.writeWithoutTransaction { try $0.execute(sql: "DETACH side") }
  }

  private func settings(_ device: Int) throws {
    let trigger = """
      AFTER UPDATE OF t ON Tile WHEN NOT tally_applying()
      BEGIN UPDATE Tile SET best = best + 1 WHERE id = NEW.id; END
      """
    switch try others.changeSetting(of: stores[device], trigger: trigger) {
    case .changed(let setting): log.append("\(device) \(setting)")
    case .trigger(let sql): try play(device, [sql])
    }
  }
}
