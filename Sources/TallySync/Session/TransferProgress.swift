/// The progress of the current stage of a sync: a delta is prepared, sent, received or applied.
///
/// ```swift
/// for transfer in await engine.status.peers.compactMap(\.transfer) {
///   let part = transfer.fraction.map { " \(Int($0 * 100)) %" } ?? ""
///   let left = transfer.timeLeft.map { ", \($0.components.seconds) s left" } ?? ""
///   print("\(transfer.stage)\(part), \(transfer.records) records\(left)")
/// }
/// ```
///
/// A first sync goes through ``Stage/waiting``, ``Stage/receiving`` and ``Stage/applying``. Each stage counts its own
/// bytes: receiving depends on the network, applying on this device. A delta is applied as a whole, so its changes are
/// shown only at the end. If deltas go both ways, one of this device's stages is reported: applying takes precedence
/// over receiving, and receiving over sending.
public struct TransferProgress: Sendable, Equatable {
  /// The stages of a delta.
  public enum Stage: String, Sendable {
    /// This device reads what the other side lacks. The size is unknown until the end.
    case preparing
    /// The delta is on its way from this device.
    case sending
    /// The peer has something that this device lacks and has not begun to send it.
    case waiting
    /// The delta is on its way to this device.
    case receiving
    /// The delta has arrived and is being joined into the store.
    case applying
  }

  /// The stage in which the delta is.
  public var stage: Stage
  /// The number of (compressed) bytes of the delta that this stage has completed.
  public var bytes: UInt64 = 0
  /// The size of the delta in bytes; 0 while unknown.
  public var byteCount: UInt64 = 0
  /// The number of records and links that have been joined so far. They are shown when all have been joined.
  public var records = 0
  /// The estimated time until the end of this stage, based on its last seconds; nil in the first second of a stage, for
  /// a stage that makes no progress, and while the size is unknown.
  public var timeLeft: Duration?

  /// Creates the progress of a stage that begins.
  public init(_ stage: Stage) { self.stage = stage }

  init(_ stage: Stage, _ bytes: UInt64, of byteCount: UInt64, records: Int = 0) {
    self.init(stage)
    (self.bytes, self.byteCount, self.records) = (bytes, byteCount, records)
  }

  /// The completed fraction of this stage, 0 to 1; nil while the delta's size is unknown.
  public var fraction: Double? { byteCount == 0 ? nil : min(1, Double(bytes) / Double(byteCount)) }
}

/// The pace of a stage, of which its last seconds tell.
struct TransferRate {
  private static let window: Duration = .seconds(10)
  private static let spacing: Duration = .milliseconds(200)
  private static let shortest: Duration = .seconds(1)
  private var stage: TransferProgress.Stage?
  private var marks: [(time: Duration, bytes: UInt64)] = []

  /// Returns a step along with the time that is left.
  mutating func timing(_ step: TransferProgress?, at now: Duration) -> TransferProgress? {
    guard var step else {
      (stage, marks) = (nil, [])
      return nil
    }
    if step.stage != stage || step.bytes < marks.last?.bytes ?? 0 { (stage, marks) = (step.stage, []) }
    if marks.last.map({ now - $0.time >= Self.spacing }) ?? true {
      marks.append((now, step.bytes))
      marks.removeFirst(marks.firstIndex { now - $0.time <= Self.window } ?? 0)
    }
    step.timeLeft = timeLeft(step, now)
    return step
  }

  private func timeLeft(_ step: TransferProgress, _ now: Duration) -> Duration? {
    guard let first = marks.first, now - first.time >= Self.shortest, step.bytes > first.bytes,
      step.byteCount >= step.bytes
    else { return nil }
    return (now - first.time) * (Double(step.byteCount - step.bytes) / Double(step.bytes - first.bytes))
  }
}
