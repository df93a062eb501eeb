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
    /// It may be emptied. If it is hidden by its own deletes alone, that changes nothing for any other record.
    case goes(isAlone: Bool)
  }

  init(_ transaction: WriteTransaction, ripe: (own: StateVector, others: StateVector)?, _ hiding: Hiding) {
    (self.transaction, self.ripe, self.hiding) = (transaction, ripe, hiding)
  }

  /// Whether a record may be emptied now: when others have had all that hides it for long enough.
  func verdict(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws -> Verdict {
    let state = stored.state
    let holds = state.hasContent || state.life.map { $0.said != nil } ?? (state.existence != nil)
    guard holds, !stored.place.isVisible else { return .stays }
    let own = try hiding.causesInItself(name, kind, state)
    let isAlone = own != nil
    #if PlantedFaults
      // In all histories of the tests: the short way finds what the long one does.
      if let own, try hiding.causes(of: name) != own {
        preconditionFailure("\(name) is hidden by more than its deletes")
      }
    #endif
    guard let ripe else { return try isAlone || hiding.isDeleted(name) ? .goes(isAlone: isAlone) : .stays }
    guard let causes = try own ?? hiding.causes(of: name) else { return .stays }
    let covered = causes.latest.dot.replica == transaction.replica ? ripe.own : ripe.others
    return covered.covers(causes.dots) ? .goes(isAlone: isAlone) : .waits
  }

  /// Empties a record. If `isAlone`, nothing else has to be looked at.
  /// - Returns: the bytes of the values that are gone.
  func empty(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord, isAlone: Bool) throws -> Int {
    try transaction.writer.overwriteDeleted()
    var state = stored.state
    let life = try transaction.newLife(of: state, now: transaction.now)
    state.begin(life)
    let difference = transaction.catalog.fingerprint(name, kind, from: stored.state, to: state)
    try transaction.writer.put(name, kind, state, previous: stored, shown: nil, difference: difference)
    try transaction.changed(
      name, kind, from: stored.state, to: state, dots: CollectionOfOne(life.dot),
      effect: isAlone ? .nothing : .anything,
      fingerprint: difference)
    try transaction.forgetConflicts(of: name)
    return stored.state.content.reduce(0) { $0 + $1.cell.value.byteCount }
  }
}
