import Foundation
import GRDB
import TallyCRDT

extension Store {
  /// Removes the content of deleted records for good, once they can no longer be restored.
  ///
  /// ```swift
  /// let report = try store.compact()
  /// print("\(report.emptied) records emptied, \(report.waiting) can still be restored")
  /// ```
  ///
  /// A record that is hidden by its own delete or by that of an owner loses its values once the restore window of
  /// everything that hides it is over. The window is counted from the day on which the delete was first synced or, in a
  /// store that has never met another, from the first compaction after the delete. A stub of about 120 bytes stays and
  /// marks the record as deleted, so it never comes back by itself. The removal replicates: every device removes the
  /// values with its next sync. A device's writes that the author of the removal had not seen are said again and
  /// survive; see ``purge(_:)`` and the page about it.
  ///
  /// It searches for removable content in a snapshot, which blocks no writer, and removes it in slices of about 50 ms,
  /// between which other writes proceed. Call it once a day; it returns when everything is done.
  ///
  /// Cost: reads every hidden record that is not empty yet, with its owners, and the records below each deleted owner;
  /// then moves at most as many pages as the file has free pages.
  ///
  /// The state is a lexicographic product as in Almeida, Shoker and Baquero, "Delta State Replicated Data Types"
  /// (2018); lives and lifts are our own.
  /// - Parameters:
  ///   - restoreWindow: the time during which deleted records can be restored; by default that of
  ///     ``StoreOptions/compaction``.
  ///   - isDryRun: whether to count only, without removing anything.
  ///   - vacuum: the free pages that the file returns afterwards; see `Vacuum` in TallyStore.
  /// - Returns: the numbers of emptied and of still restorable records, and the amount by which the file shrinks.
  /// - Throws: `StoreError.closed`, `.damaged`; with `Vacuum.full` `.dependsOnRowIDs`, and GRDB's `DatabaseError` with
  ///   SQLITE_FULL if there is no room, before anything has changed; other `DatabaseError`s. Records that were emptied
  ///   and pages that were returned before such an error stay so.
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

  /// Removes the content of a deleted record, and of everything that was deleted with it, for good and without waiting.
  ///
  /// ```swift
  /// try store.write { db in _ = try Game.deleteOne(db, id: chess) }
  /// try store.purge(chess.name)
  /// ```
  ///
  /// The record cannot be restored afterwards, neither on this device nor, once they have synced, on others:
  /// ``restore(_:)`` throws `StoreError.purged`. Its name, the times and devices of its writes and deletes, and the
  /// records to which it referred are kept, so it stays deleted. A device that was offline and had edited the record,
  /// or that still shows it because of an edit, brings back the content that it knows. Files of assets go as well if
  /// nothing else names them. Files that others keep, such as backups, are not affected. A row to which a table of the
  /// app refers loses its values but stays: ``StoreStatus/setAside`` lists it.
  ///
  /// The purge is a transaction of its own. Cost: proportional to the records that the record owns.
  /// - Returns: the number of emptied records; 0 if there was nothing left.
  /// - Throws: `StoreError.noSuchRecord` if nothing is known of the record, `.notDeleted` if no delete hides it,
  ///   `.damaged`. Then nothing has changed.
  @discardableResult
  public func purge(_ name: AnyRecordName) throws -> CompactionReport {
    let report = try replicate { transaction in
      let report = try transaction.purge(name)
      if report.emptied > 0 { try transaction.noteRemoval(report.files, isPurge: true) }
      return report
    }.value
    if report.emptied > 0 { finishRemovalsIfPossible() }
    return report
  }

  /// Removes the content of a deleted record for good. See `purge(_:)` for any name.
  /// - Returns: the number of emptied records; 0 if there was nothing left.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`. Then nothing has changed.
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
