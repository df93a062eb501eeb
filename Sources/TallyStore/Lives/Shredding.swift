import TallyCRDT

/// Decides which records may be emptied, and empties them (decision 24): by a new life with nothing in it.
///
/// Presence is untouched: what is deleted stays deleted, and an edit that nobody had seen still revives. The life is an
/// ordinary write, which replicates; who meets it says again what it had not seen (`Join+Lift`).
struct Shredding {
  /// The deletes and edits that have been with others for long enough, for records that this store deleted, and for
  /// those that others did; nil to wait for nothing.
  var ripe: (own: StateVector, others: StateVector)?
  private let transaction: WriteTransaction
  private let hiding: Hiding
  private var reader: StateReader { transaction.reader }

  enum Verdict {
    /// It holds nothing, or the app sees it, or it is not hidden by a delete.
    case stays
    /// It is hidden by deletes that have not been with others for long enough.
    case waits
    /// It may be emptied.
    case goes
  }

  init(_ transaction: WriteTransaction, ripe: (own: StateVector, others: StateVector)?, _ hiding: Hiding) {
    (self.transaction, self.ripe, self.hiding) = (transaction, ripe, hiding)
  }

  /// Whether a record may be emptied now: when others have had all that hides it for long enough.
  func verdict(_ name: AnyRecordName, _ stored: StoredRecord) throws -> Verdict {
    let state = stored.state
    let holds = state.hasContent || state.life.map { $0.said != nil } ?? (state.existence != nil)
    guard holds, !stored.place.isVisible else { return .stays }
    guard let ripe else { return try hiding.isDeleted(name) ? .goes : .stays }
    guard let causes = try hiding.causes(of: name) else { return .stays }
    let covered = causes.latest.dot.replica == transaction.replica ? ripe.own : ripe.others
    return covered.covers(causes.dots) ? .goes : .waits
  }

  /// Empties a record.
  /// - Returns: the bytes of the values that are gone.
  func empty(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws -> Int {
    try transaction.writer.overwriteDeleted()
    var state = stored.state
    let life = try transaction.newLife(of: state, now: transaction.now)
    state.begin(life)
    let difference = transaction.catalog.fingerprint(name, kind, from: stored.state, to: state)
    try transaction.writer.put(name, kind, state, previous: stored, shown: nil, difference: difference)
    try transaction.changed(
      name, kind, from: stored.state, to: state, dots: CollectionOfOne(life.dot), fingerprint: difference)
    try transaction.forgetConflicts(of: name)
    return stored.state.content.reduce(0) { $0 + $1.cell.value.byteCount }
  }
}

/// A record that a delta has brought into another life, and the content that it had before.
struct RenewedRecord {
  let name: AnyRecordName
  private let former: [FieldID: Stamp]

  init(_ name: AnyRecordName, _ state: RecordState) {
    self.name = name
    former = Dictionary(uniqueKeysWithValues: state.content.map { ($0.cell.field, $0.cell.stamp) })
  }

  /// Whether some of its content went with its life, although no later write of that life says so.
  func hasLost(in state: RecordState) -> Bool {
    let now = Dictionary(uniqueKeysWithValues: state.content.map { ($0.cell.field, $0.cell.stamp) })
    return former.contains { now[$0.key] != $0.value }
  }
}

extension Join {
  /// Forgets what else is known of content that has gone with a former life, by a purge or because its name was used
  /// again: entries of the conflict journal that the author of the life had seen, and what stands in files.
  func forgetRemoved(_ renewed: [RenewedRecord], _ result: inout ApplyResult) throws {
    var dots = StateVector()
    for record in renewed {
      guard let kind = transaction.catalog.kind(of: record.name.type),
        let stored = try reader.record(record.name, kind), let life = stored.state.life,
        record.hasLost(in: stored.state)
      else { continue }
      let isEmptied = !stored.place.isVisible && !stored.state.hasContent
      try transaction.forgetConflicts(of: record.name, seenBy: isEmptied ? nil : life.context)
      dots.include(life.stamp.dot)
      if isEmptied { result.emptied += 1 }
    }
    result.hasRemoved = !dots.isEmpty
    try transaction.note(removals: dots)
  }
}

extension WriteTransaction {
  /// Takes the entries of a record out of the conflict journal, which hold values of it: all, or those of writes that
  /// `context` covers.
  func forgetConflicts(of name: AnyRecordName, seenBy context: StateVector? = nil) throws {
    guard facts.hasConflicts else { return }
    guard let context else {
      let delete = try connection.statement("DELETE FROM tally_conflict WHERE name = ?")
      delete.bind(1, name.text)
      try delete.run()
      if connection.changes > 0 { writer.touch(ConflictRow.databaseTableName) }
      return
    }
    for (number, conflict) in try reader.numberedConflicts(of: name) where context.covers(conflict.loser.dot) {
      let delete = try connection.statement("DELETE FROM tally_conflict WHERE n = ?")
      delete.bind(1, number)
      try delete.run()
      writer.touch(ConflictRow.databaseTableName)
    }
  }
}
