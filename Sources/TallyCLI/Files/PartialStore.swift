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
  /// - Throws: `Failure` with `.cannotCreate` if the name is taken, `.busy` if another tool is at it.
  init(_ made: NewStore, from source: String, _ schema: Schema) throws {
    try made.check()
    (self.made, folder) = (made, made.path + ".part")
    path = folder + "/store"
    if mkdir(folder, 0o700) != 0, errno != EEXIST { throw Failure(errno: errno, .create, made.path) }
    lock = open(folder + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw Failure(errno: errno, .create, folder) }
    var status = stat()
    guard flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &status) == 0, Place(status) == Place(folder + "/lock")
    else { throw Failure(.busy, "another tally clone makes \(made.path)") }
    let origin = try source + "\n" + String(decoding: schema.json(), as: UTF8.self)
    guard (try? String(contentsOfFile: folder + "/from", encoding: .utf8)) != origin || !goesOn() else { return }
    do {
      try begin(origin, schema)
    } catch {
      remove()
      throw error
    }
  }

  deinit { close(lock) }

  private func begin(_ origin: String, _ schema: Schema) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != "lock" {
      try FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    do {
      try Store(path: path, schema: schema).close()
    } catch let error as DatabaseError {
      throw Failure(ExitStatus(of: error), "\(made.path): \(Failure.message(of: error))")
    }
    // Last, so that it says that there is a store.
    try Data(origin.utf8).write(to: URL(fileURLWithPath: folder + "/from"), options: .atomic)
  }

  /// Whether there is a store that can be gone on with.
  private func goesOn() -> Bool {
    guard let store = try? Store(existing: path) else { return false }
    return (try? store.close()) != nil
  }

  /// Gives the store its name: all has arrived.
  /// - Throws: `Failure`; it stays in the folder then.
  func finish() throws {
    try made.take(path)
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
