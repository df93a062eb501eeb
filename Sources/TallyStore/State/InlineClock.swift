import GRDBSQLite
import TallyCRDT

/// The fifteen bytes in the `tally_clock` column of each row the app sees.
///
/// A row that one transaction inserted and that was not touched since needs one stamp, and it is right here, with the
/// checksum of the row's state. Anything more is in `tally_extra`. The size is fixed so that the stamp can be written
/// in place after the app's own statement, without firing the app's triggers a second time. Where triggers capture,
/// every write of the store's own changes these bytes, which is how they tell it from a write of the app.
package enum InlineClock: Hashable {
  /// As inserted by the app: nothing stamped yet.
  case unstamped
  /// Existence and all fields that differ from their defaults have one stamp of user rank.
  case uniform(Uniform)
  /// The state is in a row of `tally_extra`.
  case extra(Extra)
  /// The store itself is about to delete the row.
  case leaving

  /// One stamp, and the checksum of the state that it makes with the row's values.
  package struct Uniform: Hashable {
    var replica: ReplicaNumber
    var sequence: UInt64
    var time: HybridTime
    var sum = StateSum()

    /// Whether the stamps are the same, without regard to the sums.
    func hasStamp(of other: Uniform) -> Bool {
      replica == other.replica && sequence == other.sequence && time == other.time
    }
  }

  /// The row of `tally_extra` that a clock points to. The revision changes with each write, so that the clock does.
  package struct Extra: Hashable {
    var number: Int
    var revision: UInt32

    /// The clock after another write of the same state row.
    var next: Extra { Extra(number: number, revision: (revision &+ 1) & 0x7FFF_FFFF) }
  }

  package static let size = 12 + StateSum.size
  static let unstampedSQL = "x'" + String(repeating: "00", count: size) + "'"
  static let leavingSQL = "x'" + String(repeating: "FF", count: size) + "'"
  private static let extraMark: UInt64 = 0xFFFF
  /// The largest number of a row of `tally_extra` that a clock can point to.
  static let largestNumber = (1 << 48) - 1

  /// The uniform clock of a stamp, or nil if the stamp does not fit.
  init?(_ stamp: Stamp, replica: ReplicaNumber, sum: StateSum) {
    guard stamp.rank == .user, replica.rawValue > 0, replica.rawValue < Self.extraMark, stamp.dot.sequence <= UInt32.max
    else {
      return nil
    }
    self = .uniform(Uniform(replica: replica, sequence: stamp.dot.sequence, time: stamp.time, sum: sum))
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    guard bytes.count == Self.size else {
      // Where a tool has rebuilt the table without the default, an insert leaves none.
      guard bytes.isEmpty else { throw StoreError(.corrupt, "a clock has \(bytes.count) bytes") }
      self = .unstamped
      return
    }
    let first = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    let last = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    // The last four bytes overlap the ones before by one, which the sum drops.
    let sum = StateSum(rawValue: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 11, as: UInt32.self)))
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
        Uniform(
          replica: ReplicaNumber(rawValue: Int(head)), sequence: first >> 16 & UInt64(UInt32.max),
          time: HybridTime(milliseconds: time), sum: sum))
    }
  }

  /// The row of `tally_extra`, if the state is there.
  package var extra: Extra? { if case .extra(let extra) = self { extra } else { nil } }

  /// The same clock with another sum; only a uniform clock has one.
  func with(_ sum: StateSum) -> InlineClock {
    guard case .uniform(var uniform) = self else { return self }
    uniform.sum = sum
    return .uniform(uniform)
  }

  /// Calls `body` with the fifteen bytes, which are gone afterwards.
  func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    let (first, last): (UInt64, UInt64)
    switch self {
    case .unstamped: (first, last) = (0, 0)
    case .leaving: (first, last) = (.max, .max)
    case .uniform(let clock):
      first = UInt64(clock.replica.rawValue) << 48 | clock.sequence << 16 | clock.time.milliseconds >> 32
      last = clock.time.milliseconds << 32 | UInt64(clock.sum.rawValue) << 8
    case .extra(let extra):
      first = Self.extraMark << 48 | UInt64(extra.number & Self.largestNumber)
      last = UInt64(extra.revision) << 32
    }
    return try withUnsafeBytes(of: (first.bigEndian, last.bigEndian)) {
      try body(UnsafeRawBufferPointer(rebasing: $0[..<Self.size]))
    }
  }
}

extension InlineClock: SQLBindable {
  func bind(to statement: SQLStatement, _ index: Int) { statement.bind(index, self) }
}

extension SQLStatement {
  package func bind(_ index: Int, _ clock: InlineClock) {
    clock.withBytes { bind(index, copying: $0) }
  }

  /// The clock of a row.
  /// - Throws: `StoreError.corrupt` for anything but fifteen bytes.
  package func clock(_ column: Int) throws(StoreError) -> InlineClock {
    let base = sqlite3_column_blob(handle, Int32(column))
    let count = Int(sqlite3_column_bytes(handle, Int32(column)))
    return try InlineClock(UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : count))
  }
}
