import TallyCRDT
import TallyWire

/// The change log and the vector as a file has them: the newest entries in the tail, and those in their tables.
///
/// It changes `tally_log`, `tally_vector` and the row of `tally_zone`, and nothing else does. What is listed here is
/// there when the transaction commits, and what is rolled back must be loaded again.
final class Log {
  private let connection: Connection
  private let numbers: CatalogWriter
  private let reader: StateReader
  /// The newest entries of vector and log, as the file has them after this transaction.
  @exclusivity(unchecked) var tail = LogTail()
  private var sweep = LogSweep()

  init(_ reader: StateReader, _ numbers: CatalogWriter) {
    (self.reader, self.numbers, connection) = (reader, numbers, reader.connection)
  }

  /// Reads the tail, after another connection has written.
  func follow() throws {
    tail = try reader.tail()
    try sweep.follow(connection)
  }

  /// Forgets what a transaction that was rolled back has done.
  func forget() { sweep.forget() }

  /// Sweeps a slice of the log where it is time, after its table has grown by so many bytes, and so much was listed.
  func sweep(added bytes: Int, listed: LogSweep.Listed) throws {
    sweep.note(listed)
    if bytes > 0 { try sweep.run(reader, added: bytes) }
  }

  /// Sweeps the whole log.
  func sweepAll() throws { try sweep.finish(reader) }

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
    let number = min(try lastLogNumber(), Self.mostLogNumber) + 1
    let entry = LogEntry(
      number: number, replica: try numbers.number(of: dot.replica), sequence: dot.sequence, items: items)
    try insert(LogRow([entry], number: entry.number, sequence: entry.sequence), to: &growth)
  }

  /// Forgets the whole change log, before another is made from the states.
  func forgetAll() throws {
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
  func put(_ standing: Standing) throws {
    let update = try connection.statement("UPDATE tally_zone SET fingerprint = ?, tail = ? WHERE n = 0")
    update.bind(1, KeptSums(standing.fingerprint, standing.vectorCheck).bytes)
    if let bytes = tail.bytes { update.bind(2, bytes) } else { update.bindNull(2) }
    try update.run()
    tail.isChanged = false
  }
}
