import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import TallySync
import TallyWire
import Testing

/// What a session's performer does when the other side does not do its part.
@Suite(.timeLimit(.minutes(5))) struct RunnerTests {
  private static let stranger = ReplicaID(high: 9, low: 9)

  /// A side that is somewhere else than any store.
  private static func hello(isLive: Bool = false) -> SyncMessage {
    let digest = SyncDigest(vector: StateVector([(stranger, UInt64(1))]), fingerprint: Fingerprint())
    return .hello(
      SyncHello(
        versions: 1...2, replica: nil, digest: digest, isLive: isLive, messageLimit: SyncLimits.messageBytes))
  }

  // MARK: Endings

  /// The peer says why it gives up, and closes; that nobody listens any more is noticed first.
  @Test func theReasonOfAPeerThatGivesUpIsReported() async throws {
    let connection = ScriptedConnection([Self.hello(), .failure(code: "wrongZone", message: "not mine")]) {
      number in number == 1 ? .passes : .fails
    }
    try await Site(notes: 1).using { store in
      let error = await #expect(throws: SyncError.self) { try await store.sync(over: connection) }
      #expect(error?.code == .wrongZone && error?.message.contains("not mine") == true)
    }
  }

  /// The last word of a session that failed hangs in a connection that takes nothing.
  @Test func aPeerThatTakesNothingDoesNotKeepASessionFromEnding() async throws {
    let connection = ScriptedConnection([Self.hello(), .repair]) { number in number == 1 ? .passes : .hangs }
    var settings = SyncSettings()
    settings.patience = .milliseconds(20)
    try await Site(notes: 1).using { [settings] store in
      let error = await #expect(throws: SyncError.self) { try await store.sync(over: connection, settings) }
      #expect(error?.code == .protocolViolation)
    }
  }

  /// Both ends are open and nothing comes: what a network leaves behind that lost one of them.
  @Test func aHalfOpenConnectionTimesOut() async throws {
    for said in [[], [Self.hello()], [Self.hello(), .vector(StateVector([(Self.stranger, UInt64(1))]))]] {
      let connection = ScriptedConnection(said, endsInOrder: false)
      var settings = SyncSettings()
      settings.timeout = .milliseconds(50)
      try await Site(notes: 1).using { [settings] store in
        let error = await #expect(throws: SyncError.self) { try await store.sync(over: connection, settings) }
        #expect(error?.code == .timedOut)
      }
    }
  }

  /// A side does not send what the other has said that it does not take.
  @Test func aVectorThatIsTooLargeForThePeerIsNotSent() throws {
    let vector = StateVector((1...8_000).map { (ReplicaID(high: 1, low: $0), UInt64(1)) })
    var delta: [UInt8] = []
    var writer = try DeltaWriter(header: DeltaHeader(base: StateVector(), target: vector)) { delta += $0 }
    try writer.finish()
    let summary = try Site().use { store in
      try store.apply(delta)
      return try store.summary()
    }
    var session = SyncSession()
    _ = try session.handle(.started(summary))
    let hello = SyncHello(
      versions: 1...2, replica: nil, digest: SyncDigest(vector: StateVector(), fingerprint: Fingerprint()),
      isLive: false, messageLimit: 2 * SyncLimits.chunkBytes)
    let error = #expect(throws: SyncError.self) { try session.handle(.message(.hello(hello))) }
    #expect(error?.code == .limitExceeded)
  }

  // MARK: Transfers

  @Test func transferNumbersMustGrow() async throws {
    let (a, b) = (try Site(notes: 3), try Site())
    let (summary, delta) = try a.use { (try $0.summary(), try $0.delta()) }
    let hello = SyncHello(
      versions: 1...2, replica: summary.replica, digest: SyncDigest(summary), isLive: false,
      messageLimit: SyncLimits.messageBytes)
    let whole = SyncMessage.chunk(transfer: 1, offset: 0, isLast: true, bytes: delta)
    let said: [SyncMessage] = [.hello(hello), .vector(summary.vector), whole, whole]
    try await b.using { store in
      let error = await #expect(throws: SyncError.self) {
        try await store.sync(over: ScriptedConnection(said))
      }
      #expect(error?.code == .protocolViolation && error?.message.contains("twice") == true)
    }
    // What came the first time was whole, and stays.
    try Site.expectEqual(a, b)
  }

  /// A change that goes live is looked for in two blocks: one of any size is transferred without being read into
  /// memory.
  @Test func aLargeChangeIsNotCollected() throws {
    try Site().use { store in
      try store.write { db in
        for number in 0..<5 { try Note(text: String(repeating: "\(number)", count: 1 << 20), stars: 1).insert(db) }
      }
      #expect(try store.blocks(since: StateVector()).1.count == 2)
      var count = 0
      var reader = try DeltaReader(try store.delta())
      while try reader.nextBlock() != nil { count += 1 }
      #expect(count > 2)
    }
  }

  // MARK: Live

  @Test func aRepairOfWhatIsEqualIsRefused() async throws {
    let (a, b) = (try Site(notes: 3), try Site())
    try await Link.memory.sync(a, b)
    let before = try b.dump()
    try await b.using { store in
      let summary = try store.summary()
      let hello = SyncHello(
        versions: 1...2, replica: nil, digest: SyncDigest(summary), isLive: true, messageLimit: SyncLimits.messageBytes)
      var settings = SyncSettings()
      settings.isLive = true
      let connection = ScriptedConnection([.hello(hello), .repair])
      let live = settings
      let error = await #expect(throws: SyncError.self) { try await store.sync(over: connection, live) }
      #expect(error?.code == .protocolViolation)
    }
    #expect(try b.dump() == before)
  }

  /// A faulty peer raises the vector and sends nothing for it. The next meeting with one that holds the change finds
  /// and repairs that.
  @Test func aLiveChangeWithoutItsContentIsRepairedAtTheNextMeeting() async throws {
    let (a, b) = (try Site(notes: 3), try Site())
    try await Link.memory.sync(a, b)
    try a.use { store in
      try store.write { try $0.execute(sql: "UPDATE Note SET stars = 5 WHERE rowid = 1") }
    }
    try await b.using { store in
      let hello = SyncHello(
        versions: 1...2, replica: nil, digest: SyncDigest(try store.summary()), isLive: true,
        messageLimit: SyncLimits.messageBytes)
      let hollow = SyncLive(number: 1, advances: [.init(number: 0, added: nil, count: 1)], block: [])
      var settings = SyncSettings()
      settings.isLive = true
      _ = try await store.sync(over: ScriptedConnection([.hello(hello), .live(hollow)]), settings)
    }
    #expect(try b.use { try $0.vector } == a.use { try $0.vector })
    let outcome = try await Link.memory.sync(a, b)
    #expect(outcome.repaired)
    try Site.expectEqual(a, b)
  }
}

