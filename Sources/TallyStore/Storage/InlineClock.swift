import TallyCRDT

/// The twelve bytes in the `tally_clock` column of each row the app sees.
///
/// A row that one transaction inserted and nobody has touched since needs one stamp, and it is right here. Anything more is in
/// `tally_extra`. The size is fixed so that the stamp can be written in place after the app's own statement, without
/// firing the app's triggers a second time; and every write of the store's own changes these bytes, which is how the capture
/// triggers tell it from a write of the app.
enum InlineClock: Equatable {
  /// As inserted by the app: nothing stamped yet.
  case unstamped
  /// Existence and all fields that differ from their defaults have one stamp of user rank.
  case uniform(replica: Int, sequence: UInt64, time: HybridTime)
  /// The state is in `tally_extra`, row `number`. `revision` changes with each write.
  case extra(number: Int, revision: UInt32)
  /// The store itself is about to delete the row.
  case leaving

  static let size = 12
  static let unstampedBytes = [UInt8](repeating: 0, count: size)
  static let leavingBytes = [UInt8](repeating: 0xFF, count: size)
  static let unstampedSQL = "x'" + String(repeating: "00", count: size) + "'"
  static let leavingSQL = "x'" + String(repeating: "FF", count: size) + "'"
  private static let extraMark: UInt64 = 0xFFFF
  private static let largestNumber: UInt64 = (1 << 48) - 1

  /// The uniform clock of a stamp, or nil if the stamp does not fit.
  init?(_ stamp: Stamp, replica: Int) {
    guard stamp.rank == .user, replica > 0, replica < Self.extraMark, stamp.dot.sequence <= UInt32.max else {
      return nil
    }
    self = .uniform(replica: replica, sequence: stamp.dot.sequence, time: stamp.time)
  }

  init(_ bytes: [UInt8]) throws(StoreError) {
    guard bytes.count == Self.size else { throw StoreError(.corrupt, "a clock has \(bytes.count) bytes") }
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    let head = number(0..<2)
    if bytes == Self.leavingBytes {
      self = .leaving
    } else if head == Self.extraMark {
      self = .extra(number: Int(number(2..<8)), revision: UInt32(number(8..<12)))
    } else if head == 0 {
      self = .unstamped
    } else {
      self = .uniform(
        replica: Int(head), sequence: number(2..<6), time: HybridTime(milliseconds: number(6..<12)))
    }
  }

  var bytes: [UInt8] {
    func pack(_ a: UInt64, _ aBytes: Int, _ b: UInt64, _ bBytes: Int, _ c: UInt64, _ cBytes: Int) -> [UInt8] {
      [(a, aBytes), (b, bBytes), (c, cBytes)].flatMap { part in
        (0..<part.1).map { UInt8(truncatingIfNeeded: part.0 >> UInt64(8 * (part.1 - 1 - $0))) }
      }
    }
    switch self {
    case .unstamped: return Self.unstampedBytes
    case .leaving: return Self.leavingBytes
    case .uniform(let replica, let sequence, let time):
      return pack(UInt64(replica), 2, sequence, 4, time.milliseconds, 6)
    case .extra(let number, let revision):
      return pack(Self.extraMark, 2, UInt64(number) & Self.largestNumber, 6, UInt64(revision), 4)
    }
  }
}
