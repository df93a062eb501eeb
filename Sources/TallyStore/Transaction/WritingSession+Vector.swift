import TallyCRDT

// A vector that is not what it was.
extension WritingSession {
  /// A vector that is not what was last written is rebuilt before a dot is issued.
  func mendVector() throws {
    guard try reader.keptSums().vector != nil, try !reader.vectorFitsItsSum() else { return }
    if let bit = try FlippedBit(reader) {
      try bit.repair(connection)
      try reload()
      environment.logger.warning("a flipped bit in the vector was put right")
    } else {
      try transaction { transaction in
        try transaction.recomputeVector()
        try transaction.note(doubt: .damaged, because: "the vector was not what was last written")
      }
    }
    // Also where both came out as they were.
    let update = try connection.statement("UPDATE tally_zone SET fingerprint = ? WHERE n = 0")
    update.bind(1, KeptSums(standing.fingerprint, standing.vectorCheck).bytes)
    try update.run()
  }

  /// Whether the store has given away more of what this replica wrote, perhaps by another store of the same file, than
  /// the file holds.
  var hasGivenMore: Bool {
    guard let given = lastGiven(), given.replica == summary.replica else { return false }
    return !standing.vector.covers(given)
  }

  /// Takes another replica id, where the file holds less than this store has seen in it: what is written next must not
  /// get numbers that others have for something else.
  func leaveFormerNumbers() throws {
    try transaction {
      try $0.renewReplica(because: "the file's content is older than what this store has seen in it")
    }
  }
}
