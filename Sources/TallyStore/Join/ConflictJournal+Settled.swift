import TallyCRDT
import TallySchema

/// Conflicts that only show once a delta is settled: deletes that an edit has undone, and references whose target is
/// gone.
extension ConflictJournal {
  /// Notes what the settled delta has brought.
  mutating func noteSettled() throws {
    let watch = transaction.view.watch
    for name in watch.kept.sorted() { try noteUndoneDeletes(of: name) }
    for cleared in watch.cleared.sorted() { try noteCleared(cleared) }
  }

  /// Notes the deletes of a record that is there all the same, because of something that they had not seen: an edit of
  /// the record, a member that was added to it, or something that it owns.
  private mutating func noteUndoneDeletes(of name: AnyRecordName) throws {
    guard let (_, state) = try visible(name) else { return }
    let seen = state.personalContext
    // Who has inserted or restored it after the delete knew of that.
    if let existence = state.existence, existence.rank >= .user, !seen.covers(existence.dot) { return }
    for delete in state.deletes where delete.stamp.rank >= .user {
      guard let winner = try edit(of: name, meeting: delete, beyond: seen) else { continue }
      try insert(.deleteUndone, name, "", delete.stamp, .null, winner, .null)
    }
  }

  /// Finds an edit that keeps a record and that meets the delete here. Cost: what the record owns, until it is found.
  private func edit(of name: AnyRecordName, meeting delete: Delete, beyond seen: StateVector) throws -> Stamp? {
    let facts = SnapshotFacts(reader)
    var queue = [name]
    var known = Set(queue)
    while let next = queue.popLast() {
      guard let kind = transaction.catalog.kind(of: next.type), let state = try reader.record(next, kind)?.state else {
        continue
      }
      var stamps = state.fields.map(\.stamp)
      if next != name, let existence = state.existence { stamps.append(existence) }
      for (_, _, link) in try reader.links(from: next) {
        stamps += link.element.tags.filter { $0.removed == nil }.map(\.added)
      }
      let edits = stamps.filter { stamp in
        stamp.rank >= .user && !seen.covers(stamp.dot) && meet(delete.stamp.dot, stamp.dot)
      }
      if let edit = edits.max() { return edit }
      for owned in try facts.owned(by: next) where known.insert(owned).inserted { queue.append(owned) }
    }
    return nil
  }

  /// Notes a reference that reads null, if its target was deleted by an author who had not seen it.
  private mutating func noteCleared(_ cleared: JournalWatch.Cleared) throws {
    guard let (kind, state) = try visible(cleared.name),
      let column = kind.columns.first(where: { $0.field == cleared.field }),
      let cell = state.cell(cleared.field, followsNewest: kind.followsNewest),
      let target = column.target(of: cell.value), try !reader.hasRow(target),
      let delete = try delete(hiding: target, unseen: cell.stamp)
    else { return }
    try insert(.referenceCleared, cleared.name, column.wireName, cell.stamp, cell.value, delete, .null)
  }

  /// Finds the delete that hides a record, its own or that of an owner, if it had not seen `write`, and meets it here.
  private func delete(hiding name: AnyRecordName, unseen write: Stamp) throws -> Stamp? {
    let facts = SnapshotFacts(reader)
    var queue = [name]
    var known = Set(queue)
    while let next = queue.popLast() {
      guard let kind = transaction.catalog.kind(of: next.type), let state = try reader.record(next, kind)?.state else {
        continue
      }
      let deletes = state.deletes.filter { $0.stamp.rank >= .user }
      if !deletes.isEmpty {
        guard !state.personalContext.covers(write.dot) else { return nil }
        if let delete = deletes.map(\.stamp).filter({ meet($0.dot, write.dot) }).max() { return delete }
      }
      for owner in try facts.facts(of: next)?.owners ?? [] where known.insert(owner.target).inserted {
        queue.append(owner.target)
      }
    }
    return nil
  }

  private var reader: StateReader { transaction.reader }

  private func visible(_ name: AnyRecordName) throws -> (RecordKind, RecordState)? {
    guard let kind = transaction.catalog.kind(of: name.type), let stored = try reader.record(name, kind),
      stored.place.isVisible
    else { return nil }
    return (kind, stored.state)
  }
}

