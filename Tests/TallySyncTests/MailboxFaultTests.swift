import Tally
import TallyCRDT
import TallyWire
import Testing

@testable import TallySync

/// Mailboxes that show things late, twice, or not at all.
@Suite(.timeLimit(.minutes(5))) struct MailboxFaultTests {
  private let mailbox = MemoryMailbox()

  /// A device that puts one delta after the other.
  private func chain(_ count: Int) throws -> Store {
    let store = try World.store()
    for number in 0..<count {
      try World.insert(1, "link \(number)", store)
      try store.sync(through: mailbox)
    }
    return store
  }

  @Test func aFileThatArrivesLateHoldsUpOnlyWhatBuildsOnIt() throws {
    let a = try chain(4)
    let (b, other) = (try World.store(), try World.store(notes: 2, "other"))
    let names = mailbox.files.map(\.name)
    let late = try #require(names.first { $0.contains("-000000000002-") })
    mailbox.faults.unlisted = [late]
    try other.sync(through: mailbox)
    let report = try b.sync(through: mailbox)
    #expect(report.pending.count == 2 && report.pending.allSatisfy { $0.reason == .waitsForOthers })
    #expect(try World.count(b) == 3)
    mailbox.faults.unlisted = []
    #expect(try b.sync(through: mailbox).pending == [])
    try MailboxWorld.settle([a, b, other], mailbox)
    try MailboxWorld.expectEqual([a, b, other])
  }

  @Test func anUnreadableFileDoesNotHoldUpHealthyPeers() throws {
    let a = try chain(1)
    let name = try #require(mailbox.files.first?.name)
    mailbox.faults.unreadable = [name]
    let (b, c) = (try World.store(notes: 2, "b"), try World.store(notes: 2, "c"))
    for store in [b, c, b] {
      #expect(try store.sync(through: mailbox).pending.map(\.reason) == [.unreadable])
    }
    try MailboxWorld.expectEqual([b, c])
    mailbox.faults.unreadable = []
    try MailboxWorld.settle([a, b, c], mailbox)
    try MailboxWorld.expectEqual([a, b, c])
  }

  @Test func aListingThatNeverShowsAFileDoesNotMakeMoreOfIt() throws {
    let a = try chain(1)
    mailbox.faults.unlisted = Set(mailbox.files.map(\.name))
    for _ in 0..<5 { try a.sync(through: mailbox) }
    #expect(mailbox.files.count == 1)
  }

  @Test func oldFilesThatComeBackChangeNothing() throws {
    let a = try chain(6)
    let b = try World.store()
    let old = mailbox.files
    for number in 0..<30 {
      try World.insert(1, "later \(number)", a)
      try a.sync(through: mailbox, MailboxWorld.eager)
    }
    try b.sync(through: mailbox)
    #expect(mailbox.files.count < 36)
    for file in old { mailbox.place(file.bytes, as: file.name) }
    for file in old { mailbox.place(file.bytes, as: file.name.replacingOccurrences(of: ".delta", with: " 2.delta")) }
    let before = try World.dump(b)
    #expect(try b.sync(through: mailbox).taken == [])
    #expect(try World.dump(b) == before)
    try MailboxWorld.settle([a, b, try World.store()], mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func aMailboxThatDisappearsMidwayLeavesStoresSound() throws {
    for calls in 0..<14 {
      let mailbox = MemoryMailbox()
      let (a, b) = (try World.store(), try World.store(notes: 3, "b"))
      for number in 0..<4 {
        try World.insert(1, "\(number)", a)
        try a.sync(through: mailbox)
      }
      mailbox.faults.callsLeft = calls
      do { try b.sync(through: mailbox) } catch let error as MailboxError { #expect(error.code == .unavailable) }
      #expect(try b.verify().problems == [])
      mailbox.faults.callsLeft = nil
      try MailboxWorld.settle([b, a], mailbox)
      try MailboxWorld.expectEqual([a, b])
    }
  }

  @Test func hugeVectorsOfStrangersAreBounded() async throws {
    let b = try World.store(notes: 1)
    var vector = StateVector()
    for number in 1...2_000 { vector[ReplicaID(high: UInt64(number), low: 1)] = 2 }
    let base = StateVector(vector.entries.map { ($0.replica, 1) })
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: DeltaHeader(base: base, target: vector)) { bytes += $0 }
    try writer.finish()
    for number in 0..<20 {
      let name = MailboxFileName(replica: ReplicaID(high: 9, low: 9), sequence: 1, check: UInt64(number), kind: .delta)
      mailbox.place(bytes, as: name.text)
    }
    var pass = try MailboxPass(b, mailbox, MailboxSettings())
    pass.vectorEntryLimit = 10_000
    let report = try await pass.run()
    #expect(report.pending.count == 20 && report.written.count == 1)
    #expect(pass.files.count == 5)
  }
}
