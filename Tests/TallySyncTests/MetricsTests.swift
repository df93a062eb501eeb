import CoreMetrics
import Synchronization
import Tally
import TallySync
import Testing

/// The counters that `Docs/SyncProtocol.md` names.
@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
  @Test func aSyncCountsWhatItDid() async throws {
    let (a, b) = (try World.store(notes: 5, "a"), try World.store(notes: 7, "b"))
    let counts = CountingFactory()
    var settings = SyncSettings()
    settings.metrics = counts
    let (left, right) = MemoryConnection.pair()
    async let there = b.sync(over: right)
    let outcome = try await a.sync(over: left, settings)
    _ = try await there
    #expect(
      counts.values == [
        "tally.sync.sent.bytes{through=connection}": Int64(outcome.bytesSent),
        "tally.sync.received.bytes{through=connection}": Int64(outcome.bytesReceived),
        "tally.sync.changes{through=connection}": 7,
        "tally.sync.sessions{through=connection,result=done}": 1,
      ])
  }

  @Test func failuresAreCountedByTheirCode() async throws {
    let counts = CountingFactory()
    var settings = SyncSettings()
    settings.metrics = counts
    let (here, there) = MemoryConnection.pair()
    await there.close()
    let store = try World.store(notes: 1)
    await #expect(throws: SyncError.self) { try await store.sync(over: here, settings) }
    #expect(counts.values == ["tally.sync.sessions{through=connection,result=disconnected}": 1])
  }

  @Test func passesThroughAMailboxAreCounted() throws {
    let (counts, mailbox) = (CountingFactory(), MemoryMailbox())
    try World.store(notes: 3).sync(through: mailbox)
    var settings = MailboxSettings()
    settings.metrics = counts
    let report = try World.store(notes: 1).sync(through: mailbox, settings)
    #expect(
      counts.values == [
        "tally.sync.sent.bytes{through=mailbox}": Int64(report.bytesWritten),
        "tally.sync.received.bytes{through=mailbox}": Int64(report.bytesRead),
        "tally.sync.changes{through=mailbox}": 3, "tally.sync.sessions{through=mailbox,result=done}": 1,
      ])
    mailbox.faults.callsLeft = 0
    #expect(throws: MailboxError.self) { try World.store(notes: 1).sync(through: mailbox, settings) }
    #expect(counts.values["tally.sync.sessions{through=mailbox,result=mailbox}"] == 1)
  }

  @Test func conflictsAndRetriesAreCounted() async throws {
    let (a, b) = (try World.store(notes: 1), try World.store())
    _ = try await World.sync(a, b)
    try await a.write { try $0.execute(sql: "UPDATE Note SET text = 'from a'") }
    try await b.write { try $0.execute(sql: "UPDATE Note SET text = 'from b'") }
    let counts = CountingFactory()
    let tries = Atomic<Int>(0)
    var settings = SyncEngine.Settings()
    settings.metrics = counts
    settings.sleep = { _ in if tries.load(ordering: .relaxed) > 2 { try await Task.sleep(for: .seconds(3600)) } }
    let engine = SyncEngine(a, settings)
    await engine.add(
      MemoryTransport(name: "b") { connection in
        guard tries.add(1, ordering: .relaxed).newValue > 2 else { return }
        try await b.sync(over: connection)
      })
    await engine.resume()
    for await status in await engine.statusUpdates() where status.peers[0].lastSuccess != nil { break }
    await engine.pause()
    #expect(counts.values["tally.sync.retries{through=connection}"] == 2)
    #expect(counts.values["tally.sync.sessions{through=connection,result=disconnected}"] == 2)
    #expect(counts.values["tally.sync.conflicts{through=connection}"] == 1)
  }
}

/// Sums by name and dimensions.
final class CountingFactory: MetricsFactory {
  private let sums = Mutex<[String: Int64]>([:])
  var values: [String: Int64] { sums.withLock { $0 } }

  private final class Handler: CounterHandler {
    let add: @Sendable (Int64) -> Void
    init(_ add: @escaping @Sendable (Int64) -> Void) { self.add = add }
    func increment(by amount: Int64) { add(amount) }
    func reset() {}
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    let name = "\(label){\(dimensions.map { "\($0)=\($1)" }.joined(separator: ","))}"
    return Handler { [weak self] amount in self?.sums.withLock { $0[name, default: 0] += amount } }
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    NOOPMetricsHandler.instance
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { NOOPMetricsHandler.instance }
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
}
