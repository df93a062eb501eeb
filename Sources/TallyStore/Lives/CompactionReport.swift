import TallyCRDT
import TallySchema

/// The outcome of a compaction or a purge.
public struct CompactionReport: Sendable, Equatable {
  /// The number of records whose content was removed or, in a dry run, would have been removed.
  public var emptied = 0
  /// The number of bytes of the removed values.
  public var byteCount = 0
  /// The number of deleted records that still have content because they can still be restored.
  public var waiting = 0
  /// The number of bytes by which the file shrinks through returned pages, once no reader uses an older state of it; in
  /// a dry run, the number for the pages that are free now. See ``Vacuum``.
  public var reclaimed = 0
  /// The number of bytes of free pages that stay in the file and are used first for new content. A purge counts none.
  public var reclaimable = 0
  /// The files that the removed content named: see `Removals.files`.
  var files: [AssetName: HybridTime] = [:]

  mutating func add(_ other: CompactionReport) {
    emptied += other.emptied
    byteCount += other.byteCount
    waiting += other.waiting
  }
}

extension Vacuum {
  /// Whether a file with these pages is to give back those that are free.
  func isWorthwhile(_ pages: FilePages) -> Bool {
    switch self {
    case .off: false
    case .automatic: pages.isWorthwhile && pages.keepsMap
    case .incremental: pages.keepsMap
    case .full: true
    }
  }
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
    if plan.report.emptied > before { try noteRemoval(plan.takeFiles(), isPurge: false) }
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
      case .goes where isDryRun: report.count(stored.state)
      case .goes: try empty(next, kind, stored, &report)
      }
    }
    if report.emptied > 0, !isDryRun { try noteRemoval(report.files, isPurge: false) }
    return report
  }

  /// Whether the app sees a record that the state hides: SQLite does not let go of its row, or of its owner's.
  private func isHeld(
    _ name: AnyRecordName, _ stored: StoredRecord, _ visibility: Visibility<SnapshotFacts>
  ) throws -> Bool {
    try stored.place.isVisible && !visibility.isVisible(name)
  }

  /// The records below a deleted one, and those that gave way to it, that are not in `known` yet.
  private func below(
    _ name: AnyRecordName, _ visibility: Visibility<SnapshotFacts>, _ known: inout Set<AnyRecordName>
  ) throws -> [AnyRecordName] {
    try SnapshotFacts(reader).owned(by: name).filter { below in
      guard known.insert(below).inserted else { return false }
      return try visibility.effectiveOwners(of: below).contains { $0.target == name }
        || DuplicateMerge(reader).isDeleted(below, with: name)
    }
  }

  /// Empties a deleted record, what gave way to it, and what is hidden below it.
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
      try empty(next, kind, stored, &report)
    }
    return report
  }
}

extension StateVector {
  /// What both vectors cover.
  func limited(to other: StateVector) -> StateVector {
    StateVector(entries.map { ($0.replica, min($0.sequence, other[$0.replica])) }.filter { $0.1 > 0 })
  }
}