/// A peer that says what it is told to, in order, and takes or does not take what it is told.
actor ScriptedConnection: SyncConnection {
  enum Taking { case passes, fails, hangs }

  private let said: [[UInt8]]
  private let taking: @Sendable (Int) -> Taking
  private let endsInOrder: Bool
  private var next = 0
  private var sends = 0
  private var isClosed = false
  /// Whoever waits until something fails or the end.
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var hasFailed = false

  /// A peer that says these messages. `endsInOrder` says whether it closes after its last word; otherwise it says
  /// nothing more. `taking` says what happens to the first message that is sent, the second and so on. If one fails, it
  /// does so before the peer's last word is received.
  init(_ said: [SyncMessage], endsInOrder: Bool = true, taking: @escaping @Sendable (Int) -> Taking = { _ in .passes })
  {
    self.said = said.map { $0.encoded() }
    self.taking = taking
    self.endsInOrder = endsInOrder
  }

  func send(_ message: [UInt8]) async throws {
    sends += 1
    switch taking(sends) {
    case .passes: break
    case .fails:
      hasFailed = true
      wake()
      throw SyncError(.disconnected, "nobody listens")
    case .hangs: while !isClosed { await pause() }
    }
    if isClosed { throw SyncError(.disconnected, "closed") }
  }

  func receive() async throws -> [UInt8]? {
    if next == said.count - 1, taking(2) == .fails { while !hasFailed, !isClosed { await pause() } }
    if next == said.count, !endsInOrder { while !isClosed { await pause() } }
    guard next < said.count, !isClosed else { return nil }
    defer { next += 1 }
    return said[next]
  }

  func close() {
    isClosed = true
    wake()
  }

  private func pause() async { await withCheckedContinuation { waiting.append($0) } }

  private func wake() {
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}
