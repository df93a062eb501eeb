import GRDB
import TallyCRDT

extension Store {
  /// Brings a deleted record back, complete: its fields, relationships, and what it owns. A record that disappeared
  /// with its owner brings the owner back as well, and the owner's owner; an owner whose deletes win is restored along
  /// with it.
  ///
  /// ```swift
  /// try store.write { db in _ = try Game.deleteOne(db, id: chess) }
  /// try store.restore(chess.name)
  /// ```
  ///
  /// A restore is a write: it wins over every delete that it has seen, on all devices. For an undo of the app's, keep
  /// the name of what was deleted. Inserting under the name instead begins a new life of the record, in which old
  /// fields and members do not return.
  ///
  /// It is a transaction of its own; `restore` with a `db` is part of a write of the app's. It waits as ``write(_:)``
  /// does.
  /// - Returns: the dot of the restore.
  /// - Throws: `StoreError.noSuchRecord` if nothing is known of the record, `.notDeleted` if it is there, `.purged` if
  ///   its content is gone. Nothing has changed then.
  @discardableResult
  public func restore(_ name: AnyRecordName) throws -> Dot? {
    try replicate { try $0.restore(name) }.value
  }

  /// Brings a deleted record back, complete, on all devices. See `restore(_:)` of any name.
  ///
  /// ```swift
  /// try store.restore(chess)
  /// ```
  /// - Returns: the dot of the restore.
  /// - Throws: `StoreError.noSuchRecord` if nothing is known of the record, `.notDeleted` if it is there, `.purged` if
  ///   its content is gone. Nothing has changed then.
  @discardableResult
  public func restore<Record>(_ name: RecordName<Record>) throws -> Dot? { try restore(name.name) }

  /// Brings a deleted record back as part of a write of the app's: together with what that writes, or not at all. See
  /// `restore(_:)`.
  ///
  /// ```swift
  /// try store.write { db in
  ///   try store.restore(db, chess.name)
  ///   try db.execute(sql: "UPDATE Game SET name = 'Chess again' WHERE id = ?", arguments: [chess])
  /// }
  /// ```
  ///
  /// Changes that the transaction has made before are captured first, as if it ended there: references must hold by
  /// then, and a deleted record takes with it what it owns. Peers still get all of it at once or none. An error ends
  /// the whole transaction, also if the app catches it: `write` throws it again, and nothing has changed. So does a
  /// savepoint that is rolled back after such a call within it.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `.notInWrite` if `db` is not that of a `write` of this store.
  ///   The whole write fails.
  public func restore(_ db: Database, _ name: AnyRecordName) throws {
    try listeningSession(db).interlude { _ = try $0.restore(name) }
  }

  /// Brings a deleted record back, complete, as part of a write. See `restore(_:_:)` of any name.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `.notInWrite` if `db` is not that of a `write` of this store.
  ///   The whole write fails.
  public func restore<Record>(_ db: Database, _ name: RecordName<Record>) throws { try restore(db, name.name) }

  /// The session of a write that is under way.
  func listeningSession(_ db: Database) throws -> WritingSession {
    guard let session = box.session, session.isListening, db.sqliteConnection == session.connection.handle else {
      throw StoreError(.notInWrite, "this needs the database of a write of the same store")
    }
    return session
  }
}

extension WriteTransaction {
  func restore(_ name: AnyRecordName) throws -> Dot {
    guard let kind = catalog.kind(of: name.type), let stored = try reader.record(name, kind) else {
      throw StoreError(.noSuchRecord, "no record named \(name), not even a deleted one")
    }
    // Deleted may be a record whose row stays, since SQLite does not let it go.
    let isKept = reader.aside[RowAddress(kind: kind.number, key: name.text)]?.isHeld ?? false
    guard !stored.place.isVisible || isKept else { throw StoreError(.notDeleted, "\(name) is not deleted") }
    guard try !Visibility(SnapshotFacts(reader)).isHollow(name) else {
      throw StoreError(.purged, "the content of \(name) was removed for good; insert a new record")
    }
    // Found before anything is written: what is known of visibility is of one state.
    let owners = try ownersToRestore(of: name)
    view.appeared.isLocal = true
    let dot = try restore(name, kind, stored)
    for owner in owners {
      guard let kind = catalog.kind(of: owner.type), let stored = try reader.record(owner, kind) else { continue }
      try restore(owner, kind, stored)
    }
    return dot
  }

  /// The owners above a record that its restore alone would not bring back: those that are dead although something
  /// below them lives.
  private func ownersToRestore(of name: AnyRecordName) throws -> [AnyRecordName] {
    let visibility = Visibility(SnapshotFacts(reader))
    var found: [AnyRecordName] = []
    var stack = [name]
    var seen = Set(stack)
    while let next = stack.popLast() {
      if next != name, catalog.kind(of: next.type)?.entity?.deleteWins == true, try !visibility.isAlive(next) {
        found.append(next)
      }
      for owner in try visibility.effectiveOwners(of: next) where seen.insert(owner.target).inserted {
        stack.append(owner.target)
      }
    }
    return found
  }

  @discardableResult
  private func restore(
    _ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord
  ) throws -> Dot {
    let stamp = try stamp(over: stored.state.existence?.time)
    var state = stored.state
    var written = try CounterWrites(self).bringingBack(state, kind, stamp)
    written.life = state.life?.beginning(saying: stamp.dot)
    state.merge(written)
    try writer.put(
      name, kind, state, previous: stored, shown: stored.place.isVisible ? stored.values : nil)
    try changed(name, kind, from: stored.state, to: state, dots: CollectionOfOne(stamp.dot))
    view.mark(name)
    return stamp.dot
  }
}
