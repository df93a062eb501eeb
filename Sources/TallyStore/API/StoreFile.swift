import Foundation
import GRDB
import GRDBSQLite
import TallyCRDT

/// Opening files safely: looking before touching.
enum StoreFile {
  /// Whether there is a store at `path`; false if there is nothing or an empty database.
  /// - Throws: `StoreError` if there is something else. The file is not changed.
  static func probe(_ path: String, _ options: StoreOptions) throws -> Bool {
    switch options.files.kind(of: path) {
    case .nothing: return false
    case .file: break
    case .folder: throw StoreError(.notAStore, "\(path) is a folder")
    case .other: throw StoreError(.notAStore, "\(path) is not an ordinary file")
    }
    do {
      return try inspect(path, isReadOnly: true)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY && !options.isReadOnly {
      // A crash left a journal behind. SQLite undoes with it what was half done before anybody can read, and that writes.
      return try inspect(path, isReadOnly: false)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
      throw StoreError(.notAStore, "\(path) is not a store")
    }
  }

  private static func inspect(_ path: String, isReadOnly: Bool) throws -> Bool {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    return try DatabaseQueue(path: path, configuration: configuration).read { db in
      let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
      let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
      if application == Format.applicationID {
        guard version <= Format.version else {
          throw StoreError(.newerFormat, "\(path) has format \(version); this version knows up to \(Format.version)")
        }
        return true
      }
      let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
      guard application == 0, version == 0, tables == 0 else {
        throw StoreError(.notAStore, "\(path) is an SQLite database, but not a store")
      }
      return false
    }
  }

  static func open(_ path: String, _ options: StoreOptions) throws -> any DatabaseWriter {
    let configuration = configuration(options)
    return options.isReadOnly
      ? try DatabaseQueue(path: path, configuration: configuration)
      : try DatabasePool(path: path, configuration: configuration)
  }

  static func configuration(_ options: StoreOptions) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = options.isReadOnly
    configuration.busyMode = .timeout(options.busyTimeout)
    let prepare = options.prepareDatabase
    configuration.prepareDatabase { db in
      // Statements nested in triggers would otherwise write their journals to files.
      try db.execute(sql: "PRAGMA temp_store = MEMORY")
      try prepare?(db)
    }
    return configuration
  }

  /// Brings the write-ahead log into the file and empties it, unless somebody is using it right now.
  static func checkpoint(_ db: Database, _ options: StoreOptions) throws {
    let handle = try handle(db)
    // Who reads in another process may take long, and closing must not wait for it.
    sqlite3_busy_timeout(handle, 0)
    defer { sqlite3_busy_timeout(handle, Int32(clamping: Int(options.busyTimeout * 1000))) }
    do {
      try db.checkpoint(.truncate)
    } catch let error as DatabaseError where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode) {}
  }

  static func handle(_ db: Database) throws -> OpaquePointer {
    guard let handle = db.sqliteConnection else { throw StoreError(.corrupt, "the connection is closed") }
    return handle
  }
}
