import Foundation
import GRDB
import TallyCRDT

extension Store {
  /// Removes for good what deleted records held, once they can no longer be restored.
  ///
  /// ```swift
  /// let report = try store.compact()
  /// print("\(report.emptied) records emptied, \(report.waiting) can still be restored")
  /// ```
  ///
  /// A record that a delete hides, its own or that of an owner, loses its values once the restore window is over for
  /// all that hides it: counted from the day on which the delete was first synced, and in a store that has never met
  /// another, from the first compaction after it. A stub of some 120 bytes stays and says that it is deleted,
  /// so that it never comes back by itself. The removal replicates: values go on every device with its next sync. What
  /// a device had written that had not been seen is said again and survives; see ``purge(_:)`` and the page about it.
  ///
  /// It looks for removable content in a snapshot, which blocks no writer, and removes it in slices of about 50 ms,
  /// between which other writes go on. Call it once a day; it returns when all is done.
  ///
  /// Cost: reads every hidden record that is not emptied, along with its owners, and what is below each deleted owner;
  /// then moves at most as many pages as the file has free ones.
  ///
  /// The state is a lexicographic product as in Almeida, Shoker and Baquero, "Delta State Replicated Data Types"
  /// (2018); lives and lifts are our own.
  /// - Parameters:
  ///   - restoreWindow: how long deleted records can be restored; that of ``StoreOptions/compaction`` unless given.
  ///   - isDryRun: only counts.
  ///   - vacuum: which free pages the file gives back afterwards; see `Vacuum` in TallyStore.
  /// - Returns: what went, how much waits, and by how much the file gets smaller.
  /// - Throws: `StoreError.closed`, `.damaged`; with `Vacuum.full` `.dependsOnRowIDs`, and GRDB's `DatabaseError`
  ///   with SQLITE_FULL where there is no room, before anything has changed; other `DatabaseError`s. What was emptied
  ///   or given back before such an error stays so.
  @discardableResult
  public func compact(
    restoreWindow: RestoreWindow? = nil, isDryRun: Bool = false, vacuum: Vacuum = .automatic
  ) throws -> CompactionReport {
    if vacuum == .full { try checkRebuild() }
    let window = restoreWindow ?? options.compaction.restoreWindow
    let ripe = try replicate { transaction in
      // Rows that the usual window still needs stay, even if this one is shorter.
      let usual = options.compaction.restoreWindow
      if !isDryRun { try transaction.noteShared(nil, window: window.days < usual.days ? usual : window) }
      return try SharedDays(transaction.connection).ripe(at: transaction.environment.now(), after: window)
    }.value
    var report = try empty(ripe: ripe, isDryRun: isDryRun)
    try giveBack(vacuum, isDryRun: isDryRun, &report)
    return report
  }

  /// Compacts once a day, if the options say so. Costs nothing measurable on the same day.
  package func compactIfDue() throws {
    guard case .automatic = options.compaction, !options.isReadOnly else { return }
    finishRemovalsNowAndThen()
    let today = today
    guard lastCompaction.withLock({ $0 }) != today else { return }
    let known = try snapshot { try NoteTable($0.connection).read(Self.compactionScope)?[Self.dayKey] }
    let bytes = withUnsafeBytes(of: Int64(today).bigEndian) { Array($0) }
    if known != bytes {
      try compact()
      try note(NoteBatch(Self.compactionScope, [Self.dayKey: bytes]))
    }
    lastCompaction.withLock { $0 = today }
  }

  /// Once a minute: a reader may hold the log for hours.
  private func finishRemovalsNowAndThen() {
    let now = options.environment.now().milliseconds
    let isTime = lastFinish.withLock { last in
      guard let known = last, now >= known, now - known < 60_000 else {
        last = now
        return true
      }
      return false
    }
    if isTime { finishRemovalsIfPossible() }
  }

  private static let compactionScope = "compaction"
  private static let dayKey = "day"

