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
  private let visibility: Visibility<SnapshotFacts>
  private let below: HiddenBelow
  private var reader: StateReader { transaction.reader }

  enum Verdict {
    /// It holds nothing, or the app sees it, or it is not hidden by a delete.
    case stays
    /// It is hidden by deletes that have not been with others for long enough.
    case waits
    /// It may be emptied.
    case goes
  }

  init(_ transaction: WriteTransaction, ripe: (own: StateVector, others: StateVector)?) {
    (self.transaction, self.ripe) = (transaction, ripe)
    visibility = Visibility(SnapshotFacts(transaction.reader, countsRefusals: false))
    below = HiddenBelow(transaction.reader, visibility)
  }

  /// Whether a record may be emptied now: when others have had for long enough all that hides it. That is the deletes on
  /// its chain of owners, the edits of it and of what is deleted above it that no delete had seen, and what hides the
  /// records below that had kept one of them in view.
  func verdict(_ name: AnyRecordName, _ stored: StoredRecord) throws -> Verdict {
    let state = stored.state
    let holds = state.hasContent || state.life.map { $0.said != nil } ?? (state.existence != nil)
    guard holds, !stored.place.isVisible, try !visibility.isVisible(name) else { return .stays }
    let chain = try chain(name)
    let hiding = try chain.indices.filter { try !chain[$0].state.deletes.isEmpty && !visibility.isAlive(chain[$0].name) }
    guard let top = hiding.last else { return .stays }
    guard let ripe else { return .goes }
    let deletes = chain.flatMap(\.state.deletes)
    let isOwn = deletes.map(\.stamp).max()?.dot.replica == transaction.replica
    let covered = isOwn ? ripe.own : ripe.others
    guard deletes.allSatisfy({ covered.covers($0.stamp.dot) }) else { return .waits }
    let context = chain.reduce(StateVector()) { $0.merging($1.state.deletedContext) }
    // What goes on in a living owner above all that is deleted delays nothing.
    for (name, state) in chain[...top] {
      var touches = state.touches
      for dot in try SnapshotFacts(reader).liveTags(of: name) { touches.include(dot) }
      let unseen = touches.beyond(state.deletedContext).beyond(context)
      guard unseen.entries.allSatisfy(covered.covers) else { return .waits }
    }
    let isOver = try hiding.allSatisfy { index in
      try below.dots(of: chain[index].name, chain[index].state).allSatisfy(covered.covers)
    }
    return isOver ? .goes : .waits
  }

  /// The record and its owners, as far as anything is known of them.
  private func chain(_ name: AnyRecordName) throws -> [(name: AnyRecordName, state: RecordState)] {
    var chain: [(AnyRecordName, RecordState)] = []
    var (open, known) = ([name], Set([name]))
    while let next = open.popLast() {
      guard let kind = transaction.catalog.kind(of: next.type), let stored = try reader.record(next, kind) else {
        continue
      }
      chain.append((next, stored.state))
      for owner in try visibility.effectiveOwners(of: next) where known.insert(owner.target).inserted {
        open.append(owner.target)
      }
    }
    return chain
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

extension Join {
  /// Forgets what else is known of records that another device has emptied: those that are hidden and hold nothing.
  /// - Returns: how many there are.
  func forgetEmptied(_ renewed: [AnyRecordName]) throws -> Int {
    var (count, dots) = (0, StateVector())
    for name in renewed {
      guard let kind = transaction.catalog.kind(of: name.type), let stored = try reader.record(name, kind),
        !stored.place.isVisible, !stored.state.hasContent, let life = stored.state.life
      else { continue }
      try transaction.forgetConflicts(of: name)
      dots.include(life.stamp.dot)
      count += 1
    }
    try transaction.note(removals: dots)
    return count
  }
}

extension WriteTransaction {
  /// Takes the entries of a record out of the conflict journal, which hold values of it.
  func forgetConflicts(of name: AnyRecordName) throws {
    guard facts.hasConflicts else { return }
    let delete = try connection.statement("DELETE FROM tally_conflict WHERE name = ?")
    delete.bind(1, name.text)
    try delete.run()
    if connection.changes > 0 { writer.touch(ConflictRow.databaseTableName) }
  }
}
