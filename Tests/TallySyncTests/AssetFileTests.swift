import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyStore
import TallyWire
import Testing

/// Files beside one store: what is added, found, checked, collected and evicted.
@Suite(.timeLimit(.minutes(15))) struct AssetFileTests {
  static let schema = Schema([
    EntitySchema("Person", .text("name"), .asset("photo"), .asset("avatar", download: .eager))
  ])

  /// A store in a folder of its own, and a clock that tests move.
  final class Place {
    let folder: URL
    let store: Store
    let clock = Clock()

    final class Clock: @unchecked Sendable {
      private let lock = NSLock()
      private var days = 0.0
      var value: Double {
        get { lock.withLock { days } }
        set { lock.withLock { days = newValue } }
      }
    }

    init(_ schema: Schema = AssetFileTests.schema) throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-assets-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      var options = StoreOptions()
      let clock = clock
      options.now = { Date(timeIntervalSince1970: 1_800_000_000 + clock.value * 86_400) }
      store = try Store(path: folder.appendingPathComponent("a.tally").path, schema: schema, options: options)
    }

    deinit {
      try? store.close()
      try? FileManager.default.removeItem(at: folder)
    }

    func file(_ name: String, _ bytes: Data) throws -> URL {
      let url = folder.appendingPathComponent(name)
      try bytes.write(to: url)
      return url
    }

    func person(_ field: String, _ name: AssetName) throws {
      try store.write { db in
        try db.execute(
          sql: "INSERT INTO Person(id, \(field)) VALUES('Person|~|ann', ?1) ON CONFLICT DO UPDATE SET \(field) = ?1",
          arguments: [name])
      }
    }

    var names: [String] {
      get throws {
        let files = FileManager.default.enumerator(atPath: folder.path + "/a.tally-assets")?.allObjects as? [String]
        return (files ?? []).filter { $0.contains("/") }.sorted()
      }
    }
  }

  // MARK: Names

  @Test func aNameSaysWhatItsBytesAre() throws {
    let place = try Place()
    let name = try place.store.assets.add(Data("abc".utf8), type: "txt")
    #expect(name.text == "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.3.txt")
    #expect(AssetName(name.text) == name && name.databaseValue == name.text.databaseValue)
    #expect(try JSONDecoder().decode([AssetName].self, from: JSONEncoder().encode([name])) == [name])
    #expect(try Data(contentsOf: #require(try place.store.assets.url(of: name))) == Data("abc".utf8))
    // The same bytes are one file.
    #expect(try place.store.assets.add(contentsOf: place.file("B.TXT", Data("abc".utf8))) == name)
    #expect(try place.names == ["ba/\(name.hash).txt"])
  }

  @Test(arguments: [
    "", "photo.jpg", "sha256-", "sha256-ba.3.jpg", "../../etc/passwd",
    "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015aD.3.jpg",
    "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.03.jpg",
    "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.-3.jpg",
    "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.4294967297.jpg",
    "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.3.",
    "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.3.j/g",
    "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.3.jpg.exe",
    "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.3.abcdefghijklm",
  ])
  func whatIsNoNameIsRefused(_ text: String) throws {
    #expect(AssetName(text) == nil)
    let place = try Place()
    let error = #expect(throws: StoreError.self) {
      try place.store.write {
        try $0.execute(sql: "INSERT INTO Person(id, photo) VALUES('Person|~|a', ?)", arguments: [text])
      }
    }
    #expect(error?.code == .typeMismatch)
    #expect(try place.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Person") } == 0)
  }

  @Test func aNameThatAnotherAppMadeUpReadsAsNothing() throws {
    let place = try Place()
    let other = try Store(inMemory: Schema([EntitySchema("Person", .text("name"), .text("photo"))]))
    try other.write { try $0.execute(sql: "INSERT INTO Person(id, name, photo) VALUES('Person|~|a', 'Ann', 'me.jpg')") }
    try place.store.apply(try other.delta())
    let row = try place.store.read { try Row.fetchOne($0, sql: "SELECT name, photo FROM Person") }
    #expect(row == ["name": "Ann", "photo": nil])
  }

  @Test func aSchemaWithAssetsIsTheSameAsJSON() throws {
    let json = try Self.schema.json()
    #expect(try Schema(json: json).json() == json)
    #expect(String(decoding: json, as: UTF8.self).contains(#""avatar":{"download":"eager","kind":"asset"}"#))
    for wrong in [
      #"{"kind":"text","download":"lazy"}"#, #"{"kind":"asset","download":"soon"}"#, #"{"kind":"asset","default":"a"}"#,
    ] {
      let text = #"{"entities":[{"type":"Person","fields":{"photo":"# + wrong + "}}]}"
      #expect(throws: StoreError.self) { try Schema(json: Data(text.utf8)) }
    }
    // When a device gets the files may change.
    let place = try Place()
    try place.store.close()
    var schema = Self.schema
    schema.entities[0].fields[1].download = .eager
    let store = try Store(path: place.store.path, schema: schema)
    #expect(try store.schema["Person"]?.fields.allSatisfy { $0.kind != .asset || $0.download == .eager } == true)
    try store.close()
  }

  // MARK: Adding

  @Test func whatCannotBeAddedLeavesNothing() throws {
    let place = try Place()
    let assets = place.store.assets
    func code(_ body: () throws -> AssetName) -> AssetError.Code? {
      do {
        _ = try body()
        return nil
      } catch { return (error as? AssetError)?.code }
    }
    #expect(code { try assets.add(Data(), type: "J PG") } == .invalidType)
    #expect(code { try assets.add(contentsOf: place.file("noType", Data([1]))) } == .invalidType)
    #expect(code { try assets.add(contentsOf: place.folder, type: "jpg") } == .notAFile)
    #expect(code { try assets.add(contentsOf: place.folder.appendingPathComponent("none.jpg")) } == .notAFile)
    let pipe = place.folder.appendingPathComponent("pipe.jpg")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    #expect(code { try assets.add(contentsOf: pipe) } == .notAFile)
    #expect(code { try Store(inMemory: Self.schema).assets.add(Data(), type: "jpg") } == .inMemory)
    #expect(try place.names == [])
  }

  @Test func aFileThatChangesWhileItIsReadIsRefused() throws {
    let place = try Place()
    let url = try place.file("a.bin", Data(repeating: 1, count: 3 << 20))
    let source = try AssetSource(url.path, followsLinks: true)
    var hasGrown = false
    let error = #expect(throws: AssetError.self) {
      _ = try source.hash { _ in
        guard !hasGrown else { return }
        hasGrown = true
        let file = try FileHandle(forWritingTo: url)
        try file.seekToEnd()
        try file.write(contentsOf: Data([2]))
        try file.close()
      }
    }
    #expect(error?.code == .changed)
  }

  @Test func aLinkUnderAnAssetsNameCountsAsNothing() throws {
    let place = try Place()
    let name = try place.store.assets.add(Data("abc".utf8), type: "txt")
    let path = try #require(try place.store.assets.url(of: name)).path
    let other = try place.file("other", Data("abc".utf8))
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other.path)
    #expect(try place.store.assets.url(of: name) == nil)
    #expect(try place.store.assets.list() == [])
  }

  // MARK: Checking

  @Test func aDamagedFileIsPutAside() throws {
    let place = try Place()
    let good = try place.store.assets.add(Data("good".utf8), type: "txt")
    let bad = try place.store.assets.add(Data("bad".utf8), type: "txt")
    try place.person("photo", bad)
    try Data("BAD".utf8).write(to: try #require(try place.store.assets.url(of: bad)))
    let report = try place.store.assets.verify()
    #expect(report.sound == 1 && report.byteCount == 4 && report.damaged == [bad] && report.missing == [bad])
    #expect(try place.store.assets.url(of: bad) == nil)
    #expect(try place.store.assets.url(of: good) != nil)
    #expect(try place.names.contains("damaged/\(bad.hash).txt"))
  }

  /// However old the file was: it may be the only copy, and be readable again.
  @Test func whatIsPutAsideStaysForAWeek() throws {
    let place = try Place()
    let name = try place.store.assets.add(Data("bad".utf8), type: "txt")
    try place.person("photo", name)
    let url = try #require(try place.store.assets.url(of: name))
    try Data("BAD".utf8).write(to: url)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -30 * 86_400)], ofItemAtPath: url.path)
    #expect(try place.store.assets.verify().damaged == [name])
    for day in 0..<10 {
      place.clock.value = Double(day)
      try place.store.assets.collect()
      #expect(try place.names.contains("damaged/\(name.hash).txt") == (day < 8), "day \(day)")
    }
  }

  // MARK: Collecting

  /// Others may have the name of a file that a row has named, and no place has the file. One that only waits for a row
  /// is of no use to anybody.
  @Test(arguments: [false, true]) func whatNothingNamesGoesAfterTheWindow(wasNamed: Bool) throws {
    let place = try Place()
    let assets = place.store.assets
    let (kept, gone) = (try assets.add(Data([1]), type: "bin"), try assets.add(Data([2]), type: "bin"))
    if wasNamed {
      try place.person("photo", gone)
      // As before each session and pass.
      assets.finishRemovals()
    }
    try place.person("photo", kept)
    for day in 0..<33 {
      place.clock.value = Double(day)
      let removed = try assets.collect()
      // It is noticed when it is older than a day.
      #expect(removed == (day == (wasNamed ? 32 : 3) ? 1 : 0), "day \(day)")
    }
    #expect(try assets.url(of: kept) != nil)
    #expect(try assets.url(of: gone) == nil)
  }

  /// What had been here before it was added again may have been named before.
  @Test func whatIsAddedAgainWithoutARowStaysForTheWindow() throws {
    let place = try Place()
    let assets = place.store.assets
    let name = try assets.add(Data([1]), type: "bin")
    try place.person("photo", name)
    #expect(try assets.unsent() == [name])
    try place.store.write { try $0.execute(sql: "UPDATE Person SET photo = NULL") }
    #expect(try assets.add(contentsOf: place.file("b.bin", Data([1]))) == name)
    for day in 0..<10 {
      place.clock.value = Double(day)
      #expect(try assets.collect() == 0)
    }
    #expect(try assets.url(of: name) != nil)
  }

  @Test func whatCanBeRestoredKeepsItsFile() throws {
    let place = try Place()
    let assets = place.store.assets
    let name = try assets.add(Data([1]), type: "bin")
    try place.person("photo", name)
    try place.store.write { try $0.execute(sql: "DELETE FROM Person") }
    place.clock.value = 40
    #expect(try assets.collect(isUrgent: true) == 0)
    try place.store.restore(try AnyRecordName("Person|~|ann"))
    #expect(try assets.url(of: name) != nil)
    // A purge leaves nothing that names it.
    try place.store.write { try $0.execute(sql: "DELETE FROM Person") }
    try place.store.purge(try AnyRecordName("Person|~|ann"))
    #expect(try place.names == [])
  }

  @Test func whatOnlyANewerAppNamesStays() throws {
    let place = try Place(Schema([EntitySchema("Person", .text("name"))]))
    let name = try place.store.assets.add(Data([1]), type: "bin")
    let newer = try Store(inMemory: Self.schema)
    try newer.write {
      try $0.execute(sql: "INSERT INTO Person(id, name, photo) VALUES('Person|~|a', 'Ann', ?)", arguments: [name])
    }
    try place.store.apply(try newer.delta())
    #expect(try place.store.assets.collect(isUrgent: true) == 0)
    #expect(try place.store.assets.url(of: name) != nil)
  }

  @Test func theLoserOfAConflictKeepsItsFile() throws {
    let place = try Place()
    let other = try Store(inMemory: Self.schema)
    try place.person("photo", try place.store.assets.add(Data([0]), type: "bin"))
    try other.apply(try place.store.delta())
    let mine = try place.store.assets.add(Data([1]), type: "bin")
    try place.person("photo", mine)
    let theirs = try #require(AssetName(hash: String(repeating: "a", count: 64), byteCount: 5, type: "bin"))
    try other.write { try $0.execute(sql: "UPDATE Person SET photo = ?", arguments: [theirs]) }
    try other.write { try $0.execute(sql: "UPDATE Person SET photo = NULL") }
    try other.write { try $0.execute(sql: "UPDATE Person SET photo = ?", arguments: [theirs]) }
    try place.store.apply(try other.delta())
    let shown = try place.store.read { try AssetName.fetchOne($0, sql: "SELECT photo FROM Person") }
    #expect(shown == theirs)
    try place.store.assets.collect(isUrgent: true)
    #expect(try place.store.assets.url(of: mine) != nil)
  }

  @Test func whatIsAddedAgainIsNew() throws {
    let place = try Place()
    let name = try place.store.assets.add(Data([1]), type: "bin")
    place.clock.value = 2
    #expect(try place.store.assets.collect() == 0)
    place.clock.value = 60
    #expect(try place.store.assets.add(Data([1]), type: "bin") == name)
    #expect(try place.store.assets.collect() == 0)
    #expect(try place.store.assets.url(of: name) != nil)
  }

  @Test func leftoversGoAfterAWeek() throws {
    let place = try Place()
    let name = try place.store.assets.add(Data([1]), type: "bin")
    try place.person("photo", name)
    let folder = place.folder.path + "/a.tally-assets"
    try Data([1]).write(to: URL(fileURLWithPath: folder + "/~half.tmp"))
    // Files have the system's time, and the clock of this test is beyond it.
    place.clock.value = 100
    try place.store.assets.collect()
    #expect(!FileManager.default.fileExists(atPath: folder + "/~half.tmp"))
    #expect(try place.store.assets.url(of: name) != nil)
  }

  @Test func nothingIsEvictedThatIsNowhereElse() throws {
    let place = try Place()
    let name = try place.store.assets.add(Data([1]), type: "bin")
    try place.person("photo", name)
    place.clock.value = 100
    #expect(try place.store.assets.evict() == [])
    #expect(try place.store.assets.url(of: name) != nil)
  }
}
