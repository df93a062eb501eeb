import Foundation
import Tally
import TallyCRDT
import TallyInspection
import TallyStore
import Testing

/// Each reason for a record not showing has a sentence that names the cause.
@Suite struct PresenceTests {
  @Test func whatTheAppSeesIsVisible() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    let presence = try shelf.presence("Book|~|a", shelf.phone)
    #expect(presence.code == .visible && presence.isVisible)
    #expect(presence.sentence == "The app sees it.")
  }

  @Test func deletedNamesWhoAndWhen() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    try shelf.sync()
    try shelf.tablet.run("DELETE FROM Book")
    try shelf.sync()
    let presence = try shelf.presence("Book|~|a", shelf.phone)
    #expect(presence.code == .deleted && !presence.isVisible)
    #expect(presence.sentence.hasPrefix("It was deleted by tablet #1, at 20"))
    #expect(presence.deletes.map(\.sequence) == [1])
    try shelf.phone.restore(try AnyRecordName("Book|~|a"))
    #expect(try shelf.presence("Book|~|a", shelf.phone).code == .visible)
  }

  @Test func hiddenByOwnerNamesTheOwnerThatIsTheReason() throws {
    let shelf = try Shelf()
    try shelf.phone.run(
      "INSERT INTO Room(id, name) VALUES('Room|~|r', 'Attic')",
      "INSERT INTO Shelf(id, name, room) VALUES('Shelf|~|s', 'Novels', 'Room|~|r')",
      "INSERT INTO Book(id, title, shelf) VALUES('Book|~|a', 'Emma', 'Shelf|~|s')")
    try shelf.phone.run("DELETE FROM Room")
    let presence = try shelf.presence("Book|~|a", shelf.phone)
    #expect(presence.code == .hiddenByOwner)
    #expect(presence.owners == ["Shelf|~|s", "Room|~|r"])
    #expect(presence.sentence.contains("Room|~|r, which owns it through Shelf|~|s, was deleted by phone #2"))
  }

  @Test func ofVeryManyOwnersAHundredAreNamed() throws {
    let tree = Schema([EntitySchema("Node", .reference("parent", to: "Node", onDelete: .cascade))])
    let store = try Store(inMemory: tree)
    try store.run("INSERT INTO Node(id) VALUES('Node|~|0')")
    for number in 1..<150 {
      try store.run("INSERT INTO Node(id, parent) VALUES('Node|~|\(number)', 'Node|~|\(number - 1)')")
    }
    try store.run("DELETE FROM Node WHERE id = 'Node|~|0'")
    let name = try AnyRecordName("Node|~|149")
    let presence = PresenceReport(of: name, try store.presence(of: name), ReplicaDirectory())
    #expect(presence.code == .hiddenByOwner && presence.owners.count == 100)
    #expect(presence.sentence.contains("Node|~|49") && presence.sentence.contains("over more than 100 records"))
  }

  @Test func anOwnerThatHasNotArrivedIsSaidToBeLacking() throws {
    let shelf = try Shelf()
    // A reference to nobody's record comes from another program that does not check.
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: shelf.phone.path, configuration: configuration)
    try queue.write { db in
      try db.execute(sql: "INSERT INTO Book(id, title, shelf) VALUES('Book|~|a', 'Emma', 'Shelf|~|none')")
    }
    try queue.close()
    try shelf.phone.captureChanges()
    let presence = try shelf.presence("Book|~|a", shelf.phone)
    #expect(presence.code == .hiddenByOwner && presence.owners == ["Shelf|~|none"])
    #expect(presence.sentence.contains("Shelf|~|none, which owns it, has not arrived here yet"))
  }

  @Test func unknownTypeIsAMatterOfSpelling() throws {
    let shelf = try Shelf()
    let presence = try shelf.presence("Boook|~|a", shelf.phone)
    #expect(presence.code == .unknownType)
    #expect(presence.sentence.contains("No schema here has the type Boook"))
  }

  @Test func newerSchemaWaitsForAnUpdate() throws {
    let shelf = try Shelf(tabletSchema: Shelf.older)
    try shelf.phone.run("INSERT INTO Room(id, name) VALUES('Room|~|r', 'Attic')")
    try shelf.sync()
    let presence = try shelf.presence("Room|~|r", shelf.tablet)
    #expect(presence.code == .newerSchema)
    #expect(presence.sentence.contains("this version of the app does not have the type Room"))
  }

  @Test func notReceivedNamesTheTransactionsThatHaveToCome() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Reader(id, name) VALUES('Reader|~|b', 'Bo')")
    try shelf.sync()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    var presence = try shelf.presence("Book|~|a", shelf.tablet)
    #expect(presence.code == .notReceived)
    #expect(presence.sentence.contains("Nothing of it has arrived here"))
    try presence.explain(
      lackIn: shelf.tablet, of: try AnyRecordName("Book|~|a"), besides: [("phone", shelf.phone)], try shelf.directory)
    #expect(presence.sentence.contains("phone has it, written by phone #2"))
    #expect(presence.sentence.contains("has seen phone only up to #1"))
    #expect(presence.sentence.hasSuffix("It shows after the next sync that brings this."))
  }

  /// What does not show in the store that has it is not promised to show where it is lacking.
  @Test func whatArrivesDeletedOrHiddenIsNotPromisedToShow() throws {
    let shelf = try Shelf()
    try shelf.phone.run(
      "INSERT INTO Reader(id, name) VALUES('Reader|~|r', 'Bo')",
      "INSERT INTO Room(id, name) VALUES('Room|~|r', 'Attic')",
      "INSERT INTO Shelf(id, name, room) VALUES('Shelf|~|s', 'Novels', 'Room|~|r')")
    let third = try Store(inMemoryCopyOf: shelf.phone)
    try shelf.phone.run("DELETE FROM Reader", "DELETE FROM Room")
    func sentence(_ name: String, _ others: [(name: String, store: Store)]) throws -> String {
      var presence = try shelf.presence(name, shelf.tablet)
      try presence.explain(
        lackIn: shelf.tablet, of: try AnyRecordName(name), besides: others, try shelf.directory)
      return presence.sentence
    }
    let promise = "It shows after the next sync that brings this."
    let (phone, other) = ((name: "phone", store: shelf.phone), (name: "third", store: third))
    let deleted = try sentence("Reader|~|r", [phone])
    #expect(!deleted.contains(promise) && deleted.contains("it arrives as it is there. It was deleted by phone #2"))
    let hidden = try sentence("Shelf|~|s", [phone])
    #expect(!hidden.contains(promise) && hidden.contains("It arrives hidden, as it is there. It is not deleted, but"))
    // Of several that have it, the one that shows it is asked.
    for others in [[phone, other], [other, phone]] {
      #expect(try sentence("Reader|~|r", others).contains("third has it"))
    }
  }

  @Test func whatTheSchemaLacksIsKeptAndShowsAfterAnUpdate() throws {
    let shelf = try Shelf(tabletSchema: Shelf.older)
    try shelf.phone.run("INSERT INTO Room(id, name) VALUES('Room|~|r', 'Attic')")
    let difference = try shelf.difference()
    let record = try #require(difference.records.first)
    #expect(record.second.sentence.hasSuffix("does not have the type Room: it shows once the app is updated."))
  }

  @Test func setAsideRepeatsWhatSQLiteSays() throws {
    let shelf = try Shelf()
    try shelf.tablet.run(
      "CREATE UNIQUE INDEX title ON Book(title)", "INSERT INTO Book(id, title) VALUES('Book|~|b', 'Emma')")
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    try shelf.sync()
    let codes = try ["Book|~|a", "Book|~|b"].map { try shelf.presence($0, shelf.tablet) }
    let aside = try #require(codes.first { $0.code == .setAside })
    #expect(!aside.isVisible && aside.sentence.contains("UNIQUE constraint failed: Book.title"))
    #expect(codes.contains { $0.code == .visible })
    #expect(try shelf.presence("Book|~|a", shelf.phone).code == .visible)
  }

  @Test func refusedIsSeenHereAndOldElsewhere() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|a', 'Emma')")
    let queue = try DatabaseQueue(path: shelf.phone.path)
    try queue.write { try $0.execute(sql: "UPDATE Book SET title = CAST(x'FF' AS TEXT)") }
    try queue.close()
    try shelf.phone.captureChanges()
    let presence = try shelf.presence("Book|~|a", shelf.phone)
    #expect(presence.code == .refused && presence.isVisible)
    #expect(presence.sentence.contains("cannot be replicated"))
  }

  @Test func whatTheDefaultDataRetiresIsRetired() throws {
    let shelf = try Shelf()
    let emma = SeedRecord("emma", type: "Book", ["title": "Emma"])
    try shelf.phone.seed(SeedSet("books", version: 1, records: [emma]))
    let name = try #require(try shelf.phone.read { try String.fetchOne($0, sql: "SELECT id FROM Book") })
    try shelf.phone.seed(
      SeedSet("books", version: 2, records: [], retired: [SeedKey("emma", type: "Book")]))
    let presence = try shelf.presence(name, shelf.phone)
    #expect(presence.code == .retired)
    #expect(presence.sentence.contains("default data no longer has it"))
  }

  @Test func whatGaveWayNamesWhatShowsInstead() throws {
    let shelf = try Shelf()
    try shelf.phone.run("INSERT INTO Book(id, title) VALUES('Book|~|old', 'Emma')")
    let set =
      #"{"name":"books","version":1,"records":[{"type":"Book","key":"emma","fields":{"title":"Emma"}}],"#
      + #""adoptions":[{"type":"Book","matching":["title"]}]}"#
    try shelf.phone.seed(try SeedSet(json: Data(set.utf8)))
    let shown = try #require(try shelf.phone.read { try String.fetchOne($0, sql: "SELECT id FROM Book") })
    let presence = try shelf.presence("Book|~|old", shelf.phone)
    #expect(presence.code == .gaveWay && !presence.isVisible && presence.gaveWayTo == shown)
    #expect(presence.sentence.contains("gave way to \(shown), which shows instead"))
  }

  @Test func aStoreThatCannotBeReadSaysWhy() throws {
    let report = RecordReport(of: try AnyRecordName("Book|~|a"), unreadable: "the disk is gone")
    #expect(report.presence.code == .unreadable && !report.presence.isVisible)
    #expect(
      report.presence.sentence == "This store cannot be read, and so nothing is known of the record here: "
        + "the disk is gone.")
  }
}
