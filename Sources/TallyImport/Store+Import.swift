import Foundation
import GRDB
import TallyCRDT
import TallyStore

/// The progress of an import, for `Store.importDatabase(at:map:onProgress:)`.
public struct ImportProgress: Sendable {
  /// The table that is read.
  public let table: String
  /// The number of rows that were read, of all tables; a table with references in a circle is read twice.
  public let rows: Int
  /// The number of rows that there are to read.
  public let rowCount: Int
}

/// The outcome of an import: what this call has done. An import that goes on counts from where it goes on.
public struct ImportReport: Sendable, Equatable {
  /// The number of records that were inserted, by type.
  public var records: [String: Int]
  /// The number of members that were added to relationships.
  public var links: Int
  /// The number of rows of which the store had a record or a link already, or had one that was deleted. They were left
  /// as they are.
  public var known: Int
  /// The number of references and links without a target, which `skipsMissing` allows.
  public var missing: Int
  /// The number of rows that nothing in the map takes, by table, or by entity in a file of Core Data's. They stay
  /// behind, also when the import was done before; name in `ImportMap.leavesOut` those that are meant to.
  public var leftOut: [String: Int]
  /// The number of rows that a condition of the map leaves out, of tables and entities of which others come in.
  public var excluded: Int
  /// Whether there was nothing to do, because the import was done before.
  public var wasDone: Bool

  /// Creates a report, by default of nothing, for previews and tests.
  public init(
    records: [String: Int] = [:], links: Int = 0, known: Int = 0, missing: Int = 0, leftOut: [String: Int] = [:],
    excluded: Int = 0, wasDone: Bool = false
  ) {
    (self.records, self.links, self.known, self.missing) = (records, links, known, missing)
    (self.leftOut, self.excluded, self.wasDone) = (leftOut, excluded, wasDone)
  }
}

extension Store {
  /// Brings the rows of another SQLite database into this store: of an app that used GRDB, SQLiteData or Core Data, or
  /// none of them.
  ///
  /// ```swift
  /// let map = try ImportMap(json: Data(contentsOf: folder.appendingPathComponent("map.json")))
  /// let report = try store.importDatabase(at: url, map: map)
  /// ```
  ///
  /// The old file is only read, in one snapshot. Rows are inserted a thousand a transaction, targets of references
  /// before what refers to them; each transaction notes how far it is, so an import that was cut off goes on after its
  /// last transaction, and one that is done does nothing when it is called again, after any edits and deletes. Two
  /// processes may import at once: each goes on where the other is. A record of which the store knows already, for
  /// instance from a peer that has imported the same, is left as it is, also one that was deleted. Sync before you
  /// import, where others may have synced already: rows that are imported count as written now.
  ///
  /// At the first row that cannot be mapped the import stops; the error names table, row and field. Mend the map, or
  /// the row, and call it again. Rows that the map does not take are counted in `ImportReport.leftOut`: look at it
  /// before the old file goes.
  ///
  /// For fields of kind `asset`, blobs and files become files beside the store. Each is added before the transaction
  /// with its row, so a row never names a file that is not there. Where the import stops, files of rows that did not
  /// come in are left; they are removed like any file that nothing names.
  ///
  /// Do not call it inside a write. Cost: one insert for each row, and one lookup in the old file for each reference,
  /// by the key that it refers to, which should have an index; memory for one batch. An asset costs what
  /// `Assets.add(_:type:)` does, so that each file is on the disk, and memory for one blob at a time.
  ///
  /// - Parameters:
  ///   - url: the database's file. A log beside it (`-wal`) is read too, and a lock is waited for as long as
  ///     `StoreOptions.busyTimeout` says.
  ///   - map: which tables become which records; `ImportMap.draft(of:for:)` proposes one.
  ///   - batchSize: the number of rows in a transaction.
  ///   - onProgress: called after each transaction; what it throws ends the import and passes through.
  /// - Returns: the number of rows that came in.
  /// - Throws: `StoreError.notADatabase`, `.invalidMap`, and `AssetError.inMemory` if there are files to add and the
  ///   store is in memory, before any row is written; `.rowNotMapped`, what `write` throws, and `AssetError` of code
  ///   `unwritable` or `changed`, with all earlier transactions committed.
  @discardableResult
  public func importDatabase(
    at url: URL, map: ImportMap, batchSize: Int = 1000, onProgress: ((ImportProgress) throws -> Void)? = nil
  ) throws -> ImportReport {
    guard batchSize > 0 else { throw StoreError(.invalidMap, "a batch of \(batchSize) rows brings nothing in") }
    let name = map.name ?? url.lastPathComponent
    guard !name.isEmpty, name.utf8.count <= 200 else {
      throw StoreError(.invalidMap, "the name of an import has 1 to 200 bytes")
    }
    let schema = try self.schema
    return try ForeignDatabase.read(url, patience: options.busyTimeout) { source in
      let plan = try source.reading { try ImportPlan(map, schema, source) }
      let rows = try source.reading { try LeftOutRows(map, source) }
      let run = try DatabaseImport(self, schema, source, plan, map, name, batchSize, onProgress)
      try run.run()
      var report = run.report
      (report.leftOut, report.excluded) = (rows.leftOut, rows.excluded)
      return report
    }
  }

  /// Brings the rows of another database into this store, without blocking the task's thread. See the synchronous
  /// version.
  /// - Parameters:
  ///   - url: the database's file. A log beside it (`-wal`) is read too.
  ///   - map: which tables become which records; `ImportMap.draft(of:for:)` proposes one.
  ///   - batchSize: the number of rows in a transaction.
  ///   - onProgress: called after each transaction, on another thread; what it throws ends the import and passes
  ///     through.
  /// - Returns: the number of rows that came in.
  /// - Throws: what the synchronous version throws; `CancellationError` if the task was cancelled before the import
  ///   began.
  @discardableResult
  public func importDatabase(
    at url: URL, map: ImportMap, batchSize: Int = 1000,
    onProgress: (@Sendable (ImportProgress) throws -> Void)? = nil
  ) async throws -> ImportReport {
    try await BlockingWork.run { [self] in
      try importDatabase(at: url, map: map, batchSize: batchSize, onProgress: onProgress)
    }
  }
}
