import TallyCRDT
import TallyStore

/// Deleting for good.
extension SimulatedReplica {
  /// Removes what a deleted record holds, as `Store.purge`.
  /// - Throws: what `Store.purge` throws; nothing has changed then.
  package func purge(_ name: AnyRecordName) throws {
    world.note("replica \(index): purge \(name)")
    let isDeleted = world.oracle.deleted(seen, schema).contains(name.text)
    do {
      try removing(window: nil) { try store.purge(name) }
    } catch let error as StoreError where error.code == .notDeleted && isDeleted {
      throw Finding("replica \(index): \(name) is deleted, and cannot be purged: \(error)")
    }
    guard isDeleted, try store.contents(of: [name.text])[name.text]?.holds == true else { return }
    throw Finding("replica \(index) has purged \(name), and still holds it")
  }

  /// Removes what deleted records hold, as `Store.compact`.
  package func compact(_ window: RestoreWindow? = nil, _ vacuum: Vacuum = .automatic, isRehearsed: Bool = false) throws
  {
    let days = window ?? store.restoreWindow
    world.note("replica \(index): compact what was deleted \(days.days) days ago, vacuum \(vacuum)")
    noteDay()
    try removing(window: days.days) {
      let rehearsal = isRehearsed ? try store.compact(restoreWindow: window, isDryRun: true) : nil
      let report = try store.compact(restoreWindow: window, vacuum: vacuum)
      guard let rehearsal, rehearsal.emptied != report.emptied || rehearsal.waiting != report.waiting else { return }
      throw Finding("replica \(index): a dry run says \(rehearsal), and compacting \(report)")
    }
  }

  /// Compacts as a sync engine does, once a day.
  func compactIfDue() throws {
    world.note("replica \(index): compact if it is time")
    noteDay()
    try removing(window: store.restoreWindow.days) { try store.compactIfDue() }
  }

  /// Removes what any deleted record holds.
  func emptyAll() throws {
    world.note("replica \(index): empty all that is deleted")
    try removing(window: nil) { try store.empty(ripe: nil) }
  }

  /// Notes which records a removal has emptied: in one transaction, if it empties any.
  private func removing(window: Int?, _ body: () throws -> Void) throws {
    clock.advance(milliseconds: 1)
    noteDay()
    let names = world.oracle.known(seen, schema)
    let (before, vector) = (try store.contents(of: names), try store.vector)
    try body()
    let emptied = try store.contents(of: names).filter { $0.value.life != before[$0.key]?.life }
    let written = try store.vector.beyond(vector).entries
    guard written.count == (emptied.isEmpty ? 0 : 1), emptied.values.allSatisfy({ !$0.holds }) else {
      throw Finding("replica \(index) has emptied \(emptied.keys.sorted()) in the transactions \(written)")
    }
    guard let dot = written.first else { return try noteCommit() }
    world.note("  and empties \(emptied.keys.sorted().joined(separator: ", "))")
    do {
      guard let event = try world.oracle.noteEmptied(emptied, by: dot, self, window: window) else { return }
      try world.take(event, dot, of: self)
    } catch let finding as Finding {
      throw Finding("replica \(index): \(finding)")
    }
    guard let shown = try rows().keys.first(where: { emptied[$0] != nil }) else { return }
    throw Finding("replica \(index) shows \(shown), which it has emptied")
  }

  // MARK: Days

  private var today: Int { Int(clock.milliseconds / 86_400_000) }

  /// Notes that by today's clock it has what it has.
  func noteDay() { days[today, default: EventSet()].formUnion(seen) }

  /// Returns the events that it had seen on days more than `window` days ago. Days so long ago that no clock is
  /// believed are left out.
  func seen(before window: Int) -> EventSet {
    days.filter { window < today - $0.key && today - $0.key <= max(400, window + 8) }
      .values.reduce(EventSet()) { $0.union($1) }
  }

  // MARK: What must not change

  /// The rows that it shows before a delta comes.
  struct Watch {
    fileprivate let rows: [String: ShownRow<SchemaField>]
    fileprivate let seen: EventSet

    /// The delta has come: it has taken nothing from view that it should not, and what shows is what must.
    func end(of replica: SimulatedReplica, isOneDelta: Bool = true) throws {
      do {
        if isOneDelta {
          try replica.world.oracle.checkTaken(from: rows, seen, to: replica.rows(), replica.seen, replica.schema)
        }
      } catch let finding as Finding {
        throw Finding("replica \(replica.index): \(finding)")
      }
      try replica.world.check(replica, thoroughly: false)
    }
  }

  /// Begins to watch what a delta does, if anything was emptied.
  func watch() throws -> Watch? { world.oracle.hasPurges ? Watch(rows: try rows(), seen: seen) : nil }

  /// The records that showed before a write, and those that do now, if that is not to be seen from the deletes alone.
  func shown(since before: Set<String>) throws -> (before: Set<String>, after: Set<String>)? {
    world.oracle.hasPurges ? (before, try Set(rows().keys)) : nil
  }

  /// A restore is refused only of what is purged.
  func checkRefusal(of name: AnyRecordName) throws {
    let purges = world.oracle.specification.emptied(in: seen)[name.text] ?? []
    guard try !purges.isEmpty && store.contents(of: [name.text])[name.text]?.saysNothing == true else {
      throw Finding("replica \(index) refuses to restore \(name), which is not purged")
    }
  }
}
