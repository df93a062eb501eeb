import Foundation
import GRDB
import Tally
import TallyStore

/// A store that is filled from somewhere, and appears under its name when all of that has arrived.
///
/// Until then it is in a folder beside it, `NAME.part`, with the place that it is filled from: however the tool is
/// ended, the next one goes on there if it is filled from the same place, and begins again otherwise.
final class PartialStore {
  private let made: NewStore
  private let folder: String
  /// The store's file, for as long as it is not complete.
  let path: String
  /// Held for as long as this tool fills it.
  private let lock: Int32

  /// Begins, or goes on with what an earlier tool has begun. `source` tells where it is filled from.
  /// - Throws: `Failure` with `.cannotCreate` if the name is taken, or something else has that of the folder; `.busy`
  ///   if another tool is at it.
  init(_ made: NewStore, from source: String, _ schema: Schema) throws {
    try made.check()
    (self.made, folder) = (made, made.path + ".part")
    path = folder + "/store"
    if mkdir(folder, 0o700) != 0 {
      guard errno == EEXIST else { throw Failure(errno: errno, .create, made.path) }
      try Self.checkIsOurs(folder)
    }
    lock = open(folder + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw Failure(errno: errno, .create, folder) }
    var status = stat()
    guard flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &status) == 0, Place(status) == Place(folder + "/lock")
    else { throw Failure(.busy, "another tally clone makes \(made.path)") }
    let origin = try Data((source + "\n" + String(decoding: schema.json(), as: UTF8.self)).utf8)
    if access(folder + "/from", F_OK) == 0, try Data(contentsOf: URL(fileURLWithPath: folder + "/from")) == origin,
      try goesOn()
    {
      return
    }
    do {
      try begin(origin, schema)
    } catch {
      remove()
      throw error
    }
  }

  deinit { close(lock) }

  /// A folder of that name that holds something else than what this makes, or a link to one, is somebody's own.
  /// - Throws: `Failure` with `.cannotCreate`.
  private static func checkIsOurs(_ folder: String) throws {
    let failure = Failure(.cannotCreate, "\(folder) is in the way: it is not what tally clone makes")
    func kind(_ path: String) -> mode_t? {
      var status = stat()
      return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
    guard kind(folder) == S_IFDIR else { throw failure }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasPrefix("store-") {
      guard ["lock", "from", "store"].contains(name), kind("\(folder)/\(name)") == S_IFREG else { throw failure }
    }
  }

  private func begin(_ origin: Data, _ schema: Schema) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != "lock" {
      try FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    do {
      try Store(path: path, schema: schema).close()
    } catch let error as DatabaseError {
      throw Failure(ExitStatus(of: error), "\(made.path): \(Failure.message(of: error))")
    }
    // Last, so that it says that there is a store. Half of it says nothing.
    try origin.write(to: URL(fileURLWithPath: folder + "/from"))
  }

  /// Whether there is a store that can be gone on with.
  /// - Throws: `Failure` if that cannot be found out: what has arrived is not given up for that.
  private func goesOn() throws -> Bool {
    var status = stat()
    // One that has its name already is somebody's store, whatever that is called now.
    guard lstat(path, &status) == 0, status.st_nlink == 1 else { return false }
    do {
      try Store(existing: path).close()
      return true
    } catch is StoreError {
      return false
    } catch let error as DatabaseError {
      guard ![.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) else { return false }
      throw Failure(ExitStatus(of: error), "\(path): \(Failure.message(of: error))")
    }
  }

  /// Gives the store its name: all has arrived.
  /// - Throws: `Failure`, with `.busy` if somebody else uses it, so that a part of it is in its log; it stays in the
  ///   folder then.
  func finish() throws {
    var status = stat()
    for log in [path + "-wal", path + "-journal"] where lstat(log, &status) == 0 && status.st_size > 0 {
      throw Failure(.busy, "\(path) is in use")
    }
    try made.take(path)
    // Where this fails, they come again with the next sync.
    rename(path + FileRole.assets, made.path + FileRole.assets)
    remove()
  }

  /// Removes a store in which nothing has arrived.
  /// - Returns: whether that was so.
  func removeIfEmpty(_ timeout: Double) throws -> Bool {
    let isEmpty = try OpenStore.reading(path, timeout) { try $0.vector.isEmpty }
    guard isEmpty, access(path + "-transfers", F_OK) != 0 else { return false }
    remove()
    return true
  }

  /// Removes the folder. If that fails, the next call removes what is in it.
  private func remove() { try? FileManager.default.removeItem(atPath: folder) }
}
