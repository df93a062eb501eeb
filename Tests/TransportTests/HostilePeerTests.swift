import Foundation
import Tally
import TallyCRDT
import TallySync
import TallyTesting
import TallyWire
import TestEffort
import Testing

/// A peer that says what it must not: a typed error, in time, and the store as it was.
@Suite(.timeLimit(.minutes(5))) struct HostilePeerTests {
  /// What a peer sends, message by message, and what it is refused with.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let messages: [[UInt8]]
    /// nil for damaged bytes, which are a `WireError`.
    let code: SyncError.Code?
    var testDescription: String { name }

    init(_ name: String, _ code: SyncError.Code?, _ messages: [UInt8]...) {
      (self.name, self.messages, self.code) = (name, messages, code)
    }
  }

  static func hello(
    versions: ClosedRange<UInt8> = 1...1, zone: ZoneID = .default, replica: ReplicaID? = nil, limit: Int = 1 << 20
  ) -> [UInt8] {
    let digest = SyncDigest(
      vector: StateVector([(ReplicaID(high: 9, low: 9), UInt64(1))]), fingerprint: Fingerprint())
    let hello = SyncHello(
      versions: versions, zone: zone, replica: replica, digest: digest, isLive: true, messageLimit: limit)
    return SyncMessage.hello(hello).encoded()
  }

  static let vector = SyncMessage.vector(StateVector([(ReplicaID(high: 9, low: 9), UInt64(1))])).encoded()

  /// A vector that claims this many entries and has these bytes of them.
  static func vector(claiming count: UInt64, bytes: Int = 0) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(2)
    writer.varint(count)
    return writer.bytes + [UInt8](repeating: 1, count: bytes)
  }

  static func chunk(_ transfer: UInt64, _ offset: UInt64, _ count: Int = 10, isLast: Bool = false) -> [UInt8] {
    let bytes = [UInt8](repeating: 7, count: count)
    return SyncMessage.chunk(transfer: transfer, offset: offset, isLast: isLast, bytes: bytes).encoded()
  }

  static func begin(_ transfer: UInt64, _ offset: UInt64, of byteCount: UInt64) -> [UInt8] {
    SyncMessage.transfer(transfer, offset: offset, byteCount: byteCount).encoded()
  }

  static func held(_ counts: UInt64...) -> [UInt8] { held(counts) }

  static func held(_ counts: [UInt64]) -> [UInt8] {
    SyncMessage.held(counts.map { SyncPart(byteCount: $0, check: 1) }).encoded()
  }

  private static let newest = SyncHello.versions.upperBound

  static func hello(_ version: UInt8) -> [UInt8] { hello(versions: 1...version) }

  static let digest = SyncDigest(vector: StateVector(), fingerprint: Fingerprint())

  static let cases = [
    Case("a newer peer", .upgradeRequired, hello(versions: newest + 1...9)),
    Case("a newer peer with a hello of another form", .upgradeRequired, [1, 0x54, 0x53, 7, 9, 0xFF, 0xFF, 0xFF]),
    Case("another zone", .wrongZone, hello(zone: ZoneID(high: 1, low: 2))),
    Case("a peer that takes only tiny messages", .limitExceeded, hello(limit: 100)),
    Case("another protocol", nil, Array("GET / HTTP/1.1\r\n\r\n".utf8)),
    Case("an unknown message", nil, hello(), [99]),
    Case("a truncated hello", nil, Array(hello().dropLast(3))),
    Case("bytes after a hello", nil, hello() + [0]),
    Case("two hellos", .protocolViolation, hello(), hello()),
    Case("a vector before the hello", .protocolViolation, vector),
    Case("two vectors", .protocolViolation, hello(), vector, vector),
    Case("a vector that claims a thousand million replicas", nil, hello(), vector(claiming: 1_000_000_000)),
    Case("a vector that claims 65,536 replicas", nil, hello(), vector(claiming: 65_536, bytes: 1_000_000)),
    Case("a vector that claims 2^64 - 1 replicas", nil, hello(), vector(claiming: .max)),
    Case("a vector whose replicas do not ascend", nil, hello(), vector(claiming: 2, bytes: 34)),
    Case("a chunk before the vectors", .protocolViolation, hello(), chunk(1, 0)),
    Case("a chunk that skips bytes", .protocolViolation, hello(), vector, chunk(1, 0), chunk(1, 11)),
    Case("a chunk twice", .protocolViolation, hello(), vector, chunk(1, 0), chunk(1, 0)),
    Case("chunks of two transfers mixed", .protocolViolation, hello(), vector, chunk(1, 0), chunk(2, 0)),
    Case("a transfer that begins where nothing is", .protocolViolation, hello(2), vector, begin(1, 20, of: 30)),
    Case("a transfer that begins after its end", nil, hello(2), vector, begin(1, 30, of: 20)),
    Case("a transfer of nothing", nil, hello(2), vector, begin(1, 0, of: 0)),
    Case("a transfer of two tebibytes", nil, hello(2), vector, begin(1, 0, of: 2 << 40)),
    Case(
      "a transfer that ends early", .protocolViolation, hello(2), vector, begin(1, 0, of: 20), chunk(1, 0, isLast: true)
    ),
    Case("a transfer that does not end", .protocolViolation, hello(2), vector, begin(1, 0, of: 10), chunk(1, 0)),
    Case("a transfer within another", .protocolViolation, hello(2), vector, begin(1, 0, of: 20), begin(2, 0, of: 20)),
    Case("a transfer whose number does not grow", .protocolViolation, hello(2), vector, begin(0, 0, of: 20)),
    Case("a word of version 2 in version 1", .protocolViolation, hello(), vector, begin(1, 0, of: 20)),
    Case("parts in version 1", .protocolViolation, hello(), held(10)),
    Case("parts before the hello", .protocolViolation, held(10)),
    Case("parts twice", .protocolViolation, hello(2), held(10), held(20)),
    Case("parts after the vector", .protocolViolation, hello(2), vector, held(10)),
    Case("parts that do not ascend", nil, hello(2), held(20, 10)),
    Case("no parts", nil, hello(2), held()),
    Case("seventeen parts", nil, hello(2), held(Array(1...17))),
    Case("parts of more than a tebibyte", nil, hello(2), held(2 << 40)),
    Case("an empty chunk", .protocolViolation, hello(), vector, chunk(1, 0, 0)),
    Case("a delta that is none", nil, hello(), vector, chunk(1, 0, isLast: true)),
    Case("a transfer applied that was never sent", .protocolViolation, hello(), vector, applied(9)),
    Case("more received than was sent", .protocolViolation, hello(), vector, received(1, 1 << 40)),
    Case("live changes applied that were never sent", .protocolViolation, hello(), vector, liveApplied(3)),
    Case("a damaged live change", nil, hello(), vector, [7, 1, 1, 0, 1, 0, 0, 0, 0]),
    Case("a failure of its own", .peerFailed, hello(), failure("diskFull", "the disk is full")),
    Case("a failure with a known code", .unauthorized, hello(), failure("unauthorized", "go away")),
  ]

  static func applied(_ transfer: UInt64) -> [UInt8] {
    SyncMessage.applied(transfer: transfer, digest: digest).encoded()
  }
  static func received(_ transfer: UInt64, _ count: UInt64) -> [UInt8] {
    SyncMessage.received(transfer: transfer, byteCount: count).encoded()
  }
  static func liveApplied(_ count: UInt64) -> [UInt8] { SyncMessage.liveApplied(count).encoded() }
  static func failure(_ code: String, _ text: String) -> [UInt8] {
    SyncMessage.failure(code: code, message: text).encoded()
  }

  @Test(arguments: Effort.sample(cases, 15)) func isRefusedAndTheStoreStaysAsItWas(_ bad: Case) async throws {
    let site = try Site(notes: 3)
    let before = try site.dump()
    let (here, there) = MemoryConnection.pair()
    try await site.using { store in
      let listening = Task { while try await there.receive() != nil {} }
      let speaking = Task { for message in bad.messages { try await there.send(message) } }
      do {
        var settings = SyncSettings()
        settings.isLive = true
        try await store.sync(over: here, settings)
        Issue.record("the session took it")
      } catch let error as SyncError {
        #expect(error.code == bad.code, "\(error)")
      } catch is WireError {
        #expect(bad.code == nil)
      }
      _ = try? await (speaking.value, listening.value)
    }
    #expect(try site.dump() == before)
  }

  @Test func aPeerLearnsWhyItWasRefused() async throws {
    let (here, there) = MemoryConnection.pair()
    let site = try Site(notes: 1)
    try await site.using { store in
      let syncing = Task { try await store.sync(over: here) }
      try await there.send(Self.hello(versions: Self.newest + 1...Self.newest + 2))
      var answers: [SyncMessage] = []
      while let bytes = try await there.receive() { answers.append(try SyncMessage(bytes)) }
      guard case .failure(let code, let text)? = answers.last else { throw SyncError(.protocolViolation, "\(answers)") }
      #expect(code == "upgradeRequired" && text.contains("\(Self.newest + 1) to \(Self.newest + 2)"))
      await #expect(throws: SyncError.self) { try await syncing.value }
    }
  }

  /// What a transport that loses its order does to a live session.
  @Test(arguments: ["twice", "swapped", "lost"]) func liveChangesAreNumbered(_ fault: String) async throws {
    var (left, right) = (SyncSession(mode: .live), SyncSession(mode: .live))
    let (a, b) = (try Site(notes: 3), try Site())
    try await Link.memory.sync(a, b)
    let (one, two) = (try a.open(), try b.open())
    defer { for store in [one, two] { try? store.close() } }
    _ = try left.handle(.started(try one.summary()))
    _ = try right.handle(.started(try two.summary()))
    for (session, peer) in [(0, two), (1, one)] {
      let hello = SyncHello(
        versions: 1...1, zone: .default, replica: try peer.summary().replica, digest: SyncDigest(try peer.summary()),
        isLive: true, messageLimit: SyncLimits.messageBytes)
      _ = try session == 0 ? left.handle(.message(.hello(hello))) : right.handle(.message(.hello(hello)))
    }
    var sent: [SyncMessage] = []
    for stars in 2...3 {
      try await one.write { try $0.execute(sql: "UPDATE Note SET stars = ? WHERE rowid = 1", arguments: [stars]) }
      for action in try left.handle(.changed(try one.summary())) {
        guard case .collect(let base) = action else { continue }
        let (header, blocks) = try one.blocks(since: base)
        for case .send(let message) in try left.handle(.collected(header, blocks)) { sent.append(message) }
      }
    }
    try #require(sent.count == 2)
    let order = fault == "twice" ? [sent[0], sent[0]] : fault == "swapped" ? [sent[1], sent[0]] : [sent[1]]
    #expect(throws: SyncError.self) {
      for message in order {
        for action in try right.handle(.message(message)) {
          guard case .applyLive(let header, let block) = action else { continue }
          _ = try two.apply(header, block.map { [$0] } ?? [])
          _ = try right.handle(.applied(try two.summary(), target: header.target))
        }
      }
    }
    #expect(try one.summary().vector.covers(try two.summary().vector))
  }

  /// A peer that asks and asks and takes no answer is not read any further, and memory stays as it is.
  @Test func aPeerThatTakesNoAnswersIsNotReadWithoutEnd() async throws {
    let site = try Site(notes: 1)
    let (here, there) = MemoryConnection.pair()
    try await site.using { store in
      var settings = SyncSettings()
      settings.timeout = .milliseconds(300)
      let syncing = Task { [settings] in try await store.sync(over: here, settings) }
      let sent = SendCount()
      let flooding = Task {
        try await there.send(Self.hello())
        try await there.send(Self.vector)
        for offset in 0..<100_000 {
          try await there.send(Self.chunk(1, UInt64(offset), 1))
          sent.add()
        }
      }
      let error = await #expect(throws: SyncError.self) { try await syncing.value }
      #expect(error?.code == .timedOut)
      await #expect(throws: (any Error).self) { try await flooding.value }
      #expect(sent.value < 1_000)
    }
  }

  /// A connection whose messages are still to be read when the session fails ends all the same.
  @Test func messagesThatNobodyWillReadDoNotKeepASessionFromEnding() async throws {
    let site = try Site(notes: 1)
    let (here, there) = MemoryConnection.pair()
    try await site.using { store in
      for message in [Self.hello(), Self.vector, [99], [99], [99], [99]] { try await there.send(message) }
      await #expect(throws: WireError.self) { try await store.sync(over: here) }
    }
  }
}
