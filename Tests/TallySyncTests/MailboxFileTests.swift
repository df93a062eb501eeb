import Foundation
import Tally
import Testing

@testable import TallySync

/// What drives, people and other programs do to files. Each test ends with all devices equal, once the fault is over.
@Suite(.timeLimit(.minutes(5))) struct MailboxFileTests {
  private let folder: SharedFolder
  private let a: Store
  private let b: Store

  init() throws {
    folder = try SharedFolder()
    (a, b) = (try World.store(notes: 40, "a"), try World.store(notes: 2, "b"))
    try a.sync(through: folder.mailbox)
  }

  private var only: String { get throws { try #require(try folder.names.first) } }

  /// `b` syncs with something wrong in the folder, then with everything in order.
  private func expectWaits(
    _ reason: MailboxReport.Issue.Reason, _ name: String, until isRight: () throws -> Void,
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) throws {
    let report = try b.sync(through: folder.mailbox)
    let issues = report.pending + report.refused
    #expect(issues.map(\.reason) == [reason] && issues.map(\.name) == [name], sourceLocation: sourceLocation)
    #expect(try World.count(b) == 2, sourceLocation: sourceLocation)
    try isRight()
    try MailboxWorld.settle([b, a], folder.mailbox)
    try MailboxWorld.expectEqual([a, b], sourceLocation: sourceLocation)
  }

  @Test func aFileThatHasHalfArrivedWaits() throws {
    let (name, bytes) = (try only, try folder.bytes(try only))
    try folder.place(Array(bytes.prefix(bytes.count / 2)), as: name)
    try expectWaits(.incomplete, name) { try folder.place(bytes, as: name) }
  }

  @Test func aFileThatGrowsByteByByteIsTakenWhenItIsWhole() throws {
    let (name, bytes) = (try only, try folder.bytes(try only))
    for count in [0, 1, 2, 3, 30, bytes.count - 9, bytes.count - 1] {
      try folder.place(Array(bytes.prefix(count)), as: name)
      #expect(try b.sync(through: folder.mailbox).pending.map(\.reason) == [.incomplete])
    }
    try folder.place(bytes, as: name)
    #expect(try b.sync(through: folder.mailbox).taken == [name])
    try a.sync(through: folder.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func aFileThatIsStillZerosWaits() throws {
    let (name, bytes) = (try only, try folder.bytes(try only))
    for zeros in [bytes.count, bytes.count / 2, 1] {
      try folder.place(Array(repeating: 0, count: zeros) + bytes.dropFirst(zeros), as: name)
      #expect(try b.sync(through: folder.mailbox).pending.map(\.reason) == [.incomplete])
    }
    try folder.place(bytes.prefix(60) + Array(repeating: 0, count: bytes.count - 60), as: name)
    try expectWaits(.incomplete, name) { try folder.place(bytes, as: name) }
  }

  @Test func aDamagedFileIsReplacedByThoseWhoHaveItsContent() throws {
    var bytes = try folder.bytes(try only)
    bytes[bytes.count / 2] ^= 1
    try folder.place(bytes, as: try only)
    let report = try a.sync(through: folder.mailbox)
    #expect(report.pending.map(\.reason) == [.incomplete] && report.written.count == 1)
    try MailboxWorld.settle([b, a], folder.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func aPlaceholderOfTheCloudIsPending() throws {
    let (name, bytes) = (try only, try folder.bytes(try only))
    try FileManager.default.removeItem(atPath: folder.path(name))
    try folder.place([1, 2, 3], as: ".\(name).icloud")
    try expectWaits(.notDownloaded, name) {
      try FileManager.default.removeItem(atPath: folder.path(".\(name).icloud"))
      try folder.place(bytes, as: name)
    }
  }

  @Test func whatTheCloudHasEvictedIsNotPutAgain() throws {
    try MailboxWorld.settle([a, b], folder.mailbox)
    for name in try folder.names {
      try FileManager.default.removeItem(atPath: folder.path(name))
      try folder.place([1], as: ".\(name).icloud")
    }
    for store in [a, b] { #expect(try store.sync(through: folder.mailbox).written == []) }
    try World.insert(1, "new", a)
    let report = try a.sync(through: folder.mailbox)
    #expect(report.written.count == 1 && report.bytesWritten < 300)
  }

  @Test(arguments: [
    " (conflicted copy 2026-05-01)", " 2", " (1)", "-DESKTOP", ".sync-conflict-20260501-120000-ABCDEFG",
  ])
  func aConflictedCopyIsReadLikeTheFileItself(_ addition: String) throws {
    let (name, bytes) = (try only, try folder.bytes(try only))
    let copy = name.replacingOccurrences(of: ".snapshot", with: addition + ".snapshot")
    // Beside the file it adds nothing; where the file is damaged, it is the file.
    try folder.place(bytes, as: copy)
    try folder.place(Array(bytes.prefix(10)), as: name)
    let report = try b.sync(through: folder.mailbox)
    #expect(report.taken == [copy] && report.pending.map(\.name) == [name])
    try folder.place(bytes, as: name)
    #expect(try b.sync(through: folder.mailbox).taken == [])
    #expect(try a.sync(through: folder.mailbox).removed == [copy])
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func namesInCapitalsAreTheSameNames() throws {
    let (name, bytes) = (try only, try folder.bytes(try only))
    try FileManager.default.removeItem(atPath: folder.path(name))
    try folder.place(bytes, as: name.uppercased())
    try MailboxWorld.settle([b, a], folder.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func linksPipesAndFoldersAreRefusedWithoutWaiting() throws {
    let (name, bytes) = (try only, try folder.bytes(try only))
    let names = (1...4).map { name.replacingOccurrences(of: "-00000000000", with: "-1000000000\($0)") }
    let elsewhere = folder.root.appendingPathComponent("file").path
    try Data(bytes).write(to: URL(fileURLWithPath: elsewhere))
    try FileManager.default.createSymbolicLink(atPath: folder.path(names[0]), withDestinationPath: elsewhere)
    try FileManager.default.createSymbolicLink(atPath: folder.path(names[1]), withDestinationPath: names[1])
    #expect(mkfifo(folder.path(names[2]), 0o600) == 0)
    try FileManager.default.createDirectory(atPath: folder.path(names[3]), withIntermediateDirectories: false)
    let report = try b.sync(through: folder.mailbox)
    #expect(Set(report.refused.map(\.name)) == Set(names))
    #expect(report.refused.allSatisfy { $0.reason == .notAFile })
    #expect(report.taken == [name])
    for name in names { #expect(throws: MailboxError.self) { _ = try folder.mailbox.get(name) } }
  }

  /// git-annex and the like put a link in the place of a file that was put. It is not put once more at each pass; what
  /// comes later is.
  @Test func aFileThatBecameALinkIsNotPutAgain() throws {
    let name = try only
    let elsewhere = folder.root.appendingPathComponent("object").path
    try FileManager.default.moveItem(atPath: folder.path(name), toPath: elsewhere)
    try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: elsewhere)
    for _ in 0..<3 {
      let report = try a.sync(through: folder.mailbox)
      #expect(report.written == [] && report.refused.map(\.reason) == [.notAFile] && !report.isComplete)
    }
    try World.insert(1, "later", a)
    let report = try a.sync(through: folder.mailbox)
    #expect(report.written.count == 1 && report.written[0].hasSuffix(".delta"))
    // Unlocked again, all of it is there.
    try FileManager.default.removeItem(atPath: folder.path(name))
    try FileManager.default.moveItem(atPath: elsewhere, toPath: folder.path(name))
    try MailboxWorld.settle([b, a], folder.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func namesThatLeadOutOfTheFolderAreNotTouched() throws {
    let outside = folder.root.appendingPathComponent("outside").path
    try Data([1]).write(to: URL(fileURLWithPath: outside))
    for name in ["../outside", "", ".", "..", "a/b", "a\0b", String(repeating: "a", count: 300)] {
      #expect(throws: MailboxError.self) { _ = try folder.mailbox.get(name) }
      #expect(throws: MailboxError.self) { try folder.mailbox.put(name) { nil } }
      #expect(throws: MailboxError.self) { try folder.mailbox.remove(name) }
    }
    #expect(FileManager.default.fileExists(atPath: outside))
  }

  @Test func thousandsOfForeignFilesAreNotLookedAt() throws {
    for number in 0..<10_000 {
      let file = open(folder.path("IMG_\(number).jpg"), O_CREAT | O_WRONLY, 0o600)
      close(file)
    }
    #expect(try folder.mailbox.list(prefix: "tally").count == 1)
    let report = try b.sync(through: folder.mailbox)
    #expect(report.isComplete && report.taken.count == 1)
    try a.sync(through: folder.mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func namesLikeOursWithStrangeContentAreReported() throws {
    let name = try only
    try folder.place([1], as: "tally2-something.delta")
    try folder.place([1], as: "tally.sqlite")
    try folder.place([1], as: "tally1-default-nothing.delta")
    let foreign = name.replacingOccurrences(of: "-default-", with: "-\(String(repeating: "1", count: 32))-")
    try folder.place([1], as: foreign)
    let newer = name.replacingOccurrences(of: "-00000000000", with: "-10000000000")
    try folder.place([0x54, 0x4C, 9, 0, 0], as: newer)
    let report = try b.sync(through: folder.mailbox)
    #expect(report.refused.map(\.reason) == [.newerVersion, .newerVersion])
    #expect(report.taken == [name] && report.pending == [])
  }

  @Test func aFolderThatIsGoneIsAnErrorAndIsNotCreated() throws {
    try FileManager.default.removeItem(at: folder.url)
    let error = #expect(throws: MailboxError.self) { try b.sync(through: folder.mailbox) }
    #expect(error?.code == .unavailable)
    #expect(!FileManager.default.fileExists(atPath: folder.url.path))
    let file = #expect(throws: MailboxError.self) { try folder.mailbox.put("tally") { [1] } }
    #expect(file?.code == nil || file?.code == .unavailable)
  }

  @Test func whatWasBegunAndNotEndedIsClearedAwayAfterADay() throws {
    try folder.place([1], as: "~tally-old.tmp")
    try folder.place([1], as: "~tally-new.tmp")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -100_000)], ofItemAtPath: folder.path("~tally-old.tmp"))
    try b.sync(through: folder.mailbox)
    #expect(try folder.names.filter { $0.hasPrefix("~") } == ["~tally-new.tmp"])
  }
}
