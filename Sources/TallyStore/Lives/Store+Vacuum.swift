import Foundation
import GRDB

extension Store {
  /// Gives free pages of the file back as `vacuum` says, and notes in the report how many bytes they are.
  func giveBack(_ vacuum: Vacuum, isDryRun: Bool, _ report: inout CompactionReport) throws {
    guard file != nil else { return }
    let before = try filePages()
    report.reclaimable = before.freeBytes
    let isWanted =
      switch vacuum {
      case .off: false
      case .automatic: before.isWorthwhile && before.keepsMap
      case .incremental: before.keepsMap
      case .full: true
      }
    guard isWanted, before.free > 0 || !before.keepsMap else { return }
    guard !isDryRun else { return report.note(given: before.freeBytes, left: 0) }
    try orLogged(vacuum) {
      let pages = try before.keepsMap ? vacuumInSlices(before.free) : rebuildFile(before)
      report.note(given: pages * before.size, left: try filePages().freeBytes)
    }
  }

  /// Runs a part of a compaction that gives pages back. The records are empty by then, and pages that stay are used
  /// again, so an error is only logged, unless the caller asked for a smaller file.
  private func orLogged(_ vacuum: Vacuum, _ body: () throws -> Void) throws {
    do { try body() } catch {
      guard vacuum == .automatic else { throw error }
      options.environment.logger.warning("the file keeps free pages", metadata: ["error": "\(error)"])
    }
  }

  private func filePages() throws -> FilePages { try snapshot { try FilePages($0.connection) } }

  /// Moves the last pages of the file to free ones and cuts the file off behind them, a few in each transaction. Each
  /// leaves a sound file. It ends after so many free pages, although others may have freed more meanwhile.
  /// - Returns: by how many pages the file is shorter: pages of the map that are needed no more count as well.
  private func vacuumInSlices(_ free: Int) throws -> Int {
    var (left, given) = (free, 0)
    while left > 0 {
      let slice = try replicate { try $0.vacuumSlice(atMost: left) }.value
      guard slice.given > 0 else { break }
      left -= slice.freed
      given += slice.given
    }
    // The file is cut off when the log has been copied into it: now, or as soon as no reader has an older state.
    if given > 0 { _ = try emptyLog() }
    return given
  }

  // MARK: Files without the map of pages

  /// Refuses to rebuild a file where that could do harm, or does not fit. Where it need not be rebuilt, nothing does.
  func checkRebuild() throws {
    guard let file else { return }
    try snapshot { reader in
      let pages = try FilePages(reader.connection)
      guard !pages.keepsMap else { return }
      if let object = try reader.connection.dependentOnRowIDs() {
        throw StoreError(
          .dependsOnRowIDs,
          "\(object) may depend on rowids, which rebuilding the file can change: drop it, compact, and create it again"
        )
      }
      // The copy, and the log with all of it.
      let needed = 2 * pages.usedBytes
      let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
      guard let free = options.files.freeBytes(at: folder), free < needed else { return }
      throw DatabaseError(
        resultCode: .SQLITE_FULL, message: "rebuilding \(file) needs \(needed) bytes, and \(free) are free")
    }
  }

  /// Rebuilds the file, so that it has no free pages and can give them back one by one from now on.
  /// - Returns: by how many pages it is shorter.
  private func rebuildFile(_ before: FilePages) throws -> Int {
    guard let file else { return 0 }
    var configuration = StoreFile.configuration(options, Applying())
    configuration.prepareDatabase { db in
      // The copy may be large. And on this connection nothing is kept in temporary tables.
      try db.execute(sql: "PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL")
    }
    // In the store's turn, so that its own writes wait instead of finding the file locked.
    try usable.writeWithoutTransaction { [configuration] _ in
      let queue = try DatabaseQueue(path: file, configuration: configuration)
      try queue.writeWithoutTransaction { db in try db.execute(sql: "VACUUM") }
      try queue.close()
    }
    _ = try emptyLog()
    return max(0, before.count - (try filePages().count))
  }
}

extension CompactionReport {
  fileprivate mutating func note(given: Int, left: Int) { (reclaimed, reclaimable) = (given, left) }
}

extension WriteTransaction {
  /// The most pages that one transaction moves or cuts off, for how long it goes on, and after how many it looks at the
  /// clock.
  private static let slicePages = 512
  private static let sliceMilliseconds: UInt64 = 50
  private static let stepPages = 16

  /// - Returns: by how many pages the file is shorter, and how many free ones it has less.
  func vacuumSlice(atMost most: Int) throws -> (given: Int, freed: Int) {
    let end = environment.now().milliseconds + Self.sliceMilliseconds
    let before = try FilePages(connection)
    var left = min(most, Self.slicePages)
    while left > 0 {
      // SQLite moves one page with each step of the statement, and this takes all steps.
      try connection.execute("PRAGMA incremental_vacuum(\(min(left, Self.stepPages)))")
      left -= Self.stepPages
      if environment.now().milliseconds >= end { break }
    }
    let after = try FilePages(connection)
    return (before.count - after.count, before.free - after.free)
  }
}

extension Connection {
  /// Something in the file that may hold rowids of tables whose rows have no other number: a virtual table, since those
  /// of SQLite go by numbers that are another table's, or a trigger or view that names a rowid.
  /// - Returns: the name of the first one; nil if nothing depends on them.
  fileprivate func dependentOnRowIDs() throws -> String? {
    let query = try statement(
      """
      SELECT name, type, sql FROM main.sqlite_master \
      WHERE sql IS NOT NULL AND type IN ('table', 'trigger', 'view') AND name NOT LIKE 'tally~_%' ESCAPE '~' \
      ORDER BY type <> 'table', name
      """)
    defer { query.reset() }
    while try query.step() {
      let words = (query.text(2) ?? "").lowercased().split { !$0.isLetter && $0 != "_" }
      let isDependent =
        query.text(1) == "table"
        ? words.prefix(2) == ["create", "virtual"] : !Self.rowIDs.isDisjoint(with: words)
      if isDependent { return query.text(0) }
    }
    return nil
  }

  /// SQLite's names of a rowid, and that of its older full-text tables.
  private static let rowIDs: Set<Substring> = ["rowid", "_rowid_", "oid", "docid"]
}
