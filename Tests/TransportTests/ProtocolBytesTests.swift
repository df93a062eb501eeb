import Foundation
import Tally
import TallyCRDT
import TallySync
import TallyWire
import Testing

/// The bytes that `Docs/SyncProtocol.md` states. They change only with a new version of the protocol.
@Suite(.timeLimit(.minutes(5))) struct ProtocolBytesTests {
  private static let replica = ReplicaID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
  private static let digest = SyncDigest(
    vector: StateVector([(replica, UInt64(7))]), fingerprint: Fingerprint())

  private static let digestHex = hex(SyncMessage.done(digest).encoded().dropFirst())

  private static func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String(format: "%02x", $0) }.joined(separator: "")
  }

  private static let fileText = "sha256-\(String(repeating: "ab", count: 32)).300.jpg"
  private static let replicaHex = "0102030405060708090a0b0c0d0e0f10"

  static let messages: [(SyncMessage, String)] = [
    (
      .hello(
        SyncHello(
          versions: 1...2, zone: .default, replica: replica, digest: digest, isLive: true, messageLimit: 1 << 20)),
      "01" + "5453" + "0102" + "06" + "808040" + replicaHex + digestHex
    ),
    (
      .hello(
        SyncHello(
          versions: 1...2, zone: ZoneID(high: 1, low: 2), replica: nil, digest: digest, isLive: false,
          messageLimit: 1 << 20)),
      "01" + "5453" + "0102" + "01" + "808040" + "0000000000000001" + "0000000000000002" + digestHex
    ),
    (.vector(StateVector([(replica, UInt64(300))])), "02" + "01" + replicaHex + "ac02"),
    (.chunk(transfer: 1, offset: 0, isLast: false, bytes: [0xAA, 0xBB]), "03" + "01" + "00" + "aabb"),
    (.chunk(transfer: 1, offset: 65_536, isLast: true, bytes: [0xCC]), "04" + "01" + "808004" + "cc"),
    (.received(transfer: 1, byteCount: 65_536), "05" + "01" + "808004"),
    (.applied(transfer: 1, digest: digest), "06" + "01" + digestHex),
    (.liveApplied(5), "08" + "05"),
    (.repair, "09"),
    (.done(digest), "0a" + digestHex),
    (.ping, "0b"),
    (.held([SyncPart(byteCount: 65_536, check: 0x0102_0304_0506_0708)]), "0d" + "01" + "808004" + "0102030405060708"),
    (.transfer(1, offset: 65_536, byteCount: 131_072), "0e" + "01" + "808004" + "808008"),
    (.identity(0x0102_0304_0506_0708), "0f" + "0102030405060708"),
    (
      .about(SyncDevice(name: "Mac", app: "Scores 2")), "10" + "03" + hex("Mac".utf8) + "08" + hex("Scores 2".utf8)
    ),
    (.piece(3, offset: 300, bytes: [0xAA]), "12" + "03" + "ac02" + "aa"),
    (.stored(3, byteCount: 300), "13" + "03" + "ac02"),
    (.lacks(3), "14" + "03"), (.settled, "15"), (.arrived, "16"),
    (.failure(code: "wrongZone", message: "no"), "0c" + "09" + hex("wrongZone".utf8) + "02" + hex("no".utf8)),
  ]

  @Test(arguments: messages.indices) func messagesHaveTheseBytes(_ index: Int) throws {
    let (message, bytes) = Self.messages[index]
    #expect(Self.hex(message.encoded()) == bytes)
    #expect(try SyncMessage(message.encoded()) == message)
  }

  @Test func aRequestOfAFileHasTheseBytes() throws {
    let message = SyncMessage.want(3, try #require(AssetName(Self.fileText)), offset: 299)
    #expect(Self.hex(message.encoded()) == "11" + "03" + "4f" + Self.hex(Self.fileText.utf8) + "ab02")
    #expect(try SyncMessage(message.encoded()) == message)
  }

  @Test func aDigestTakes24Bytes() { #expect(Self.digestHex.count == 48) }

  /// A live change is its number, what it advances, a block and four bytes of check.
  @Test func aLiveChangeHasTheseBytes() throws {
    let live = SyncLive(
      number: 1,
      advances: [
        SyncLive.Advance(number: 0, added: nil, count: 1), SyncLive.Advance(number: 1, added: Self.replica, count: 2),
      ], block: [0xAA])
    let bytes = SyncMessage.live(live).encoded()
    #expect(Self.hex(bytes.dropLast(4)) == "07" + "01" + "02" + "00" + "01" + "03" + Self.replicaHex + "02" + "aa")
    #expect(try SyncMessage(bytes) == .live(live))
    for index in bytes.indices.dropFirst() {
      var damaged = bytes
      damaged[index] ^= 0x10
      #expect(throws: (any Error).self) { try SyncMessage(damaged) }
    }
  }

  // MARK: Round trips

  @Test func equalReplicasExchangeOneHelloEach() async throws {
    let (a, b) = (try Site(notes: 3), try Site())
    try await Link.memory.sync(a, b)
    let (log, outcome) = try await Self.recorded(a, b)
    // Both say hello at once, so either may be noted first.
    #expect(log.sorted() == ["< hello 33", "> hello 49"])
    #expect(outcome.messageBytes == 82)
  }

  @Test func whoLacksSomethingGetsItInTwoRoundTrips() async throws {
    let (a, b) = (try Site(notes: 3, "a"), try Site())
    let (log, outcome) = try await Self.recorded(a, b)
    #expect(outcome.messageBytes - outcome.bytesSent == 207)
    let words = log.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    #expect(words.filter { $0.hasPrefix(">") } == ["> hello", "> vector", "> lastChunk", "> done"])
    // Who has nothing to send says so at once, and again after it has applied something.
    #expect(words.filter { $0.hasPrefix("<") } == ["< hello", "< vector", "< done", "< applied", "< done"])
    let sizes = log.filter { !$0.contains("lastChunk") }
    #expect(
      Set(sizes) == [
        "> hello 49", "< hello 33", "> vector 19", "< vector 2", "< applied 26", "> done 25", "< done 25",
      ])
  }

  /// Syncs, and tells what went over the connection: direction, name and bytes.
  private static func recorded(_ a: Site, _ b: Site) async throws -> ([String], SyncOutcome) {
    let log = Log()
    var outcome = try await Link.memory.sync(a, b) { LoggedConnection($0, log) }
    // A machine that is busy gives a side the time to say that it is still there.
    let lines = await log.lines
    let pings = lines.filter { $0.hasSuffix(" ping 1") }.count
    outcome.messageBytes -= UInt64(pings)
    return (lines.filter { !$0.hasSuffix(" ping 1") }, outcome)
  }
}

private actor Log {
  var lines: [String] = []
  func add(_ direction: String, _ bytes: [UInt8]) {
    let names = [
      "", "hello", "vector", "chunk", "lastChunk", "received", "applied", "live", "liveApplied", "repair", "done",
      "ping", "failure", "held", "transfer",
    ]
    lines.append("\(direction) \(names[Int(bytes[0])]) \(bytes.count)")
  }
}

private struct LoggedConnection: SyncConnection {
  let base: any SyncConnection
  let log: Log

  init(_ base: any SyncConnection, _ log: Log) { (self.base, self.log) = (base, log) }

  func send(_ message: [UInt8]) async throws {
    await log.add(">", message)
    try await base.send(message)
  }

  func receive() async throws -> [UInt8]? {
    let message = try await base.receive()
    if let message { await log.add("<", message) }
    return message
  }

  func close() async { await base.close() }
}
