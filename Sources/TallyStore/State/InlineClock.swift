import TallyCRDT

/// The twelve bytes in the `tally_clock` column of each row the app sees.
///
/// A row that one transaction inserted and nobody has touched since needs one stamp, and it is right here. Anything
/// more is in `tally_extra`. The size is fixed so that the stamp can be written in place after the app's own statement,
/// without firing the app's triggers a second time. Where triggers capture, every write of the store's own changes
/// these bytes, which is how they tell it from a write of the app.
enum InlineClock: Equatable {
  /// As inserted by the app: nothing stamped yet.
  case unstamped
  /// Existence and all fields that differ from their defaults have one stamp of user rank.
  case uniform(replica: ReplicaNumber, sequence: UInt64, time: HybridTime)
  /// The state is in a row of `tally_extra`.
  case extra(Extra)
  /// The store itself is about to delete the row.
  case leaving

  /// The row of `tally_extra` that a clock points to. The revision changes with each write, so that the clock does.
  struct Extra: Equatable {
    var number: Int
    var revision: UInt32

    /// The clock after another write of the same state row.
    var next: Extra { Extra(number: number, revision: (revision &+ 1) & 0x7FFF_FFFF) }
  }

  static let size = 12
  static let unstampedSQL = "x'" + String(repeating: "00", count: size) + "'"
  static let leavingSQL = "x'" + String(repeating: "FF", count: size) + "'"
  private static let extraMark: UInt64 = 0xFFFF
  /// The largest number of a row of `tally_extra` that a clock can point to.
  static let largestNumber = (1 << 48) - 1

  /// The uniform clock of a stamp, or nil if the stamp does not fit.
  init?(_ stamp: Stamp, replica: ReplicaNumber) {
    guard stamp.rank == .user, replica.rawValue > 0, replica.rawValue < Self.extraMark, stamp.dot.sequence <= UInt32.max
    else {
      return nil
    }
    self = .uniform(replica: replica, sequence: stamp.dot.sequence, time: stamp.time)
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    guard bytes.count == Self.size else { throw StoreError(.corrupt, "a clock has \(bytes.count) bytes") }
    let first = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    let last = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    let head = first >> 48
    if first == .max, last == .max {
      self = .leaving
    } else if head == Self.extraMark {
      self = .extra(Extra(number: Int(first & UInt64(Self.largestNumber)), revision: last))
    } else if head == 0 {
      self = .unstamped
    } else {
      let time = (first & 0xFFFF) << 32 | UInt64(last)
      self = .uniform(
        replica: ReplicaNumber(rawValue: Int(head)), sequence: first >> 16 & UInt64(UInt32.max),
        time: HybridTime(milliseconds: time))
    }
  }

  /// The row of `tally_extra`, if the state is there.
  var extra: Extra? { if case .extra(let extra) = self { extra } else { nil } }

  /// Calls `body` with the twelve bytes, which are gone afterwards.
  func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    let (first, last): (UInt64, UInt32)
    switch self {
    case .unstamped: (first, last) = (0, 0)
    case .leaving: (first, last) = (.max, .max)
    case .uniform(let replica, let sequence, let time):
      first = UInt64(replica.rawValue) << 48 | sequence << 16 | time.milliseconds >> 32
      last = UInt32(truncatingIfNeeded: time.milliseconds)
    case .extra(let extra):
      (first, last) = (Self.extraMark << 48 | UInt64(extra.number & Self.largestNumber), extra.revision)
    }
    return try withUnsafeBytes(of: (first.bigEndian, last.bigEndian)) {
      try body(UnsafeRawBufferPointer(rebasing: $0[..<Self.size]))
    }
  }
}
