import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyStore
import TallyWire
import Testing

@testable import TallySync

/// Files on their way through a mailbox.
@Suite(.timeLimit(.minutes(15))) struct AssetPassTests {
  private typealias Place = AssetFileTests.Place
  private let mailbox = MemoryMailbox()
  private let bytes = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  private func entry(_ name: AssetName) -> String { "asset1-default-\(name.hash)-\(name.byteCount).\(name.type)" }

  @Test func anEagerFileComesAndALazyOneWhenItIsWanted() throws {
    let (a, b) = (try Place(), try Place())
    let (photo, avatar) = (try a.store.assets.add(bytes, type: "jpg"), try a.store.assets.add(Data([1]), type: "png"))
    try a.person("photo", photo)
    try a.person("avatar", avatar)
    let sent = try a.store.sync(through: mailbox)
    #expect(Set(sent.assets.written) == [photo, avatar] && sent.assets.unsent == 0 && sent.assets.missing == 0)
    let first = try b.store.sync(through: mailbox)
    #expect(first.assets.taken == [avatar] && first.assets.missing == 1 && first.assets.wanted == 0)
    #expect(try b.store.assets.url(of: photo) == nil)
    try b.store.assets.want(photo)
    let second = try b.store.sync(through: mailbox)
    #expect(second.assets.taken == [photo] && second.assets.missing == 0)
    #expect(try Data(contentsOf: #require(try b.store.assets.url(of: photo))) == bytes)
    // Nothing more to do, on either side.
    for store in [a.store, b.store] { #expect(try store.sync(through: mailbox).assets == AssetTransfers()) }
  }

  @Test func aDownloadGoesOnWhereItWasEnded() throws {
    let (a, b) = (try Place(), try Place())
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    mailbox.faults.cut[entry(name)] = 4_000
    let report = try b.store.sync(through: mailbox)
    #expect(report.assets.taken == [] && report.assets.wanted == 1)
    #expect(report.assets.issues.map(\.code) == ["missing"] && report.isComplete, "records do not wait for files")
    mailbox.faults = MemoryMailbox.Faults()
    let rest = try b.store.sync(through: mailbox)
    #expect(rest.assets.taken == [name] && rest.bytesRead == 6_000)
    #expect(try Data(contentsOf: #require(try b.store.assets.url(of: name))) == bytes)
  }

  @Test func otherBytesThanTheNameSaysAreNotShown() throws {
    let (a, b) = (try Place(), try Place())
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    for fault in 0..<3 {
      mailbox.faults = MemoryMailbox.Faults()
      switch fault {
      case 0: mailbox.faults.zeroed[entry(name)] = 10
      case 1: mailbox.faults.unreadable = [entry(name)]
      default: mailbox.place(Array(bytes) + [0], as: entry(name))
      }
      let report = try b.store.sync(through: mailbox)
      #expect(report.assets.issues.map(\.code) == [fault == 1 ? "unreadable" : "wrongContent"])
      #expect(report.assets.wanted == 1)
      #expect(try b.store.assets.url(of: name) == nil)
      #expect(try b.names.filter { !$0.hasPrefix("parts") } == [])
      // It is not read again for an hour.
      let again = try b.store.sync(through: mailbox)
      #expect(again.bytesRead == 0 && again.assets.issues.map(\.code) == report.assets.issues.map(\.code))
      b.clock.value += 0.1
    }
    mailbox.place(Array(bytes), as: entry(name))
    mailbox.faults = MemoryMailbox.Faults()
    #expect(try b.store.sync(through: mailbox).assets.taken == [name])
  }

  @Test func aDamagedFileIsNotPut() throws {
    let a = try Place()
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try Data(count: bytes.count).write(to: try #require(try a.store.assets.url(of: name)))
    let report = try a.store.sync(through: mailbox)
    #expect(report.assets.written == [] && report.assets.unsent == 0 && report.assets.missing == 1)
    #expect(report.assets.issues.map(\.code) == ["damaged"] && report.isComplete)
    #expect(try a.store.assets.url(of: name) == nil && a.names == ["damaged/\(name.hash).jpg"])
    #expect(!mailbox.files.contains { $0.name == entry(name) })
  }

  @Test func whatAPlaceHasLostIsPutAgain() throws {
    let a = try Place()
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    try mailbox.remove(entry(name))
    #expect(try a.store.assets.list().map(\.isElsewhere) == [true])
    #expect(try a.store.sync(through: mailbox).assets.written == [name])
    #expect(mailbox.files.contains { $0.name == entry(name) })
  }

  @Test func whatCameMayBeEvictedAndComesAgain() throws {
    let (a, b) = (try Place(), try Place())
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("photo", name)
    try a.store.sync(through: mailbox)
    try b.store.sync(through: mailbox)
    try b.store.assets.want(name)
    try b.store.sync(through: mailbox)
    // The one who has added it keeps it for a month, also if the place has it.
    #expect(try a.store.assets.evict() == [])
    #expect(try b.store.assets.evict(keeping: 10_000) == [])
    b.clock.value = 8
    #expect(try b.store.assets.evict() == [], "a place that has said nothing for a week may have lost it")
    try b.store.sync(through: mailbox)
    #expect(try b.store.assets.evict() == [name])
    #expect(try b.store.assets.list().map(\.isHere) == [false])
    try b.store.assets.want(name)
    #expect(try b.store.sync(through: mailbox).assets.taken == [name])
  }

  @Test func whatNobodyNamesLeavesThePlaceAfterTheWindow() throws {
    let (a, b) = (try Place(), try Place())
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    for place in [a, b] { try place.store.sync(through: mailbox) }
    try a.store.write { try $0.execute(sql: "UPDATE Person SET avatar = NULL") }
    for day in 0..<30 {
      for place in [a, b] {
        // A clock that jumps makes no more than a day of it.
        place.clock.value = Double(day < 20 ? day : day + 1_000)
        #expect(try place.store.sync(through: mailbox).assets.removed == [])
        try place.store.assets.collect()
      }
    }
    for place in [a, b] { place.clock.value = 1_031 }
    #expect(try a.store.sync(through: mailbox).assets.removed == [name])
    #expect(!mailbox.files.contains { $0.name == entry(name) })
    #expect(try b.store.sync(through: mailbox).assets.written == [])
  }

  @Test func anotherAppsFilesAndOlderVersionsAreLeftAlone() throws {
    let a = try Place()
    mailbox.place([1], as: "asset1-default-abc.jpg")
    mailbox.place([1], as: "holiday.jpg")
    let report = try a.store.sync(through: mailbox)
    #expect(report.isComplete && report.assets == AssetTransfers())
    // A store without assets makes no folder.
    let plain = try Place(Schema([EntitySchema("Note", .text("text"))]))
    try plain.store.sync(through: mailbox)
    #expect(!FileManager.default.fileExists(atPath: plain.store.path + "-assets"))
  }

  /// While it is read what records name, a record comes, and the app asks for its file.
  @Test func aWishWhoseRecordIsLaterStays() throws {
    let a = try Place()
    let name = try #require(AssetName("sha256-\(String(repeating: "ab", count: 32)).3.jpg"))
    let (places, folder) = (try a.store.assets.places(), try a.store.assets.folder)
    let (earlier, use) = (try places.wishes(), try a.store.assets.use())
    try a.person("photo", name)
    try a.store.assets.want(name)
    #expect(try places.wants(use, wishedBefore: earlier, in: folder).names == [name])
    #expect(try places.wishes() == [name])
    // One that was there before, and whose name nothing has, goes.
    #expect(try places.wants(use, wishedBefore: [name], in: folder).names == [])
    #expect(try places.wishes() == [])
  }

  @Test func aWishIsMetAsSoonAsAnEngineCan() async throws {
    let (a, b) = (try Place(), try Place())
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("photo", name)
    for store in [a.store, b.store] { try store.blockingSync(through: mailbox) }
    #expect(try b.store.assets.url(of: name) == nil)
    // Without the wish its next pass would be an hour away.
    var settings = SyncEngine.Settings()
    settings.interval = .seconds(3_600)
    let engine = SyncEngine(b.store, settings)
    await engine.add(mailbox, named: "memory")
    await engine.resume()
    for await status in await engine.statusUpdates() where status.peers.first?.lastSuccess != nil { break }
    #expect(try b.store.assets.url(of: name) == nil)
    let url = try await b.store.assets.url(for: name)
    #expect(try Data(contentsOf: url) == bytes)
    await engine.pause()
  }

  @Test func anEngineSaysWhatWasNotSent() async throws {
    let a = try Place()
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("photo", name)
    let engine = SyncEngine(a.store)
    await engine.countAssets()
    #expect(await engine.status.unsentAssets == 1)
    await engine.add(mailbox, named: "memory")
    await engine.resume()
    for await status in await engine.statusUpdates() where status.peers.first?.lastSuccess != nil { break }
    let status = await engine.status
    #expect(status.unsentAssets == 0 && status.peers.first?.assets?.written == [name] && status.isUpToDate)
    await engine.pause()
  }

  @Test func oneFileDoesNotKeepOthersFromTravelling() throws {
    let a = try Place()
    let names = try (0..<6).map { try a.store.assets.add(Data([UInt8($0)]), type: "bin") }
    for (number, name) in names.enumerated() {
      try a.store.write {
        try $0.execute(sql: "INSERT INTO Person(id, photo) VALUES(?, ?)", arguments: ["Person|~|\(number)", name])
      }
    }
    try Data([9]).write(to: try #require(try a.store.assets.url(of: names[0])))
    let report = try a.store.sync(through: mailbox)
    #expect(Set(report.assets.written) == Set(names.dropFirst()) && report.assets.issues.map(\.name) == [names[0]])
  }

  @Test func storesThatMeetInOneProcessGiveEachOtherTheirFiles() throws {
    let (a, b) = (try Place(), try Place())
    let (mine, theirs) = (try a.store.assets.add(bytes, type: "jpg"), try b.store.assets.add(Data([1]), type: "png"))
    try a.person("photo", mine)
    try b.store.write {
      try $0.execute(sql: "INSERT INTO Person(id, photo) VALUES('Person|~|bob', ?)", arguments: [theirs])
    }
    try a.store.sync(with: b.store)
    for store in [a.store, b.store] {
      for name in [mine, theirs] { #expect(try store.assets.url(of: name) != nil) }
    }
  }

  /// While a pass looks around, the app adds a file and writes its row. The row shows it for a moment only (`isShort`:
  /// until the end of the pass), but its name has left with the pass, and another device may keep it.
  @Test(arguments: [false, true]) func aNameThatLeavesWithAPassIsNoted(isShort: Bool) throws {
    let (a, b) = (try Place(), try Place())
    let (store, bytes) = (a.store, bytes)
    try store.write { try $0.execute(sql: "INSERT INTO Person(id, name) VALUES('Person|~|zoe', 'Zoe')") }
    let name = try withExtendedLifetime(Place()) { try $0.store.assets.add(bytes, type: "jpg") }
    let hooked = HookedPlace(mailbox, carriesAssets: isShort) {
      _ = try store.assets.add(bytes, type: "jpg")
      try store.write {
        try $0.execute(sql: "INSERT OR IGNORE INTO Person(id, photo) VALUES('Person|~|ann', ?)", arguments: [name])
      }
    } willPut: {
      if isShort { try store.write { try $0.execute(sql: "UPDATE Person SET photo = NULL") } }
    }
    try store.sync(through: hooked)
    try b.store.sync(through: mailbox)
    let photos = try b.store.read { try String.fetchAll($0, sql: "SELECT photo FROM Person WHERE photo NOT NULL") }
    #expect(photos == [name.text])
    try store.write { try $0.execute(sql: "UPDATE Person SET photo = NULL") }
    for day in 2..<8 {
      a.clock.value = Double(day)
      #expect(try store.assets.collect() == 0)
    }
    #expect(try store.assets.url(of: name) != nil)
  }

  @Test func signingInMovesTheFilesAlong() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-account-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try Container(directory: folder, schema: AssetFileTests.schema)
    let local = try container.store()
    let name = try local.assets.add(bytes, type: "jpg")
    try local.write {
      try $0.execute(sql: "INSERT INTO Person(id, photo) VALUES('Person|~|ann', ?)", arguments: [name])
    }
    let store = try container.signIn("ann", localData: .move)
    #expect(try store.assets.url(of: name) != nil)
    #expect(try container.signOut().assets.list() == [])
  }

  @Test func whatIsKnownOfPlacesMayBeLost() throws {
    let a = try Place()
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("photo", name)
    try a.store.sync(through: mailbox)
    try Data("no database at all, but long enough to look".utf8).write(
      to: URL(fileURLWithPath: a.store.path + "-assets/places.sqlite"))
    #expect(try a.store.assets.add(bytes, type: "jpg") == name)
    // This place tells no sizes, so only what was put or read counts.
    #expect(try a.store.sync(through: mailbox).assets.written == [name])
    #expect(try a.store.assets.list().map(\.isElsewhere) == [true])
  }

  @Test func aClockThatWasWrongVouchesForNothing() throws {
    let (a, b) = (try Place(), try Place())
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    b.clock.value = 3_000
    try b.store.sync(through: mailbox)
    b.clock.value = 0
    #expect(try b.store.assets.list().map(\.isElsewhere) == [false])
    #expect(try b.store.assets.evict() == [])
  }

  @Test func anErasedAccountTakesItsFilesAlong() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-account-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try Container(directory: folder, schema: AssetFileTests.schema)
    let store = try container.store(of: .person("ann"))
    _ = try store.assets.add(bytes, type: "jpg")
    #expect(FileManager.default.fileExists(atPath: store.path + "-assets"))
    let path = store.path
    try container.erase(.person("ann"))
    #expect(!FileManager.default.fileExists(atPath: path + "-assets"))
  }
}

/// A place that may take no files, and in which something happens while it is listed and while records are put.
private struct HookedPlace: FileMailbox {
  private let base: MemoryMailbox
  let carriesAssets: Bool
  private let willList: @Sendable () throws -> Void
  private let willPut: @Sendable () throws -> Void

  init(
    _ base: MemoryMailbox, carriesAssets: Bool, willList: @escaping @Sendable () throws -> Void,
    willPut: @escaping @Sendable () throws -> Void
  ) {
    (self.base, self.carriesAssets, self.willList, self.willPut) = (base, carriesAssets, willList, willPut)
  }

  var name: String { base.name }
  var identity: String { base.identity }
  func list(prefix: String) throws -> [MailboxItem] {
    // Before the records, not before the files.
    if prefix == "tally" { try willList() }
    return try base.list(prefix: prefix)
  }
  func get(_ name: String) throws -> () throws -> [UInt8]? { try base.get(name) }
  func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    try willPut()
    try base.put(name, from: source)
  }
  func remove(_ name: String) throws { try base.remove(name) }
}
