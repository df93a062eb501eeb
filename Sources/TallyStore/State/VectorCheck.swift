import TallyCRDT

/// The vector is a claim that no content shows, so a hash of it is kept beside the content's sum: an entry that the
/// disk has lowered would let a dot be issued twice, and one that it has raised would keep away what was never here.
struct VectorCheck: Equatable {
  /// A sum over the entries, so that a vector of any length is followed entry by entry.
  private(set) var sum: UInt64 = 0

  init() {}
  init(_ vector: StateVector) { for dot in vector.entries { sum &+= Self.hash(dot.replica, dot.sequence) } }
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
struct KeptSums {
  var fingerprint: Fingerprint
  /// nil in a file of version 3 from before there was one.
  var vector: VectorCheck?

  init(_ fingerprint: Fingerprint, _ vector: VectorCheck) { (self.fingerprint, self.vector) = (fingerprint, vector) }

  init(_ bytes: [UInt8]) {
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

/// One bit that a disk has flipped, in the vector or in the sum of it.
struct FlippedBit {
  private enum Place {
    case sequence(ReplicaNumber, is: UInt64)
    /// In the sum: nothing else has changed.
    case sum
  }
  private let place: Place

  /// The bit that makes the sum come out when it is put right; nil if there is none. By far the most of what disks do
  /// is one bit, and one that is known is no loss.
  init?(_ reader: StateReader) throws {
    guard let kept = try reader.keptSums().vector else { return nil }
    let vector = try reader.vector()
    let check = VectorCheck(vector)
    if (check.sum ^ kept.sum).nonzeroBitCount == 1 {
      place = .sum
      return
    }
    let tail = try reader.tail()
    for entry in vector.entries {
      // What is in the tail has a checksum of its own.
      guard let number = reader.catalog.replicaNumbers[entry.replica], !tail.raises(number) else { continue }
      for bit in 0..<64 {
        let mask = UInt64(1) << UInt64(bit)
        let sequence = entry.sequence ^ mask
        if check.replacing(entry, by: Dot(replica: entry.replica, sequence: sequence)) == kept {
          place = .sequence(number, is: sequence)
          return
        }
      }
    }
    return nil
  }

  /// Puts the bit right in the file.
  func repair(_ connection: Connection) throws {
    switch place {
    case .sequence(let number, let sequence):
      let update = try connection.statement("UPDATE tally_vector SET sequence = ? WHERE zone = 0 AND replica = ?")
      update.bind(1, Int64(bitPattern: sequence))
      update.bind(2, number)
      try update.run()
    case .sum: break
    }
  }
}

extension WriteTransaction {
  /// Rebuilds the vector from the dots that are here, because the disk has changed it. A transaction's cells came with
  /// all that it had seen, so the last dot of each replica says what came; a replica of which nothing is left is asked
  /// for again. This store takes a new id, since it cannot know which dots it has given out.
  func recomputeVector() throws {
    try renewReplica(because: "the vector was damaged")
    var vector = StateVector()
    func include(_ dots: Set<Dot>) { for dot in dots { vector.include(dot) } }
    for kind in catalog.records.values {
      if kind.isKnown {
        try reader.forEachRow(kind) { query in
          // What cannot be read says nothing here; healing finds it.
          if let stored = try? self.reader.record(in: query, kind) { include(stored.state.dots) }
        }
      }
      try reader.forEachBody("tally_hidden", kind.number) { body in
        if let read = try? StateCoding.decodeRecord(body, self.reader, row: nil) { include(read.state.dots) }
      }
      try reader.forEachBody("tally_stub", kind.number) { body in
        if let stub = try? self.reader.stub(body) { include(stub.state.dots) }
      }
    }
    for kind in catalog.links.values {
      if kind.isKnown {
        let query = try SQLStatement(connection, kind.rowSQL)
        while try query.step() { if let link = try? reader.link(in: query) { include(link.element.dots) } }
      }
      try reader.forEachBody("tally_cut", kind.number) { body in
        if let read = try? StateCoding.decodeLink(body, self.reader) { include(read.element.dots) }
      }
    }
    try resetVector()
    try raise(to: vector)
  }
}

extension StateReader {
  fileprivate func forEachBody(
    _ table: String, _ kind: KindNumber, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws {
    let query = try SQLStatement(connection, "SELECT body FROM \(table) WHERE kind = \(kind)")
    while try query.step() { query.withBlob(0, body) }
  }
}
