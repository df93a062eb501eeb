import TallyCRDT
import TallyWire

/// The conflict journal: writes that lost to a write that had not seen them.
///
/// Neither cells nor deltas say what the author of a write had seen, so concurrency must show in something else. It
/// always does where two writes meet first: one is here, the other comes from a replica that lacks the first. Whoever
/// gets the winner later, from a replica that had both, cannot tell; there the journal leaves out what may have been
/// seen, except after a tie of times.
struct ConflictJournal {
  let transaction: WriteTransaction
  let header: DeltaHeader
  /// The vector before anything was joined.
  let before: StateVector
  let isRepair: Bool
  /// The number of lost writes that were noted.
  private(set) var count = 0
  private var connection: Connection { transaction.connection }
  private var environment: StoreEnvironment { transaction.environment }

  init(_ transaction: WriteTransaction, _ header: DeltaHeader, isRepair: Bool) {
    (self.transaction, self.header, self.isRepair) = (transaction, header, isRepair)
    before = transaction.standing.vector
  }

  /// Notes a lost write if the two were concurrent for certain. `isShown` says that the record shows what won.
  mutating func note(_ write: LostWrite, _ name: AnyRecordName, isShown: Bool = false) throws {
    guard write.loser.stamp.rank >= .user, isConcurrent(write) else { return }
    try insert(write, name, .overwritten, isOpen: isShown)
  }

  /// Notes an edit that lost to a delete which had not seen it. What is deleted is not edited, so the two were
  /// concurrent.
  mutating func note(_ edit: FieldCell, beatenBy delete: Stamp, _ name: AnyRecordName) throws {
    let winner = FieldCell(field: edit.field, stamp: delete, value: .null)
    try insert(LostWrite(loser: edit, winner: winner, wasLocal: true), name, .deleted)
  }

  private mutating func insert(
    _ write: LostWrite, _ name: AnyRecordName, _ kind: Conflict.Kind, isOpen: Bool = false
  ) throws {
    let field = transaction.catalog.fields[write.loser.field]?.name ?? ""
    try insert(
      kind, name, field, write.loser.stamp, write.loser.value, write.winner.stamp, write.winner.value, isOpen: isOpen)
  }

  /// Notes an entry, which cannot have been decided yet if it `isOpen`. One of a reference that was cleared gives way
  /// to one of the same reference that has lost.
  mutating func insert(
    _ kind: Conflict.Kind, _ name: AnyRecordName, _ field: String, _ loser: Stamp, _ loserValue: Value,
    _ winner: Stamp, _ winnerValue: Value, isOpen: Bool = false
  ) throws {
    count += 1
    transaction.facts.hasConflicts = true
    transaction.view.watch.noteEntry(of: name, isOpen: isOpen)
    transaction.writer.touch(ConflictRow.databaseTableName)
    let insert = try connection.statement(
      """
      INSERT INTO tally_conflict(noticed, name, field, loser_replica, loser_sequence, loser_time, loser_value,
        winner_replica, winner_sequence, winner_time, winner_value, winner_deletes)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT(name, field, loser_replica, loser_sequence) DO UPDATE SET
          winner_replica = excluded.winner_replica, winner_sequence = excluded.winner_sequence,
          winner_time = excluded.winner_time, winner_value = excluded.winner_value,
          winner_deletes = excluded.winner_deletes
        WHERE tally_conflict.winner_deletes = 3 AND excluded.winner_deletes = 0
      """)
    insert.bind(1, Int64(transaction.now.milliseconds))
    insert.bind(2, name.text)
    insert.bind(3, field)
    bind(loser, loserValue, to: insert, from: 4)
    bind(winner, winnerValue, to: insert, from: 8)
    insert.bind(12, kind.number)
    try insert.run()
  }

  private func bind(_ stamp: Stamp, _ value: Value, to statement: SQLStatement, from index: Int) {
    statement.bind(index, stamp.dot.replica.bytes)
    statement.bind(index + 1, Int64(stamp.dot.sequence))
    statement.bind(index + 2, Int64(stamp.time.milliseconds))
    statement.bind(index + 3, value)
  }

  /// Whether two that had not seen each other meet here first: one was here and the sender lacks it, the other is new.
  func meet(_ one: Dot, _ other: Dot) -> Bool {
    if isRepair, header.target == before { return true }
    func isOurs(_ dot: Dot) -> Bool { before.covers(dot) && !header.target.covers(dot) }
    return isOurs(one) && !before.covers(other) || isOurs(other) && !before.covers(one)
  }

  /// Drops the oldest entries beyond the journal's limits. Entries go in the order in which they came: while the clock
  /// runs behind what it has said before, nothing is too old. Cost: what goes.
  func trim() throws {
    guard transaction.facts.hasConflicts else { return }
    let delete = try connection.statement(
      "DELETE FROM tally_conflict WHERE n <= (SELECT max(n) FROM tally_conflict) - ?")
    delete.bind(1, environment.conflictLimit)
    try delete.run()
    guard let oldest = environment.oldestConflict() else { return }
    let expire = try connection.statement(
      """
      DELETE FROM tally_conflict WHERE n < ifnull(
        (SELECT n FROM tally_conflict WHERE noticed >= ? ORDER BY n LIMIT 1), 0x7fffffffffffffff)
      """)
    expire.bind(1, Int64(oldest.milliseconds))
    try expire.run()
  }

  /// Whether the author of the winner had certainly not seen the loser.
  private func isConcurrent(_ write: LostWrite) -> Bool {
    let (loser, winner) = (write.loser.stamp, write.winner.stamp)
    // A write that saw the other has a later time.
    if loser.time == winner.time, loser.time.milliseconds < HybridTime.maximum { return true }
    // Vectors agree and contents do not: a dot was issued twice, and what it hides was never seen.
    if isRepair, header.target == before { return true }
    // A local loser was not seen by the sender, and so not by the winner's author, if the sender's vector does not
    // cover it. A received loser that is new here was not seen by the local winner's author: had it been, our vector
    // would cover it.
    return !(write.wasLocal ? header.target : before).covers(loser.dot)
  }
}
