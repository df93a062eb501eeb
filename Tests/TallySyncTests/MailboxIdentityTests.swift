import Foundation
import Tally
import TallyCRDT
import Testing

@testable import TallySync

/// Stores that were copied or restored, and mailboxes that remember more than they do.
@Suite(.timeLimit(.minutes(5))) struct MailboxIdentityTests {
  private let folder: SharedFolder
  private let other: Store

  init() throws {
    folder = try SharedFolder()
    other = try World.store(notes: 2, "other")
  }

  /// A store that has put three changes, and is then as it was after the first.
  private func restored() throws -> Store {
    let store = try folder.store("a")
    try World.insert(1, "first", store)
    try store.sync(through: folder.mailbox)
    try store.close()
    try folder.copyStore("a", to: "backup")
    let again = try folder.store("a")
    for number in 2...3 {
      try World.insert(1, "change \(number)", again)
      try again.sync(through: folder.mailbox)
    }
    try again.close()
    try folder.copyStore("backup", to: "a")
    return try folder.store("a")
  }

  @Test func aRestoredStoreTakesANewIDAndGetsBackWhatItPut() throws {
    let store = try restored()
    let old = try store.summary().replica
    try store.sync(through: folder.mailbox)
    #expect(try World.count(store) == 3)
    try World.insert(1, "after the restore", store)
    #expect(try store.summary().replica != old)
    try MailboxWorld.settle([other, store], folder.mailbox)
    try MailboxWorld.expectEqual([other, store])
    #expect(try World.count(other) == 6)
  }

  @Test func aNameIsEnoughToNoticeARestore() throws {
    let store = try restored()
    for name in try folder.names { try folder.place([], as: name) }
    try store.sync(through: folder.mailbox)
    #expect(try store.summary().replica == nil)
  }

  @Test func whatARestoredStoreWroteBeforeItLookedIsNotLost() throws {
    for count in 1...4 {
      let test = try MailboxIdentityTests()
      let store = try test.restored()
      // These take the numbers of changes that are in the folder: fewer, as many, more.
      for number in 0..<count { try World.insert(1, "unseen \(number)", store) }
      try MailboxWorld.settle([store, test.other, store], test.folder.mailbox)
      try MailboxWorld.expectEqual([store, test.other])
      #expect(try World.count(store) == 5 + count)
      try World.insert(1, "later", store)
      try MailboxWorld.settle([store, test.other], test.folder.mailbox)
      try MailboxWorld.expectEqual([store, test.other])
    }
  }

  @Test func copiesWithOneReplicaIDKeepBothEdits() throws {
    let first = try folder.store("a")
    try World.insert(2, "shared", first)
    try first.close()
    try folder.copyStore("a", to: "b")
    let (a, b) = (try folder.store("a"), try folder.store("b"))
    try World.insert(1, "only a", a)
    try World.insert(1, "only b", b)
    let reports = try [a, b, a].map { try $0.sync(through: folder.mailbox) }
    #expect(reports.contains { $0.repaired })
    try MailboxWorld.settle([a, b, other], folder.mailbox)
    try MailboxWorld.expectEqual([a, b, other])
    #expect(try World.count(a) == 6)
    try World.insert(1, "later a", a)
    try World.insert(1, "later b", b)
    #expect(try a.summary().replica != b.summary().replica)
    try MailboxWorld.settle([a, b, other], folder.mailbox)
    try MailboxWorld.expectEqual([a, b, other])
    #expect(try World.count(a) == 8)
  }

  @Test func aThirdThatSawOneCopyAndWroteSinceGetsTheOtherAsWell() throws {
    let first = try folder.store("a")
    try World.insert(1, "shared", first)
    try first.close()
    try folder.copyStore("a", to: "b")
    let (a, b) = (try folder.store("a"), try folder.store("b"))
    try World.insert(1, "only a", a)
    try World.insert(1, "only b", b)
    try a.sync(through: folder.mailbox)
    try other.sync(through: folder.mailbox)
    try World.insert(1, "more of the other", other)
    try b.sync(through: folder.mailbox)
    try MailboxWorld.settle([other, b, a], folder.mailbox)
    try MailboxWorld.expectEqual([a, b, other])
    #expect(try World.count(other) == 6)
  }

  @Test func aRepairHappensOnce() throws {
    let first = try folder.store("a")
    try World.insert(1, "shared", first)
    try first.close()
    try folder.copyStore("a", to: "b")
    let stores = [try folder.store("a"), try folder.store("b"), other]
    try World.insert(1, "only a", stores[0])
    try World.insert(1, "only b", stores[1])
    try MailboxWorld.settle(stores, folder.mailbox)
    // With nothing remembered, as in another process.
    let afresh = FolderMailbox(folder.url)
    for store in stores {
      let report = try store.sync(through: afresh)
      #expect(report.written == [] && !report.repaired && report.changes == 0)
    }
  }

  @Test func aNameStandsForOneContentOnly() throws {
    let name = MailboxFileName(replica: ReplicaID(high: 1, low: 2), sequence: 3, check: 4, kind: .delta)
    #expect(
      name.text == "tally1-default-00000000000000010000000000000002-000000000003-0000000000000004.delta")
    #expect(MailboxFileName.parse(name.text) == .file(name))
    // Copies of one store write different content under the same number.
    let first = try folder.store("a")
    try World.insert(1, "shared", first)
    try first.close()
    try folder.copyStore("a", to: "b")
    for copy in ["a", "b"] {
      let store = try folder.store(copy)
      try World.insert(1, "only \(copy)", store)
      let bytes = try store.sync(through: MemoryMailbox()).written
      #expect(bytes.count == 1)
      let mailbox = MemoryMailbox()
      try store.sync(through: mailbox)
      let file = try #require(mailbox.files.first)
      try folder.place(file.bytes, as: file.name)
    }
    #expect(try folder.names.count == 2)
  }
}
