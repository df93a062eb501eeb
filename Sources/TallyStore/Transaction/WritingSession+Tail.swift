import TallyCRDT
import TallyWire

// The newest entries of the vector and of the change log stand in the row of the fingerprint: see `LogTail`.
extension WritingSession {
  /// Lists items under a dot.
  func list(_ items: [UInt8], _ dot: Dot, to growth: inout ChangeLog.Growth) throws {
    let replica = try numbers.number(of: dot.replica)
    if !tail.hasRoom(for: items.count) { try flushEntries(to: &growth) }
    let last = try tail.entries.last?.number ?? lastLogNumber()
    // Beside an entry of the vector a loss of both shows.
    guard last < Self.mostLogNumber, !tail.vector.isEmpty else {
      // What waits to be dropped there may be listed again by this.
      try flushEntries(to: &growth, dropping: true)
      return try insert(nil, replica, dot.sequence, items, to: &growth)
    }
    tail.append(last + 1, replica, dot.sequence, items)
  }

  /// Notes that these items, which stand alone under a dot, are not needed any more: at once where they are among the
  /// newest, and otherwise with many others: see `NeedlessEntries`.
  func unlist(_ items: [UInt8], _ dot: Dot, growth: inout ChangeLog.Growth) throws {
    let replica = try numbers.number(of: dot.replica)
    if tail.remove(replica, dot.sequence, items) { return }
    guard !shared.contains(dot) else {
      outdates = true
      return
    }
    if !tail.hasRoom(for: items.count) { try flushEntries(to: &growth) }
    tail.noteNeedless(.init(replica: replica, sequence: dot.sequence, items: items))
  }

  /// Raises an entry of the vector.
  func raise(_ replica: ReplicaID, to sequence: UInt64) throws {
    let number = try numbers.number(of: replica)
    tail.raise(number, to: sequence)
    if tail.vector.count > LogTail.mostRaised { try flushVector { $0 != number } }
  }

  /// Moves all of the tail into its tables, and drops what is needless there.
  func flushTail(to growth: inout ChangeLog.Growth) throws {
    try flushEntries(to: &growth, dropping: true)
    try flushVector { _ in true }
  }

  /// Moves the newest entries into the table of the log, a row for each replica. What has become needless there is
  /// dropped now and then, with `dropping` at once: before rows are written in another way, which may list it again.
  func flushEntries(to growth: inout ChangeLog.Growth, dropping: Bool = false) throws {
    var needless = try NeedlessEntries(connection)
    needless.add(tail.needless)
    try needless.remove(tail.entries)
    if needless.isFull || dropping && !needless.isEmpty {
      try needless.drop(connection) { entry in
        outdates = true
        guard let replica = reader.catalog.replicas[entry.replica] else { return }
        if shared.count >= Self.mostShared { shared.removeAll() }
        shared.insert(Dot(replica: replica, sequence: entry.sequence))
      }
    }
    try needless.store(connection)
    defer { tail.forgetEntries() }
    guard let first = tail.entries.first else { return }
    // What the disk has done to the table must not keep a transaction from committing.
    let last = try lastLogNumber()
    let isBeyond = last >= Self.mostLogNumber
    if first.number <= last, !isBeyond { tail.renumber(from: last + 1) }
    if isBeyond {
      for entry in tail.entries { try insert(nil, entry.replica, entry.sequence, entry.items, to: &growth) }
      return
    }
    let replicas = Dictionary(grouping: tail.entries, by: \.replica)
    for (_, entries) in replicas.sorted(by: { $0.key < $1.key }) {
      guard let row = LogEntry(packing: entries.map { LogEntry($0) }) else { continue }
      try insert(row.number, row.replica, row.sequence, row.items, to: &growth)
      growth.rows += entries.count - 1
    }
  }

  private static let mostShared = 1024

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

  private func insert(
    _ number: Int?, _ replica: ReplicaNumber, _ sequence: UInt64, _ items: [UInt8], to growth: inout ChangeLog.Growth
  ) throws {
    let insert = try connection.statement(
      "INSERT INTO tally_log(n, zone, replica, sequence, items) VALUES(?, 0, ?, ?, ?)")
    if let number { insert.bind(1, number) } else { insert.bindNull(1) }
    insert.bind(2, replica)
    insert.bind(3, Int64(sequence))
    insert.bind(4, items)
    try insert.run()
    growth.rows += 1
    growth.bytes += items.count
  }

  /// Lists items under a dot in the table, after the newest entries.
  func insert(_ items: [UInt8], _ dot: Dot, to growth: inout ChangeLog.Growth) throws {
    try insert(nil, try numbers.number(of: dot.replica), dot.sequence, items, to: &growth)
  }

  /// Forgets the whole change log, before another is made from the states.
  func forgetLog() throws {
    try connection.execute("DELETE FROM tally_log")
    try NeedlessEntries.forget(connection)
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
