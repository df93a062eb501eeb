import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyStore
import Testing

@testable import TallySync

/// Doubts that stay, that come before their files, or that are said again; and links in the places of entries.
@Suite(.timeLimit(.minutes(5))) struct AssetAnswerTests {
  private typealias Place = AssetFileTests.Place
  private let bytes = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  private func entry(_ name: AssetName) -> String { "asset1-default-\(name.hash)-\(name.byteCount).\(name.type)" }

  /// A folder of a drive, in that of a device.
  private func drive(of place: Place) throws -> FolderMailbox {
    let url = place.folder.appendingPathComponent("drive")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return FolderMailbox(url)
  }

  private func url(_ mailbox: FolderMailbox, _ name: String) -> URL { mailbox.url.appendingPathComponent(name) }

  private func isThere(_ mailbox: FolderMailbox, _ name: String) -> Bool {
    FileManager.default.fileExists(atPath: url(mailbox, name).path)
  }

  /// Bytes of the right size that are not the file's.
  private func wrong(_ number: Int) -> Data {
    var wrong = bytes
    wrong[number] ^= 1
    return wrong
  }

  // MARK: Doubts that stay

  /// A device that may not delete what others have put, as on many file servers, puts the file once for each doubt.
  @Test(arguments: [false, true]) func aDoubtThatStaysIsAnsweredOnce(hasVersions: Bool) throws {
    let a = try Place()
    let folder = try drive(of: a)
    let mailbox = KeepingMailbox(folder, hasVersions: hasVersions)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    let doubt = url(folder, entry(name) + ".wrong")
    try Data("a".utf8).write(to: doubt)
    let first = try a.store.sync(through: mailbox)
    #expect(first.assets.written == [name] && first.assets.unsent == 0)
    #expect(first.assets.issues.map(\.code) == ["unwritable"])
    for _ in 0..<3 { #expect(try a.store.sync(through: mailbox).assets == AssetTransfers()) }
    #expect(try a.store.assets.list().map(\.isElsewhere) == [true])
    // Another doubt is heard. A place without versions cannot say that it is another, so a day has to pass.
    if hasVersions { try Data("bc".utf8).write(to: doubt) } else { a.clock.value = 1 }
    #expect(try a.store.sync(through: mailbox).assets.written == [name])
    #expect(try a.store.sync(through: mailbox).assets == AssetTransfers())
  }

  /// A device that has just read the right bytes has nothing to put, though the doubt stays.
  @Test func aDeviceThatReadsTheRightBytesHasAnswered() throws {
    let (a, b) = (try Place(), try Place())
    let folder = try drive(of: a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: folder)
    try Data("a".utf8).write(to: url(folder, entry(name) + ".wrong"))
    let mailbox = KeepingMailbox(folder)
    #expect(try b.store.sync(through: mailbox).assets.taken == [name])
    for _ in 0..<2 { #expect(try b.store.sync(through: mailbox).assets == AssetTransfers()) }
  }

  /// A file is wrong once more while the answered doubt is still there. The device that has said so says it again.
  @Test func aSecondDoubtIsHeardThoughTheFirstStays() throws {
    let (a, b) = (try Place(), try Place())
    let folder = try drive(of: a)
    let mailbox = KeepingMailbox(folder)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    for number in 0..<3 {
      try wrong(number).write(to: url(folder, entry(name)))
      b.clock.value = Double(number) * 0.1
      #expect(try b.store.sync(through: mailbox).assets.issues.map(\.code) == ["wrongContent"])
      #expect(try a.store.sync(through: mailbox).assets.written == [name])
      #expect(isThere(folder, entry(name) + ".wrong"))
    }
  }

  /// iCloud has taken a doubt, or a file that nothing names any more, from this device's disk: `.<name>.icloud`.
  @Test func whatICloudHasTakenFromTheDiskIsRemoved() throws {
    let a = try Place()
    let mailbox = try drive(of: a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    try Data("a".utf8).write(to: url(mailbox, ".\(entry(name)).wrong.icloud"))
    #expect(try a.store.sync(through: mailbox).assets.written == [name])
    #expect(!isThere(mailbox, ".\(entry(name)).wrong.icloud"))
    #expect(try a.store.sync(through: mailbox).assets == AssetTransfers())
    try a.store.write { try $0.execute(sql: "UPDATE Person SET avatar = NULL") }
    try FileManager.default.removeItem(at: url(mailbox, entry(name)))
    try Data("a".utf8).write(to: url(mailbox, ".\(entry(name)).icloud"))
    var removed: [AssetName] = []
    for day in 0..<34 {
      a.clock.value = Double(day)
      removed += try a.store.sync(through: mailbox).assets.removed
    }
    #expect(removed == [name] && !isThere(mailbox, ".\(entry(name)).icloud"))
  }

  // MARK: Doubts that are said again

  /// A drive gives two devices different bytes under one name for good. Nothing goes to and fro each hour.
  @Test func eachVersionOfAnEntryIsDoubtedOnce() throws {
    let (a, b) = (try Place(), try Place())
    let (mine, theirs) = (try drive(of: a), try drive(of: b))
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mine)
    for file in try FileManager.default.contentsOfDirectory(atPath: mine.url.path) {
      try FileManager.default.copyItem(at: url(mine, file), to: url(theirs, file))
    }
    try wrong(0).write(to: url(theirs, entry(name)))
    let doubt = entry(name) + ".wrong"
    #expect(try b.store.sync(through: theirs).assets.issues.map(\.code) == ["wrongContent"])
    // The drive carries the doubt there and the removal back.
    try FileManager.default.moveItem(at: url(theirs, doubt), to: url(mine, doubt))
    #expect(try a.store.sync(through: mine).assets.written == [name])
    #expect(!isThere(mine, doubt))
    for hour in 1..<4 {
      b.clock.value = Double(hour) * 0.05
      #expect(try b.store.sync(through: theirs).assets.issues.map(\.code) == ["wrongContent"])
      #expect(!isThere(theirs, doubt))
    }
    // What the drive brings then is wrong as well.
    try wrong(1).write(to: url(theirs, entry(name)))
    b.clock.value = 0.2
    #expect(try b.store.sync(through: theirs).assets.issues.map(\.code) == ["wrongContent"])
    #expect(isThere(theirs, doubt))
  }

  /// A drive brings a doubt before the file that it is about. One whose file does not come goes after a week.
  @Test func aDoubtThatComesEarlyStays() throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try drive(of: b)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try b.person("photo", name)
    let doubt = entry(name) + ".wrong"
    try Data("a".utf8).write(to: url(mailbox, doubt))
    for day in 0..<7 {
      b.clock.value = Double(day)
      for _ in 0..<2 { #expect(try b.store.sync(through: mailbox).assets.issues == []) }
      #expect(isThere(mailbox, doubt))
    }
    // Once its file is there, the days do not count.
    try wrong(0).write(to: url(mailbox, entry(name)))
    b.clock.value = 7
    try b.store.sync(through: mailbox)
    try FileManager.default.removeItem(at: url(mailbox, entry(name)))
    for day in 8..<15 {
      b.clock.value = Double(day)
      try b.store.sync(through: mailbox)
      #expect(isThere(mailbox, doubt))
    }
    b.clock.value = 15
    try b.store.sync(through: mailbox)
    #expect(!isThere(mailbox, doubt))
  }

  // MARK: Links

  /// git-annex and the like put a link in the place of a file, and so may a person. It stays, and is not followed.
  @Test(arguments: [false, true]) func aLinkUnderAnEntrysNameStays(leadsNowhere: Bool) throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try drive(of: a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    let outside = a.folder.appendingPathComponent("outside")
    if !leadsNowhere { try Data("mine".utf8).write(to: outside) }
    let link = url(mailbox, entry(name)).path
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: outside.path)
    for _ in 0..<2 {
      let report = try a.store.sync(through: mailbox)
      #expect(report.assets.issues.map(\.code) == ["notAFile"] && report.assets.failure == nil && report.isComplete)
      #expect(report.assets.written == [] && report.assets.unsent == 1)
    }
    #expect(try b.store.sync(through: mailbox).assets.issues.map(\.code) == ["notAFile"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == outside.path)
    #expect((try? Data(contentsOf: outside)) == (leadsNowhere ? nil : Data("mine".utf8)))
    try FileManager.default.removeItem(atPath: link)
    #expect(try a.store.sync(through: mailbox).assets.written == [name])
    #expect(try b.store.sync(through: mailbox).assets.taken == [name])
  }

  /// Nor is one under the name of a doubt a doubt, or taken for a place to write one to.
  @Test func aLinkUnderTheNameOfADoubtStays() throws {
    let (a, b) = (try Place(), try Place())
    let mailbox = try drive(of: a)
    let name = try a.store.assets.add(bytes, type: "jpg")
    try a.person("avatar", name)
    try a.store.sync(through: mailbox)
    let (outside, link) = (a.folder.appendingPathComponent("outside"), url(mailbox, entry(name) + ".wrong").path)
    try Data("mine".utf8).write(to: outside)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: outside.path)
    #expect(try a.store.sync(through: mailbox).assets == AssetTransfers())
    try wrong(0).write(to: url(mailbox, entry(name)))
    let report = try b.store.sync(through: mailbox)
    #expect(report.assets.issues.map(\.code).sorted() == ["notAFile", "wrongContent"] && report.isComplete)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == outside.path)
    #expect(try Data(contentsOf: outside) == Data("mine".utf8))
  }
}

/// A folder in which doubts cannot be removed.
private struct KeepingMailbox: FileMailbox {
  private let base: FolderMailbox
  private let hasVersions: Bool

  init(_ base: FolderMailbox, hasVersions: Bool = true) { (self.base, self.hasVersions) = (base, hasVersions) }

  var name: String { base.name }
  var identity: String { base.identity }
  func list(prefix: String) throws -> [MailboxItem] {
    try base.list(prefix: prefix).map { item in
      var item = item
      if !hasVersions { item.version = nil }
      return item
    }
  }
  func get(_ name: String) throws -> () throws -> [UInt8]? { try base.get(name) }
  func put(_ name: String, from source: () throws -> [UInt8]?) throws { try base.put(name, from: source) }
  func remove(_ name: String) throws {
    guard !name.hasSuffix(".wrong") else { throw MailboxError(.unwritable, "this is not yours") }
    try base.remove(name)
  }
}
