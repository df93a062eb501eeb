import Synchronization
import TallySync

/// Two connected ends under test, with what rules need to say about them.
struct Ends: Sendable {
  let rule: String
  let here: any SyncConnection
  let there: any SyncConnection

  func close() async {
    async let one: Void = here.close()
    async let two: Void = there.close()
    _ = await (one, two)
  }

  func fail(_ message: String) -> ConformanceFailure { ConformanceFailure(rule, message) }

  func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw fail(message()) }
  }

  /// The next message, which must be there and have these bytes.
  func expect(_ message: [UInt8], at connection: any SyncConnection, _ what: String) async throws {
    guard let received = try await connection.receive() else { throw fail("the connection ended before \(what)") }
    guard received != message else { return }
    throw fail(
      received.count == message.count
        ? "\(what) came with other bytes or out of order"
        : "\(what) has \(message.count) bytes, and \(received.count) came")
  }

  /// Runs the body, which must end in time; if not, it is left behind.
  @discardableResult
  func within<T: Sendable>(
    _ limit: Duration, _ what: String, _ body: @escaping @Sendable () async throws -> T
  ) async throws -> T {
    try await ConformanceFailure.unless(endsWithin: limit, what, of: rule, body)
  }

  /// Sends until the connection takes no more.
  /// - Returns: how many messages it took; the task waits with the next one.
  func fill(_ connection: any SyncConnection, _ message: @escaping @Sendable (Int) -> [UInt8]) async throws -> (
    sent: SendCount, sending: Task<Void, any Error>
  ) {
    let sent = SendCount()
    let sending = Task.detached {
      for number in 0..<Self.flood {
        try await connection.send(message(number))
        sent.add()
      }
    }
    // Nothing says that a task waits, but that it makes no progress for a while.
    var last = -1
    while sent.value != last, sent.value < Self.flood {
      last = sent.value
      try await Task.sleep(for: .milliseconds(300))
    }
    return (sent, sending)
  }

  /// A task that has received a message and waits for the next.
  func waitingReceive() async throws -> Task<Void, any Error> {
    let first = Latch()
    let receiving = Task { while try await here.receive() != nil { first.open() } }
    try await there.send([1])
    guard await first.wait(atMost: .seconds(60)) else { throw fail("a message did not arrive within 60 seconds") }
    // What it does next is to ask for another; now it may.
    await Task.yield()
    return receiving
  }

  /// The messages of 64 KiB that no connection may put aside: 64 MiB.
  static let flood = 1024

  /// Bytes that differ from message to message and within one.
  static func sample(_ number: Int, _ count: Int) -> [UInt8] {
    let start = number &* 7_919 & 0xFFFF
    return Array(noise[start..<start + count])
  }

  private static let noise: [UInt8] = {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    return (0..<SyncLimits.messageBytes + 0x1_0001).map { _ in
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(truncatingIfNeeded: state)
    }
  }()
}

/// A number that two tasks look at.
package final class SendCount: Sendable {
  private let number = Atomic(0)
  package init() {}
  package var value: Int { number.load(ordering: .acquiring) }
  package func add() { number.add(1, ordering: .acquiringAndReleasing) }
}
