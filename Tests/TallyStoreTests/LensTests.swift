import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyStore
import Testing

/// Fields that take the place of others, on devices of both versions of an app.
@Suite struct LensTests {
  let scratch: Scratch
  static let old = Schema([
    EntitySchema("Item", .text("title"), .real("price"), .bool("done", default: false), .text("shelf"))
  ])
  static let new = Schema([
    EntitySchema(
      "Item", .text("title"), .integer("cents", from: .lens("price", .real, .scale(100))),
      .text(
        "state", default: "open",
        from: .lens("done", .bool, default: false, .map([false: "open", true: "done", true: "paid"]))),
      .integer("number", from: .lens("shelf", .text, .digits, keepsOldApps: false)))
  ])

  init() throws { scratch = try Scratch() }

  private func pair() throws -> (older: Store, newer: Store) {
    (try scratch.store("older", schema: Self.old), try scratch.store("newer", schema: Self.new))
  }

  private func run(_ store: Store, _ sql: String) throws { try store.write { try $0.execute(sql: sql) } }

  private func row(_ store: Store, _ columns: String) throws -> Row? {
    try store.read { try Row.fetchOne($0, sql: "SELECT \(columns) FROM Item ORDER BY id") }
  }

  // MARK: Both versions at once

  @Test func whatEitherVersionWritesTheOtherShows() throws {
    let (older, newer) = try pair()
    try run(newer, "INSERT INTO Item(id, cents, state) VALUES('Item|~|a', 450, 'paid')")
    #expect(try row(newer, "price, done, cents, state") == ["price": 4.5, "done": 1, "cents": 450, "state": "paid"])
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(older, "price, done") == ["price": 4.5, "done": 1])
    try run(older, "UPDATE Item SET price = 7.25, done = 0")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "cents, state") == ["cents": 725, "state": "open"])
    try run(newer, "UPDATE Item SET cents = NULL")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(older, "price") == ["price": nil])
    try expectConverged(older, newer)
  }

  @Test func anUpdateOfTheAppWritesNothingAndShowsWhatIsThere() throws {
    let older = try scratch.store("a", schema: Self.old)
    try run(older, "INSERT INTO Item(id, price, done, shelf) VALUES('Item|~|a', 19.99, 1, '12')")
    try run(older, "INSERT INTO Item(id, shelf) VALUES('Item|~|b', 'top')")
    let before = try older.summary()
    try older.close()
    let newer = try scratch.store("a", schema: Self.new)
    #expect(try newer.summary() == before)
    #expect(try row(newer, "cents, state, number") == ["cents": 1999, "state": "done", "number": 12])
    #expect(try newer.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Item WHERE number IS NULL") } == 1)
    try expectConverged(newer)
  }

  /// Otherwise the older write would win on devices of the old version, and lose on the others.
  @Test func anEqualOlderValueIsWrittenAgain() throws {
    let (older, newer) = try pair()
    try run(newer, "INSERT INTO Item(id, state) VALUES('Item|~|a', 'done')")
    #expect(try older.sync(with: newer).isConverged)
    try run(older, "UPDATE Item SET done = 0")
    Thread.sleep(forTimeInterval: 0.003)
    try run(newer, "UPDATE Item SET state = 'paid'")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(older, "done") == ["done": 1])
    #expect(try row(newer, "done, state") == ["done": 1, "state": "paid"])
    try expectConverged(older, newer)
  }

  @Test func aValueWithoutCounterpartLeavesTheOtherAppItsOwn() throws {
    let (older, newer) = try pair()
    try run(newer, "INSERT INTO Item(id, state) VALUES('Item|~|a', 'done')")
    try run(newer, "UPDATE Item SET state = 'lost'")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "done, state") == ["done": 1, "state": "lost"])
    #expect(try row(older, "done") == ["done": 1])
    try run(older, "UPDATE Item SET shelf = 'top'")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "shelf, number") == ["shelf": "top", "number": nil])
    try expectConverged(older, newer)
  }

  @Test func withoutKeepingOldAppsTheOlderFieldStays() throws {
    let (older, newer) = try pair()
    try run(older, "INSERT INTO Item(id, shelf) VALUES('Item|~|a', '7')")
    #expect(try older.sync(with: newer).isConverged)
    try run(newer, "UPDATE Item SET number = 8")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "shelf, number") == ["shelf": "7", "number": 8])
    #expect(try row(older, "shelf") == ["shelf": "7"])
    try run(older, "UPDATE Item SET shelf = '9'")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "number") == ["number": 9])
    try expectConverged(older, newer)
  }

  @Test func ofTwoWritesAtOnceTheLaterCountsOnBoth() throws {
    let (older, newer) = try pair()
    try run(older, "INSERT INTO Item(id, price) VALUES('Item|~|a', 1)")
    #expect(try older.sync(with: newer).isConverged)
    for isOlderLater in [false, true] {
      let writes = [
        { try run(newer, "UPDATE Item SET cents = cents + 50") },
        { try run(older, "UPDATE Item SET price = price + 2") },
      ]
      for write in isOlderLater ? writes : writes.reversed() {
        try write()
        Thread.sleep(forTimeInterval: 0.003)
      }
      #expect(try older.sync(with: newer).isConverged)
      let price = try older.read { try Double.fetchOne($0, sql: "SELECT price FROM Item") } ?? 0
      #expect(try row(newer, "price, cents") == ["price": price, "cents": Int(price * 100)])
      try expectConverged(older, newer)
    }
  }

  /// An old app names all that it knows, and ends the rest: the new field must not hide what it says.
  @Test func aNewLifeByAnOldVersionShowsItsValues() throws {
    let (older, newer) = try pair()
    try run(newer, "INSERT INTO Item(id, cents, state) VALUES('Item|~|a', 450, 'paid')")
    #expect(try older.sync(with: newer).isConverged)
    try run(older, "DELETE FROM Item")
    try run(older, "INSERT INTO Item(id, price, done) VALUES('Item|~|a', 3, 1)")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "cents, state") == ["cents": 300, "state": "done"])
    try expectConverged(older, newer)
  }

  // MARK: What SQL may do

  @Test func anInsertThatReplacesKeepsWhatItNames() throws {
    let store = try scratch.store("a", schema: Self.new)
    try run(store, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 500)")
    try run(store, "REPLACE INTO Item(id, price) VALUES('Item|~|a', 5)")
    #expect(try row(store, "price, cents") == ["price": 5, "cents": 500])
    try run(store, "REPLACE INTO Item(id, price) VALUES('Item|~|a', 7)")
    #expect(try row(store, "price, cents") == ["price": 7, "cents": 700])
    try run(store, "REPLACE INTO Item(id, cents) VALUES('Item|~|a', 700)")
    #expect(try row(store, "price, cents") == ["price": 7, "cents": 700])
    try run(store, "DELETE FROM Item; INSERT INTO Item(id, cents) VALUES('Item|~|a', 700)")
    #expect(try row(store, "price, cents") == ["price": 7, "cents": 700])
    try run(store, "UPDATE Item SET price = 2, cents = 900")
    #expect(try row(store, "price, cents") == ["price": 9, "cents": 900])
    try expectConverged(store)
  }

  @Test func triggersOfTheAppOnTheSameRowDoNoHarm() throws {
    let (older, newer) = try pair()
    try run(
      newer,
      """
      CREATE TRIGGER app_title AFTER UPDATE OF price, cents ON Item
      BEGIN UPDATE Item SET title = 'costs ' || NEW.cents WHERE id = NEW.id; END
      """)
    try run(newer, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 500)")
    try run(newer, "UPDATE Item SET cents = 600")
    #expect(try row(newer, "price, title") == ["price": 6, "title": "costs 600"])
    #expect(try older.sync(with: newer).isConverged)
    try run(older, "UPDATE Item SET price = 8")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "cents, title") == ["cents": 800, "title": "costs 800"])
    #expect(try older.sync(with: newer).isConverged)
    try expectConverged(older, newer)
  }

  @Test func aProgramWithoutTallyWritesEither() throws {
    let store = try scratch.store("a", schema: Self.new)
    try run(store, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 500)")
    let other = try DatabaseQueue(path: scratch.path("a"))
    try other.write { try $0.execute(sql: "UPDATE Item SET price = 8") }
    try store.write { _ in }
    #expect(try row(store, "price, cents") == ["price": 8, "cents": 800])
    try other.write { try $0.execute(sql: "UPDATE Item SET cents = 100") }
    try store.write { _ in }
    #expect(try row(store, "price, cents") == ["price": 1, "cents": 100])
    try expectConverged(store)
  }

  @Test func anOlderAppOnANewerFileIsFollowed() throws {
    let newer = try scratch.store("a", schema: Self.new)
    try run(newer, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 500)")
    try newer.close()
    let older = try scratch.store("a", schema: Self.old)
    try run(older, "UPDATE Item SET price = 9")
    #expect(try row(older, "cents") == ["cents": 900])
    #expect(try older.schema["Item"]?.fields.first { $0.name == "cents" }?.source?.field == "price")
    try expectConverged(older)
  }

  // MARK: Chains

  @Test func aChainIsFollowedInBothDirections() throws {
    let latest = Schema([
      EntitySchema(
        "Item", .integer("cents", from: .lens("price", .real, .scale(100))),
        .text("amount", from: .lens("cents", .integer, .digits)))
    ])
    let (older, newer) = try pair()
    let last = try scratch.store("last", schema: latest)
    try run(last, "INSERT INTO Item(id, amount) VALUES('Item|~|a', '250')")
    for store in [older, newer] { #expect(try store.sync(with: last).isConverged) }
    #expect(try row(older, "price") == ["price": 2.5])
    #expect(try row(newer, "cents") == ["cents": 250])
    try run(older, "UPDATE Item SET price = 3")
    for store in [older, newer] { #expect(try store.sync(with: last).isConverged) }
    #expect(try row(last, "amount, cents") == ["amount": "300", "cents": 300])
    try expectConverged(older, newer, last)
  }

  /// The last version no longer says where the middle field comes from; the file does.
  @Test func aFileKeepsWhereAFieldComesFrom() throws {
    let store = try scratch.store("a", schema: Self.new)
    try store.close()
    let later = Schema([EntitySchema("Item", .text("amount", from: .lens("cents", .integer, .digits)))])
    let last = try scratch.store("a", schema: later)
    try run(last, "INSERT INTO Item(id, amount) VALUES('Item|~|a', '250')")
    #expect(try row(last, "price, cents") == ["price": 2.5, "cents": 250])
    try expectConverged(last)
  }

  // MARK: Journal, default data, renames

  @Test func theJournalTellsOfTheNewerFieldAlone() throws {
    let (one, other) = (try scratch.store("one", schema: Self.new), try scratch.store("other", schema: Self.new))
    try run(one, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 100)")
    #expect(try one.sync(with: other).isConverged)
    try run(one, "UPDATE Item SET cents = 200")
    Thread.sleep(forTimeInterval: 0.003)
    try run(other, "UPDATE Item SET cents = 300")
    #expect(try one.sync(with: other).isConverged)
    let conflicts = try one.conflicts()
    #expect(conflicts.map(\.field) == ["cents"])
    #expect(conflicts.first?.loserValue == 200)
    try one.restore(try #require(conflicts.first))
    #expect(try row(one, "price, cents") == ["price": 2, "cents": 200])
    #expect(try one.conflicts().isEmpty)
  }

  @Test func whatAnOldAppLostCanBeRestored() throws {
    let (older, newer) = try pair()
    try run(older, "INSERT INTO Item(id, price) VALUES('Item|~|a', 1)")
    #expect(try older.sync(with: newer).isConverged)
    try run(older, "UPDATE Item SET price = 2")
    Thread.sleep(forTimeInterval: 0.003)
    try run(newer, "UPDATE Item SET cents = 300")
    #expect(try older.sync(with: newer).isConverged)
    let conflict = try #require(try newer.conflicts().first)
    #expect(conflict.column == "price" && conflict.loserValue == .real(2))
    try newer.restore(conflict)
    #expect(try row(newer, "price, cents") == ["price": 2, "cents": 200])
  }

  @Test func defaultDataGivesTheOlderFieldToo() throws {
    let (older, newer) = try pair()
    let set = SeedSet(
      "items", version: 1, records: [SeedRecord("pen", type: "Item", ["cents": 150, "state": "done"])])
    try newer.seed(set)
    #expect(try row(newer, "price, cents, done, state") == ["price": 1.5, "cents": 150, "done": 1, "state": "done"])
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(older, "price, done") == ["price": 1.5, "done": 1])
    try run(older, "UPDATE Item SET price = 2")
    #expect(try older.sync(with: newer).isConverged)
    #expect(try row(newer, "cents, state") == ["cents": 200, "state": "done"])
    try newer.seed(SeedSet("items", version: 2, records: [SeedRecord("pen", type: "Item", ["cents": 175])]))
    #expect(try row(newer, "cents") == ["cents": 200])
    #expect(try older.sync(with: newer).isConverged)
    try expectConverged(older, newer)
  }

  @Test func aDuplicateThatDefaultDataTakesOverKeepsItsLastWrite() throws {
    let schema = Schema([
      EntitySchema(
        "Item", .text("title"), .real("price"), .integer("cents", from: .lens("price", .real, .scale(100))))
    ])
    let store = try scratch.store("a", schema: schema)
    try run(store, "INSERT INTO Item(id, title, price) VALUES('Item|~|x', 'Pen', 3)")
    let rule = SeedAdoption(type: "Item", matching: ["title"])
    let pen = SeedRecord("pen", type: "Item", ["title": "Pen"])
    try store.seed(SeedSet("items", version: 1, records: [pen], adoptions: [rule]))
    #expect(try row(store, "price, cents") == ["price": 3, "cents": 300])
    try expectConverged(store)
  }

  @Test func anOlderColumnMayBeRenamed() throws {
    let newer = try scratch.store("a", schema: Self.new)
    try run(newer, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 500)")
    try newer.close()
    let renamed = Schema([
      EntitySchema(
        "Item", .real("cost", renamedFrom: "price"), .integer("cents", from: .lens("price", .real, .scale(100))))
    ])
    let store = try scratch.store("a", schema: renamed)
    try run(store, "UPDATE Item SET cost = 6")
    #expect(try row(store, "cents") == ["cents": 600])
    try expectConverged(store)
  }

  @Test func aDeletedRecordComesBackWithWhatItShowed() throws {
    let (older, newer) = try pair()
    try run(older, "INSERT INTO Item(id, price) VALUES('Item|~|a', 4)")
    #expect(try older.sync(with: newer).isConverged)
    try run(newer, "DELETE FROM Item")
    #expect(try newer.recentlyDeleted(ofType: "Item").first?.values["cents"] == 400)
    try newer.restore(try AnyRecordName("Item|~|a"))
    #expect(try row(newer, "cents") == ["cents": 400])
    try expectConverged(newer)
  }

  @Test func theHistoryOfARecordSaysWhyAnOwnValueIsNotShown() throws {
    let (older, newer) = try pair()
    try run(newer, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 500)")
    #expect(try older.sync(with: newer).isConverged)
    try run(older, "UPDATE Item SET price = 6")
    #expect(try older.sync(with: newer).isConverged)
    let history = try #require(try newer.history(of: try AnyRecordName("Item|~|a")))
    let reasons = Dictionary(uniqueKeysWithValues: history.fields.map { ($0.field, $0.hiddenReason) })
    #expect(reasons["cents"] == "the field whose place it takes was written later")
    #expect(reasons["price"] == .some(nil))
  }

  // MARK: What readers found

  /// Whether the row is new or not, the app hears of it, as if it had written the older column itself.
  @Test func whatTheOlderColumnRefusesFails() throws {
    let refusal = "ON Item WHEN NEW.price = 10 BEGIN SELECT RAISE(ABORT, 'no'); END"
    let rules = [
      "CREATE UNIQUE INDEX app_price ON Item(price)",
      "CREATE TRIGGER app_one BEFORE INSERT \(refusal); CREATE TRIGGER app_two BEFORE UPDATE \(refusal);",
    ]
    for rule in rules {
      let store = try Store(inMemory: Self.new)
      try run(store, rule)
      try run(store, "INSERT INTO Item(id, cents) VALUES('Item|~|a', 500)")
      try run(store, "INSERT INTO Item(id, cents) VALUES('Item|~|c', \(rule.contains("UNIQUE") ? 1000 : 20))")
      let before = try store.summary()
      let statements = [
        "INSERT INTO Item(id, cents) VALUES('Item|~|b', 1000)", "UPDATE Item SET cents = 1000 WHERE id = 'Item|~|a'",
      ]
      for statement in statements {
        do {
          try run(store, statement)
          Issue.record("\(rule) let pass \(statement)")
        } catch let error as StoreError {
          #expect(error.code == .writeIgnored)
        }
      }
      #expect(try store.summary() == before)
      #expect(try row(store, "price, cents") == ["price": 5, "cents": 500])
      try expectConverged(store)
    }
  }

  /// A device that is ahead has written the older field; an edit that its writer saw it before shows.
  @Test func anEditShowsAlsoOverTheOlderFieldOfADeviceThatIsAhead() throws {
    var ahead = StoreOptions()
    ahead.now = { Date(timeIntervalSinceNow: 86_400) }
    let older = try scratch.store("older", schema: Self.old, options: ahead)
    let newer = try scratch.store("newer", schema: Self.new)
    try run(newer, "INSERT INTO Item(id, state, shelf) VALUES('Item|~|a', 'done', '7')")
    #expect(try older.sync(with: newer).isConverged)
    try run(older, "UPDATE Item SET done = 0, shelf = '8'")
    #expect(try older.sync(with: newer).isConverged)
    try run(newer, "UPDATE Item SET state = 'paid'")
    #expect(try row(newer, "state") == ["state": "paid"])
    try run(newer, "UPDATE Item SET state = 'lost', number = 30")
    #expect(try row(newer, "state, number") == ["state": "lost", "number": 30])
    let third = try scratch.store("third", schema: Self.new)
    #expect(try newer.sync(with: third).isConverged)
    try run(third, "UPDATE Item SET state = 'open'")
    try run(newer, "UPDATE Item SET state = 'paid'")
    #expect(try newer.sync(with: third).isConverged)
    let shown = try newer.read { try String.fetchOne($0, sql: "SELECT state FROM Item") }
    #expect(shown == "open" || shown == "paid")
    #expect(try third.read { try String.fetchOne($0, sql: "SELECT state FROM Item") } == shown)
    #expect(try newer.sync(with: older).isConverged)
    try expectConverged(older, newer, third)
  }

  @Test func aRefusedNewerValueIsMendedByTheAppsNext() throws {
    let (older, newer) = try pair()
    try run(newer, "INSERT INTO Item(id, state) VALUES('Item|~|a', 'paid')")
    #expect(try older.sync(with: newer).isConverged)
    let other = try DatabaseQueue(path: scratch.path("newer"))
    try other.write { try $0.execute(sql: "UPDATE Item SET state = CAST(x'ff41' AS TEXT)") }
    try newer.write { _ in }
    try run(newer, "UPDATE Item SET state = 'paid'")
    #expect(try newer.sync(with: older).isConverged)
    #expect(try row(newer, "state, done") == ["state": "paid", "done": 1])
    try expectConverged(older, newer)
  }

  @Test func aRefusedValueThatIsPutBackWritesNothing() throws {
    let store = try scratch.store("a", schema: Self.new)
    try run(store, "INSERT INTO Item(id, state) VALUES('Item|~|a', 'paid')")
    let before = try store.summary()
    let other = try DatabaseQueue(path: scratch.path("a"))
    for (refused, right) in [("done = 7", "done = 1"), ("state = CAST(x'ff41' AS TEXT)", "state = 'paid'")] {
      for assignment in [refused, right] {
        try other.write { try $0.execute(sql: "UPDATE Item SET \(assignment)") }
        try store.write { _ in }
      }
      #expect(try row(store, "state, done") == ["state": "paid", "done": 1])
      #expect(try store.summary() == before)
    }
    try expectConverged(store)
  }

  /// Only fields that lenses join to the edited one take over its time.
  @Test func anEditOfSeveralFieldsIsAheadOnlyWhereItMustBe() throws {
    var ahead = StoreOptions()
    ahead.now = { Date(timeIntervalSinceNow: 86_400) }
    let older = try scratch.store("older", schema: Self.old, options: ahead)
    let newer = try scratch.store("newer", schema: Self.new)
    try run(newer, "INSERT INTO Item(id, title, cents) VALUES('Item|~|a', 't', 500)")
    #expect(try older.sync(with: newer).isConverged)
    try run(older, "UPDATE Item SET price = 6")
    #expect(try older.sync(with: newer).isConverged)
    try run(newer, "UPDATE Item SET cents = 700")
    try run(newer, "UPDATE Item SET cents = 800, title = 'u', state = 'done'")
    let limit = UInt64((Date().timeIntervalSince1970 + 3600) * 1000)
    let history = try #require(try newer.history(of: try AnyRecordName("Item|~|a")))
    for field in history.fields {
      #expect((field.stamp.time.milliseconds > limit) == ["cents", "price"].contains(field.field))
    }
    #expect(try row(newer, "cents, title, state") == ["cents": 800, "title": "u", "state": "done"])
  }

  @Test func aRefusedOlderValueDoesNotHideTheNewer() throws {
    let store = try scratch.store("a", schema: Self.new)
    try run(store, "INSERT INTO Item(id, state) VALUES('Item|~|a', 'paid')")
    let other = try DatabaseQueue(path: scratch.path("a"))
    try other.write { try $0.execute(sql: "UPDATE Item SET done = 7, state = 'open'") }
    try store.write { _ in }
    #expect(try row(store, "state") == ["state": "open"])
    try run(store, "UPDATE Item SET done = 0")
    #expect(try row(store, "state") == ["state": "open"])
    try expectConverged(store)
  }

  /// Where triggers were missing nothing tells what was written: the newer column counts, a default too.
  @Test func whatWasWrittenUnnoticedFollowsTheNewerColumn() throws {
    let store = try scratch.store("a", schema: Self.new)
    try run(store, "INSERT INTO Item(id, state, cents) VALUES('Item|~|a', 'paid', 500)")
    try store.close()
    let other = try DatabaseQueue(path: scratch.path("a"))
    try other.write { db in
      for name in try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'Item'")
      {
        try db.execute(sql: "DROP TRIGGER \"\(name)\"")
      }
      try db.execute(sql: "UPDATE Item SET state = 'open', price = 9, title = 'x'")
    }
    try other.close()
    let opened = try scratch.store("a", schema: Self.new)
    try opened.write { _ in }
    #expect(try row(opened, "state, done, cents, price") == ["state": "open", "done": 0, "cents": 500, "price": 5])
    try expectConverged(opened)
  }
}