extension WriteTransaction {
  /// Takes entries out of the conflict journal that need no decision any more: the value that lost shows, no matter who
  /// has written it; a delete that was undone has been repeated; a reference that was cleared shows again, or was
  /// written again.
  ///
  /// Cost: a look-up for each record that has changed, if the journal had any entry before or has got one of it. Where
  /// many have changed, the journal's names are read once, and only those that it has are looked up.
  func forgetDecidedConflicts() throws {
    guard facts.hasConflicts else { return }
    let names = try namesToDecide()
    #if PlantedFaults
      // In all histories of the tests: what is not looked at would not have been decided.
      for name in Set(view.watch.passedOver).subtracting(names) {
        guard try !reader.conflicts(of: name).contains(where: isDecided) else {
          preconditionFailure("an entry of \(name) is decided, and stays")
        }
      }
    #endif
    guard !names.isEmpty else { return }
    try connection.lookingUp {
      for name in names {
        for (number, conflict) in try reader.numberedConflicts(of: name) where try isDecided(conflict) {
          try forgetConflict(number)
        }
      }
    }
  }

  /// The records of which an entry of the conflict journal may be decided now.
  private func namesToDecide() throws -> [AnyRecordName] {
    let watch = view.watch
    if watch.isFull { return try namesWithConflicts() }
    let names = watch.touched
    guard watch.hasEntries, !names.isEmpty, try mayHaveConflicts() < names.count * 2 else { return names }
    let withEntries = Set(try namesWithConflicts())
    return names.filter(withEntries.contains)
  }

  /// The number of entries that the conflict journal has at most. Cost: two searches.
  private func mayHaveConflicts() throws -> Int {
    try connection.integer(
      "SELECT ifnull((SELECT max(n) FROM tally_conflict) - (SELECT min(n) FROM tally_conflict) + 1, 0)") ?? 0
  }

  private func namesWithConflicts() throws -> [AnyRecordName] {
    let query = try connection.statement("SELECT DISTINCT name FROM tally_conflict")
    var names: [AnyRecordName] = []
    while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { names.append(name) } }
    return names
  }

  /// Takes all entries of a record out of the conflict journal, which hold values of it, also those that cannot be
  /// read. Adds the files that they name.
  func forgetConflicts(of name: AnyRecordName, _ files: inout [AssetName: HybridTime]) throws {
    guard facts.hasConflicts else { return }
    for (_, conflict) in try reader.numberedConflicts(of: name) { files.insert(conflict) }
    let delete = try connection.statement("DELETE FROM tally_conflict WHERE name = ?")
    delete.bind(1, name.text)
    try delete.run()
    if connection.changes > 0 { writer.touch(ConflictRow.databaseTableName) }
  }

  /// Takes some entries of a record out of the conflict journal, and adds the files that they name. Cost: what the
  /// journal has of the record.
  func forgetConflicts(
    of name: AnyRecordName, _ files: inout [AssetName: HybridTime], where isRemoved: (Conflict) -> Bool
  ) throws {
    guard facts.hasConflicts else { return }
    for (number, conflict) in try reader.numberedConflicts(of: name) where isRemoved(conflict) {
      try forgetConflict(number)
      files.insert(conflict)
    }
  }

  private func forgetConflict(_ number: Int64) throws {
    let delete = try connection.statement("DELETE FROM tally_conflict WHERE n = ?")
    delete.bind(1, number)
    try delete.run()
    writer.touch(ConflictRow.databaseTableName)
  }

  private func isDecided(_ conflict: Conflict) throws -> Bool {
    guard let kind = catalog.kind(of: conflict.name.type) else { return false }
    let column = kind.columns.firstIndex { $0.wireName == conflict.field }
    if let column, kind.columns[column].reference == nil, [.overwritten, .deleted].contains(conflict.kind) {
      // What the row shows is all that counts.
      var name = conflict.name.text
      return try name.withUTF8 { name in
        try reader.withStored(name, kind) { query in
          query.value(3 + column) == conflict.loserValue
        } orHidden: { _, _ in
          false
        } ?? false
      }
    }
    guard let stored = try reader.record(conflict.name, kind) else { return false }
    switch conflict.kind {
    case .deleteUndone: return !stored.place.isVisible
    case .overwritten, .deleted:
      guard stored.place.isVisible, let column else { return false }
      // A reference that reads null may show what won as soon as that is there.
      if conflict.loserValue.isNull {
        return stored.state.cell(kind.columns[column].field, followsNewest: kind.followsNewest)?.value.isNull ?? true
      }
      return stored.values[column] == conflict.loserValue
    case .referenceCleared:
      guard let column = column.map({ kind.columns[$0] }) else { return false }
      guard stored.state[column.field]?.stamp.dot == conflict.loser.dot else { return true }
      return try column.target(of: conflict.loserValue).map(reader.hasRow) ?? false
    }
  }
}
