import Foundation
import GRDB
import TallyStore
import TallyTesting

/// What is played between the steps of a history: any SQL that an app may write beside its counters, a second writer,
/// and clocks that are set back while records begin other lives.
///
/// Of SQL one law holds, whatever the statements: a row that is there before and after a transaction has got the
/// difference of its numbers, a new row is an insert of what it shows, and a row that is gone is deleted.
extension CounterHistory {
  func another() throws {
    clock.value += 1000
    let device = others.below(Self.devices)
    let (one, two) = (others.pick(Self.keys), others.pick(Self.keys))
    switch others.below(12) {
    case 0..<6: try play(device, try statements(one, two))
    case 6: try beginAgain(device, one)
    case 7: try setClock(device)
    case 8: if others.chance(50) { try changeTable(device, one) } else { try rebuild(device, one) }
    case 9: try attach(device, one)
    case 10: if others.chance(50) { try writeBeside(device, one) } else { try loseTwice(device, one) }
    default: try settings(device)
    }
    try check(device)
  }

  private func id(_ key: String) throws -> String { "'\(try name(key).text)'" }

  /// The statements of one transaction about one record, or about two.
  private func statements(_ one: String, _ two: String) throws -> [String] {
    let (a, b) = (try id(one), try id(two))
    let amount = others.below(30) - 10
    switch others.below(14) {
    case 0:
      return ["INSERT INTO Tile(id, n) VALUES(\(a), \(amount)) ON CONFLICT(id) DO UPDATE SET n = n + excluded.n"]
    case 1: return ["INSERT OR REPLACE INTO Tile(id, n, x) VALUES(\(a), \(amount), \(others.below(9)))"]
    case 2: return ["REPLACE INTO Tile(id, m) SELECT id, n FROM Tile WHERE id IN (\(a), \(b))"]
    case 3: return ["UPDATE Tile SET n = Tile.n + o.m + 1 FROM Tile AS o WHERE o.id = \(a) AND Tile.id = \(b)"]
    case 4: return ["UPDATE Tile SET m = m + n % 7, x = m, n = CASE id WHEN \(a) THEN n + 2 ELSE n END"]
    case 5: return ["UPDATE Tile SET id = \(b) WHERE id = \(a)"]
    case 6: return ["UPDATE OR REPLACE Tile SET id = \(b) WHERE id = \(a)"]
    case 7: return ["DELETE FROM Tile WHERE id = \(a)", "INSERT INTO Tile(id, n) VALUES(\(a), \(amount))"]
    case 8:
      return [
        "SAVEPOINT app", "UPDATE Tile SET n = n + 50, x = 8 WHERE id = \(a)", "ROLLBACK TO app",
        "UPDATE Tile SET m = m + 1 WHERE id = \(a)", "RELEASE app",
      ]
    case 9:
      // A counter takes no text, no fraction, no blob and no null. What SQLite makes an integer of is one.
      let value = others.pick(["'many'", "1.5", "NULL", "x'07'", "9223372036854775807 + 1", "'7'", "3.0"])
      return ["UPDATE Tile SET x = 1, n = \(value) WHERE id = \(a)", "UPDATE Tile SET m = m + 1 WHERE id = \(b)"]
    case 10:
      return [
        "UPDATE Tile SET n = n + \(amount) WHERE id = \(a)", "INSERT INTO Tile(id) VALUES(\(a)), (\(b))",
        "UPDATE Tile SET n = n - \(amount) WHERE id = \(a)",
      ]
    case 11: return ["INSERT OR IGNORE INTO Tile(id, n) VALUES(\(a), 3), (\(b), 4)"]
    case 12: return OtherSteps.exchange(a, b, in: "Tile")
    default: return ["DELETE FROM Tile WHERE id = \(a)", "UPDATE Tile SET m = m - 1, t = 'all'"]
    }
  }

  /// One transaction, in which an app ignores statements that SQLite refuses.
  private func play(_ device: Int, _ statements: [String], by other: Store? = nil) throws {
    let before = try numbers(device)
    var refused: [Int] = []
    try (other ?? stores[device]).write { refused = try OtherSteps.run(statements, in: $0) }
    log.append("\(device): \(OtherSteps.text(statements, refused: refused))")
    try noteDifferences(device, before)
  }

