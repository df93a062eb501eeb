#if Relay
  import Foundation
  import GRDB

  extension RelayStore {
    /// Copies a relay's file as it is at one moment, also while a relay serves from it, which goes on meanwhile. The
    /// copy is one file with all that was acknowledged before, needs no log beside it, and is on the disk when this
    /// returns. If it cannot be made, what there is of it stays.
    ///
    /// It costs what reading and writing the file once costs, and the log of the original grows meanwhile by what is
    /// written.
    /// - Parameters:
    ///   - path: the relay's file.
    ///   - copy: an empty file of its owner's alone, or none.
    /// - Throws: `RelayStoreError` if the file is no relay's or a newer version's; `DatabaseError`.
    public static func backUp(_ path: String, to copy: String) throws {
      guard access(path, F_OK) == 0 else { throw RelayStoreError(.noSuchFile, "there is no file \(path)") }
      _ = try checkHeader(path)
      var configuration = Configuration()
      configuration.busyMode = .timeout(10)
      configuration.readonly = true
      let source = try DatabaseQueue(path: path, configuration: configuration)
      try source.read { try RelaySchema.checkVersion($0) }
      makePrivateFile(copy)
      let target = try DatabaseQueue(path: copy)
      do { try source.backup(to: target) } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
        // SQLite has no words for it here.
        throw DatabaseError(resultCode: error.extendedResultCode, message: "the disk of \(copy) is full")
      }
      // Without a log beside it, it can be read where nothing can be written. A relay that serves from it makes one.
      try target.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE")
      }
      try target.close()
      try source.close()
    }
  }

  extension RelaySchema {
    /// - Throws: `RelayStoreError` if the file is something else's, or a newer version's.
    static func checkVersion(_ db: Database) throws {
      guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == applicationID else {
        throw RelayStoreError(.notARelay, "the file is a database of something else")
      }
      let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
      guard found <= version else {
        throw RelayStoreError(.newerFormat, "a newer version has written the file: format \(found)")
      }
    }
  }
#endif
