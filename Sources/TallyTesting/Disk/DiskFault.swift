/// The failure of a simulated disk: what it does instead of what it was asked for.
public enum DiskFault: String, Sendable, CaseIterable {
  /// Nothing is done, and the call fails (EIO).
  case inputOutput
  /// Nothing is done, for want of space (ENOSPC).
  case noSpace
  /// Half of the bytes are written. As `inputOutput` for calls that write none.
  case shortWrite
  /// The power goes while the call is under way: it fails, as all calls after it do, until
  /// `SimulatedDisk.powerCut(using:)`, which decides how much of it was done.
  case powerFailure
}

/// A call that changes a disk.
public struct DiskCall: Sendable, Equatable, CustomStringConvertible {
  /// The operation that a program asks for.
  public enum Kind: String, Sendable {
    /// Making a file that was not there.
    case create
    /// Bytes are written to a file.
    case write
    /// A file is cut off at a length.
    case truncate
    /// Waiting until a file's bytes are on the disk, and its name if it is new.
    case sync
    /// A file is removed from the disk.
    case delete
    /// Putting a file in the place of another.
    case rename
    /// Making shared memory larger: a file as well.
    case share
  }

  /// The kind of operation that was asked for.
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
