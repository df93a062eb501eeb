import Foundation
import GRDB

extension Store {
  /// Gives free pages of the file back as `vacuum` says, and notes in the report how many bytes they are.
  func giveBack(_ vacuum: Vacuum, isDryRun: Bool, _ report: inout CompactionReport) throws {
    guard file != nil else { return }
    let before = try filePages()
    report.reclaimable = before.freeBytes
    guard vacuum.isWorthwhile(before), before.free > 0 || !before.keepsMap else { return }
    guard !isDryRun else {
      (report.reclaimed, report.reclaimable) = (before.freeBytes, 0)
      return
    }
    try orLogged(vacuum) {
      let pages = try before.keepsMap ? vacuumInSlices(before.free) : rebuildFile(before)
      (report.reclaimed, report.reclaimable) = (pages * before.size, try filePages().freeBytes)
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
      let slice = try replicate { try FilePages.giveBack($0.connection, atMost: left, $0.environment.now) }.value
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
      if let object = try FilePages.dependent(reader.connection) {
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
