import ArgumentParser
import Foundation
import GRDB
import Tally

/// The store that a command works on.
struct StoreArguments: ParsableArguments {
  @Argument(help: "The store's file.") var store: String
  @OptionGroup var waiting: WaitingOptions

  /// Opens the store to change it.
  func writing<T>(isDurable: Bool = true, _ body: (Store) throws -> T) throws -> T {
    try OpenStore.writing(store, waiting.timeout, isDurable: isDurable, body)
  }

  /// Opens the store to look at it.
  func reading<T>(_ body: (Store) throws -> T) throws -> T {
    try OpenStore.reading(store, waiting.timeout, body)
  }
}

/// How long to wait for others.
struct WaitingOptions: ParsableArguments {
  @Option(help: "How many seconds to wait while another program writes.") var timeout = 5.0

  func validate() throws {
    guard timeout >= 0, timeout <= 86_400 else { throw ValidationError("--timeout is not between 0 and 86400") }
  }
}

/// Opening and closing stores.
enum OpenStore {
  /// - Parameter isDurable: each commit is on disk when it returns, not only at the end.
  static func writing<T>(
    _ path: String, _ timeout: Double, isDurable: Bool = false, _ body: (Store) throws -> T
  ) throws -> T {
    let store = try open(path, timeout, isReadOnly: false)
    if isDurable, let pool = store.reader as? DatabasePool {
      try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    }
    return try using(store, body)
  }

  /// Opens without write access, unless another program has written something that must be captured first.
  static func reading<T>(_ path: String, _ timeout: Double, _ body: (Store) throws -> T) throws -> T {
    let store = try open(path, timeout, isReadOnly: true)
    let isPending = try store.read { db in
      try Bool.fetchOne(db, sql: "SELECT EXISTS(SELECT 1 FROM tally_pending WHERE op <> 4)") ?? false
    }
    guard isPending else { return try using(store, body) }
    close(store)
    do {
      return try writing(path, timeout, body)
    } catch let error as DatabaseError where [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode) {
      throw Failure(.inputOutput, "\(path) has writes of other programs to capture, and it cannot be written")
    }
  }

  private static func using<T>(_ store: Store, _ body: (Store) throws -> T) throws -> T {
    defer { close(store) }
    return try body(store)
  }

  /// A writer that closes last takes the write-ahead log with it; a connection that only reads cannot.
  private static func close(_ store: Store) {
    (store.reader as? DatabasePool)?.invalidateReadOnlyConnections()
    try? store.close()
  }

  private static func open(_ path: String, _ timeout: Double, isReadOnly: Bool) throws -> Store {
    var options = StoreOptions()
    options.busyTimeout = timeout
    options.isReadOnly = isReadOnly
    do {
      return try Store(existing: path, options: options)
    } catch let error as StoreError where error.code == .noSuchStore && access(path, F_OK) == 0 {
      throw StoreError(.notAStore, "\(path) is empty")
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
      guard access(path, R_OK) != 0 else { throw error }
      throw Failure(errno: errno, .read, path)
    }
  }
}
