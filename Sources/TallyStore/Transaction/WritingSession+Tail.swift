import TallyCRDT
import TallyWire

// The newest entries of the vector and of the change log stand in the row of the fingerprint: see `LogTail`.
extension WritingSession {
  /// Lists items under a dot. `growth` is raised by the bytes that this takes in the table of the log.
  func list(_ items: [UInt8], _ dot: Dot, to growth: inout Int) throws {
    let replica = try numbers.number(of: dot.replica)
    if !tail.hasRoom(for: items.count) {
      // What is changed again and again need not go to the table.
      tail.dropOutdated()
      if !tail.isHalfEmpty { try flushEntries(to: &growth) }
    }
    let last = try tail.entries.last?.number ?? lastLogNumber()
    // Beside an entry of the vector a loss of both shows.
    guard last < Self.mostLogNumber, !tail.vector.isEmpty else {
      try flushEntries(to: &growth)
      return try insert(items, dot, to: &growth)
    }
    tail.append(last + 1, replica, dot.sequence, items)
  }

  /// Raises an entry of the vector.
  func raise(_ replica: ReplicaID, to sequence: UInt64) throws {
    let number = try numbers.number(of: replica)
    tail.raise(number, to: sequence)
    if tail.vector.count > LogTail.mostRaised { try flushVector { $0 != number } }
  }

  /// Moves all of the tail into its tables.
  func flushTail(to growth: inout Int) throws {
    try flushEntries(to: &growth)
    try flushVector { _ in true }
  }

  /// Moves the newest entries into the table of the log, a row for each replica.
  func flushEntries(to growth: inout Int) throws {
    tail.dropOutdated()
    defer { tail.forgetEntries() }
    guard let first = tail.entries.first else { return }
    // What the disk has done to the table must not keep a transaction from committing.
    let last = try lastLogNumber()
    if first.number <= last, last < Self.mostLogNumber { tail.renumber(from: last + 1) }
    let replicas = Dictionary(grouping: tail.entries, by: \.replica)
    for (_, entries) in replicas.sorted(by: { $0.key < $1.key }) {
      guard let row = LogRow(entries.map { LogEntry($0) }) else { continue }
      try insert(row, to: &growth)
    }
  }

  private func flushVector(_ condition: (ReplicaNumber) -> Bool) throws {
    for entry in tail.vector where condition(entry.replica) {
      let update = try connection.statement(
        "INSERT INTO tally_vector VALUES(0, ?, ?) ON CONFLICT(zone, replica) DO UPDATE SET sequence = excluded.sequence"
      )
      update.bind(1, entry.replica)
      update.bind(2, Int64(entry.sequence))
      try update.run()
    }
    tail.forgetVector(where: condition)
  }

  /// Beyond it, SQLite chooses a number.
  private static let mostLogNumber = 1 << 62

  /// A number that the disk has made negative was never given.
  private func lastLogNumber() throws -> Int { max(try connection.integer("SELECT max(n) FROM tally_log") ?? 0, 0) }

  private func insert(_ row: LogRow, to growth: inout Int) throws {
    growth += row.bytes.count
    guard try lastLogNumber() >= Self.mostLogNumber else { return try row.insert(connection) }
    let insert = try connection.statement("INSERT INTO tally_log(zone, replica, sequence, items) VALUES(0, ?, ?, ?)")
    insert.bind(1, row.replica)
    insert.bind(2, Int64(try row.sequence))
    insert.bind(3, row.bytes)
    try insert.run()
  }

  /// Lists items under a dot in the table, after the newest entries.
  func insert(_ items: [UInt8], _ dot: Dot, to growth: inout Int) throws {
    let entry = LogEntry(
      number: try lastLogNumber() + 1, replica: try numbers.number(of: dot.replica), sequence: dot.sequence,
      items: items)
    try insert(LogRow([entry], number: entry.number, sequence: entry.sequence), to: &growth)
  }

  /// Forgets the whole change log, before another is made from the states.
  func forgetLog() throws {
    try connection.execute("DELETE FROM tally_log")
    try LogSweep.Standing.renew(connection)
    sweep.forget()
    tail.forgetEntries()
  }

  /// Forgets the vector, before another is made from the states.
  func forgetVector() throws {
    try connection.execute("DELETE FROM tally_vector")
    tail.forgetVector()
  }

  /// Writes the sums, and what the last transactions have added to the vector and to the log.
  func putZone(_ standing: Standing) throws {
    let update = try connection.statement("UPDATE tally_zone SET fingerprint = ?, tail = ? WHERE n = 0")
    update.bind(1, KeptSums(standing.fingerprint, standing.vectorCheck).bytes)
    if let bytes = tail.bytes { update.bind(2, bytes) } else { update.bindNull(2) }
    try update.run()
    tail.isChanged = false
  }

  /// Nothing tells that a savepoint was rolled back, and with it what an interlude has written.
  func checkInterlude() throws {
    guard interludeDot != nil else { return }
    let (sums, known) = (try reader.keptSums(), KeptSums(standing.fingerprint, standing.vectorCheck))
    guard try sums.bytes == known.bytes && reader.tail() == tail else {
      throw StoreError(
        .transactionEnded,
        "a savepoint was rolled back in which the store has written, as `restore` does, so the rest cannot be captured")
    }
  }
}
