import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// Decides which records may be emptied: by a new life with nothing in it (Contract.md, section 11).
struct Shredding {
  /// The deletes and edits that have been with others for long enough, for records that this store deleted, and for
  /// those that others did.
  typealias Ripe = (own: StateVector, others: StateVector)

  /// Nil to wait for nothing.
  private let ripe: Ripe?
  private let replica: ReplicaID?
  private let hiding: Hiding

  enum Verdict {
    /// It holds nothing, or the app sees it, or it is not hidden by a delete.
    case stays
    /// It is hidden by deletes that have not been with others for long enough.
    case waits
    /// It may be emptied.
    case goes
  }

  init(_ ripe: Ripe?, of replica: ReplicaID?, _ hiding: Hiding) {
    (self.ripe, self.replica, self.hiding) = (ripe, replica, hiding)
  }

  /// Whether a record may be emptied now: when others have had all that hides it for long enough. `isHeld` if it has a
  /// row because SQLite does not let go of that, or of its owner's.
  func verdict(
    _ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord, isHeld: Bool = false
  ) throws -> Verdict {
    let state = stored.state
    let holds = state.hasContent || state.life.map { $0.said != nil } ?? (state.existence != nil)
    guard holds, isHeld || !stored.place.isVisible else { return .stays }
    let own = try hiding.causesInItself(name, kind, state)
    #if PlantedFaults
      // In all histories of the tests: the short way finds what the long one does.
      if let own, try hiding.causes(of: name) != own {
        preconditionFailure("\(name) is hidden by more than its deletes")
      }
    #endif
    guard let ripe else { return try own != nil || hiding.isDeleted(name) ? .goes : .stays }
    guard let causes = try own ?? hiding.causes(of: name) else { return .stays }
    let covered = causes.latest.dot.replica == replica ? ripe.own : ripe.others
    return covered.covers(causes.dots) ? .goes : .waits
  }
}

extension WriteTransaction {
  /// Empties a record that is hidden by a delete.
  ///
  /// Presence is untouched: what is deleted stays deleted, and an edit that was not seen still revives. Nor does the
  /// view change: nothing below the record shows, and what is above it, and shows, says that by itself (rule 5 of
  /// Contract.md, section 11) and not through this one. The life is an ordinary write, which replicates; a store that
  /// joins it writes again what its author had not seen (`Join+Lift`).
  func empty(
    _ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord, _ report: inout CompactionReport
  ) throws {
    try writer.overwriteDeleted()
    var state = stored.state
    let life = try newLife(of: state, now: now)
    state.begin(life)
    #if PlantedFaults
      if environment.planted.contains(.totalsDropped) { state.dropTotals() }
    #endif
    let difference = catalog.fingerprint(name, kind, from: stored.state, to: state)
    if stored.place.isVisible {
      // SQLite does not let go of its row, which keeps what it refers to and nothing else.
      try writer.put(name, kind, state, previous: stored, shown: kind.blank(stored.values), difference: difference)
      view.mark(name)
    } else {
      try writer.put(name, kind, state, previous: stored, shown: nil, difference: difference)
    }
    try changed(
      name, kind, from: stored.state, to: state, dots: CollectionOfOne(life.dot),
      effect: .nothing, fingerprint: difference)
    report.count(stored.state)
    try forgetConflicts(of: name, &report.files)
  }
}

extension RecordKind {
  /// The values of a row whose content was removed: what it refers to, and defaults.
  func blank(_ values: [Value]) -> [Value] {
    zip(columns, values).map { $0.reference == nil ? $0.defaultValue : $1 }
  }
}

extension CompactionReport {
  /// Counts a record, and notes which files its values name.
  mutating func count(_ state: RecordState) {
    emptied += 1
    for (cell, _) in state.content {
      byteCount += cell.value.byteCount
      files.insert(cell.value, cell.stamp)
    }
  }
}
