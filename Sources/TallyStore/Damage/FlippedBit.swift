import TallyCRDT

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
      try connection.run(
        "UPDATE tally_vector SET sequence = ? WHERE zone = 0 AND replica = ?", Int(Int64(bitPattern: sequence)), number)
    case .sum: break
    }
  }
}

extension WriteTransaction {
  /// Makes the vector anew from the dots that are here, because the disk has changed it. A transaction's cells came
  /// with all that it had seen, so the last dot of each replica says what came; a replica of which nothing is left is
  /// asked for again. This store takes a new id, since it cannot know which dots it has given out.
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
        while try query.step() { if let link = try? reader.link(in: query, kind) { include(link.element.dots) } }
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