  private func noteDifferences(_ device: Int, _ before: [String: Row]) throws {
    let after = try numbers(device)
    for key in Self.keys {
      switch (before[key], after[key]) {
      case (nil, nil): break
      case (_?, nil): note(device, key, "", .delete)
      case (nil, let new?):
        let numbers = Dictionary(uniqueKeysWithValues: Self.fields.map { ($0, new[$0] as Int64) })
        noteInsert(device, key, numbers, x: new["x"], t: new["t"])
      case (let old?, let new?):
        for field in Self.fields {
          let amount = (new[field] as Int64) - (old[field] as Int64)
          if amount != 0 { note(device, key, field, .add(amount)) }
        }
        let (former, x): (Int64?, Int64?) = (old["x"], new["x"])
        if x != former { note(device, key, "x", .edit(x)) }
        let (text, t): (String, String) = (old["t"], new["t"])
        if t != text { note(device, key, "t", .edit(t == "plain" ? nil : 0)) }
      }
    }
  }

  // MARK: Lives and clocks

  private func setClock(_ device: Int) throws {
    guard !isExact else { return }
    skews[device].value = Int64(others.below(9)) * 5_000 - 30_000
    log.append("\(device)'s clock is \(skews[device].value) ms ahead")
  }

  /// A record goes and comes back, by a clock that has been set back meanwhile; then its new life is written to.
  private func beginAgain(_ device: Int, _ key: String) throws {
    if specification.isVisible(device, key) { try delete(device, key) }
    if others.chance(60) { try setClock(device) }
    if others.chance(50) { try restore(device, key) }
    if !specification.isVisible(device, key) {
      let numbers = "\(others.below(9)), \(others.below(9)), \(others.pick(["NULL", "4", "5"]))"
      try play(device, ["INSERT INTO Tile(id, n, m, x) VALUES(\(try id(key)), \(numbers))"])
    }
    try check(device)
    guard specification.isVisible(device, key) else { return }
    guard others.chance(70) else { return }
    let (id, number) = (try name(key), Int64(others.below(30)))
    let field = others.pick(Self.fields)
    try stores[device].write { [schema] in try schema.set($0, id, field, to: .integer(number)) }
    log.append("\(device) sets \(key).\(field) to \(number)")
    note(device, key, field, .set(number))
    try play(device, ["UPDATE Tile SET x = \(others.below(9)), n = n + 1 WHERE id = '\(id.text)'"])
  }

  // MARK: The file

  /// A column of the app's own comes, is renamed and goes, with additions in the same transactions.
  private func changeTable(_ device: Int, _ key: String) throws {
    let add = "UPDATE Tile SET n = n + 1 WHERE id = \(try id(key))"
    try play(device, ["ALTER TABLE Tile ADD COLUMN own TEXT", "UPDATE Tile SET own = 'a', m = m + 2"])
    try play(device, [add, "ALTER TABLE Tile RENAME COLUMN own TO mine"])
    try play(device, ["UPDATE Tile SET mine = NULL, m = m - 1"])
    try play(device, ["ALTER TABLE Tile DROP COLUMN mine"])
    try play(device, [add])
  }

  /// The table is made again while additions to it are not captured yet: by the app, in the transaction that adds, or
  /// by another program, which adds in one transaction and copies the table in another.
  private func rebuild(_ device: Int, _ key: String) throws {
    let before = try numbers(device)
    let sql = "UPDATE Tile SET n = n + 4 WHERE id = \(try id(key))"
    log.append("\(device): \(sql), and the table is made again")
    if let files, others.chance(50) {
      try stores[device].close()
      try files.run(device, sql)
      try files.rebuild(device, adding: 0)
      stores[device] = try files.open(device)
      try stores[device].write { _ in }
    } else {
      try stores[device].write { db in
        try db.execute(sql: sql)
        try CounterFiles.rebuild(db, adding: 0)
      }
    }
    try noteDifferences(device, before)
  }

