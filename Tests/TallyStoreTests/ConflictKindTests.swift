import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// Entries of the conflict journal beyond two writes to one field, and when an entry needs nobody's decision any more.
@Suite struct ConflictKindTests {
  private static let schema = Schema([
    EntitySchema("List", .text("title", default: "")),
    EntitySchema("Shop", .text("name", default: "")),
    EntitySchema("Tag", .text("name", default: "")),
    EntitySchema(
      "Item", .text("title", default: ""), .text("note", default: ""), .reference("shop", to: "Shop"),
      .reference("list", to: "List", onDelete: .cascade), .toMany("tags", to: "Tag")),
  ])
  let scratch: Scratch
  let phone: Store
  let tablet: Store

  init() throws {
    scratch = try Scratch()
    phone = try scratch.store("phone", schema: Self.schema)
    tablet = try scratch.store("tablet", schema: Self.schema)
    try Self.fill(phone, tablet)
  }

  /// The same stores with a clock that goes on with each look: of two writes the second is the later one, however fast
  /// the machine is.
  private func ticking() throws -> (phone: Store, tablet: Store) {
    let options = Lab.options(.hook)
    let phone = try scratch.store("ticking phone", schema: Self.schema, options: options)
    let tablet = try scratch.store("ticking tablet", schema: Self.schema, options: options)
    try Self.fill(phone, tablet)
    return (phone, tablet)
  }

  private static func fill(_ phone: Store, _ tablet: Store) throws {
    try run(
      phone, "INSERT INTO List(id, title) VALUES('List|~|l', 'Groceries')",
      "INSERT INTO Shop(id, name) VALUES('Shop|~|s', 'Corner'), ('Shop|~|t', 'Market')",
      "INSERT INTO Tag(id, name) VALUES('Tag|~|t', 'dairy')",
      "INSERT INTO Item(id, title, list) VALUES('Item|~|m', 'Milk', 'List|~|l')")
    try phone.sync(with: tablet)
  }

  private static func run(_ store: Store, _ statements: String...) throws {
    try store.write { db in for sql in statements { try db.execute(sql: sql) } }
  }

  private func expectNothingLeft() throws {
    try phone.sync(with: tablet)
    for store in [phone, tablet] {
      #expect(try store.conflicts().isEmpty)
      #expect(try store.read { try ConflictRow.fetchCount($0) } == 0)
    }
    try expectConverged(phone, tablet)
  }

  private func items(_ store: Store) throws -> [String] {
    try store.read { try String.fetchAll($0, sql: "SELECT title || ' ' || ifnull(shop, '-') FROM Item") }
  }

  // MARK: Deletes that were undone

  /// What the other device does to a record while this one deletes it, and what is deleted.
  static let keepers = [
    ("Item", "UPDATE Item SET note = 'oat'"),
    ("Item", "INSERT INTO Item_tags(source, target) VALUES('Item|~|m', 'Tag|~|t')"),
    ("List", "UPDATE Item SET note = 'oat'"),
    ("List", "INSERT INTO Item(id, title, list) VALUES('Item|~|b', 'Bread', 'List|~|l')"),
  ]

  @Test(arguments: keepers, [true, false])
  func aDeleteThatWasUndoneIsInTheJournal(_ keeper: (type: String, edit: String), deleterFirst: Bool) throws {
    try Self.run(phone, "DELETE FROM \(keeper.type)")
    try Self.run(tablet, keeper.edit)
    let (one, other) = deleterFirst ? (phone, tablet) : (tablet, phone)
    try one.sync(with: other)
    let name = keeper.type == "Item" ? "Item|~|m" : "List|~|l"
    for store in [phone, tablet] {
      let conflict = try #require(try store.conflicts().first { $0.name.text == name })
      #expect(conflict.kind == .deleteUndone && conflict.field.isEmpty && conflict.column == nil)
      #expect(conflict.loser.dot.replica == (try phone.summary().replica))
      #expect(conflict.winner.dot.replica == (try tablet.summary().replica))
      #expect(conflict.loserValue == .null && conflict.winnerValue == .null && conflict.merged() == nil)
    }
    // What lost counts after all: it goes, on both devices, and nothing is left to decide.
    let conflict = try #require(try tablet.conflicts().first { $0.name.text == name })
    #expect(throws: StoreError.self) { try tablet.resolve(conflict, with: .text("x")) }
    #expect(try tablet.restore(conflict) != nil)
    try phone.sync(with: tablet)
    for store in [phone, tablet] {
      let left = try store.read { try String.fetchAll($0, sql: "SELECT id FROM \(keeper.type) WHERE id = '\(name)'") }
      #expect(left.isEmpty)
    }
    try expectNothingLeft()
  }

