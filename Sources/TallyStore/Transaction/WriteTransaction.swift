import GRDB
import GRDBSQLite
import TallyCRDT
import TallyWire

/// One transaction of the replica: what one person wrote in one go, or what one delta brought.
///
/// It owns what must change together (vector, fingerprint, change log, the marks of what the view must look at) and is
/// the only one that changes it. The steps of the pipeline are given it: `Capture` turns rows into cells and reports
/// them, `Join` does so with a delta, `StateWriter` writes states to their places, `ViewMaintainer` makes rows follow.
/// `commit()` is the only end.
///
/// ```
/// rows ── Capture ─┐                               ┌─ StateWriter ── rows, bodies
///                  ├─ changed(…) ─ WriteTransaction ┤
/// delta ── Join ───┘                └─ commit(): raise → settle → check → flush
/// ```
///
/// One SQLite transaction can hold several, one after the other: what other connections wrote is captured in one of its
/// own first.
final class WriteTransaction {
  let session: WritingSession
  let view: ViewMaintainer
  /// The time of the transaction, by the clock or by `PastWrite`, read once and only by one that writes.
  var now: HybridTime {
    if let time { return time }
    let time = session.applying.time ?? environment.now()
    self.time = time
    return time
  }
  @exclusivity(unchecked) private var time: HybridTime?
  /// The dot of what this replica writes; nil as long as it has written nothing.
  @exclusivity(unchecked) private(set) var dot: Dot?
  @exclusivity(unchecked) var standing: Standing
  /// The vector that a delta brings the store to.
  private(set) var incoming = StateVector()
  @exclusivity(unchecked) var log = ChangeLog()
  /// By how many bytes the table of the change log has grown.
  private var logged = 0
  private var runsTriggers: Bool?
  private(set) var isCapturing = false
  /// Whether triggers of the app's have written while the store wrote.
  private(set) var hasEcho = false
  /// Whether the fingerprint must be recomputed at the end: see `loseSum`.
  private(set) var isSumLost = false
  /// The rows that can make a write of the app's fail at the end.
  var held = HeldRows()
  /// What is lost or damaged.
  var losses = Losses()

  var reader: StateReader { session.reader }
  var writer: StateWriter { session.writer }
  var facts: FileFacts { session.facts }
  var catalog: Catalog { session.reader.catalog }
  var connection: Connection { session.connection }
  var environment: StoreEnvironment { session.environment }

  init(_ session: WritingSession, _ standing: Standing) {
    self.session = session
    self.standing = standing
    view = ViewMaintainer(session.writer, session.refusals, session.environment)
    session.writer.seenAbove = nil
    // What a trigger writes is captured before anybody reads the row as a state.
    session.writer.onRowWritten = { [unowned self] in try captureEcho() }
  }

  // MARK: Stamps

  /// A stamp of this replica's, later than what it overwrites. The dot is taken, and the replica minted, with the first
  /// one.
  func stamp(over overwritten: HybridTime? = nil, rank: Rank = .user) throws -> Stamp {
    let dot = try self.dot ?? nextDot()
    self.dot = dot
    #if PlantedFaults
      let overwritten = environment.planted.contains(.clockMayGoBack) ? nil : overwritten
    #endif
    return Stamp(rank: rank, time: .next(now: now, over: overwritten), dot: dot)
  }

  private func nextDot() throws -> Dot {
    let replica = try ownReplica()
    guard standing.vector[replica] < UInt64(Int64.max) else { throw StoreError(.corrupt, "the sequence is at its end") }
    return Dot(replica: replica, sequence: standing.vector[replica] + 1)
  }

  /// The context of a write of this transaction: everything that is here when the transaction ends.
  var context: StateVector {
    var context = standing.vector.merging(incoming)
    if let dot { context.include(dot) }
    return context
  }

  /// This store's replica; nil if it has none.
  var replica: ReplicaID? { standing.own.flatMap { catalog.replicas[$0] } }

  /// This store's replica, which it takes now if it has none.
  func ownReplica() throws -> ReplicaID {
    if let replica { return replica }
    let minted = environment.mintReplica()
    let number = try session.numbers.number(of: minted)
    let insert = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('self', ?)")
    insert.bind(1, number)
    try insert.run()
    standing.own = number
    return minted
  }

  /// Gives up the replica id: the next local write mints another. For a store that turns out to be a copy of itself.
  func renewReplica(because reason: String) throws {
    guard standing.own != nil else { return }
    #if PlantedFaults
      if environment.planted.contains(.cloneKeepsID) { return }
    #endif
    environment.logger.warning("the store takes a new replica id", metadata: ["reason": "\(reason)"])
    try noteFormerReplica()
    try connection.execute("DELETE FROM tally_meta WHERE key = 'self'")
    standing.own = nil
    let note = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('renewal', ?)")
    note.bind(1, "\(environment.now().milliseconds) \(reason)")
    try note.run()
  }

  // MARK: What changes