  /// Numbers that come from another database.
  private func attach(_ device: Int, _ key: String) throws {
    let (store, id) = (stores[device], try id(key))
    try store.writeWithoutTransaction { try $0.execute(sql: "ATTACH ':memory:' AS side") }
    try play(
      device,
      [
        "CREATE TABLE side.Tile AS SELECT id, n, x FROM main.Tile",
        "UPDATE side.Tile SET n = n + 100",
        "UPDATE main.Tile SET n = main.Tile.n + s.n % 5, x = s.n FROM side.Tile AS s "
          + "WHERE s.id = main.Tile.id AND main.Tile.id = \(id)",
      ])
    try store.writeWithoutTransaction { try $0.execute(sql: "DETACH side") }
  }

  /// Another store of the same process has the same file.
  private func writeBeside(_ device: Int, _ key: String) throws {
    guard let files else { return try play(device, ["UPDATE Tile SET n = n + 3 WHERE id = \(try id(key))"]) }
    let other = try files.open(device)
    try play(device, ["UPDATE Tile SET n = n + 3 WHERE id = \(try id(key))"], by: other)
    try play(device, ["UPDATE Tile SET n = n * 2 WHERE id = \(try id(key))"])
    try play(device, try statements(key, others.pick(Self.keys)), by: other)
    try other.close()
  }

  private func settings(_ device: Int) throws {
    let trigger = """
      AFTER UPDATE OF x ON Tile WHEN NOT tally_applying()
      BEGIN UPDATE Tile SET m = m + 1 WHERE id = NEW.id; END
      """
    // Programs that write to files have no function of this name.
    switch try others.changeSetting(of: stores[device], trigger: files == nil ? trigger : nil) {
    case .changed(let setting): log.append("\(device) \(setting)")
    case .trigger(let sql): try play(device, [sql])
    }
  }

  /// Records whose numbers only stand in for lost ones are deleted and restored. Then the numbers still give way to
  /// what a peer has; but where deletes win, only another existence brings a record back, and they are what is set.
  func bringBackStandIns(_ device: Int, _ before: [String: Row]) throws {
    for (key, row) in before.sorted(by: { $0.key < $1.key }) where row["hasBody"] {
      try delete(device, key)
      try restore(device, key)
      guard specification.deletesWin else { continue }
      for field in Self.fields where (row[field] as Int64) != CounterSpecification.start[field] {
        specification.noteStandIn(device, key, field, row[field], clock: now(device))
      }
    }
  }

  /// Two devices lose the states of what all have, one after the other, and meet before either meets the third: what
  /// both show still counts once, with what is added meanwhile. Then the third says what everybody has added.
  private func loseTwice(_ device: Int, _ key: String) throws {
    guard let files else { return }
    let (other, third) = ((device + 1) % Self.devices, (device + 2) % Self.devices)
    for _ in 0..<2 { for (one, two) in [(device, other), (other, third)] { try meet(one, two) } }
    for device in [device, other] { try check(device) }
    let before = try numbers(device)
    for device in others.chance(50) ? [device, other] : [other, device] {
      log.append("\(device) loses its states")
      let rows = try numbers(device)
      try stores[device].close()
      try files.run(device, "DELETE FROM tally_extra")
      stores[device] = try files.open(device)
      _ = try stores[device].verify()
      _ = try stores[device].rebuild()
      noteWrittenAnew(device, rows)
    }
    try play(device, ["UPDATE Tile SET n = n + 5 WHERE id = \(try id(key))"])
    try meet(device, other)
    for one in [device, other] {
      let now = try numbers(one)
      for (name, row) in before {
        let (n, m): (Int64?, Int64?) = (now[name]?["n"], now[name]?["m"])
        guard n == (row["n"] as Int64) + (name == key ? 5 : 0), m == row["m"] as Int64 else {
          throw Failure("\(name) is \(n ?? 0), \(m ?? 0) on \(one) after two have lost \(row)")
        }
      }
    }
    try meet(third, device)
    try meet(third, other)
    try meet(device, other)
    for device in 0..<Self.devices { try check(device) }
  }

  private func meet(_ one: Int, _ other: Int) throws {
    log.append("\(one) syncs with \(other)")
    try stores[one].sync(with: stores[other])
    specification.known[one].formUnion(specification.known[other])
    specification.known[other] = specification.known[one]
  }
}
