import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import TallyRecovery
import TestEffort
import Testing

@testable import TallyStore

/// Files that get smaller after deletes (`Vacuum`).
@Suite(.timeLimit(.minutes(30))) struct VacuumTests {
  static let schema = Schema([EntitySchema("Note", .text("title"), .text("text"))])
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// A store of notes of about a thousand bytes each.
  private func filled(
    _ name: String = "notes", _ count: Int = 3000, options: StoreOptions = StoreOptions(), isOld: Bool = false
  ) throws -> Store {
    if isOld {
      // As a version made it that kept no map of pages.
      let queue = try DatabaseQueue(path: scratch.path(name))
      try queue.inDatabase { db in try db.execute(sql: "PRAGMA journal_mode = WAL") }
      try queue.close()
    }
    let store = try scratch.store(name, schema: Self.schema, options: options)
    try Self.insert(0..<count, store)
    return store
  }

  static func insert(_ range: Range<Int>, _ store: Store) throws {
    try store.write { db in
      let text = String(repeating: "canary-5bd1 ", count: 80)
      for number in range {
        try db.execute(
          sql: "INSERT INTO Note(id, title, text) VALUES(?, ?, ?)",
          arguments: ["Note|~|\(number)", "title \(number)", number % 10 == 0 ? "stays" : text])
      }
    }
  }

  /// Deletes nine of ten notes and removes what they held.
  private static func delete(_ store: Store) throws {
    try store.run("DELETE FROM Note WHERE text <> 'stays'")
    let report = try store.compact(restoreWindow: .days(0), vacuum: .off)
    #expect(report.reclaimed == 0)
    try #require(try empty(store) > 0)
  }

  /// Empties what nobody waits for any more.
  private static func empty(_ store: Store) throws -> Int { try store.empty(ripe: nil).emptied }

  private func size(_ name: String = "notes") throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: scratch.path(name))[.size] as? Int)
  }

  private static func pages(_ store: Store) throws -> FilePages { try store.snapshot { try FilePages($0.connection) } }

  private static func isSound(_ store: Store, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    #expect(try Lab.text(store, "PRAGMA integrity_check") == "ok", sourceLocation: sourceLocation)
    #expect(try store.verify().problems == [], sourceLocation: sourceLocation)
  }

  // MARK: Getting smaller

  @Test func theFileGetsSmaller() throws {
    let store = try filled()
    try Self.delete(store)
    let (before, pages, summary) = (try size(), try Self.pages(store), try store.summary())
    #expect(pages.keepsMap && pages.free * 4 > pages.count)
    let dry = try store.compact(isDryRun: true)
    #expect(dry.reclaimed == pages.freeBytes && dry.reclaimable == 0)
    #expect(try size() == before && Self.pages(store).count == pages.count)
    let report = try store.compact()
    let after = try Self.pages(store)
    #expect(report.reclaimed >= pages.freeBytes && report.reclaimable <= pages.size)
    #expect(after.free <= 1 && after.count == pages.count - report.reclaimed / pages.size)
    #expect(try size() == after.count * pages.size)
    #expect(try size() < before / 2)
    #expect(try store.summary() == summary)
    try Self.isSound(store)
    // And it grows again like any file.
    try Self.insert(10_000..<10_500, store)
    try Self.isSound(store)
  }

  /// What is not worth the writes stays, unless it is asked for.
  @Test func littleStaysUnlessItIsAskedFor() throws {
    let store = try filled("notes", 400)
    try Self.delete(store)
    let free = try Self.pages(store).freeBytes
    try #require(free > 0 && free < 1 << 20)
    let automatic = try store.compact()
    #expect(automatic.reclaimed == 0 && automatic.reclaimable == free)
    #expect(try store.compact(vacuum: .off).reclaimable == free)
    #expect(try store.compact(vacuum: .incremental).reclaimed >= free)
    #expect(try Self.pages(store).free <= 1)
    try Self.isSound(store)
  }

  @Test func anEngineCompactsAndTheFileGetsSmaller() throws {
    let store = try filled()
    try Self.delete(store)
    let before = try size()
    try store.compactIfDue()
    #expect(try size() < before / 2)
  }

  /// Nothing of what was removed is in the file or beside it, while the store is open and afterwards.
  @Test(arguments: [true, false]) func nothingRemovedIsLeft(isOld: Bool) throws {
    let store = try filled("notes", 0, isOld: isOld)
    try store.write { db in
      // On pages of their own: what SQLite leaves of short rows where it joins pages is another matter.
      let text = String(repeating: "x", count: 2500) + String(repeating: "canary-5bd1 ", count: 300)
      for number in 0..<1000 {
        try db.execute(
          sql: "INSERT INTO Note(id, title, text) VALUES(?, 'title', ?)",
          arguments: ["Note|~|\(number)", number % 10 == 0 ? "stays" : text])
      }
    }
    try Self.delete(store)
    #expect(try store.compact(vacuum: .full).reclaimed > 0)
    try expectNoCanary()
    try store.close()
    try expectNoCanary()
  }

  /// Emptying records leaves few copies of what was removed, and giving pages back adds none. SQLite itself leaves some
  /// where it joins pages.
  @Test func noCopyIsMade() throws {
    let store = try filled()
    try store.run("DELETE FROM Note WHERE text <> 'stays'")
    try #require(try Self.empty(store) > 0)
    try store.checkpoint(.truncate)
    let before = try canaries()
    #expect(before <= 3)
    try store.compact(vacuum: .incremental)
    #expect(try canaries() <= before)
  }

  /// The number of pages with a part of something that was removed.
  private func canaries() throws -> Int {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.path("notes")))
    return stride(from: 0, to: bytes.count, by: 4096).count {
      bytes[$0..<$0 + 4096].range(of: Data("canary".utf8)) != nil
    }
  }

  /// What still holds something stays; nothing is lost or doubled.
  @Test func whatCanBeRestoredStaysAndComesBack() throws {
    let store = try filled()
    try store.run("DELETE FROM Note WHERE text <> 'stays'")
    try #require(try Self.empty(store) == 2700)
    try store.run("DELETE FROM Note WHERE rowid % 20 = 1")
    let (summary, hidden) = (try store.summary(), try Lab.text(store, "SELECT count(*) FROM tally_hidden"))
    #expect(try Lab.text(store, "SELECT count(*) FROM tally_stub") == "2700")
    #expect(try store.compact(vacuum: .incremental).reclaimed > 1 << 20)
    #expect(try store.summary() == summary)
    #expect(try Lab.text(store, "SELECT count(*) FROM tally_hidden") == hidden)
    try Self.isSound(store)
    let bin = try store.recentlyDeleted(ofType: "Note", limit: 10_000)
    #expect(bin.count == 150)
    for record in bin { try store.restore(record.name) }
    #expect(try Lab.text(store, "SELECT count(*) FROM Note WHERE text = 'stays'") == "300")
    try Self.isSound(store)
  }

  private func expectNoCanary() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: scratch.url.path) {
      guard let bytes = try? Data(contentsOf: scratch.url.appendingPathComponent(name)) else { continue }
      #expect(bytes.range(of: Data("canary".utf8)) == nil, "\(name)")
    }
  }

  // MARK: What the app has built

  /// Rowids of the store's tables stay, and so does an index that goes by them.
  @Test func rowNumbersStay() throws {
    let store = try filled()
    try store.write { db in
      try db.create(virtualTable: "NoteText", using: FTS5()) { table in
        table.synchronize(withTable: "Note")
        table.column("title")
      }
    }
    func numbers() throws -> [Row] { try store.read { try Row.fetchAll($0, sql: "SELECT rowid, id FROM Note") } }
    try Self.delete(store)
    let before = try numbers()
    #expect(try store.compact(vacuum: .full).reclaimed > 0)
    #expect(try numbers() == before && before.count == 300)
    try store.write { try $0.execute(sql: "INSERT INTO NoteText(NoteText, rank) VALUES('integrity-check', 1)") }
    let found = try Lab.text(
      store,
      """
      SELECT group_concat(id) FROM Note WHERE rowid IN (SELECT rowid FROM NoteText WHERE NoteText MATCH '2990')
      """)
    #expect(found == "Note|~|2990")
    try Self.isSound(store)
  }

  // MARK: Others who use the file

  /// Who reads an older state goes on reading it. The file gets smaller once nobody does.
  @Test func aReaderKeepsItsSnapshot() throws {
    let store = try filled()
    try Self.delete(store)
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let reader = try DatabaseQueue(path: scratch.path("notes"), configuration: configuration)
    let list = "SELECT group_concat(title) FROM (SELECT title FROM Note ORDER BY id)"
    let titles = try reader.inDatabase { db in
      try db.execute(sql: "BEGIN")
      return try String.fetchOne(db, sql: list)
    }
    let before = try size()
    let report = try store.compact()
    #expect(report.reclaimed > 0)
    #expect(try size() == before)
    try store.run("UPDATE Note SET title = 'other'")
    try reader.inDatabase { db in
      #expect(try String.fetchOne(db, sql: list) == titles)
      #expect(try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok")
      try db.execute(sql: "COMMIT")
    }
    try reader.close()
    try store.checkpoint(.truncate)
    #expect(try size() < before / 2)
    try Self.isSound(store)
  }

  /// Writes of another connection go on between slices, and none fails.
  @Test func othersWriteMeanwhile() async throws {
    let store = try filled()
    try Self.delete(store)
    let path = scratch.path("notes")
    let writer = Task.detached {
      var configuration = Configuration()
      configuration.busyMode = .timeout(5)
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      for number in 0..<50 {
        try await queue.write { db in
          try db.execute(sql: "INSERT INTO Note(id, title) VALUES('Note|~|other \(number)', 'other')")
        }
      }
      try queue.close()
    }
    let report = try await BlockingWork.run { try store.compact(vacuum: .incremental) }
    #expect(report.reclaimed > 0)
    try await writer.value
    try store.captureChanges()
    #expect(try Lab.text(store, "SELECT count(*) FROM Note WHERE title = 'other'") == "50")
    try Self.isSound(store)
  }

  private static func giveBack(_ store: Store, atMost most: Int) throws -> Int {
    try store.replicate { try FilePages.giveBack($0.connection, atMost: most, $0.environment.now).given }.value
  }

  /// A slice holds the lock for a while and not longer, and ends at the next look at the clock.
  @Test func aSliceIsShort() throws {
    let store = try filled()
    try Self.delete(store)
    let slice = try Self.giveBack(store, atMost: .max)
    #expect(slice > 0 && slice <= 515)
    var options = StoreOptions()
    let seconds = Mutex(1_800_000_000.0)
    options.now = {
      seconds.withLock { time in
        time += 0.1
        return Date(timeIntervalSince1970: time)
      }
    }
    let slow = try filled("slow", options: options)
    try Self.delete(slow)
    let one = try Self.giveBack(slow, atMost: .max)
    #expect(one > 0 && one <= 17)
  }

  // MARK: Interruptions

  /// Whatever is on the disk after any slice, and with any part of the log lost behind it, is a sound store.
  @Test func itCanEndAnywhere() throws {
    let store = try filled()
    try Self.delete(store)
    let summary = try store.summary()
    for round in 0..<(Effort.isLong ? 4 : 1) {
      #expect(try Self.giveBack(store, atMost: 200) > 0)
      let log = try Data(contentsOf: URL(fileURLWithPath: scratch.path("notes-wal")))
      for part in [log.count, log.count - 1, log.count * 3 / 4, log.count / 3] {
        let name = "killed \(round) \(part)"
        try FileManager.default.copyItem(atPath: scratch.path("notes"), toPath: scratch.path(name))
        try log.prefix(part).write(to: URL(fileURLWithPath: scratch.path(name + "-wal")))
        let other = try scratch.store(name, schema: Self.schema)
        #expect(try other.summary().fingerprint == summary.fingerprint)
        try Self.isSound(other)
        try other.compact(vacuum: .incremental)
        #expect(try Self.pages(other).free <= 1)
        try Self.isSound(other)
        try other.close()
      }
    }
  }

  // MARK: Older files

  @Test func anOldFileIsRebuiltOnceWhenItIsAskedFor() throws {
    let store = try filled(isOld: true)
    try Self.delete(store)
    let (before, pages, summary) = (try size(), try Self.pages(store), try store.summary())
    #expect(!pages.keepsMap && pages.isWorthwhile)
    for vacuum in [Vacuum.automatic, .incremental, .off] {
      let report = try store.compact(vacuum: vacuum)
      #expect(report.reclaimed == 0 && report.reclaimable == pages.freeBytes)
    }
    #expect(try store.compact(isDryRun: true, vacuum: .full).reclaimed == pages.freeBytes)
    #expect(try size() == before)
    let report = try store.compact(vacuum: .full)
    #expect(report.reclaimed >= pages.freeBytes && report.reclaimable == 0)
    #expect(try size() == before - report.reclaimed)
    #expect(try store.summary() == summary)
    #expect(try Self.pages(store).keepsMap)
    try Self.isSound(store)
    // From now on it is like a new one.
    try Self.insert(10_000..<13_000, store)
    try Self.delete(store)
    #expect(try store.compact().reclaimed > 0)
    try Self.isSound(store)
  }

  /// A search index by rowid would find the wrong notes.
  @Test(
    arguments: Effort.sample(
      [
        "CREATE VIRTUAL TABLE NoteText USING fts5(title, content='Note')",
        "CREATE VIRTUAL TABLE NoteText USING fts5(title)",
        "CREATE VIEW Numbers AS SELECT \"ROWID\" AS number FROM Note",
        "CREATE TRIGGER Follow AFTER INSERT ON Note BEGIN INSERT INTO Other VALUES(NEW._rowid_); END",
      ], 2))
  func whatGoesByRowNumbersIsNotRebuilt(_ sql: String) throws {
    let store = try filled(isOld: true)
    try store.run("CREATE TABLE Other(number)")
    try Self.delete(store)
    try store.run(sql)
    let (before, content) = (try size(), try store.summary())
    let error = #expect(throws: StoreError.self) { try store.compact(vacuum: .full) }
    #expect(error?.code == .dependsOnRowIDs)
    #expect(throws: StoreError.self) { try store.compact(isDryRun: true, vacuum: .full) }
    #expect(try size() == before && store.summary() == content && !Self.pages(store).keepsMap)
    #expect(try store.compact().reclaimed == 0)
  }

  /// What an app keeps beside, and has nothing to do with rows' numbers, is in nobody's way.
  @Test func otherTablesAreRebuiltToo() throws {
    let store = try filled(isOld: true)
    try store.run(
      "CREATE TABLE Other(n INTEGER PRIMARY KEY, title)", "CREATE INDEX byTitle ON Note(title)",
      "CREATE TRIGGER copied AFTER INSERT ON Note BEGIN INSERT INTO Other(title) VALUES(NEW.title); END")
    try Self.insert(5000..<5010, store)
    try Self.delete(store)
    #expect(try store.compact(vacuum: .full).reclaimed > 0)
    #expect(try Lab.text(store, "SELECT count(*) FROM Other") == "10")
    try Self.isSound(store)
  }

  @Test func withoutRoomAnOldFileStays() throws {
    var options = StoreOptions()
    options.files = FullDisk()
    let store = try filled(options: options, isOld: true)
    try Self.delete(store)
    try store.run("DELETE FROM Note WHERE id = 'Note|~|0'")
    let before = try size()
    let error = #expect(throws: DatabaseError.self) { try store.compact(restoreWindow: .days(0), vacuum: .full) }
    #expect(error?.resultCode == .SQLITE_FULL)
    #expect(try size() == before && Self.empty(store) == 1)
  }

  // MARK: Other stores

  @Test func aReadOnlyStoreStaysAsItIs() throws {
    var store = try filled()
    try Self.delete(store)
    try store.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: scratch.path("notes")))
    var options = StoreOptions()
    options.isReadOnly = true
    store = try Store(existing: scratch.path("notes"), options: options)
    let error = #expect(throws: StoreError.self) { try store.compact(vacuum: .incremental) }
    #expect(error?.code == .readOnly)
    try store.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path("notes"))) == before)
  }

  @Test func aStoreInMemoryHasNothingToGive() throws {
    let store = try Store(inMemory: Self.schema)
    try Self.insert(0..<2000, store)
    try Self.delete(store)
    for vacuum in [Vacuum.automatic, .incremental, .full] {
      #expect(try store.compact(vacuum: vacuum) == CompactionReport())
    }
  }

  /// The list of tables of a damaged file is found again beside the pages that map pointers.
  @Test func aDamagedFileIsRecovered() throws {
    let store = try filled("notes", 12_000)
    try store.close()
    let url = URL(fileURLWithPath: scratch.path("notes"))
    var bytes = Array(try Data(contentsOf: url))
    for place in 100..<120 { bytes[place] = 0xFF }
    try Data(bytes).write(to: url)
    let report = try Store.recover(scratch.path("notes"), to: scratch.path("new"))
    #expect(report.recovered == 12_000)
    let new = try scratch.store("new", schema: Self.schema)
    #expect(try Self.pages(new).keepsMap)
    #expect(try Lab.text(new, "SELECT count(*) FROM Note") == "12000")
  }
}

/// A disk without room.
private struct FullDisk: StoreFiles {
  private let files = SystemFiles()
  func kind(of path: String) -> StoreFileKind { files.kind(of: path) }
  func head(_ count: Int, of path: String) -> [UInt8]? { files.head(count, of: path) }
  func token(at path: String) -> (text: String, fileNumber: UInt64, writing: String)? { files.token(at: path) }
  func writeToken(at path: String, _ text: (UInt64) -> String) throws { try files.writeToken(at: path, text) }
  func freeBytes(at path: String) -> Int? { 1000 }
}
