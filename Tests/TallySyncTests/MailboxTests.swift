import Foundation
import Tally
import TallySync
import Testing

/// What a pass through a mailbox does when nothing goes wrong, in memory and in a real folder.
@Suite(.timeLimit(.minutes(5))) struct MailboxTests {
  /// The ways in which two or three devices can take their turns.
  private static let orders: [[Int]] = [
    [0, 1, 0], [1, 0, 1], [0, 1, 2, 0, 1], [2, 1, 0, 2, 1], [0, 0, 1, 2, 1, 0], [1, 2, 0, 0, 2, 1],
  ]

  private static func expectConvergence(_ order: [Int], _ mailbox: any FileMailbox) throws {
    let stores = try (0...(order.max() ?? 0)).map { try World.store(notes: 3, "of \($0)") }
    for index in order { try stores[index].sync(through: mailbox) }
    try MailboxWorld.expectEqual(stores)
    #expect(try World.count(stores[0]) == 3 * stores.count)
  }

  @Test(arguments: orders) func devicesConvergeInAnyOrder(_ order: [Int]) throws {
    try Self.expectConvergence(order, MemoryMailbox())
    let folder = try SharedFolder()
    try withExtendedLifetime(folder) { try Self.expectConvergence(order, folder.mailbox) }
  }

  @Test func aPassWithNothingNewReadsAndWritesNothing() throws {
    let folder = try SharedFolder()
    let (a, b) = (try World.store(notes: 5), try World.store(notes: 5))
    try MailboxWorld.settle([a, b], folder.mailbox)
    let (names, report) = (try folder.names, try a.sync(through: folder.mailbox))
    #expect(report == MailboxReport())
    #expect(try folder.names == names)
    // Also through another mailbox over the folder, as in another process: the store remembers.
    #expect(try a.sync(through: FolderMailbox(folder.url)) == MailboxReport())
  }

  @Test func onlyWhatIsNewGoesIntoTheMailbox() throws {
    let mailbox = MemoryMailbox()
    let (a, b) = (try World.store(notes: 500), try World.store())
    let first = try a.sync(through: mailbox)
    try World.insert(1, "later", a)
    let second = try a.sync(through: mailbox)
    #expect(first.written.first?.hasSuffix(".snapshot") == true)
    #expect(second.written.first?.hasSuffix(".delta") == true)
    #expect(second.bytesWritten < 300 && first.bytesWritten > 3000)
    let report = try b.sync(through: mailbox)
    #expect(report.taken.count == 2 && report.changes == 501 && report.written.isEmpty)
  }

  @Test func whatCameAnotherWayIsPassedOn() async throws {
    let mailbox = MemoryMailbox()
    let (a, b, c) = (try World.store(notes: 4), try World.store(), try World.store())
    _ = try await World.sync(a, b)
    // b has never written anything of its own, and has no replica id.
    try await b.sync(through: mailbox)
    try await c.sync(through: mailbox)
    try MailboxWorld.expectEqual([a, b, c])
  }

  @Test func concurrentEditsGoToTheJournal() throws {
    let mailbox = MemoryMailbox()
    let (a, b) = (try World.store(notes: 1), try World.store())
    try MailboxWorld.settle([a, b], mailbox)
    try a.write { try $0.execute(sql: "UPDATE Note SET text = 'from a'") }
    try b.write { try $0.execute(sql: "UPDATE Note SET text = 'from b'") }
    try a.sync(through: mailbox)
    #expect(try b.sync(through: mailbox).conflicts == 1)
    try a.sync(through: mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func anEmptyStorePutsNothing() throws {
    let mailbox = MemoryMailbox()
    #expect(try World.store().sync(through: mailbox) == MailboxReport())
    #expect(mailbox.files.isEmpty)
  }

  @Test func theAsynchronousPassDoesTheSameAndCanBeCancelled() async throws {
    let mailbox = MemoryMailbox()
    let (a, b) = (try World.store(notes: 3), try World.store())
    try await a.sync(through: mailbox)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await b.sync(through: mailbox)
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(try World.count(b) == 0)
    try await b.sync(through: mailbox)
    try MailboxWorld.expectEqual([a, b])
  }

  @Test func whatSomebodyDeletesFromTheFolderIsPutAgain() throws {
    let folder = try SharedFolder()
    let (a, b) = (try World.store(notes: 3, "a"), try World.store(notes: 3, "b"))
    try MailboxWorld.settle([a, b], folder.mailbox)
    for name in try folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
    try b.sync(through: folder.mailbox)
    let late = try World.store()
    try late.sync(through: folder.mailbox)
    try MailboxWorld.expectEqual([a, b, late])
  }
}
