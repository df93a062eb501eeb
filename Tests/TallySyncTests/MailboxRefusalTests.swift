import GRDB
import Tally
import TallyCRDT
import Testing

@testable import TallySync

/// Files with rows that this store's database does not take, since its app has rules of its own: they hold up nothing.
@Suite(.timeLimit(.minutes(5))) struct MailboxRefusalTests {
  private let mailbox = MemoryMailbox()

  private static func add(_ text: String, _ store: Store) throws {
    try store.write { try Note(text: text, stars: 1).insert($0) }
  }

  /// A store whose notes have different texts.
  private static func strict() throws -> Store {
    let store = try World.store()
    try store.write { try $0.execute(sql: "CREATE UNIQUE INDEX one ON Note(text)") }
    return store
  }

  @Test func aRowThatBreaksAUniqueIndexHoldsUpNeitherTheOthersNorTheOwnChanges() throws {
    let (a, b, c) = (try World.store(), try Self.strict(), try World.store())
    try Self.add("milk", a)
    try a.sync(through: mailbox)
    let refused = mailbox.files.map(\.name)
    try Self.add("bread", c)
    // It has not seen what was put before, so what it puts builds on nothing.
    mailbox.faults.unlisted = Set(refused)
    try c.sync(through: mailbox)
    mailbox.faults.unlisted = []
    try Self.add("milk", b)
    for _ in 0..<2 {
      let report = try b.sync(through: mailbox)
      #expect(report.refused == [] && report.pending == [] && report.isComplete)
      #expect(try b.status().setAside.map { $0.reason.contains("UNIQUE") } == [true])
    }
    #expect(try b.read { try String.fetchAll($0, sql: "SELECT text FROM Note ORDER BY text") } == ["bread", "milk"])
    try a.sync(through: mailbox)
    #expect(try World.count(a) == 3)
    // The app mends its rule, and the row appears.
    try b.write { try $0.execute(sql: "DROP INDEX one") }
    try MailboxWorld.settle([b, a, c], mailbox)
    try MailboxWorld.expectEqual([a, b, c])
    #expect(try b.sync(through: mailbox).isComplete)
  }

  @Test func whatWasPutOnceIsNotPutAgainBecauseARowIsSetAside() throws {
    let (a, b) = (try World.store(), try Self.strict())
    try Self.add("milk", a)
    try a.sync(through: mailbox)
    try Self.add("milk", b)
    #expect(try b.sync(through: mailbox).written.count == 1)
    for _ in 0..<3 { #expect(try b.sync(through: mailbox).written == []) }
    #expect(mailbox.files.count == 2)
  }

  @Test func whatBuildsOnAFileWithARowThatIsSetAsideComesAllTheSame() throws {
    let (a, b) = (try World.store(), try Self.strict())
    try Self.add("milk", b)
    for text in ["milk", "bread"] {
      try Self.add(text, a)
      try a.sync(through: mailbox)
    }
    let report = try b.sync(through: mailbox)
    #expect(report.isComplete && report.written.count == 1)
    #expect(try b.read { try String.fetchAll($0, sql: "SELECT text FROM Note ORDER BY text") } == ["bread", "milk"])
    #expect(try b.status().setAside.count == 1)
  }

  @Test(arguments: [
    "CREATE TRIGGER app BEFORE INSERT ON Note WHEN new.text = 'milk' BEGIN SELECT RAISE(ABORT, 'no milk'); END",
    "CREATE TRIGGER app AFTER INSERT ON Note WHEN new.text = 'milk' BEGIN SELECT nobody_has_this(1); END",
  ])
  func aTriggerThatFailsKeepsOneRowOut(_ trigger: String) throws {
    let (a, b) = (try World.store(), try World.store(notes: 1, "own"))
    try Self.add("milk", a)
    try a.sync(through: mailbox)
    try b.write { try $0.execute(sql: trigger) }
    let report = try b.sync(through: mailbox)
    #expect(report.isComplete && report.written.count == 1)
    #expect(try b.status().setAside.count == 1)
    try b.write { try $0.execute(sql: "DROP TRIGGER app") }
    #expect(try b.status().setAside.isEmpty)
    try MailboxWorld.settle([b, a], mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func aRecordThatATableOfTheAppsRefersToStaysForAsLongAsItDoes() throws {
    let (a, b) = (try World.store(), try World.store())
    try Self.add("milk", a)
    try MailboxWorld.settle([a, b], mailbox)
    try b.write { db in
      try db.execute(sql: "CREATE TABLE Favourite(note TEXT REFERENCES Note(id))")
      try db.execute(sql: "INSERT INTO Favourite SELECT id FROM Note")
      try Note(text: "own", stars: 1).insert(db)
    }
    try a.write { try $0.execute(sql: "DELETE FROM Note") }
    try a.sync(through: mailbox)
    let report = try b.sync(through: mailbox)
    #expect(report.isComplete && report.written.count == 1)
    #expect(try b.status().setAside.map(\.isShown) == [true])
    try b.write { try $0.execute(sql: "DELETE FROM Favourite") }
    #expect(try b.status().setAside.isEmpty)
    try MailboxWorld.settle([b, a], mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  // MARK: What is not the file's fault

  @Test func aFullDiskEndsThePass() throws {
    let (a, b) = (try World.store(), try World.store())
    try Self.add(String(repeating: "milk ", count: 100_000), a)
    try a.sync(through: mailbox)
    try b.write { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      try db.execute(sql: "PRAGMA max_page_count = \(pages + 8)")
    }
    let error = #expect(throws: DatabaseError.self) { try b.sync(through: mailbox) }
    #expect(error?.resultCode == .SQLITE_FULL)
    try b.write { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
    try MailboxWorld.settle([b, a], mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  /// What a store remembers needs room; what it puts does not.
  @Test func aFullDiskDoesNotKeepAStoreFromPutting() async throws {
    let (a, b) = (try World.store(), try World.store())
    for number in 0..<60 {
      try Self.add("\(number)", a)
      try await a.sync(through: mailbox)
    }
    _ = try await World.sync(a, b)
    try Self.add("own", b)
    try await b.write { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      try db.execute(sql: "PRAGMA max_page_count = \(pages)")
    }
    let before = mailbox.files.count
    let error = await #expect(throws: DatabaseError.self) { try await b.sync(through: mailbox) }
    #expect(error?.resultCode == .SQLITE_FULL)
    #expect(mailbox.files.count == before + 1)
    try await b.write { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
    try await a.sync(through: mailbox)
    try await b.sync(through: mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func faultsOfTheStoreAreNotBlamedOnAFile() {
    let own: [ResultCode] = [
      .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_READONLY, .SQLITE_BUSY, .SQLITE_LOCKED,
      .SQLITE_NOMEM,
      .SQLITE_CANTOPEN, .SQLITE_INTERRUPT, .SQLITE_ABORT, .SQLITE_MISUSE,
    ]
    for code in own { #expect(MailboxReader.Fault(applying: DatabaseError(resultCode: code)) == nil, "\(code)") }
    #expect(MailboxReader.Fault(applying: StoreError(.corrupt, "")) == nil)
    #expect(MailboxReader.Fault(applying: StoreError(.notCaptured, "")) == nil)
    #expect(MailboxReader.Fault(applying: CancellationError()) == nil)
    let content: [ResultCode] = [
      .SQLITE_CONSTRAINT, .SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_TRIGGER, .SQLITE_TOOBIG,
    ]
    for code in content {
      let fault = MailboxReader.Fault(applying: DatabaseError(resultCode: code))
      #expect(fault?.reason == .refusedByStore, "\(code)")
    }
    #expect(MailboxReader.Fault(applying: StoreError(.danglingReference, ""))?.reason == .refusedByStore)
  }
}