  /// Whether what changes is kept in memory as well: see `DeltaBuffer`.
  var isBuffered: Bool { session.buffer?.isComplete == true }

  /// Says that the transaction brings the vector to `target`: everything up to there is in it.
  func expect(_ target: StateVector) { incoming.merge(target) }

  /// Says that a record's state has changed and has cells of `dots`, and what that can mean for the view. `fingerprint`
  /// is what the change adds to the fingerprint, if that is known.
  func changed(
    _ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState,
    dots: some Sequence<Dot>, effect: ViewMaintainer.Effect = .anything, fingerprint: Fingerprint? = nil
  ) throws {
    if kind.isKnown { writer.touches?.note(name) }
    view.watch.note(name)
    for dot in dots { log.note(dot, kind: kind.number, name, isNew: old == nil) }
    session.buffer?.note(name, kind, whole: new)
    session.noteOtherChange(RecordKey(name), kind)
    standing.fingerprint += fingerprint ?? catalog.fingerprint(name, kind, from: old, to: new)
    if effect != .nothing { try view.mark(name, kind, from: old, to: new, effect) }
    if catalog.hasStubs || writer.seenAbove?.isInUse == true { try view.noteKeeping(name, kind, from: old, to: new) }
    try flushIfFull()
  }

  /// Whether triggers of the app's may run when the store writes rows. Looked up once.
  func mayRunTriggers() throws -> Bool {
    if let runsTriggers { return runsTriggers }
    let known = try session.mayRunTriggers()
    runsTriggers = known
    return known
  }

  /// Says that a link's state has changed and has tags or removals of `dots`. `fingerprint` is what the change adds to
  /// the fingerprint, if that is known.
  func changed(
    _ key: LinkKey, _ kind: LinkKind, from old: ORSetElement, to new: ORSetElement, dots: some Sequence<Dot>,
    fingerprint: Fingerprint? = nil
  ) throws {
    if kind.isKnown { writer.touches?.note(key, kind) }
    for dot in dots { log.note(dot, kind: kind.number, key, isNew: old.isEmpty) }
    session.buffer?.note(key, kind, whole: new)
    standing.fingerprint += fingerprint ?? catalog.fingerprint(key, kind, from: old, to: new)
    #if PlantedFaults
      if environment.planted.contains(.fingerprintForgetsRemovals), old.isMember, !new.isMember {
        standing.fingerprint -= catalog.fingerprint(key, kind, from: old, to: new)
      }
    #endif
    view.mark(key, from: old, to: new)
    if catalog.hasStubs { try writer.listStub(key.source) }
    try flushIfFull()
  }

  /// Lists a record in the change log, for a log that is rebuilt.
  func list(_ name: AnyRecordName, _ kind: RecordKind, _ dots: Set<Dot>) throws {
    session.giveUpChanges()
    for dot in dots.latest { log.note(dot, kind: kind.number, name, isNew: true) }
    try flushIfFull()
  }

  /// Lists a link in the change log, for a log that is rebuilt.
  func list(_ key: LinkKey, _ kind: LinkKind, _ dots: Set<Dot>) throws {
    session.giveUpChanges()
    for dot in dots.latest { log.note(dot, kind: kind.number, key, isNew: true) }
    try flushIfFull()
  }

  /// Marks a record that SQLite did not take: after the next write it counts as taken.
  func markIfSetAside(_ name: AnyRecordName, _ kind: RecordKind) {
    guard !reader.aside.isEmpty else { return }
    if reader.aside[RowAddress(kind: kind.number, key: name.text)] != nil { view.mark(name) }
  }

  /// Moves the newest entries of the vector and of the change log into their tables.
  func flushTail(sweeping: Bool) throws {
    try session.log.flushTail(to: &logged)
    if sweeping { try session.log.sweepAll() }
  }

  /// Moves the newest entries of the change log into their table.
  func flushEntries() throws { try session.log.flushEntries(to: &logged) }

  func flushIfFull() throws {
    if log.isFull { try log.flush(session.log, to: &logged) }
  }

  /// Says that a state is lost, so that its part of the fingerprint cannot be subtracted and what was derived from
  /// it is not known: `commit()` recomputes both. Cost: reads the whole store.
  func loseSum() {
    isSumLost = true
    session.giveUpChanges()
  }

  /// Recomputes the fingerprint from the states that are there. Cost: reads the whole store.
  func recomputeFingerprint() throws {
    session.giveUpChanges()
    standing.fingerprint = try reader.recomputedFingerprint()
  }

  /// Makes the fingerprint one that the content does not match, for content that is known to be damaged still.
  func spoilFingerprint() { standing.fingerprint.second &+= 1 }

  // MARK: Capturing

  /// Captures what was written to the tables, as writes of this transaction.
  func capture(_ origin: Capture.Origin) throws {
    guard !isCapturing else { return }
    try capture(origin, lost: findLostRows(session.kindsThatLostRows(origin)))
  }

