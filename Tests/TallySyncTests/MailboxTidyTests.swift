import Tally
import TallyCRDT
import TallyWire
import Testing

@testable import TallySync

/// Snapshots, and what they make superfluous.
@Suite(.timeLimit(.minutes(5))) struct MailboxTidyTests {
  private let mailbox = MemoryMailbox()

  private func kinds() -> [String: Int] {
    Dictionary(grouping: mailbox.files) { String($0.name.split(separator: ".").last ?? "") }.mapValues(\.count)
  }

  @Test func theMailboxStaysSmall() throws {
    let stores = [try World.store(), try World.store()]
    for number in 0..<60 {
      try World.insert(1, "\(number)", stores[number % 2])
      try stores[number % 2].sync(through: mailbox, MailboxWorld.eager)
    }
    #expect(mailbox.files.count < 30)
    #expect(kinds()["snapshot", default: 0] >= 2)
    try MailboxWorld.settle(stores, mailbox, MailboxWorld.eager)
    try MailboxWorld.expectEqual(stores)
  }

  @Test func aNewDeviceAfterTheCleanUpGetsEverything() throws {
    let a = try World.store()
    for number in 0..<40 {
      try World.insert(1, "\(number)", a)
      try a.sync(through: mailbox, MailboxWorld.eager)
    }
    #expect(mailbox.files.count < 20)
    let late = try World.store()
    let report = try late.sync(through: mailbox)
    #expect(report.taken.first?.hasSuffix(".snapshot") == true && report.taken.count < 12)
    #expect(report.written == [] && report.isComplete)
    try MailboxWorld.expectEqual([a, late])
  }

  @Test func aDeviceThatWasAwayDuringTheCleanUpKeepsItsEdits() throws {
    let (a, away) = (try World.store(notes: 1, "a"), try World.store(notes: 1, "away"))
    try MailboxWorld.settle([a, away], mailbox)
    try World.insert(1, "written far away", away)
    try away.write { try $0.execute(sql: "UPDATE Note SET stars = 9 WHERE text = 'a 0'") }
    for number in 0..<40 {
      try World.insert(1, "\(number)", a)
      try a.sync(through: mailbox, MailboxWorld.eager)
    }
    try MailboxWorld.settle([away, a], mailbox)
    try MailboxWorld.expectEqual([a, away])
    #expect(try World.count(a) == 43)
  }

  @Test func nobodyRemovesTheFilesOfOthers() throws {
    let (a, b) = (try World.store(notes: 1, "a"), try World.store(notes: 1, "b"))
    try a.sync(through: mailbox)
    let ours = mailbox.files.map(\.name)
    for number in 0..<40 {
      try World.insert(1, "\(number)", b)
      #expect(try b.sync(through: mailbox, MailboxWorld.eager).removed.allSatisfy { !ours.contains($0) })
    }
    #expect(mailbox.files.map(\.name).filter(ours.contains) == ours)
    #expect(try a.sync(through: mailbox).removed == ours)
  }

  // MARK: The rule

  private func file(_ target: UInt64, base: UInt64 = 0, check: UInt64, _ kind: MailboxFileName.Kind = .snapshot)
    -> MailboxShelf.File
  {
    let replica = ReplicaID(high: 1, low: 1)
    let header = DeltaHeader(base: StateVector([(replica, base)]), target: StateVector([(replica, target)]))
    let name = MailboxFileName(replica: replica, sequence: target, check: check, kind: kind)
    return MailboxShelf.File(name: name, header: header, check: check, byteCount: 100)
  }

  private func shelf(_ files: [MailboxShelf.File]) -> MailboxShelf {
    MailboxShelf(files)
  }

  @Test func oneSnapshotIsNotEnoughToRemoveWhatItHolds() {
    let delta = file(2, base: 1, check: 1, .delta)
    #expect(!shelf([delta, file(3, check: 2)]).isReplaced(delta))
    #expect(!shelf([delta, file(3, check: 2), file(3, check: 2)]).isReplaced(delta))
    #expect(shelf([delta, file(3, check: 2), file(2, check: 3)]).isReplaced(delta))
  }

  @Test func ofEqualSnapshotsSomeStayWhateverEachDeviceSees() {
    let files = (1...5).map { file(7, check: $0) }
    for seen in 1..<(1 << files.count) {
      let shown = files.indices.filter { seen >> $0 & 1 == 1 }.map { files[$0] }
      #expect(shown.allSatisfy { $0.check != 5 || !shelf(shown).isReplaced($0) })
    }
    let repair = file(7, check: 0, .repair)
    #expect(!shelf(files + [repair]).isReplaced(repair))
  }

  @Test func aChainWithAMissingLinkReachesOnlyItsBeginning() {
    let (first, third) = (file(2, check: 1), file(6, base: 4, check: 3, .delta))
    #expect(shelf([third, first]).reach() == first.header.target)
    #expect(shelf([third, file(4, base: 2, check: 2, .delta), first]).reach() == third.header.target)
    #expect(shelf([third]).reach().isEmpty)
  }
}
