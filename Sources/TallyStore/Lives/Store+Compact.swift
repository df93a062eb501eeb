import Foundation
import GRDB
import TallyCRDT

/// The outcome of a compaction or a purge.
public struct CompactionReport: Sendable, Equatable {
  /// The number of records whose content was removed; of a dry run, would have been.
  public var emptied = 0
  /// The bytes of the values that were removed.
  public var byteCount = 0
  /// The number of deleted records that still have content, because they can be restored for a while.
  public var waiting = 0
  /// The bytes of the pages that the file gave back, by which it is smaller once no reader has an older state of it; of
  /// a dry run, what the pages that are free by now would give. See ``Vacuum``.
  public var reclaimed = 0
  /// The bytes of the free pages that stay in the file, where new content goes first. A purge does not count them.
  public var reclaimable = 0
}

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
      let (days, today) = (try transaction.sharedDays(), SharedDays.day(of: transaction.environment.now()))
      return (
        days.ripe(today: today, after: window.days),
        days.ripe(today: today, after: window.days + SharedDays.grace)
      )
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
      report.emptied += plan.report.emptied
      report.byteCount += plan.report.byteCount
      report.waiting += plan.report.waiting
    }
    // Those whose rows SQLite does not let go are not hidden.
    if try snapshot({ !$0.aside.isEmpty }) {
      let held = try replicate { try $0.emptyHeld(ripe, isDryRun) }.value
      report.emptied += held.emptied
      report.byteCount += held.byteCount
      report.waiting += held.waiting
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
}

extension StateReader {
  /// The next hidden records that are no stubs, after a number, and their numbers.
  func hiddenRecords(after number: Int, limit: Int) throws -> (last: Int?, rows: [(RecordKind, AnyRecordName)]) {
    let query = try connection.statement("SELECT n, kind, key FROM tally_hidden WHERE n > ? ORDER BY n LIMIT ?")
    defer { query.reset() }
    query.bind(1, number)
    query.bind(2, limit)
    var (last, rows): (Int?, [(RecordKind, AnyRecordName)]) = (nil, [])
    while try query.step() {
      last = query.int(0)
      guard let kind = catalog.records[query.number(1)], let name = try? AnyRecordName(query.text(2) ?? "") else {
        continue
      }
      rows.append((kind, name))
    }
    return (last, rows)
  }

  /// Nothing is removed before damage is healed: a removal says that it knows of all that the store has seen.
  func refuseDamage() throws {
    guard try doubt()?.level != .damaged else {
      throw StoreError(.damaged, "what is stored is damaged, and nothing is removed before it is healed")
    }
  }
}

extension WriteTransaction {
  /// The most records that one transaction empties, and for how long it goes on.
  private static let sliceCount = 4096
  private static let sliceMilliseconds: UInt64 = 50

  /// Carries out some steps of a plan.
  func carryOut(_ plan: CompactionPlan, _ ripe: Shredding.Ripe?) throws -> CompactionPlan {
    let end = environment.now().milliseconds + Self.sliceMilliseconds
    let isUnchanged = dot == nil && standing.vector == plan.vector
    let shredding = Shredding(ripe, of: replica, Hiding(reader, below: plan.below))
    let seenAbove = SeenAbove(reader, goingOnFrom: isUnchanged ? plan.seenAbove : nil)
    writer.seenAbove = seenAbove
    var (plan, count) = (plan, 0)
    let before = plan.report.emptied
    while try count < Self.sliceCount && plan.carryOut(shredding, in: self, isUnchanged: isUnchanged) {
      count += 1
      if count.isMultiple(of: 64), environment.now().milliseconds > end { break }
    }
    if plan.report.emptied > before { try noteRemoval(isPurge: false) }
    if let dot { plan.vector.include(dot) }
    plan.seenAbove = seenAbove
    return plan
  }