  /// Empties what may go by now; with nil, everything that a delete hides.
  @discardableResult
  package func empty(ripe: (own: StateVector, others: StateVector)?, isDryRun: Bool = false) throws -> CompactionReport
  {
    var report = CompactionReport()
    var start: Int? = 0
    while let from = start {
      var plan = try snapshot { try CompactionPlan($0, from: from, ripe, isDryRun: isDryRun) }
      start = plan.next
      while !plan.isDone {
        plan = try replicate { transaction in
          try transaction.reader.refuseDamage()
          return try transaction.carryOut(plan, ripe)
        }.value
      }
      report.add(plan.report)
    }
    // Those whose rows SQLite does not let go are not hidden.
    if try snapshot({ !$0.aside.isEmpty }) {
      try report.add(replicate { try $0.emptyHeld(ripe, isDryRun) }.value)
    }
    if report.emptied > 0, !isDryRun { finishRemovalsIfPossible() }
    return report
  }

  /// Removes the content of a deleted record for good, and of all that was deleted with it, without waiting.
  ///
  /// ```swift
  /// try store.write { db in _ = try Game.deleteOne(db, id: chess) }
  /// try store.purge(chess.name)
  /// ```
  ///
  /// It cannot be restored afterwards, here or, once they have synced, anywhere: ``restore(_:)`` throws
  /// `StoreError.purged`. What it was called, when and by which devices it was written and deleted, and which records
  /// it referred to stays, so that it stays deleted. A device that was away and had edited it, or that still shows it
  /// because of an edit, brings back what it knows. Files that others keep, such as backups, are out of reach. A row
  /// that a table of the app's own holds loses its values and stays: ``StoreStatus/setAside`` has it.
  ///
  /// A transaction of its own; cost: what it owns.
  /// - Returns: how many records were emptied: 0 if there was nothing left.
  /// - Throws: `StoreError.noSuchRecord` if nothing is known of the record, `.notDeleted` if no delete hides it,
  ///   `.damaged`. Nothing has changed then.
  @discardableResult
  public func purge(_ name: AnyRecordName) throws -> CompactionReport {
    let report = try replicate { transaction in
      let report = try transaction.purge(name)
      if report.emptied > 0 { try transaction.noteRemoval(isPurge: true) }
      return report
    }.value
    if report.emptied > 0 { finishRemovalsIfPossible() }
    return report
  }

  /// Removes the content of a deleted record for good. See `purge(_:)` of any name.
  /// - Returns: how many records were emptied: 0 if there was nothing left.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`. Nothing has changed then.
  @discardableResult
  public func purge<Record>(_ name: RecordName<Record>) throws -> CompactionReport { try purge(name.name) }

  /// Notes that another device has what `vector` covers as well: from then on deletes that it covers count as synced.
  package func noteShared(_ vector: StateVector) throws {
    guard !options.isReadOnly, options.compaction != .off else { return }
    do {
      try noteDay(vector, options.compaction.restoreWindow)
    } catch let error as DatabaseError where error.resultCode.primaryResultCode == .SQLITE_CORRUPT {
      // Damaged notes are in no one's way; a window that is not noted is longer.
      options.environment.logger.warning("the day of a sync cannot be noted", metadata: ["error": "\(error)"])
    }
  }

  /// Notes what the sender of a delta had, so that windows begin without sessions: with the first delta of a day that
  /// this process applies. The delta has been joined, even if this fails: a window that is not noted is longer.
  func noteHeard(_ vector: StateVector) {
    guard !options.isReadOnly, options.compaction != .off else { return }
    let today = today
    let isFirst = lastHeard.withLock { last in
      defer { last = today }
      return last != today
    }
    guard isFirst else { return }
    do {
      guard try snapshot({ try $0.connection.exists("SELECT 1 FROM tally_hidden LIMIT 1") }) else { return }
      try noteShared(vector)
    } catch {
      options.environment.logger.warning("the day of a delta cannot be noted", metadata: ["error": "\(error)"])
    }
  }

  private func noteDay(_ vector: StateVector, _ window: RestoreWindow) throws {
    guard try snapshot({ try SharedDays($0.connection).isNews(vector.limited(to: $0.vector()), today, window) }) else {
      return
    }
    try replicate { try $0.noteShared(vector.limited(to: $0.standing.vector), window: window) }
  }
}
