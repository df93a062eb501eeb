import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyWire
import Testing

@testable import TallyStore
@testable import TallySync

/// Places, devices and other programs that have something else under the name of a file, and purges in the midst of a
/// pass.
@Suite(.timeLimit(.minutes(5))) struct AssetDoubtTests {
  private typealias Place = AssetFileTests.Place
  private let bytes = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  private func entry(_ name: AssetName) -> String { "asset1-default-\(name.hash)-\(name.byteCount).\(name.type)" }

  /// A folder that devices share, in that of one of them.
  private func shared(_ place: Place) throws -> FolderMailbox {
    let url = place.folder.appendingPathComponent("shared")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return FolderMailbox(url)
  }

  private func content(_ mailbox: FolderMailbox, _ name: String) -> Data? {
    try? Data(contentsOf: mailbox.url.appendingPathComponent(name))
  }

  private func insert(_ key: String, _ name: AssetName, _ store: Store) throws {
    try store.write {
      try $0.execute(sql: "INSERT INTO Person(id, avatar) VALUES(?, ?)", arguments: ["Person|~|\(key)", name])
    }
  }

  private func purge(_ key: String, _ store: Store) throws {
    try store.write { try $0.execute(sql: "DELETE FROM Person WHERE id = ?", arguments: ["Person|~|\(key)"]) }
    try store.purge(try AnyRecordName("Person|~|\(key)"))
  }

  // MARK: Entries

  /// Its size is right, so the device that has put it believes that the place has it. The one that reads it says so.
  @Test func aWrongEntryOfTheRightSizeIsPutAgain() throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try shared(a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    var wrong = bytes
    wrong[5_000] ^= 1
    try wrong.write(to: mailbox.url.appendingPathComponent(entry(name)))
    #expect(try a.store.sync(through: mailbox).assets.written == [])
    let first = try b.store.sync(through: mailbox)
    #expect(first.assets.issues.map(\.code) == ["wrongContent"] && first.isComplete)
    #expect(content(mailbox, entry(name)) == wrong, "a drive may still be filling it")
    #expect(content(mailbox, entry(name) + ".wrong") != nil)
    // Nor is it known to be there any more, so no one evicts its copy.
    let second = try a.store.sync(through: mailbox)
    #expect(second.assets.written == [name] && second.assets.unsent == 0)
    #expect(content(mailbox, entry(name)) == bytes && content(mailbox, entry(name) + ".wrong") == nil)
    b.clock.value = 0.1
    #expect(try b.store.sync(through: mailbox).assets.taken == [name])
  }

  /// An entry that a drive had not filled yet: the device that has doubted it takes that back.
  @Test func aDoubtGoesOnceTheEntryIsRight() throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try shared(a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    let url = mailbox.url.appendingPathComponent(entry(name))
    try Data(count: bytes.count).write(to: url)
    #expect(try b.store.sync(through: mailbox).assets.taken == [])
    #expect(content(mailbox, entry(name) + ".wrong") != nil)
    try bytes.write(to: url)
    b.clock.value = 0.1
    #expect(try b.store.sync(through: mailbox).assets.taken == [name])
    #expect(content(mailbox, entry(name) + ".wrong") == nil)
    // Without an entry a doubt says nothing.
    try Data("x".utf8).write(to: mailbox.url.appendingPathComponent(entry(name) + ".wrong"))
    try FileManager.default.removeItem(at: url)
    #expect(try a.store.sync(through: mailbox).assets.written == [name])
    #expect(content(mailbox, entry(name) + ".wrong") == nil)
  }

  /// While it is doubted, a device that has got the file from elsewhere keeps its copy.
  @Test func aDoubtedEntryIsNoReasonToEvict() throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try shared(a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("photo", name)
    try a.store.sync(through: mailbox)
    a.clock.value = 40
    try a.store.sync(through: mailbox)
    #expect(try a.store.assets.list().map(\.isElsewhere) == [true])
    try Data(count: bytes.count).write(to: mailbox.url.appendingPathComponent(entry(name)))
    try b.store.sync(through: mailbox)
    try b.store.assets.want(name)
    try b.store.sync(through: mailbox)
    // A pass that cannot put anything: the drive is full, or the folder may only be read.
    let report = try a.store.sync(through: ReadOnlyMailbox(mailbox))
    #expect(report.assets.unsent == 1 && report.assets.issues.map(\.code) == ["unwritable"])
    #expect(try a.store.assets.evict() == [])
  }

  /// A folder under the name of an entry is no file, and stops neither the other files nor the pass. It stays.
  @Test func aFolderUnderAnEntrysNameStopsNothing() throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try shared(a)
    let names = try (0..<3).map { try a.store.assets.add(bytes + Data([UInt8($0)]), type: "jpg") }
    for (number, name) in names.enumerated() { try insert("\(number)", name, a.store) }
    let folder = mailbox.url.appendingPathComponent(entry(names[1]))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    for _ in 0..<2 {
      let report = try a.store.sync(through: mailbox)
      #expect(report.assets.issues.map(\.name) == [names[1]] && report.assets.issues.map(\.code) == ["notAFile"])
      #expect(report.assets.failure == nil && report.assets.unsent == 1 && report.isComplete)
    }
    let taken = try b.store.sync(through: mailbox)
    #expect(Set(taken.assets.taken) == [names[0], names[2]])
    #expect(taken.assets.issues.map(\.code) == ["notAFile"] && taken.assets.failure == nil)
    // Nor does it stop the removal of what nothing names any more.
    try a.store.write { try $0.execute(sql: "UPDATE Person SET avatar = NULL") }
    var removed: [AssetName] = []
    for day in 0..<32 {
      a.clock.value = Double(day)
      let report = try a.store.sync(through: mailbox)
      #expect(report.assets.failure == nil)
      removed += report.assets.removed
    }
    #expect(Set(removed) == [names[0], names[2]])
    #expect(FileManager.default.fileExists(atPath: folder.path))
    // Once it is gone, the file is put.
    try FileManager.default.removeItem(at: folder)
    try a.store.write { try $0.execute(sql: "UPDATE Person SET avatar = ?", arguments: [names[1]]) }
    _ = try a.store.assets.add(bytes + Data([1]), type: "jpg")
    #expect(try a.store.sync(through: mailbox).assets.written == [names[1]])
  }

  // MARK: The device's own

  /// A device that has found an entry wrong, and has the file since, puts it once.
  @Test func whatWasFoundWrongIsPutOnce() throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try shared(a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    try Data(count: bytes.count).write(to: mailbox.url.appendingPathComponent(entry(name)))
    #expect(try b.store.sync(through: mailbox).assets.issues.map(\.code) == ["wrongContent"])
    #expect(try b.store.assets.add(bytes, type: "jpg") == name)
    #expect(try b.store.sync(through: mailbox).assets.written == [name])
    let again = try b.store.sync(through: mailbox)
    #expect(again.assets.written == [] && again.assets.unsent == 0)
  }

  /// A folder is no word of a device's.
  @Test func aFolderUnderTheNameOfADoubtIsNone() throws {
    let a = try Place()
    let mailbox = try shared(a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    let folder = mailbox.url.appendingPathComponent(entry(name) + ".wrong/inside")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for _ in 0..<2 {
      let report = try a.store.sync(through: mailbox)
      #expect(report.assets.written == [] && report.assets.unsent == 0 && report.assets.issues == [])
    }
  }

  @Test(arguments: [false, true]) func anOwnDamagedFileIsPutAsideAndComesAgain(fromPeer: Bool) throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try shared(a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(with: b.store)
    var wrong = bytes
    wrong[7] ^= 1
    try wrong.write(to: try #require(try a.store.assets.url(of: name)))
    let report = try a.store.sync(through: mailbox)
    #expect(report.assets.issues.map(\.code) == ["damaged"] && report.assets.written == [])
    #expect(report.assets.unsent == 0 && report.assets.missing == 1)
    #expect(try a.store.assets.url(of: name) == nil, "what is damaged is not shown")
    #expect(try a.names.contains("damaged/\(name.hash).jpg"))
    if fromPeer {
      try a.store.sync(with: b.store)
    } else {
      try b.store.sync(through: mailbox)
      #expect(try a.store.sync(through: mailbox).assets.taken == [name])
    }
    #expect(try Data(contentsOf: #require(try a.store.assets.url(of: name))) == bytes)
  }

  /// A plain file stands where the folder of files belongs, or one of its folders: it is put aside with its content.
  @Test(arguments: ["", "/parts", "/damaged", "/00"]) func aPlainFileInAFoldersPlaceIsPutAside(_ part: String) throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try shared(a)
    // The folder of this one is `00`.
    let content = try #require(
      (0..<5_000).lazy.map { Data("content \($0)".utf8) }.first { SHA256.hash(Array($0))[0] == 0 })
    let name = try a.store.assets.add(content, type: "txt")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    let obstacle = URL(fileURLWithPath: b.store.path + "-assets" + part)
    if !part.isEmpty {
      try FileManager.default.createDirectory(
        at: obstacle.deletingLastPathComponent(), withIntermediateDirectories: true)
    }
    try Data("mine".utf8).write(to: obstacle)
    // The store opens, and all that only looks finds nothing.
    try b.store.close()
    let store = try Store(path: b.store.path, schema: AssetFileTests.schema, options: b.store.options)
    defer { try? store.close() }
    try insert("ben", name, store)
    #expect(try store.assets.url(of: name) == nil)
    #expect(try store.assets.verify().missing == [name])
    #expect(try store.assets.list().map(\.isHere) == [false])
    #expect(try store.assets.evict() == [] && store.assets.unsent() == [])
    #expect(try store.assets.collect() == 0)
    try purge("ben", store)
    let report = try store.sync(through: mailbox)
    #expect(report.assets.taken == [name] && report.assets.failure == nil && report.assets.issues == [])
    #expect(try store.assets.url(of: name) != nil)
    // What would have to be put aside as damaged needs the folder for it.
    try Data(count: content.count).write(to: try #require(try store.assets.url(of: name)))
    #expect(try store.assets.verify().damaged == [name])
    #expect(try store.assets.add(content, type: "txt") == name)
    let beside = try FileManager.default.contentsOfDirectory(atPath: obstacle.deletingLastPathComponent().path)
    let aside = beside.filter { $0.hasPrefix(obstacle.lastPathComponent + "~") }
    #expect(aside.count == 1)
    for file in aside {
      let url = obstacle.deletingLastPathComponent().appendingPathComponent(file)
      #expect(try Data(contentsOf: url) == Data("mine".utf8))
    }
  }

  /// Anything else is left alone, such as a link to a disk that is not there now, with an error that says so.
  @Test func aLinkToNowhereInTheFoldersPlaceIsAnError() throws {
    let place = try Place()
    let folder = place.store.path + "-assets"
    try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: place.folder.path + "/elsewhere")
    let error = #expect(throws: AssetError.self) { try place.store.assets.add(bytes, type: "jpg") }
    #expect(error?.code == .unwritable && error?.isPermanent == false)
    #expect(try place.store.assets.list() == [])
    try insert("ann", #require(AssetName("sha256-\(String(repeating: "a", count: 64)).5.jpg")), place.store)
    let report = try place.store.sync(through: MemoryMailbox())
    #expect(report.isComplete && report.assets.failure?.contains("is not a folder") == true)
    // Once the disk is there, it is used.
    try FileManager.default.createDirectory(
      atPath: place.folder.path + "/elsewhere", withIntermediateDirectories: false)
    let name = try place.store.assets.add(bytes, type: "jpg")
    #expect(try place.store.assets.url(of: name) != nil)
  }

  // MARK: Purges meanwhile

  /// While one file comes, the record of another one that is still to come is purged, or its own.
  @Test(arguments: [false, true]) func aPassBringsNoPurgedFile(isOwn: Bool) throws {
    let (a, b, memory) = (try Place(), try Place(), MemoryMailbox())
    // Small ones come first.
    let small = try a.store.assets.add(Data([1, 2]), type: "jpg")
    let large = try a.store.assets.add(bytes, type: "jpg")
    try insert("ann", small, a.store)
    try insert("bob", large, a.store)
    try a.store.sync(through: memory)
    let (gone, store) = (isOwn ? small : large, b.store)
    let mailbox = HookedMailbox(memory) { name in
      guard name == entry(small), try store.assets.use().names(gone.hash) else { return }
      try purge(isOwn ? "ann" : "bob", store)
    }
    let report = try store.sync(through: mailbox)
    #expect(report.assets.taken == [isOwn ? large : small] && report.assets.issues == [])
    #expect(report.assets.wanted == 0)
    #expect(try b.names.allSatisfy { !$0.contains(gone.hash) })
  }

  /// The purge comes between the end of the download and the file's name.
  @Test(arguments: [false, true]) func whatHasJustComeIsTakenBack(isAddedAgain: Bool) throws {
    let place = try Place()
    let assets = place.store.assets
    let name = try withExtendedLifetime(Place()) { try $0.store.assets.add(bytes, type: "jpg") }
    try insert("ann", name, place.store)
    let removals = try assets.removals()
    let download = try AssetDownloading(name, in: assets.folder)
    try download.append(Array(bytes)[...])
    try place.store.write { try $0.execute(sql: "DELETE FROM Person") }
    try place.store.replicate { transaction in
      let report = try transaction.purge(AnyRecordName("Person|~|ann"))
      try transaction.noteRemoval(report.files, isPurge: true)
    }
    // The process that purges has not come to the files yet.
    #expect(try download.finish())
    try assets.places().noteArrival(name)
    place.clock.value = 0.1
    if isAddedAgain { #expect(try assets.add(bytes, type: "jpg") == name) }
    #expect(try assets.takeBack([name], since: removals) == (isAddedAgain ? [] : [name]))
    #expect(try (assets.url(of: name) != nil) == isAddedAgain)
  }

  /// The app adds the file between the end of the download and the note of its arrival, perhaps in another process.
  @Test func whatTheAppAddsWhileItComesIsTheApps() throws {
    let place = try Place()
    let assets = place.store.assets
    let name = try withExtendedLifetime(Place()) { try $0.store.assets.add(bytes, type: "jpg") }
    try insert("ann", name, place.store)
    let removals = try assets.removals()
    let download = try AssetDownloading(name, in: assets.folder)
    try download.append(Array(bytes)[...])
    #expect(try download.finish())
    place.clock.value = 0.1
    #expect(try assets.add(bytes, type: "jpg") == name)
    try assets.places().noteArrival(name)
    try place.store.write { try $0.execute(sql: "DELETE FROM Person") }
    try place.store.replicate { transaction in
      let report = try transaction.purge(AnyRecordName("Person|~|ann"))
      try transaction.noteRemoval(report.files, isPurge: true)
    }
    // It waits for its row.
    #expect(try assets.takeBack([name], since: removals) == [])
    #expect(try assets.url(of: name) != nil)
    // Nor has it come from elsewhere, so that it might go while a place has it.
    try assets.places().note([name], at: "a place", place.store.now)
    #expect(try assets.evict() == [])
  }
}

/// A mailbox that does something before an entry is read.
private struct HookedMailbox: FileMailbox {
  private let base: MemoryMailbox
  private let willRead: @Sendable (String) throws -> Void

  init(_ base: MemoryMailbox, _ willRead: @escaping @Sendable (String) throws -> Void) {
    (self.base, self.willRead) = (base, willRead)
  }

  var name: String { base.name }
  var identity: String { base.identity }
  func list(prefix: String) throws -> [MailboxItem] { try base.list(prefix: prefix) }
  func get(_ name: String) throws -> () throws -> [UInt8]? {
    try willRead(name)
    return try base.get(name)
  }
  func put(_ name: String, from source: () throws -> [UInt8]?) throws { try base.put(name, from: source) }
  func remove(_ name: String) throws { try base.remove(name) }
}

/// A folder that takes no more files.
private struct ReadOnlyMailbox: FileMailbox {
  private let base: FolderMailbox

  init(_ base: FolderMailbox) { self.base = base }

  var name: String { base.name }
  var identity: String { base.identity }
  func list(prefix: String) throws -> [MailboxItem] { try base.list(prefix: prefix) }
  func get(_ name: String) throws -> () throws -> [UInt8]? { try base.get(name) }
  func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    throw MailboxError(.unwritable, "it takes no more files")
  }
  func remove(_ name: String) throws { try base.remove(name) }
}