  /// Empties records whose rows SQLite does not let go, and what shows with them: a compaction looks through the hidden
  /// ones.
  func emptyHeld(_ ripe: Shredding.Ripe?, _ isDryRun: Bool) throws -> CompactionReport {
    try reader.refuseDamage()
    let shredding = Shredding(ripe, of: replica, Hiding(reader))
    let visibility = Visibility(SnapshotFacts(reader, countsRefusals: false))
    writer.seenAbove = SeenAbove(reader)
    var report = CompactionReport()
    let held = reader.aside.entries.filter(\.value.isHeld).keys.sorted()
    var open = held.filter { catalog.records[$0.kind] != nil }.compactMap { try? AnyRecordName($0.key) }
    var known = Set(open)
    while let next = open.popLast() {
      guard let kind = catalog.kind(of: next.type), let stored = try reader.record(next, kind) else { continue }
      try open += below(next, visibility, &known)
      guard try isHeld(next, stored, visibility) else { continue }
      switch try shredding.verdict(next, kind, stored, isHeld: true) {
      case .stays: continue
      case .waits: report.waiting += 1
      case .goes:
        report.emptied += 1
        report.byteCount += try isDryRun ? stored.state.contentByteCount : empty(next, kind, stored)
      }
    }
    if report.emptied > 0, !isDryRun { try noteRemoval(isPurge: false) }
    return report
  }

  /// Whether the app sees a record that the state hides: SQLite does not let go of its row, or of its owner's.
  private func isHeld(
    _ name: AnyRecordName, _ stored: StoredRecord, _ visibility: Visibility<SnapshotFacts>
  ) throws -> Bool {
    try stored.place.isVisible && !visibility.isVisible(name)
  }

  /// What is below a record that is deleted, and not known yet.
  private func below(
    _ name: AnyRecordName, _ visibility: Visibility<SnapshotFacts>, _ known: inout Set<AnyRecordName>
  ) throws -> [AnyRecordName] {
    try SnapshotFacts(reader).owned(by: name).filter { below in
      guard known.insert(below).inserted else { return false }
      return try visibility.effectiveOwners(of: below).contains { $0.target == name }
    }
  }

  /// Empties a deleted record and what is hidden below it.
  func purge(_ name: AnyRecordName) throws -> CompactionReport {
    try reader.refuseDamage()
    guard let kind = catalog.kind(of: name.type), let stored = try reader.record(name, kind) else {
      throw StoreError(.noSuchRecord, "no record named \(name), not even a deleted one")
    }
    let shredding = Shredding(nil, of: replica, Hiding(reader))
    let visibility = Visibility(SnapshotFacts(reader, countsRefusals: false))
    guard try !visibility.isVisible(name) || !stored.place.isVisible && visibility.isHollow(name) else {
      throw StoreError(.notDeleted, "\(name) is not deleted, so it cannot be purged")
    }
    writer.seenAbove = SeenAbove(reader)
    var report = CompactionReport()
    var (open, known) = ([name], Set([name]))
    while let next = open.popLast() {
      guard let kind = catalog.kind(of: next.type), let stored = try reader.record(next, kind) else { continue }
      try open += below(next, visibility, &known)
      let isHeld = try isHeld(next, stored, visibility)
      guard case .goes = try shredding.verdict(next, kind, stored, isHeld: isHeld) else { continue }
      report.emptied += 1
      report.byteCount += try empty(next, kind, stored)
    }
    return report
  }
}

extension Store {
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
    let isNew = try snapshot { reader in
      let before = SharedDays(try NoteTable(reader.connection).read(SharedDays.scope) ?? [:])
      var days = before
      let today = SharedDays.day(of: options.environment.now())
      days.note(vector.limited(to: try reader.vector()), today: today, isShared: true, window: window)
      return days != before
    }
    guard isNew else { return }
    try replicate { try $0.noteShared(vector.limited(to: $0.standing.vector), window: window) }
  }
}

extension StateVector {
  /// What both vectors cover.
  func limited(to other: StateVector) -> StateVector {
    StateVector(entries.map { ($0.replica, min($0.sequence, other[$0.replica])) }.filter { $0.1 > 0 })
  }
}
