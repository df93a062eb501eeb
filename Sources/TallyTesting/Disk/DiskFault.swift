/// A failure of a simulated disk: what it does instead of the requested operation.
public enum DiskFault: String, Sendable, CaseIterable {
  /// The call has no effect and fails (EIO).
  case inputOutput
  /// The call has no effect and fails for lack of space (ENOSPC).
  case noSpace
  /// Only half of the bytes are written. For calls that write none, the same as `inputOutput`.
  case shortWrite
  /// The power fails during the call: it and all later calls fail until `SimulatedDisk.powerCut(using:)`, which decides
  /// how much of the call was carried out.
  case powerFailure
}

/// A call that changes a disk.
public struct DiskCall: Sendable, Equatable, CustomStringConvertible {
  /// The kind of operation that a program requests.
  public enum Kind: String, Sendable {
    /// A new file is created.
    case create
    /// Bytes are written to a file.
    case write
    /// A file is cut off at a length.
    case truncate
    /// A file's bytes, and its name if it is new, are flushed to the disk.
    case sync
    /// A file is removed from the disk.
    case delete
    /// A file is renamed and replaces another.
    case rename
    /// Shared memory, which is a file too, is enlarged.
    case share
  }

  /// The kind of operation that was requested.
  public var kind: Kind
  /// The name of the file on the simulated disk.
  public var file: String

  /// The call in words, such as "sync store-wal".
  public var description: String { "\(kind.rawValue) \(file)" }
}

/// The verdict on a call.
enum DiskVerdict {
  case done
  case failed(DiskFault)
  /// Done, but the power goes with it, so the caller does not hear of it.
  case lastOne
  /// The machine is off.
  case off
}

/// Counts calls and says what becomes of each.
struct DiskFaults: Sendable {
  private(set) var calls = 0
  private(set) var struck: DiskCall?
  private(set) var isOff = false
  private var plan: (fault: DiskFault, at: Int, isLasting: Bool)?

  mutating func inject(_ fault: DiskFault, inCalls count: Int, isLasting: Bool) {
    plan = (fault, calls + count, isLasting)
    struck = nil
  }

  mutating func heal() {
    plan = nil
    isOff = false
  }

  mutating func judge(_ call: DiskCall) -> DiskVerdict {
    guard !isOff else { return .off }
    calls += 1
    guard let plan, calls == plan.at || plan.isLasting && calls > plan.at else { return .done }
    if struck == nil { struck = call }
    guard plan.fault == .powerFailure else { return .failed(plan.fault) }
    isOff = true
    return .lastOne
  }
}
