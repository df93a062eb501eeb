import Foundation
import GRDB
import Synchronization
import TallyCRDT
import TallySchema

extension Store {
  /// Returns the deleted records of a type that can be restored, the most recently deleted first.
  ///
  /// ```swift
  /// for item in try store.recentlyDeleted(Game.self) {
  ///   print(item.values["name"] ?? .null, item.restorableUntil ?? "not synced yet")
  /// }
  /// ```
  ///
  /// A record that disappeared with its owner comes back with it and is not listed. Cost: reads the type's hidden
  /// records.
  /// - Parameters:
  ///   - type: the type of the records.
  ///   - limit: the maximum number of records to return.
  /// - Returns: the records that still have content.
  /// - Throws: `StoreError.unknownType`, `.closed`; GRDB's `DatabaseError`.
  public func recentlyDeleted<Record: Entity>(_ type: Record.Type, limit: Int = 100) throws -> [DeletedRecord] {
    try recentlyDeleted(ofType: Record.schema.type, limit: limit)
  }

  /// Returns the deleted records that can be restored, of a type that is known only by name.
  /// - Returns: the records that still have content.
  /// - Throws: `StoreError.unknownType`, `.closed`; GRDB's `DatabaseError`.
  public func recentlyDeleted(ofType type: String, limit: Int = 100) throws -> [DeletedRecord] {
    try capturedSnapshot { try DeletedRecord.recent($0, type, limit, restoreWindow, today) }
  }

  /// Returns the deleted records that can be restored, as part of a read of the app, so the list can be observed.
  ///
  /// ```swift
  /// let bin = store.values { db in try store.recentlyDeleted(db, Game.self) }
  /// ```
  ///
  /// An observation fetches the list again when any record is deleted, restored or purged, and when other devices have
  /// received a delete. Cost: reads the hidden records of the type each time.
  /// - Returns: the records that still have content; see `recentlyDeleted(_:limit:)`.
  /// - Throws: `StoreError.unknownType`; GRDB's `DatabaseError`.
  public func recentlyDeleted<Record: Entity>(
    _ db: Database, _ type: Record.Type, limit: Int = 100
  ) throws -> [DeletedRecord] {
    // GRDB does not see what is read without its statements; these say what an observation depends on.
    for table in Self.deletedTables {
      _ = try Row.fetchOne(db, sql: "SELECT * FROM \(table) LIMIT 0")
    }
    let connection = try Connection(db)
    let reader = StateReader(connection, catalog: try Catalog.load(connection, cached: nil))
    return try DeletedRecord.recent(reader, Record.schema.type, limit, restoreWindow, today)
  }

  /// The tables that have the deleted records, and until when they can be restored.
  static let deletedTables = ["tally_hidden", "tally_note"]

  /// Returns the transactions that have removed content for good, as far as this store knows.
  package func removals() throws -> Removals {
    try Removals { try notes($0).values }
  }

  /// Today by the store's clock, in days since 1970.
  package var today: Int { SharedDays.day(of: options.environment.now()) }

  /// For how long deleted records can be restored.
  package var restoreWindow: RestoreWindow { options.compaction.restoreWindow }

  /// Takes removed content out of the files beside the store as well: out of the write-ahead log, unless a reader still
  /// reads it, out of unfinished transfers, and the files of assets that only it named. What cannot be done now is done
  /// with a later call.
  package func finishRemovals() throws {
    guard !options.isReadOnly else { return }
    var before = try removals()
    guard before.isUnfinished else { return }
    func note(_ after: Removals) throws {
      try replicate { transaction in
        // What went meanwhile may be in the log again.
        guard try transaction.removals() == before else { return }
        try after.write(to: NoteTable(transaction.connection))
      }
      before = after
    }
    var after = before
    let files = Result { try before.files.isEmpty ? [:] : RemovedFiles.remove(before.files, of: self) }
    if case .success(let rest) = files, rest != before.files {
      // The names go before the log does.
      after.files = rest
      try note(after)
    }
    let areGone = file.map(UnfinishedTransfers.remove(besides:)) ?? true
    guard try emptyLog(), areGone, try files.get().isEmpty else { return }
    after.isUnfinished = false
    try note(after)
  }

  /// The same after something that is done even if this fails: a purge, a delta, a session. An error is logged.
  package func finishRemovalsIfPossible() {
    do { try finishRemovals() } catch {
      options.environment.logger.warning("old copies of what was removed may remain", metadata: ["error": "\(error)"])
    }
  }

  /// Empties the write-ahead log into the file: pages in it still hold what was removed.
  /// - Returns: whether it is empty. It is not while a reader has an older state open.
  func emptyLog() throws -> Bool {
    try usable.writeWithoutTransaction { db in
      do {
        try LockWait.without { _ = try db.checkpoint(.truncate) }
        return true
      } catch let error as DatabaseError
        where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode.primaryResultCode)
      {
        options.environment.logger.info("the write-ahead log is still read")
        return false
      }
    }
  }
}

/// The files of assets that removed content named. They are a matter of `TallyAssets`, which says how they go once the
/// process uses it; until then they wait.
package enum RemovedFiles {
  /// Removes those that nothing else names, and returns those that it must see to later.
  package typealias Removal = @Sendable (Store, [AssetName: HybridTime]) throws -> [AssetName: HybridTime]

  package static let removal = Mutex<Removal?>(nil)

  static func remove(_ files: [AssetName: HybridTime], of store: Store) throws -> [AssetName: HybridTime] {
    guard store.file != nil else { return [:] }
    return try removal.withLock { $0 }?(store, files) ?? files
  }
}

/// The folder of transfers that lost their connections (`TransferShelf`).
enum UnfinishedTransfers {
  /// Removes what no session is using. A session that is under way sees to its own.
  /// - Returns: whether nothing is left.
  static func remove(besides store: String) -> Bool {
    let folder = store + FileRole.transfers
    var isEmpty = true
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let url = URL(fileURLWithPath: folder).appendingPathComponent(name)
      do {
        let file = try FileHandle(taking: url)
        defer { try? file.close() }
        try FileManager.default.removeItem(at: url)
      } catch let error as POSIXError where error.code == .ENOENT {
        // Its session has removed it.
      } catch {
        isEmpty = false
      }
    }
    return isEmpty
  }
}