  /// Captures what was written to the tables, and the deletes without a note, which were found before anything is
  /// captured.
  func capture(_ origin: Capture.Origin, lost: LostRows?) throws {
    isCapturing = true
    defer { isCapturing = false }
    if incoming.isEmpty, origin != .trigger { view.appeared.isLocal = true }
    if origin == .app { held.begin(reader.aside) }
    let capture = Capture(self, origin, returned: lost?.returned ?? [])
    try capture.run()
    guard let lost else { return }
    for name in lost.gone { try capture.checkDenied(name) }
    try captureGone(lost)
  }

  /// Captures what triggers of the app's have written while the store wrote a row.
  func captureEcho() throws {
    guard !isCapturing, try session.hasWrites() else { return }
    #if PlantedFaults
      if environment.planted.contains(.mergeEchoDropped) {
        _ = try session.takeWrites(.trigger)
        return
      }
    #endif
    try capture(.trigger)
    // The code that has written the row says next what its state was before that.
    session.buffer?.giveUp()
    view.noteEcho()
    hasEcho = true
  }

  // MARK: The end

  /// Ends the transaction: raises the vector, makes the view follow, checks references, and writes what has changed of
  /// the whole.
  func commit() throws {
    try raise(to: incoming)
    try settle()
    try sayWhatAppeared()
    if isSumLost {
      try renewWhatFollows()
      try settle()
      writer.touches?.noteAll(catalog)
      try recomputeFingerprint()
      if losses.areUnfit { spoilFingerprint() }
      try connection.execute("INSERT OR REPLACE INTO tally_meta VALUES('lost', 1)")
    }
    #if PlantedFaults
      let dot = try reusesNumber() ? nil : dot
    #endif
    if let dot {
      var own = StateVector()
      own.include(dot)
      try raise(to: own)
    }
    try losses.leaveTotals(self)
    try checkReferences()
    if held.before != nil { try refuseHeldRows() }
    try forgetDecidedConflicts()
    try log.flush(session.log, to: &logged)
    try writer.putStubTouches()
    try writer.deleteBlanks()
    // Open blobs keep SQLite from savepoints and from changing tables.
    writer.closeRows()
    writer.onRowWritten = nil
    try session.end(self, logged: logged, listed: log.listed)
  }

  /// Settles what a delta has brought, before the end: what is noted of it depends on what shows then.
  func settleJoined() throws {
    try raise(to: incoming)
    try settle()
    try sayWhatAppeared()
  }

  func settle() throws {
    try captureEcho()
    // What was written may have cleared the way: a row of the app's own table, an index that is gone. Rows that move
    // meanwhile may clear it too: a rival that is gone, values that were swapped or rotated.
    var (count, isFewer, hasCleared) = (Int.max, true, true)
    while isFewer, hasCleared {
      let clearings = view.clearings
      // In a table that the app has just rebuilt, what its triggers write in response would not be captured.
      if !session.mayLackTriggers { view.markSetAside() }
      try view.settle()
      isFewer = reader.aside.count < count
      count = reader.aside.count
      hasCleared = count > 0 && (view.clearings > clearings || !reader.aside.news.isEmpty)
    }
    // What waits in place for a value that will not be free goes now; what went with it may free others.
    while try view.withholdParked() {
      view.markSetAside()
      try view.settle()
    }
  }

  /// Raises the vector in memory and in the file.
  func raise(to target: StateVector) throws {
    for dot in target.entries where dot.sequence > standing.vector[dot.replica] {
      try session.log.raise(dot.replica, to: dot.sequence)
      standing.vectorCheck.raise(dot.replica, from: standing.vector[dot.replica], to: dot.sequence)
      standing.vector.include(dot)
    }
  }

  /// Forgets the vector, for one that is rebuilt.
  func resetVector() throws {
    try session.log.forgetVector()
    (standing.vector, standing.vectorCheck) = (StateVector(), VectorCheck())
    session.giveUpChanges()
  }
}

extension Set<Dot> {
  /// The latest of each replica, ascending: the change log needs no others.
  fileprivate var latest: [Dot] {
    reduce(into: StateVector()) { $0.include($1) }.entries.sorted()
  }
}

#if PlantedFaults
  extension WriteTransaction {
    /// Whether the number of the transaction counts as free: because it has only deleted.
    private func reusesNumber() throws -> Bool {
      guard environment.planted.contains(.counterReused), let dot else { return false }
      try log.flush(session.log, to: &logged)
      try session.log.put(standing)
      var isOnlyDeletes = true
      try reader.forEachLogEntry { entry in
        guard entry.sequence == dot.sequence, catalog.replicas[entry.replica] == dot.replica else { return }
        try ChangeLog.decode(entry.items, catalog) { kind, name, target in
          guard target == nil, let kind = catalog.records[kind], let stored = try reader.record(name, kind) else {
            isOnlyDeletes = false
            return
          }
          if !stored.state.deletes.contains(where: { $0.stamp.dot == dot }) { isOnlyDeletes = false }
        }
      }
      return isOnlyDeletes
    }
  }
#endif
