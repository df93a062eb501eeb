import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRecovery
import TallyStore
import Testing

/// Bad input gets a clear error, and nothing changes.
@Suite struct ErrorTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func expect(_ code: StoreError.Code, _ body: () throws -> Void, _ location: SourceLocation = #_sourceLocation)
  {
    let error = #expect(throws: StoreError.self, sourceLocation: location) { try body() }
    #expect(error?.code == code, sourceLocation: location)
  }

  @Test(arguments: [
    ("chess", "delimiter", "it needs exactly one |~|, as in SBGame|~|chess"),
    ("|~|chess", "empty", "nothing stands before or after the |~|"),
    ("A|~|" + String(repeating: "k", count: 252), "tooLong", "it has 256 bytes; the limit is 255"),
    ("A|~|\n", "notPrintableASCII", "byte 5 is not printable ASCII"),
    ("1|~|a", "type", "the part before |~| is not a letter followed by letters, digits and underscores"),
  ])
  func aMalformedNameIsAnErrorOfTallys(name: String, code: String, message: String) {
    let refusal = #expect(throws: RecordNameError.self) { try AnyRecordName(name) }
    let error: (any TallyError)? = refusal
    #expect(error?.code.rawValue == code && error?.message == message)
    #expect(error?.isPermanent == true && error?.retryAfter == nil)
    #expect(error?.description == "\(message) (\(code))")
  }

  @Test func aForeignDatabaseIsRefusedAndNotTouched() throws {
    let path = scratch.path("foreign")
    let queue = try DatabaseQueue(path: path)
    try queue.write { try $0.execute(sql: "CREATE TABLE t(a)") }
    try queue.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    expect(.notAStore) { _ = try scratch.store("foreign") }
    expect(.notAStore) { _ = try Store(existing: path) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
  }

  /// A database keeps its encoding when its last table is dropped, and what is stored is compared byte by byte.
  @Test func anEmptyDatabaseOfAnotherEncodingIsRefused() throws {
    let path = scratch.path("utf16")
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { db in
      for sql in ["PRAGMA encoding = 'UTF-16le'", "CREATE TABLE t(a)", "DROP TABLE t"] { try db.execute(sql: sql) }
    }
    try queue.close()
    let error = #expect(throws: StoreError.self) { try scratch.store("utf16") }
    #expect(error?.code == .notAStore && error?.message.contains("UTF-16") == true)
  }

  /// SQLite says only that it cannot open the file.
  @Test func aFolderThatIsNotThereIsNamed() throws {
    let path = scratch.path("nowhere/store")
    let error = #expect(throws: DatabaseError.self) { try Store(path: path, schema: scorebook) }
    #expect(error?.resultCode == .SQLITE_CANTOPEN)
    #expect(error?.message == "\(path) cannot be opened: there is no folder \(scratch.path("nowhere"))")
  }

  @Test func whatIsNoDatabaseIsRefused() throws {
    try Data("hello, this is a text, not a database".utf8).write(to: URL(fileURLWithPath: scratch.path("text")))
    expect(.notAStore) { _ = try scratch.store("text") }
    expect(.notAStore) { _ = try Store(path: scratch.url.path, schema: scorebook) }
    expect(.noSuchStore) { _ = try Store(existing: scratch.path("missing")) }
    #expect(!FileManager.default.fileExists(atPath: scratch.path("missing")))
  }

  @Test(.timeLimit(.minutes(30))) func aPipeIsRefusedAndNotWaitedFor() throws {
    #expect(mkfifo(scratch.path("pipe"), 0o600) == 0)
    expect(.notAStore) { _ = try scratch.store("pipe") }
    expect(.notAStore) { _ = try Store(existing: scratch.path("pipe")) }
    expect(.notAStore) { _ = try Store(existing: "/dev/null") }
  }

  @Test(arguments: [(99, StoreError.Code.newerFormat), (Format.version + 1, .newerFormat), (1, .olderFormat)])
  func anotherFormatIsRefused(_ version: Int, _ code: StoreError.Code) throws {
    try scratch.store().close()
    let queue = try DatabaseQueue(path: scratch.path("a.tally"))
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = \(version)") }
    try queue.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: scratch.path("a.tally")))
    expect(code) { _ = try scratch.store() }
    expect(code) { _ = try Store(existing: scratch.path("a.tally")) }
    // What is far from any version may be damage.
    if version < 99 {
      expect(code) { _ = try Store.recover(scratch.path("a.tally"), to: scratch.path("b.tally")) }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path("a.tally"))) == before)
  }

  @Test(arguments: [
    "x\" INTEGER); DROP TABLE t;--", "", "1st", "a b", "naïve", "nul\u{0}", "tally_x", "sqlite_x", "id",
    String(repeating: "x", count: 1 << 20),
  ])
  func aHostileNameInASchemaIsRefused(name: String) throws {
    expect(.invalidSchema) {
      _ = try scratch.store(schema: Schema([EntitySchema("Fine", .text(name))]))
    }
    if name != "id" {
      expect(.invalidSchema) { _ = try scratch.store(schema: Schema([EntitySchema(name, .text("fine"))])) }
    }
    #expect(!FileManager.default.fileExists(atPath: scratch.path("a.tally")))
  }

  @Test func contradictionsInASchemaAreRefused() throws {
    for properties: [EntitySchema.Property] in [
      [.text("name"), .integer("NAME")], [.reference("owner", to: "Nobody")], [.toMany("things", to: "Nobody")],
      [.text("a", renamedFrom: "x"), .text("b", renamedFrom: "x")],
    ] {
      var entity = EntitySchema("Thing")
      for property in properties {
        switch property {
        case .field(let field): entity.fields.append(field)
        case .reference(let reference): entity.references.append(reference)
        case .relationship(let relationship): entity.relationships.append(relationship)
        }
      }
      expect(.invalidSchema) { _ = try scratch.store(schema: Schema([entity])) }
    }
  }

  @Test func wrongValuesAreRefusedWhole() throws {
    let store = try scratch.store()
    let before = try store.summary()
    expect(.typeMismatch) {
      try store.write { try $0.execute(sql: "INSERT INTO SBGame(id, isTeam) VALUES('SBGame|~|a', 2)") }
    }
    expect(.typeMismatch) {
      try store.write { try $0.execute(sql: "INSERT INTO SBGame(id, code) VALUES('SBGame|~|a', x'00')") }
    }
    expect(.invalidName) {
      try store.write { try $0.execute(sql: "INSERT INTO SBGame(id) VALUES('SBGame|~|a|~|b')") }
    }
    expect(.invalidName) { try store.write { try $0.execute(sql: "INSERT INTO SBGame(id) VALUES('SBGame|~|é')") } }
    expect(.valueTooLarge) {
      try store.write { try $0.execute(sql: "INSERT INTO SBGame(id, icon) VALUES('SBGame|~|a', zeroblob(16777217))") }
    }
    // Each value is within its limit.
    let large = EntitySchema("Large", .blob("a"), .blob("b"), .blob("c"), .blob("d"))
    let vault = try scratch.store("vault", schema: Schema([large]))
    let blobs = "zeroblob(16777216), zeroblob(16777216), zeroblob(16777216), x'00'"
    expect(.valueTooLarge) {
      try vault.write { try $0.execute(sql: "INSERT INTO Large(id, a, b, c, d) VALUES('Large|~|a', \(blobs))") }
    }
    expect(.danglingReference) {
      try store.write {
        try $0.execute(sql: "INSERT INTO SBGame(id, author) VALUES('SBGame|~|a', 'SBPerson|~|nobody')")
      }
    }
    #expect(throws: DatabaseError.self) {
      try store.write { try $0.execute(sql: "INSERT INTO SBGame(id, rating) VALUES('SBGame|~|a', 'many')") }
    }
    #expect(throws: DatabaseError.self) {
      try store.write { try $0.execute(sql: "INSERT INTO SBGame(id) VALUES('SBPerson|~|a')") }
    }
    #expect(try store.summary() == before)
    #expect(try store.read { try Game.fetchCount($0) } == 0)
    try expectConverged(store)
  }

  @Test func aDeniedDeleteFailsHere() throws {
    let store = try scratch.store()
    let ann = Person(name: "Ann")
    try store.write { db in
      try ann.insert(db)
      try Score(points: 1, person: ann.id).insert(db)
    }
    expect(.deleteDenied) { try store.write { _ = try ann.delete($0) } }
    #expect(try store.read { try Person.fetchCount($0) } == 1)
    try store.write { db in
      try Score.deleteAll(db)
      try ann.delete(db)
    }
    try expectConverged(store)
  }

  @Test func aFullDiskLeavesTheStoreAsItWas() throws {
    let (full, other) = (try scratch.store("full"), try scratch.store("other"))
    try full.write { try Game(name: "Here").insert($0) }
    try other.write { db in
      for number in 1...2_000 { try Game(name: String(repeating: "x", count: 200), rating: Double(number)).insert(db) }
    }
    let before = try full.summary()
    let limit = try full.write { db -> Int in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      return try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages + 8)") ?? 0
    }
    let error = #expect(throws: DatabaseError.self) { try full.sync(with: other) }
    #expect(error?.resultCode == .SQLITE_FULL)
    #expect(try full.summary() == before)
    try expectConverged(full)
    try full.write { try $0.execute(sql: "PRAGMA max_page_count = \(limit * 1000)") }
    try full.sync(with: other)
    try expectConverged(full, other)
  }

  @Test func aReadOnlyStoreReadsAndRefusesToWrite() throws {
    let store = try scratch.store()
    try store.write { try Game(name: "Chess").insert($0) }
    try store.close()
    var options = StoreOptions()
    options.isReadOnly = true
    let reading = try Store(existing: scratch.path("a.tally"), options: options)
    #expect(try reading.read { try Game.fetchCount($0) } == 1)
    #expect(try reading.verify().isSound)
    #expect(try !reading.delta().isEmpty)
    let error = #expect(throws: StoreError.self) { try reading.write { try Game(name: "Go").insert($0) } }
    #expect(error?.code == .readOnly && (error?.cause as? DatabaseError)?.resultCode == .SQLITE_READONLY)
  }
}
