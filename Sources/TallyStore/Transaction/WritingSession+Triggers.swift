import CTallySQLite
import GRDB
import GRDBSQLite

/// Changes of the schema within a transaction of the app's: triggers that must fire, and columns that move.
extension WritingSession {
  /// Lets the triggers of the file stand aside while the hook notes what happens. Readers never see it: the transaction
  /// takes it back.
  func standAside(_ isAside: Bool) throws {
    guard recorder != nil, areTriggersOn else { return }
    try connection.execute("UPDATE tally_zone SET hooked = \(isAside ? 1 : 0) WHERE n = 0")
  }

  /// Switches triggers on: the app's transaction is about to change the schema, and triggers it makes must fire.
  func expectTriggers() {
    changesSchema = true
    guard isOpen, recorder != nil, !areTriggersOn, tally_enable_triggers(connection.handle, 1) == SQLITE_OK else {
      return
    }
    areTriggersOn = true
    do {
      try standAside(true)
    } catch {
      failure = error
    }
  }

  /// Follows a change of the schema once the app's statements have ended, before what they wrote is captured.
  func followChange() throws {
    if recorder != nil, areTriggersOn {
      // With a savepoint in which the schema changed the app may have rolled back that triggers stand aside. They have
      // noted then what the hook has noted as well; no other connection can have written meanwhile.
      try connection.execute("DELETE FROM tally_pending WHERE op < 4")
      try standAside(true)
    }
    let objects = try AppObjects(connection, reader.catalog)
    opaque.add(objects.tables(with: .opaqueUniqueIndex))
    readIndexes(objects)
  }

  /// Triggers are switched off for this connection unless there are some: those that the transaction itself made by
  /// SQLite's own interface have not fired.
  func checkTriggers() throws {
    guard recorder != nil, !areTriggersOn, leavesNewSchema, try AppObjects(connection, reader.catalog).hasTriggers,
      !writer.touchedTables.isEmpty || isChanged
    else { return }
    throw StoreError(
      .triggersMadeTooLate,
      "this transaction makes the store's first triggers and writes to its tables: make them in a transaction of their own"
    )
  }

  // MARK: Columns that move

  /// Says that a statement is about to change a table, and that columns may stand elsewhere afterwards. A change that
  /// was rolled back may have had the same number.
  func expectMovedColumns() { if isOpen, recorder != nil { movedVersion = -1 } }

  /// Looks, before a statement, for columns that do not stand any more where the hook takes them from.
  func lookForMovedColumns() {
    guard let last = movedVersion, isOpen, let recorder else { return }
    do {
      let version = try connection.integer("PRAGMA schema_version") ?? -1
      guard version != last else { return }
      recorder.noteMoved(ChangeRecorder.layouts(reader.catalog, try AppObjects(connection, reader.catalog)))
      movedVersion = version
    } catch {
      failure = error
    }
  }

  /// Takes the columns to be where they were before the transaction that has moved them; where it was committed, the
  /// next look at the schema says where they are.
  func forgetMoved() {
    movedVersion = nil
    recorder?.noteMoved(nil)
  }
}