  /// What was purged can be gone for good, and the journal says that the record is back: nothing in it says which
  /// fields had values, since a purge leaves no trace of them.
  @Test(arguments: keepers, [true, false])
  func aRecordThatComesBackAfterAPurgeIsInTheJournal(_ keeper: (type: String, edit: String), deleterFirst: Bool) throws
  {
    try Self.run(phone, "DELETE FROM \(keeper.type)")
    let name = try AnyRecordName(keeper.type == "Item" ? "Item|~|m" : "List|~|l")
    try phone.purge(name)
    try Self.run(tablet, keeper.edit)
    let (one, other) = deleterFirst ? (phone, tablet) : (tablet, phone)
    try one.sync(with: other)
    for store in [phone, tablet] {
      #expect(try store.read { try store.schema.record($0, name) } != nil)
      let conflict = try #require(try store.conflicts().first { $0.name == name })
      #expect(conflict.kind == .deleteUndone && conflict.loserValue == .null)
      #expect(conflict.loser.dot.replica == (try phone.summary().replica))
    }
    try expectConverged(phone, tablet)
    // Deleted again, it is gone on both.
    let conflict = try #require(try tablet.conflicts().first { $0.name == name })
    try tablet.restore(conflict)
    try phone.sync(with: tablet)
    for store in [phone, tablet] { #expect(try store.read { try store.schema.record($0, name) } == nil) }
    try expectNothingLeft()
  }

  /// Whoever writes a deleted record anew has not removed what they write: it can lose to an edit that they had not
  /// seen.
  @Test(arguments: [false, true]) func whatBeginsALifeAndLosesIsInTheJournal(isPurged: Bool) throws {
    let (phone, tablet) = try ticking()
    try Self.run(phone, "DELETE FROM Item")
    if isPurged { try phone.purge(AnyRecordName("Item|~|m")) }
    try Self.run(
      phone,
      """
      INSERT INTO Item(id, title, note, list, shop) VALUES('Item|~|m', 'Bread', 'white', 'List|~|l', 'Shop|~|s')
      """)
    try Self.run(tablet, "UPDATE Item SET note = 'oat', shop = 'Shop|~|t'")
    try tablet.apply(phone.delta(since: tablet.vector))
    #expect(try losers(tablet) == ["Shop|~|s", "white"])
    try phone.apply(tablet.delta(since: phone.vector))
    try expectConverged(phone, tablet)
  }

  /// An insert under a deleted name leaves what the record had and it does not write over, and with that what has lost
  /// to it; of what was purged before, nothing stays.
  @Test(arguments: [false, true]) func whatLostToAValueThatIsSaidAgainStays(isPurged: Bool) throws {
    let (phone, tablet) = try ticking()
    try Self.run(tablet, "UPDATE Item SET title = 'Oat milk'")
    try Self.run(phone, "UPDATE Item SET title = '', note = 'warm'")
    try phone.sync(with: tablet)
    for store in [phone, tablet] { #expect(try losers(store) == ["Oat milk"]) }
    try Self.run(tablet, "DELETE FROM Item")
    if isPurged { try tablet.purge(AnyRecordName("Item|~|m")) }
    try Self.run(tablet, "INSERT INTO Item(id, note, list) VALUES('Item|~|m', 'cold', 'List|~|l')")
    try phone.sync(with: tablet)
    #expect(try losers(phone) == (isPurged ? [] : ["Oat milk"]))
    try expectConverged(phone, tablet)
  }

  /// A reference that won and reads null, since its target is not there, has not given way to a null that lost.
  @Test func aReferenceThatReadsNullDecidesNothing() throws {
    let (phone, tablet) = try ticking()
    try Self.run(phone, "UPDATE Item SET shop = 'Shop|~|s'")
    try phone.sync(with: tablet)
    try Self.run(tablet, "UPDATE Item SET shop = NULL", "DELETE FROM Shop WHERE id = 'Shop|~|t'")
    try Self.run(phone, "UPDATE Item SET shop = 'Shop|~|t'")
    try tablet.apply(phone.delta(since: tablet.vector))
    #expect(try tablet.conflicts().contains { $0.field == "shop" && $0.loserValue == .null })
    try tablet.restore(AnyRecordName("Shop|~|t"))
    #expect(try tablet.read { try String.fetchOne($0, sql: "SELECT shop FROM Item") } == "Shop|~|t")
    #expect(try tablet.conflicts().contains { $0.field == "shop" && $0.loserValue == .null })
    // It has where the person says so.
    let conflict = try #require(try tablet.conflicts().first { $0.field == "shop" && $0.kind == .overwritten })
    try tablet.restore(conflict)
    #expect(try !tablet.conflicts().contains { $0.kind == .overwritten })
  }

  /// Nor has whoever brings a record back removed what they say of it again, be that in the journal before or not.
  @Test(arguments: [false, true]) func whatIsSaidAgainAndLosesIsInTheJournal(wasKnown: Bool) throws {
    let (phone, tablet) = try ticking()
    try Self.run(phone, "UPDATE Item SET title = 'Bread', note = 'white', shop = 'Shop|~|s'")
    try Self.run(tablet, "UPDATE Item SET note = 'oat', shop = 'Shop|~|t'")
    if wasKnown { try tablet.apply(phone.delta(since: tablet.vector)) }
    try Self.run(phone, "DELETE FROM Item")
    try phone.restore(AnyRecordName("Item|~|m"))
    try Self.run(phone, "UPDATE Item SET title = 'Rolls'")
    try tablet.apply(phone.delta(since: tablet.vector))
    #expect(try losers(tablet) == ["Shop|~|s", "white"])
    try phone.apply(tablet.delta(since: phone.vector))
    try expectConverged(phone, tablet)
  }

  private func losers(_ store: Store) throws -> [String] {
    try store.conflicts().filter { $0.kind == .overwritten }.compactMap { conflict in
      if case .text(let text) = conflict.loserValue { text } else { nil }
    }.sorted()
  }

  @Test func aDeleteThatWasUndoneMayStayUndone() throws {
    try Self.run(phone, "DELETE FROM Item")
    try Self.run(tablet, "UPDATE Item SET note = 'oat'")
    try phone.sync(with: tablet)
    try phone.dismiss(phone.conflicts())
    try tablet.dismiss(tablet.conflicts())
    try expectNothingLeft()
    #expect(try items(phone) == ["Milk -"])
  }

  /// Somebody who restores a record knows that it was deleted, and so does somebody who edits it afterwards.
  @Test func aRestoreUndoesADeleteWithoutAConflict() throws {
    let third = try scratch.store("third", schema: Self.schema)
    try Self.run(phone, "DELETE FROM Item")
    for store in [tablet, third] { try phone.sync(with: store) }
    try tablet.restore(AnyRecordName("Item|~|m"))
    try Self.run(tablet, "UPDATE Item SET note = 'oat'")
    try third.sync(with: tablet)
    try expectNothingLeft()
    #expect(try third.conflicts().isEmpty)
  }

  /// As with writes: the pair is listed where the two meet first.
  @Test func whoGetsBothFromAnotherListsNothing() throws {
    let third = try scratch.store("third", schema: Self.schema)
    try third.sync(with: phone)
    try Self.run(phone, "DELETE FROM Item WHERE id = 'Item|~|m'", "DELETE FROM Shop WHERE id = 'Shop|~|s'")
    try Self.run(tablet, "UPDATE Item SET note = 'oat', shop = 'Shop|~|s'")
    try phone.sync(with: tablet)
    try third.sync(with: tablet)
    #expect(try Set(phone.conflicts().map(\.kind)) == [.deleteUndone, .referenceCleared])
    #expect(try third.conflicts().isEmpty)
  }

  // MARK: References that were cleared

  @Test(arguments: [true, false]) func aReferenceThatADeleteClearedIsInTheJournal(deleterFirst: Bool) throws {
    try Self.run(phone, "UPDATE Item SET shop = 'Shop|~|s'")
    try Self.run(tablet, "DELETE FROM Shop WHERE id = 'Shop|~|s'")
    let (one, other) = deleterFirst ? (tablet, phone) : (phone, tablet)
    try one.sync(with: other)
    for store in [phone, tablet] {
      #expect(try items(store) == ["Milk -"])
      let conflict = try #require(try store.conflicts().first)
      #expect(try store.conflicts().count == 1)
      #expect(conflict.kind == .referenceCleared && conflict.name.text == "Item|~|m" && conflict.column == "shop")
      #expect(conflict.loserValue == .text("Shop|~|s") && conflict.winnerValue == .null)
      #expect(conflict.winner.dot.replica == (try tablet.summary().replica))
    }
    let conflict = try #require(try tablet.conflicts().first)
    #expect(try tablet.restore(conflict) != nil)
    try expectNothingLeft()
    #expect(try items(phone) == ["Milk Shop|~|s"] && items(tablet) == ["Milk Shop|~|s"])
  }

  @Test func aReferenceThatIsWrittenAgainIsDecided() throws {
    try Self.run(phone, "UPDATE Item SET shop = 'Shop|~|s'")
    try Self.run(tablet, "DELETE FROM Shop WHERE id = 'Shop|~|s'")
    try phone.sync(with: tablet)
    let conflict = try #require(try phone.conflicts().first)
    #expect(try phone.resolve(conflict, with: .text("Shop|~|t")) != nil)
    try expectNothingLeft()
    #expect(try items(tablet) == ["Milk Shop|~|t"])
  }

  /// Who deletes a shop knows which items name it.
  @Test func aReferenceThatTheDeleterHadSeenIsNoConflict() throws {
    try Self.run(phone, "UPDATE Item SET shop = 'Shop|~|s'")
    try phone.sync(with: tablet)
    try Self.run(tablet, "DELETE FROM Shop WHERE id = 'Shop|~|s'")
    try Self.run(phone, "UPDATE Item SET note = 'oat'")
    try expectNothingLeft()
    #expect(try items(phone) == ["Milk -"])
  }

  // MARK: What is decided

  @Test func theValueThatLostShowsAgainWhoeverHasWrittenIt() throws {
    try Self.run(phone, "UPDATE Item SET note = 'soy'")
    try Self.run(tablet, "UPDATE Item SET note = 'oat'")
    try phone.sync(with: tablet)
    let conflict = try #require(try phone.conflicts().first)
    guard case .text(let lost) = conflict.loserValue else { return #expect(Bool(false), "\(conflict)") }
    try Self.run(tablet, "UPDATE Item SET note = '\(lost)'")
    #expect(try tablet.conflicts().isEmpty && !phone.conflicts().isEmpty)
    try expectNothingLeft()
  }

  /// Somebody who edits the field again need not have looked at what was lost.
  @Test func anotherValueLeavesTheEntry() throws {
    try Self.run(phone, "UPDATE Item SET note = 'soy'")
    try Self.run(tablet, "UPDATE Item SET note = 'oat'")
    try phone.sync(with: tablet)
    try Self.run(tablet, "UPDATE Item SET note = 'rice'")
    try phone.sync(with: tablet)
    #expect(try phone.conflicts().count == 1 && tablet.conflicts().count == 1)
  }

  /// A trigger of the app's shows what lost in the transaction in which it loses.
  @Test func whatATriggerShowsAgainIsDecided() throws {
    let (phone, tablet) = try ticking()
    try Self.run(
      phone,
      """
      CREATE TRIGGER noOats AFTER UPDATE OF note ON Item WHEN NEW.note = 'oat'
        BEGIN UPDATE Item SET note = 'soy' WHERE id = NEW.id; END
      """)
    try Self.run(phone, "UPDATE Item SET note = 'soy'")
    try Self.run(tablet, "UPDATE Item SET note = 'oat'")
    try phone.apply(try tablet.delta(since: try phone.vector))
    #expect(try phone.read { try String.fetchOne($0, sql: "SELECT note FROM Item") } == "soy")
    #expect(try phone.conflicts().isEmpty)
  }

  /// Few entries and many changed records, or many and few: the same ones go.
  @Test(arguments: [3, 300]) func aWriteOfManyRecordsDecidesWhatItShows(others: Int) throws {
    try Self.run(phone, "DELETE FROM Item")
    for number in 1...20 + others {
      try Self.run(phone, "INSERT INTO Item(id, title) VALUES('Item|~|i\(number)', 'a')")
    }
    try phone.sync(with: tablet)
    let few = (1...20).map { "'Item|~|i\($0)'" }.joined(separator: ", ")
    try Self.run(phone, "UPDATE Item SET note = 'soy' WHERE id IN (\(few))")
    try Self.run(tablet, "UPDATE Item SET note = 'oat' WHERE id IN (\(few))")
    try phone.sync(with: tablet)
    #expect(try phone.conflicts().count == 20 && tablet.conflicts().count == 20)
    guard case .text(let lost) = try phone.conflicts()[0].loserValue else { return #expect(Bool(false)) }
    try Self.run(phone, "UPDATE Item SET note = iif(CAST(substr(id, 9) AS INTEGER) % 2, '\(lost)', 'rice')")
    let left = (1...20).filter { $0.isMultiple(of: 2) }.map { "i\($0)" }
    #expect(try Set(phone.conflicts().map(\.name.key)) == Set(left))
    try phone.sync(with: tablet)
    #expect(try Set(tablet.conflicts().map(\.name.key)) == Set(left))
  }

  /// A record that is gone shows nothing, not even that a field is empty.
  @Test func anEmptyValueThatLostIsNotShownByADelete() throws {
    let schema = Schema([EntitySchema("Note", .text("due"))])
    let options = Lab.options(.hook)
    let phone = try scratch.store("a", schema: schema, options: options)
    let tablet = try scratch.store("b", schema: schema, options: options)
    try Self.run(phone, "INSERT INTO Note(id, due) VALUES('Note|~|n', 'today')")
    try phone.sync(with: tablet)
    try Self.run(phone, "UPDATE Note SET due = NULL")
    try Self.run(tablet, "UPDATE Note SET due = 'tomorrow'")
    try phone.sync(with: tablet)
    try Self.run(tablet, "DELETE FROM Note")
    try phone.sync(with: tablet)
    #expect(try phone.conflicts().map(\.loserValue) == [.null] && tablet.conflicts().map(\.loserValue) == [.null])
    try Self.run(tablet, "INSERT INTO Note(id, due) VALUES('Note|~|n', NULL)")
    try phone.sync(with: tablet)
    #expect(try phone.conflicts().isEmpty && tablet.conflicts().isEmpty)
  }

  /// The reference was cleared, and then the write of it loses to another: the entry says so.
  @Test func aClearedReferenceThatLosesIsAWriteThatLost() throws {
    let third = try scratch.store("third", schema: Self.schema)
    try third.sync(with: phone)
    try Self.run(phone, "UPDATE Item SET shop = 'Shop|~|s'")
    try Self.run(tablet, "DELETE FROM Shop WHERE id = 'Shop|~|s'")
    try Self.run(third, "UPDATE Item SET title = 'Milch', shop = 'Shop|~|t'", "UPDATE Item SET title = 'Milk'")
    try phone.sync(with: tablet)
    #expect(try phone.conflicts().map(\.kind) == [.referenceCleared])
    try phone.sync(with: third)
    #expect(try phone.conflicts().map(\.kind) == [.overwritten])
    #expect(try items(phone) == ["Milk Shop|~|t"])
  }

  @Test func entriesAreDecidedAsPartOfAWrite() throws {
    try Self.run(phone, "UPDATE Item SET shop = 'Shop|~|s'", "DELETE FROM List")
    try Self.run(tablet, "DELETE FROM Shop WHERE id = 'Shop|~|s'", "UPDATE Item SET note = 'oat'")
    try phone.sync(with: tablet)
    #expect(try Set(phone.conflicts().map(\.kind)) == [.deleteUndone, .referenceCleared])
    let phone = phone
    try phone.write { db in for conflict in try phone.conflicts(db) { try phone.restore(db, conflict) } }
    #expect(try phone.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Shop WHERE id = 'Shop|~|s'") } == 1)
    #expect(try phone.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM List") } == 0)
    try expectNothingLeft()
  }
}
