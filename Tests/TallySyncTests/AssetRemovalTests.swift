import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyTesting
import Testing

@testable import TallyStore
@testable import TallySync

/// A purge takes the files along that only the purged records named, on each device that it reaches.
@Suite(.timeLimit(.minutes(5))) struct AssetRemovalTests {
  private typealias Place = AssetFileTests.Place
  private let bytes = Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 11) })

  private func insert(_ key: String, _ name: AssetName, _ store: Store, as field: String = "photo") throws {
    try store.write {
      try $0.execute(sql: "INSERT INTO Person(id, \(field)) VALUES(?, ?)", arguments: ["Person|~|\(key)", name])
    }
  }

  private func delete(_ key: String, _ store: Store) throws {
    try store.write { try $0.execute(sql: "DELETE FROM Person WHERE id = ?", arguments: ["Person|~|\(key)"]) }
  }

  private func purge(_ key: String, _ store: Store) throws {
    try delete(key, store)
    #expect(try store.purge(AnyRecordName("Person|~|\(key)")).emptied == 1)
  }

  private func isHere(_ name: AssetName, _ place: Place) throws -> Bool {
    try place.names.contains { $0.contains(name.hash) }
  }

  /// A name of a file that is nowhere.
  private static func unknown(_ digit: String) throws -> AssetName {
    try #require(AssetName(hash: String(repeating: digit, count: 64), byteCount: 5, type: "bin"))
  }

  // MARK: What goes

  @Test func aPurgeTakesItsFileAlong() throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, place.store)
    try delete("ann", place.store)
    #expect(try isHere(name, place), "it can be restored")
    try place.store.purge(try AnyRecordName("Person|~|ann"))
    #expect(try !isHere(name, place))
    // Nor is its name left in the store.
    #expect(try place.store.removals().files.isEmpty && !place.store.removals().isUnfinished)
    for suffix in ["", "-wal"] {
      let file = try Data(contentsOf: URL(fileURLWithPath: place.store.path + suffix))
      #expect(file.range(of: Data(name.hash.utf8)) == nil, "it is in the file \(suffix)")
    }
  }

  /// The same bytes under another type, what has come of the file, and what was put aside as damaged.
  @Test func aPurgeTakesEachCopyAlong() throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, place.store)
    let folder = place.store.path + "-assets"
    for copy in ["\(name.hash.prefix(2))/\(name.hash).png", "parts/\(name.hash).jpg", "damaged/\(name.hash).jpg"] {
      let url = URL(fileURLWithPath: "\(folder)/\(copy)")
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try bytes.write(to: url)
      let date = Date(timeIntervalSince1970: 1_700_000_000)
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: url.path)
    }
    try purge("ann", place.store)
    #expect(try place.names == [])
  }

  /// Over a mailbox, in a session of one process, and as a delta that the app passes on.
  @Test(arguments: 0..<3) func aReceivedPurgeTakesTheFileAlong(_ way: Int) async throws {
    let (a, b, mailbox) = (try Place(), try Place(), MemoryMailbox())
    // What comes is newer than the row.
    b.clock.value = 0.2
    func sync() async throws {
      switch way {
      case 0: for place in [a, b, a] { try await place.store.sync(through: mailbox) }
      case 1: try await a.store.sync(with: b.store)
      default: try b.store.apply(try a.store.delta())
      }
    }
    let name = try a.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, a.store, as: "avatar")
    try await sync()
    // The app has passed the file on as well.
    if way == 2 { #expect(try b.store.assets.add(bytes, type: "jpg") == name) }
    if way == 2 { b.clock.value = 2 }
    #expect(try isHere(name, b))
    try purge("ann", a.store)
    try await sync()
    #expect(try !isHere(name, a) && !isHere(name, b))
  }

  /// The purged write is of a device whose clock is ahead. Its time says nothing of when a file was added here.
  @Test func aFileForARowThatComesStaysWhateverTheOtherClockSays() throws {
    let (a, b) = (try Place(), try Place())
    b.clock.value = 2
    let name = try b.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, b.store)
    try a.store.apply(try b.store.delta())
    try purge("ann", b.store)
    #expect(try a.store.assets.add(bytes, type: "jpg") == name)
    try a.store.apply(try b.store.delta())
    #expect(try isHere(name, a))
    try insert("bob", name, a.store)
    #expect(try a.store.assets.verify().missing == [])
  }

  /// One file that cannot go keeps no other.
  @Test func aFileThatCannotGoKeepsNoOther() throws {
    let place = try Place()
    let names = try (0..<3).map { try place.store.assets.add(bytes + Data([UInt8($0)]), type: "jpg") }
    for (number, name) in names.enumerated() { try insert("\(number)", name, place.store) }
    let stuck = place.store.path + "-assets/parts"
    try FileManager.default.createDirectory(atPath: stuck, withIntermediateDirectories: true)
    // A superuser reads it all the same; a folder that cannot be listed is then a link to itself.
    if geteuid() == 0 {
      try FileManager.default.removeItem(atPath: stuck)
      try FileManager.default.createSymbolicLink(atPath: stuck, withDestinationPath: stuck)
    } else {
      chmod(stuck, 0)
    }
    defer { chmod(stuck, 0o755) }
    for number in 0..<3 { try purge("\(number)", place.store) }
    for name in names { #expect(try !isHere(name, place)) }
  }

  @Test func aCompactionTakesFilesAlong() throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, place.store)
    try delete("ann", place.store)
    try place.store.compact()
    place.clock.value = 29
    #expect(try place.store.compact().emptied == 0)
    #expect(try isHere(name, place))
    place.clock.value = 31
    #expect(try place.store.compact().emptied == 1)
    #expect(try !isHere(name, place))
  }

  /// A blob that became a file counts as written when the blob was, long before the file was added.
  @Test func aFileThatWasABlobGoes() throws {
    let schema = Schema([EntitySchema("Person", .blob("image"), .asset("photo"))])
    let place = try Place(schema)
    try place.store.write {
      try $0.execute(sql: "INSERT INTO Person(id, image) VALUES('Person|~|ann', ?)", arguments: [bytes])
    }
    place.clock.value = 10
    #expect(try place.store.assets.moveBlobs(of: "Person", from: "image", to: "photo").moved == 1)
    #expect(try place.names.count == 1)
    try purge("ann", place.store)
    #expect(try place.names == [])
  }

  /// A write that has lost is in the journal, and the journal's entries go with the record.
  @Test func theFileOfAnEntryOfTheJournalGoes() throws {
    let place = try Place()
    let other = try Store(inMemory: AssetFileTests.schema)
    try place.person("photo", try place.store.assets.add(Data([0]), type: "bin"))
    try other.apply(try place.store.delta())
    let mine = try place.store.assets.add(bytes, type: "bin")
    try place.person("photo", mine)
    let theirs = try Self.unknown("a")
    for name in [theirs, nil, theirs] {
      try other.write { try $0.execute(sql: "UPDATE Person SET photo = ?", arguments: [name]) }
    }
    try place.store.apply(try other.delta())
    #expect(try place.store.conflicts().count == 1)
    #expect(try isHere(mine, place))
    try purge("ann", place.store)
    #expect(try !isHere(mine, place))
  }

  /// A trigger of the app's keeps a row as it was, with what was removed. Its file goes once the row does.
  @Test func aFileThatARowStillShowsGoesWithTheRow() throws {
    let place = try Place()
    let store = place.store
    let name = try store.assets.add(bytes, type: "jpg")
    try insert("ann", name, store)
    try store.write {
      try $0.execute(
        sql: """
          CREATE TABLE fav(p TEXT REFERENCES Person(id));
          INSERT INTO fav VALUES('Person|~|ann');
          CREATE TRIGGER keep BEFORE UPDATE OF photo ON Person WHEN NEW.photo IS NULL
            BEGIN SELECT RAISE(ABORT, 'no'); END
          """)
    }
    let peer = try Store(inMemory: AssetFileTests.schema)
    try peer.apply(try store.delta())
    try purge("ann", peer)
    try store.apply(try peer.delta())
    store.assets.finishRemovals()
    #expect(try store.status().setAside.map(\.showsRemoved) == [true])
    #expect(try isHere(name, place), "a row shows it")
    #expect(try store.removals().files.keys.map(\.text) == [name.text])
    try store.write { try $0.execute(sql: "DROP TRIGGER keep; DELETE FROM fav") }
    try insert("ben", try Self.unknown("d"), store)
    #expect(try store.status().setAside.isEmpty)
    store.assets.finishRemovals()
    #expect(try !isHere(name, place) && !store.removals().isUnfinished && store.removals().files.isEmpty)
  }

  // MARK: Notes

  /// Where no process removes files, their names gather. One more does not write all of them again.
  @Test func oneMoreFileIsOneMoreNote() throws {
    let place = try Place()
    func note(_ numbers: Range<Int>, at time: UInt64) throws -> Int {
      let files = try numbers.map { number in
        let digits = String(number, radix: 16)
        let hash = String(repeating: "0", count: 64 - digits.count) + digits
        return (try #require(AssetName(hash: hash, byteCount: 1, type: "bin")), HybridTime(milliseconds: time))
      }
      return try place.store.replicate { transaction in
        func changes() throws -> Int { try transaction.connection.integer(text: "SELECT total_changes()") ?? 0 }
        let before = try changes()
        let dots = StateVector([(ReplicaID(high: 1, low: 1), UInt64(numbers.upperBound))])
        try transaction.note(removals: dots, Dictionary(uniqueKeysWithValues: files))
        return try changes() - before
      }.value
    }
    #expect(try note(0..<1_000, at: 7) >= 1_000)
    #expect(try note(1_000..<1_001, at: 7) < 10)
    // The later time stays.
    #expect(try note(0..<1, at: 5) < 10)
    #expect(try note(1..<2, at: 9) < 10)
    let removals = try place.store.removals()
    #expect(removals.files.count == 1_001 && removals.isUnfinished)
    #expect(removals.files.values.map(\.milliseconds).sorted().suffix(2) == [7, 9])
    #expect(removals.files.values.allSatisfy { $0.milliseconds >= 7 })
    #expect(removals.all[ReplicaID(high: 1, low: 1)] == 1_001)
  }

  // MARK: What stays

  enum Other: CaseIterable { case row, field, hidden, journal }

  @Test(arguments: Other.allCases) func whatSomethingElseNamesStays(_ other: Other) throws {
    let place = try Place()
    let store = place.store
    let name = try store.assets.add(bytes, type: "jpg")
    try insert("ann", name, store)
    switch other {
    case .row: try insert("ben", name, store, as: "avatar")
    case .field:
      // The app of this device does not know it.
      let newer = try Store(inMemory: Schema([EntitySchema("Person", .asset("portrait"))]))
      try insert("ben", name, newer, as: "portrait")
      try store.apply(try newer.delta())
    case .hidden:
      try insert("ben", name, store)
      try delete("ben", store)
    case .journal:
      try insert("ben", try Self.unknown("c"), store)
      let peer = try Store(inMemory: AssetFileTests.schema)
      try peer.apply(try store.delta())
      let (change, rival) = ("UPDATE Person SET photo = ? WHERE id = 'Person|~|ben'", try Self.unknown("b"))
      try store.write { try $0.execute(sql: change, arguments: [name]) }
      for rival in [rival, nil, rival] { try peer.write { try $0.execute(sql: change, arguments: [rival]) } }
      try store.apply(try peer.delta())
      #expect(try store.conflicts().count == 1)
    }
    try purge("ann", store)
    #expect(try isHere(name, place))
    guard other == .row || other == .hidden else { return }
    if other == .row { try delete("ben", store) }
    try store.purge(try AnyRecordName("Person|~|ben"))
    #expect(try !isHere(name, place), "it goes with the last that names it")
  }

  /// Between `add` and the row that names the file, another record with the same picture is purged.
  @Test(arguments: [false, true]) func aFileThatIsAddedAgainWaitsForItsRow(hasCome: Bool) throws {
    let (place, giver) = (try Place(), try Place())
    let source = hasCome ? giver : place
    let name = try source.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, source.store)
    if hasCome { try place.store.sync(with: giver.store) }
    try delete("ann", place.store)
    place.clock.value = 0.5
    #expect(try place.store.assets.add(bytes, type: "jpg") == name)
    try place.store.purge(try AnyRecordName("Person|~|ann"))
    try insert("ben", name, place.store)
    #expect(try place.store.assets.url(of: name) != nil)
    try purge("ben", place.store)
    #expect(try !isHere(name, place))
  }

  /// A row has named the file since it was added last. That row goes first, and the older one takes the file along.
  @Test func theLastRecordTakesTheFileAlong() throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, place.store)
    place.clock.value = 0.5
    #expect(try place.store.assets.add(bytes, type: "jpg") == name)
    try insert("ben", name, place.store)
    try purge("ben", place.store)
    #expect(try isHere(name, place))
    try purge("ann", place.store)
    #expect(try !isHere(name, place))
  }

  /// Files that are unnamed for other reasons are up to the collection.
  @Test func aPurgeLeavesOtherFiles() throws {
    let place = try Place()
    let (photo, former, early) = (
      try place.store.assets.add(bytes, type: "jpg"), try place.store.assets.add(Data([1]), type: "jpg"),
      try place.store.assets.add(Data([2]), type: "jpg")
    )
    try insert("ann", photo, place.store)
    try insert("ben", former, place.store)
    try place.store.write { try $0.execute(sql: "UPDATE Person SET photo = NULL WHERE id = 'Person|~|ben'") }
    try purge("ann", place.store)
    #expect(try !isHere(photo, place) && isHere(former, place) && isHere(early, place))
  }

  // MARK: Interruptions

  /// The process ends between the purge and its files.
  @Test(arguments: [false, true]) func anInterruptedPurgeGoesOnWithTheNextOpening(isSynced: Bool) throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, place.store)
    try delete("ann", place.store)
    try place.store.replicate { transaction in
      let report = try transaction.purge(AnyRecordName("Person|~|ann"))
      try transaction.noteRemoval(report.files, isPurge: true)
    }
    try place.store.close()
    #expect(try isHere(name, place))
    let store = try Store(path: place.store.path, schema: AssetFileTests.schema, options: place.store.options)
    if isSynced {
      try store.sync(with: try Store(inMemory: AssetFileTests.schema))
    } else {
      store.assets.finishRemovals()
    }
    #expect(try !isHere(name, place) && !store.removals().isUnfinished)
    try store.close()
  }

  /// The folder of files is on a disk that is not there when the record is purged.
  @Test func aPurgeGoesOnOnceTheDiskIsBack() throws {
    let place = try Place()
    let (store, files) = (place.store, FileManager.default)
    let name = try store.assets.add(bytes, type: "jpg")
    try insert("ann", name, store)
    let (folder, disk) = (store.path + "-assets", place.folder.path + "/disk")
    try files.moveItem(atPath: folder, toPath: disk)
    try files.createSymbolicLink(atPath: folder, withDestinationPath: disk)
    #expect(try store.assets.url(of: name) != nil)
    try files.moveItem(atPath: disk, toPath: disk + " is away")
    try purge("ann", store)
    store.assets.finishRemovals()
    #expect(try store.removals().files.keys.map(\.text) == [name.text] && store.removals().isUnfinished)
    try files.moveItem(atPath: disk + " is away", toPath: disk)
    #expect(try store.assets.url(of: name) != nil)
    store.assets.finishRemovals()
    #expect(try store.assets.url(of: name) == nil)
    #expect(try store.removals().files.isEmpty && !store.removals().isUnfinished)
  }

  /// A reader of an older state keeps the log, and not the file.
  @Test func aReaderOfAnOlderStateKeepsNoFile() throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    try insert("ann", name, place.store)
    try delete("ann", place.store)
    do {
      let reading = try place.store.makeSnapshot()
      try place.store.purge(try AnyRecordName("Person|~|ann"))
      #expect(try !isHere(name, place))
      #expect(try reading.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Person") } == 0)
      #expect(try place.store.removals().isUnfinished && place.store.removals().files.isEmpty)
    }
    place.store.assets.finishRemovals()
    #expect(try !place.store.removals().isUnfinished)
  }
}
