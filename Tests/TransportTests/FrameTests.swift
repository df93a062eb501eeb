import Foundation
import Synchronization
import Tally
import TallySync
import Testing

/// Frames, and what a stream of bytes may do to them.
@Suite(.timeLimit(.minutes(5))) struct FrameTests {
  @Test func messagesComeOutWholeHoweverTheBytesAreCut() throws {
    let messages: [[UInt8]] = [[1], Array(repeating: 2, count: 127), Array(repeating: 3, count: 128), [4, 5]]
    let bytes = try messages.flatMap { try FrameDecoder.frame($0) } + FrameDecoder.farewell
    for size in 1...bytes.count {
      var decoder = FrameDecoder()
      var found: [FrameDecoder.Frame] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        decoder.append(Array(bytes[start..<min(start + size, bytes.count)]))
        while let frame = try decoder.next() { found.append(frame) }
      }
      #expect(found == messages.map { .message($0) } + [.end])
      #expect(decoder.pendingBytes == 0)
    }
  }

  @Test(
    arguments: [
      [0x81, 0x80, 0x40], [0xFF, 0xFF, 0x7F], [0x80, 0x80, 0x80],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1],
    ] as [[UInt8]])
  func aLengthBeyondTheLimitIsRefusedBeforeItsBytes(_ bytes: [UInt8]) {
    var decoder = FrameDecoder()
    decoder.append(bytes)
    let error = #expect(throws: SyncError.self) { try decoder.next() }
    #expect(error?.code == .limitExceeded)
  }

  @Test(arguments: [[0x80, 0x00], [0x81, 0x00], [0xFF, 0x80, 0x00]] as [[UInt8]])
  func aLengthThatIsNotInItsShortestFormIsRefused(_ bytes: [UInt8]) {
    var decoder = FrameDecoder()
    decoder.append(bytes)
    let error = #expect(throws: SyncError.self) { try decoder.next() }
    #expect(error?.code == .protocolViolation)
  }

  @Test func theLimitItselfIsTaken() throws {
    var decoder = FrameDecoder()
    decoder.append([0x80, 0x80, 0x40])
    #expect(try decoder.next() == nil)
    decoder.append([UInt8](repeating: 9, count: SyncLimits.messageBytes))
    #expect(try decoder.next() == .message([UInt8](repeating: 9, count: SyncLimits.messageBytes)))
  }

  @Test func aStreamThatEndsWithoutAFarewellBroke() async throws {
    let (here, there) = ByteQueue.pair()
    let connection = FramedConnection(here)
    try await there.write(FrameDecoder.frame([1, 2, 3]) + [5, 1])
    await there.close(sending: [])
    #expect(try await connection.receive() == [1, 2, 3])
    let error = await #expect(throws: SyncError.self) { try await connection.receive() }
    #expect(error?.code == .disconnected)
  }

  /// Cut at every byte of a whole sync: both sound, and the next sync does the rest.
  @Test func aSyncThatIsCutAtAnyByteLeavesBothSound() async throws {
    let (a, b) = (try Site(notes: 4, "a"), try Site(notes: 4, "b"))
    for cut in stride(from: 0, to: 700, by: 23) {
      let (here, there) = ByteQueue.pair(cutAfter: cut)
      try await a.using { one in
        try await b.using { two in
          async let left = try? one.sync(over: FramedConnection(here))
          async let right = try? two.sync(over: FramedConnection(there))
          _ = await (left, right)
        }
      }
      try a.insert(1, "a \(cut)")
      #expect(try b.use { try $0.verify().problems } == [])
    }
    try await Link.memory.sync(a, b)
    try Site.expectEqual(a, b)
  }

  /// A write that was cancelled before its first byte was out is no reason to leave without a word: the peer would take
  /// it for a crash.
  @Test func aCancelledSendDoesNotCostTheFarewell() async throws {
    let stream = StuckStream()
    let connection = FramedConnection(stream)
    let sending = Task { try await connection.send([1, 2, 3]) }
    #expect(await stream.isWriting.wait(atMost: .seconds(60)))
    sending.cancel()
    await #expect(throws: CancellationError.self) { try await sending.value }
    await #expect(throws: SyncError.self) { try await connection.send([4]) }
    await connection.close()
    #expect(stream.last.withLock { $0 } == FrameDecoder.farewell)
  }
}

/// A byte stream in memory that can break in the middle of a message.
actor ByteQueue: ByteStream {
  private let base: MemoryConnection
  private var left: Int

  private init(_ base: MemoryConnection, _ count: Int) {
    self.base = base
    left = count
  }

  static func pair(cutAfter count: Int = .max) -> (ByteQueue, ByteQueue) {
    let (a, b) = MemoryConnection.pair()
    return (ByteQueue(a, count), ByteQueue(b, .max))
  }

  nonisolated func read() async throws -> [UInt8]? { try await base.receive() }

  func write(_ bytes: [UInt8]) async throws {
    let part = Array(bytes.prefix(left))
    if left != .max { left -= part.count }
    if !part.isEmpty { try await base.send(part) }
    guard part.count == bytes.count else {
      await base.close()
      throw SyncError(.disconnected, "cut")
    }
  }

  func close(sending last: [UInt8]) async {
    if !last.isEmpty { try? await write(last) }
    await base.close()
  }
}

/// A stream that takes nothing, and gives up when it is cancelled.
private final class StuckStream: ByteStream {
  let isWriting = Latch()
  let last = Mutex<[UInt8]?>(nil)

  func read() async throws -> [UInt8]? { nil }

  func write(_ bytes: [UInt8]) async throws {
    isWriting.open()
    while true { try await Task.sleep(for: .seconds(3600)) }
  }

  func close(sending last: [UInt8]) async { self.last.withLock { $0 = last } }
}
