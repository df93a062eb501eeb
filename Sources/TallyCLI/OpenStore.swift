import Foundation
import GRDB
import Tally
import TallyAssets
import TallyStore

/// Opening and closing stores.
enum OpenStore {
  /// Opens a store for writing while the body runs. If `isDurable`, each commit is on disk when it returns, not only at
  /// the end.
  static func writing<T>(
    _ path: String, _ timeout: Double, isDurable: Bool = false, _ body: (Store) throws -> T
  ) throws -> T {
    try Output.requireOpen(besides: path)
    do {
      let store = try open(path, timeout, isReadOnly: false)
      if isDurable { try store.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") } }
      store.assets.finishRemovals()
      return try using(store, body)
    } catch let error as DatabaseError where isUnwritable(error) {
      throw lackOfPermission(path) ?? named(error, path)
    }
  }

  /// Which of two stores it is, SQLite does not say.
  private static func named(_ error: DatabaseError, _ path: String) -> Failure {
    Failure(ExitStatus(of: error), "\(path): \(Failure.message(of: error))", cause: error)
  }

  /// SQLite tells a read-only disk and a file that another user owns apart as little as "cannot open" and "read-only"
  /// do.
  private static func lackOfPermission(_ path: String) -> Failure? {
    let folder = URL(fileURLWithPath: path).resolvingSymlinksInPath().deletingLastPathComponent().path
    let isForbidden = [path, folder].contains { (path: String) in access(path, W_OK) != 0 && errno == EACCES }
    return isForbidden ? Failure(errno: EACCES, .write, path) : nil
  }

  /// Opens without write access, also in a folder where nothing can be written. Only if another program has written
  /// something that must be captured first, or has made a table again, is write access needed. If a table was made
  /// again in a way that no store can use, nothing can be captured: that is an error, or, with `evenUncaptured`, a
  /// warning, and the body sees the rows as they are.
  static func reading<T>(
    _ path: String, _ timeout: Double, evenUncaptured: Bool = false, _ body: (Store) throws -> T
  ) throws -> T {
    try Output.requireOpen(besides: path)
    var copy: StoreCopy?
    defer { copy?.discard() }
    let store: Store
    do {
      store = try open(path, timeout, isReadOnly: true)
    } catch let error as DatabaseError where isUnwritable(error) {
      let made = try StoreCopy(of: path)
      copy = made
      store = try open(made.path, timeout, isReadOnly: true)
    }
    guard try isPending(store) else {
      do {
        return try using(store, body)
      } catch let error as StoreError where error.code == .damaged && copy == nil {
        noteDamage(path, timeout)
        throw error
      }
    }
    close(store)
    let failure = Failure(.inputOutput, "\(path) has writes of other programs to capture, and it cannot be written")
    // Capturing in a copy would give out transaction numbers that the store gives out again.
    guard copy == nil else { throw failure }
    do {
      return try writing(path, timeout, body)
    } catch let error as StoreError where error.code == .incompatibleTable && evenUncaptured {
      complain("warning: \(Failure.message(of: error))")
      return try beside(path, timeout, body)
    } catch let error as DatabaseError where isUnwritable(error) {
      throw failure
    } catch let error as Failure where error.status == .noPermission {
      throw Failure(.noPermission, failure.message)
    }
  }

  /// Opens a store as it is, such as one that another process of the tool has open for reading: nothing is captured or
  /// noted.
  static func beside<T>(_ path: String, _ timeout: Double = 5, _ body: (Store) throws -> T) throws -> T {
    try using(try open(path, timeout, isReadOnly: true), body)
  }

  /// Lets the store know of damage that was found while it was only read, where it can be written: it gives nothing
  /// away from then on, and heals at the next sync.
  static func noteDamage(_ path: String, _ timeout: Double) {
    guard let store = try? open(path, timeout, isReadOnly: false) else { return }
    defer { close(store) }
    do { _ = try store.fitsItsSum() } catch { complain("the damage could not be noted: \(Failure.message(of: error))") }
  }

  /// Whether other programs have written, or may have, what only a store that writes captures.
  private static func isPending(_ store: Store) throws -> Bool {
    let isNoted = try store.read { db in
      try Bool.fetchOne(db, sql: "SELECT EXISTS(SELECT 1 FROM tally_pending WHERE op <> 4)") ?? false
    }
    return try isNoted || UnseenTables.areThere(in: store)
  }

  private static func isUnwritable(_ error: DatabaseError) -> Bool {
    // On a full disk a first reader cannot make the index of the log.
    [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode)
      || error.extendedResultCode == .SQLITE_IOERR_SHMSIZE
  }

  private static func using<T>(_ store: Store, _ body: (Store) throws -> T) throws -> T {
    defer { close(store) }
    do {
      return try body(store)
    } catch let error as DatabaseError where !isUnwritable(error) {
      throw explained(error, store) ?? named(error, store.path)
    } catch let failure as Failure {
      // Of two stores that are open, the one that was opened last has named the error as its own.
      throw failure.cause.flatMap { explained($0, store) } ?? failure
    }
  }

  /// An error that comes of what another program has made of the app's tables; nil if it comes of anything else.
  private static func explained(_ error: DatabaseError, _ store: Store) -> Failure? {
    guard let reason = store.reason(for: error) as? StoreError else { return nil }
    return Failure(ExitStatus(of: reason), "\(store.path): \(Failure.message(of: reason))")
  }

  /// Closes the store. The work of the body is committed; if another program keeps the file in use, its log stays, and
  /// nothing is lost.
  private static func close(_ store: Store) { try? store.close() }

  private static func open(_ path: String, _ timeout: Double, isReadOnly: Bool) throws -> Store {
    var options = StoreOptions()
    options.busyTimeout = timeout
    options.isReadOnly = isReadOnly
    do {
      return try Store(existing: path, options: options)
    } catch let error as StoreError where error.code == .noSuchStore {
      guard access(path, F_OK) != 0 else { throw StoreError(.notAStore, "\(path) is empty") }
      guard errno != EACCES else { throw Failure(errno: EACCES, .read, path) }
      throw StoreError(error.code, error.message + Misspelling.hint(forFile: path))
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
      guard access(path, R_OK) != 0 else { throw error }
      throw Failure(errno: errno, .read, path)
    } catch let error as DatabaseError where !isUnwritable(error) {
      throw named(error, path)
    }
  }
}
