import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyStore
import TallyWire
import Testing

@testable import TallySync

/// What disks, backups and other programs do to the folder of files, and what becomes of it.
@Suite(.timeLimit(.minutes(15))) struct AssetDiskTests {
  private typealias Place = AssetFileTests.Place
  private let mailbox = MemoryMailbox()
  private let bytes = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  private func url(_ name: AssetName, _ place: Place) throws -> URL {
    URL(fileURLWithPath: try place.store.assets.folder.path(of: name))
  }

  /// A file that has lost its end is missing: it is not listed under a name that it never had, not put anywhere, and
  /// `verify` reports the name that rows have.
  @Test func aFileWithoutItsEndIsMissing() throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    try place.person("photo", name)
    try bytes.prefix(10).write(to: try url(name, place))
    #expect(try place.store.assets.list().map(\.name) == [name])
    #expect(try place.store.assets.list().map(\.isHere) == [false])
    #expect(try place.store.assets.unsent() == [])
    let pass = try place.store.sync(through: mailbox)
    #expect(pass.assets.written == [] && pass.assets.issues == [] && pass.assets.missing == 1)
    let report = try place.store.assets.verify()
    #expect(report.damaged == [name] && report.missing == [name])
    #expect(try place.store.assets.add(bytes, type: "jpg") == name)
    #expect(try Data(contentsOf: url(name, place)) == bytes)
  }

  /// Also if what names it is a record that was deleted.
  @Test func aFileWithoutItsEndThatADeletedRecordNamesIsNotPut() throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    try place.person("photo", name)
    try place.store.write { try $0.execute(sql: "DELETE FROM Person") }
    #expect(try place.store.assets.unsent() == [name])
    try bytes.prefix(10).write(to: try url(name, place))
    #expect(try place.store.assets.unsent() == [])
    #expect(try place.store.assets.list() == [])
  }

  /// Two stores that meet in one process, of which one has damaged files.
  @Test(arguments: [10, 10_000]) func aDamagedFileStopsNoOther(byteCount: Int) throws {
    let (a, b) = (try Place(), try Place())
    let (bad, good) = (try a.store.assets.add(bytes, type: "jpg"), try a.store.assets.add(Data([1]), type: "png"))
    try a.person("photo", bad)
    try a.person("avatar", good)
    var damaged = bytes.prefix(byteCount)
    damaged[0] ^= 1
    try damaged.write(to: try url(bad, a))
    try a.store.sync(with: b.store)
    #expect(try b.store.assets.url(of: good) != nil && b.store.assets.url(of: bad) == nil)
    #expect(try b.names == ["\(good.hash.prefix(2))/\(good.hash).png"])
    // Once it is whole again, the next meeting brings it.
    _ = try a.store.assets.verify()
    #expect(try a.store.assets.add(bytes, type: "jpg") == bad)
    try a.store.sync(with: b.store)
    #expect(try Data(contentsOf: url(bad, b)) == bytes)
  }

  /// The app has the right bytes, and the file under their name is damaged.
  @Test(arguments: [false, true]) func addingADamagedFileAgainMendsIt(isFile: Bool) throws {
    let place = try Place()
    let name = try place.store.assets.add(bytes, type: "jpg")
    var damaged = bytes
    damaged[7] ^= 1
    try damaged.write(to: try url(name, place))
    let again =
      isFile
      ? try place.store.assets.add(contentsOf: place.file("b.jpg", bytes))
      : try place.store.assets.add(bytes, type: "jpg")
    #expect(again == name)
    #expect(try Data(contentsOf: url(name, place)) == bytes)
    let report = try place.store.assets.verify()
    #expect(report.damaged == [] && report.sound == 1)
  }

  /// Another program has made a folder where a file belongs, or what has come of it. It is put aside, with its content.
  @Test(arguments: [false, true]) func aFolderInThePlaceOfAFileIsPutAside(isPart: Bool) throws {
    let (a, b) = (try Place(), try Place())
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    let obstacle =
      isPart ? URL(fileURLWithPath: try b.store.assets.folder.part(of: name)) : try url(name, b)
    try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: true)
    try Data([7]).write(to: obstacle.appendingPathComponent("other"))
    let report = try b.store.sync(through: mailbox)
    #expect(report.assets.taken == [name] && report.assets.issues == [])
    #expect(try Data(contentsOf: url(name, b)) == bytes)
    #expect(try b.names.filter { $0.hasPrefix("damaged/") && $0.hasSuffix("/other") }.count == 1)
    // It is not ours to remove, and stops no collection.
    b.clock.value = 100
    try b.store.assets.collect(isUrgent: true)
    #expect(try b.names.filter { $0.hasPrefix("damaged/") && $0.hasSuffix("/other") }.count == 1)
  }

  @Test func aLinkInThePlaceOfAPartIsPutAside() throws {
    let (a, b) = (try Place(), try Place())
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    let other = try b.file("other", Data([1, 2, 3]))
    let part = URL(fileURLWithPath: try b.store.assets.folder.part(of: name))
    try FileManager.default.createDirectory(
      at: part.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(at: part, withDestinationURL: other)
    #expect(try b.store.sync(through: mailbox).assets.taken == [name])
    #expect(try Data(contentsOf: other) == Data([1, 2, 3]), "nothing is written through a link")
  }

  /// A page in the middle of what is known of places is gone, which opening does not notice.
  @Test(arguments: 1..<6) func whatIsKnownOfPlacesMayBeDamagedWithin(page: Int) throws {
    let a = try Place()
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("photo", name)
    try a.store.sync(through: mailbox)
    let file = URL(fileURLWithPath: a.store.path + "-assets/places.sqlite")
    var content = try Data(contentsOf: file)
    try #require(content.count >= 4_096 * (page + 1))
    content.replaceSubrange(4_096 * page..<4_096 * (page + 1), with: Data(count: 4_096))
    try content.write(to: file)
    for _ in 0..<2 {
      #expect(try a.store.assets.add(bytes, type: "jpg") == name)
      let report = try a.store.sync(through: mailbox)
      #expect(report.assets.failure == nil && report.assets.issues == [])
      try a.store.assets.want(name)
      try a.store.assets.evict()
      try a.store.assets.collect()
    }
    #expect(try a.store.assets.list().map(\.isElsewhere) == [true])
  }

  #if PlantedFaults
    /// A process is killed, or the disk is full, at each operation of an add: the file is there or it is not, what was
    /// there before stays, and a later add succeeds.
    @Test(arguments: [AssetDisk.Ending.killed, .full]) func anAddMayEndAtAnyOperation(
      _ ending: AssetDisk.Ending
    ) throws {
      let place = try Place()
      let assets = place.store.assets
      let (folder, kept) = (try assets.folder.path, try assets.add(Data([1]), type: "png"))
      var operations = 0
      while true {
        AssetDisk.end(folder, as: ending, after: operations)
        let content = bytes + Data([UInt8(operations)])
        let name = try? assets.add(content, type: "jpg")
        let hasEnded = AssetDisk.goOn(folder)
        let report = try assets.verify()
        #expect(report.damaged == [] && report.unreadable == [])
        #expect(try assets.url(of: kept) != nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        if ending == .full { #expect(names.allSatisfy { !$0.hasSuffix(".tmp") }) }
        #expect(try assets.add(content, type: "jpg").byteCount == content.count)
        guard hasEnded else {
          #expect(name != nil)
          break
        }
        #expect(name == nil)
        operations += 1
        try #require(operations < 100)
      }
      #expect(operations > 5)
    }

    /// A download that ends at each of its operations goes on, and no other bytes are ever shown.
    @Test(arguments: [AssetDisk.Ending.killed, .full]) func aDownloadMayEndAtAnyOperation(
      _ ending: AssetDisk.Ending
    ) throws {
      let (a, b) = (try Place(), try Place())
      let name = try a.store.assets.add(bytes, type: "jpg")
      try a.person("avatar", name)
      try a.store.sync(through: mailbox)
      let folder = try b.store.assets.folder.path
      var operations = 0
      while true {
        AssetDisk.end(folder, as: ending, after: operations)
        _ = try b.store.sync(through: mailbox)
        let hasEnded = AssetDisk.goOn(folder)
        if let url = try b.store.assets.url(of: name) { #expect(try Data(contentsOf: url) == bytes) }
        guard hasEnded else { break }
        _ = try b.store.sync(through: mailbox)
        #expect(try Data(contentsOf: url(name, b)) == bytes)
        try FileManager.default.removeItem(atPath: folder)
        operations += 1
        try #require(operations < 100)
      }
      #expect(operations > 10)
    }
  #endif
}
