import TallyCRDT

// The vector, and one that is not what it was.
extension WritingSession {
  /// The state of the store, with what this transaction has written.
  var summary: StoreSummary {
    StoreSummary(
      vector: standing.vector, fingerprint: standing.fingerprint,
      replica: standing.own.flatMap { reader.catalog.replicas[$0] }
    )
  }

  /// A vector that is not what was last written is rebuilt before a dot is issued.
  func mendVector() throws {
    if log.tail.isDamaged, let mended = try LogTail.withColumn(connection, { LogTail.mended($1 ?? []) }) ?? nil {
      // The sums are those of before.
      let update = try connection.statement("UPDATE tally_zone SET tail = ? WHERE n = 0")
      if let bytes = mended.bytes { update.bind(1, bytes) } else { update.bindNull(1) }
      try update.run()
      try reload()
      environment.logger.warning("a flipped bit in the newest entries of the vector and the log was put right")
    }
    guard try !reader.vectorFitsItsSum() else { return }
    if !log.tail.isDamaged, let bit = try FlippedBit(reader) {
      try bit.repair(connection)
      try reload()
      environment.logger.warning("a flipped bit in the vector was put right")
    } else {
      try transaction { transaction in
        if log.tail.isDamaged {
          log.tail = LogTail()
          log.tail.isChanged = true
        }
        try transaction.recomputeVector()
        // Where the newest entries of the vector are lost, those of the log are lost with them.
        try transaction.listAnew()
        try transaction.note(doubt: .damaged, because: "the vector was not what was last written")
      }
    }
    // Also where both came out as they were.
    try log.put(standing)
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
