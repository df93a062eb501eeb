import TallyCRDT

/// The vector is a claim that no content shows, so a hash of it is kept beside the content's sum: an entry that the
/// disk has lowered would let a dot be issued twice, and one that it has raised would keep away what was never here.
package struct VectorCheck: Equatable {
  /// A sum over the entries, so that a vector of any length is followed entry by entry.
  private(set) var sum: UInt64 = 0

  init() {}
  package init(_ vector: StateVector) { for dot in vector.entries { sum &+= Self.hash(dot.replica, dot.sequence) } }
  init(rawValue: UInt64) { sum = rawValue }

  /// A check that fits no vector, as far as anybody can tell.
  static let ofNone = VectorCheck(rawValue: .max)

  /// Follows an entry that grows.
  mutating func raise(_ replica: ReplicaID, from old: UInt64, to new: UInt64) {
    if old > 0 { sum &-= Self.hash(replica, old) }
    sum &+= Self.hash(replica, new)
  }

  /// The sum with one entry in the place of another.
  func replacing(_ old: Dot, by new: Dot) -> VectorCheck {
    VectorCheck(rawValue: sum &- Self.hash(old.replica, old.sequence) &+ Self.hash(new.replica, new.sequence))
  }

  private static func hash(_ replica: ReplicaID, _ sequence: UInt64) -> UInt64 {
    var hash = SipHash()
    hash.combine(word: replica.high)
    hash.combine(word: replica.low)
    hash.combine(word: sequence)
    return hash.finalized()
  }
}

/// The checksums of the content and of the vector that `tally_zone` keeps: sixteen bytes and eight.
package struct KeptSums {
  package var fingerprint: Fingerprint
  /// nil in a file of version 3 from before there was one.
  package var vector: VectorCheck?

  init(_ fingerprint: Fingerprint, _ vector: VectorCheck) { (self.fingerprint, self.vector) = (fingerprint, vector) }

  package init(_ bytes: [UInt8]) {
    fingerprint = Fingerprint(bytes)
    if bytes.count == 24 { vector = VectorCheck(rawValue: bytes[16...].reduce(0) { $0 << 8 | UInt64($1) }) }
  }

  var bytes: [UInt8] {
    fingerprint.bytes + (0..<8).map { UInt8(truncatingIfNeeded: (vector?.sum ?? 0) >> UInt64(56 - 8 * $0)) }
  }
}

extension StateReader {
  /// Whether the vector is what was last written, and what the last transactions have added to it and to the log.
  func vectorFitsItsSum() throws -> Bool {
    guard try !tail().isDamaged else { return false }
    guard let check = try keptSums().vector else { return true }
    return try check == VectorCheck(vector())
  }
}
