import CoreMetrics
import TallyWire

/// Counts what sync does, for whichever backend of swift-metrics the app has chosen. `Docs/SyncProtocol.md` lists the
/// names.
struct SyncMetrics: Sendable {
  private let factory: any MetricsFactory
  private let through: String
  private let sent, received, changes, conflicts: Counter
  private var counted = SyncOutcome()

  /// - Parameters:
  ///   - through: `connection` or `mailbox`.
  ///   - factory: nil for the one that the app has set up.
  init(through: String, _ factory: (any MetricsFactory)?) {
    let factory = factory ?? MetricsSystem.factory
    func counter(_ name: String) -> Counter {
      Counter(label: "tally.sync.\(name)", dimensions: [("through", through)], factory: factory)
    }
    (self.factory, self.through) = (factory, through)
    (sent, received) = (counter("sent.bytes"), counter("received.bytes"))
    (changes, conflicts) = (counter("changes"), counter("conflicts"))
  }

  /// Adds what has come since the last time.
  mutating func count(_ outcome: SyncOutcome) {
    add(outcome.bytesSent - counted.bytesSent, to: sent)
    add(outcome.bytesReceived - counted.bytesReceived, to: received)
    add(UInt64(outcome.changes - counted.changes), to: changes)
    add(UInt64(outcome.conflicts - counted.conflicts), to: conflicts)
    if outcome.repaired, !counted.repaired { add(1, to: counter("repairs", [("through", through)])) }
    counted = outcome
  }

  /// Counts a sync that has ended.
  func countEnd(_ error: (any Error)?) {
    add(1, to: counter("sessions", [("through", through), ("result", Self.result(error))]))
  }

  /// Counts an attempt after one that failed.
  func countRetry() { add(1, to: counter("retries", [("through", through)])) }

  /// A fixed, low-cardinality label: backends keep one series per value.
  static func result(_ error: (any Error)?) -> String {
    switch error {
    case nil: "done"
    case let error as SyncError: error.code.rawValue
    case is CancellationError: "cancelled"
    case is WireError: "damaged"
    case is MailboxError: "mailbox"
    default: "store"
    }
  }

  private func counter(_ name: String, _ dimensions: [(String, String)]) -> Counter {
    Counter(label: "tally.sync.\(name)", dimensions: dimensions, factory: factory)
  }

  private func add(_ count: UInt64, to counter: Counter) {
    if count > 0 { counter.increment(by: Int64(clamping: count)) }
  }
}
