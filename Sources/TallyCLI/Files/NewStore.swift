import Foundation
import GRDB
import Tally

/// A store that appears under its name when it is complete: a process that is killed before leaves nothing that looks
/// like one.
struct NewStore {
  let path: String
  private let folder: String
  /// A folder of the tool's own beside it, in which the store is made with all files that belong to it.
  private let temporary: String

  init(_ path: String) {
    self.path = path
    let url = URL(fileURLWithPath: path)
    folder = url.deletingLastPathComponent().path
    let tail = String(UInt64.random(in: .min ... .max), radix: 16)
    temporary = folder + "/.\(url.lastPathComponent.prefix(100)).\(tail).tmp"
  }

  /// Refuses a name that is taken, before any work is done.
  /// - Throws: `Failure` with `.cannotCreate`.
  func check() throws {
    guard !path.isEmpty else { throw Failure(.cannotCreate, NewFile.hasNoName) }
    var status = stat()
    guard lstat(path, &status) != 0 else { throw Failure(errno: EEXIST, .create, path) }
    try Store.checkPlace(path)
    // SQLite would replay it into the new store.
    for log in [path + "-wal", path + "-journal"] where lstat(log, &status) == 0 && status.st_size > 0 {
      throw Failure(.cannotCreate, "cannot create \(path): \(log) is there, the log of a database that is gone")
    }
  }

  /// Creates the store. `make` makes it at the path that it is given, and leaves it closed. A `DatabaseError` that it
  /// throws is about the new store, and is given its name.
  func create(_ make: (String) throws -> Void) throws {
    try check()
    let note = Ending.note(folder: temporary)
    defer {
      Ending.remove(folder: temporary)
      Ending.forget(note)
    }
    guard mkdir(temporary, 0o700) == 0 else { throw Failure(errno: errno, .create, path) }
    let made = temporary + "/store"
    let descriptor = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Failure(errno: errno, .create, path) }
    close(descriptor)
    do {
      try make(made)
    } catch let error as DatabaseError {
      throw Failure(ExitStatus(of: error), "\(path): \(Failure.message(of: error))")
    }
    try take(made)
  }

  /// Gives a store that was made beside it, and is closed, this name. Of two that create the same store, one fails.
  func take(_ made: String) throws {
    if link(made, path) != 0 {
      // Some file systems, of memory cards for instance, know no second name of a file.
      guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno), access(path, F_OK) != 0, rename(made, path) == 0
      else { throw Failure(errno: errno, .create, path) }
    }
    // Without the token the store is no copy yet, since it has written nothing.
    rename(made + "-incarnation", path + "-incarnation")
    try syncFolder(folder, for: path)
  }
}

/// Waits until the names in a folder are on the disk.
/// - Throws: `Failure` if the disk says that they are not. A file system that cannot be asked is taken at its word.
func syncFolder(_ folder: String, for path: String) throws {
  let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else {
    guard [EACCES, EPERM].contains(errno) else { throw Failure(errno: errno, .write, path) }
    return
  }
  defer { close(descriptor) }
  guard fsync(descriptor) != 0, ![EINVAL, ENOTSUP, EOPNOTSUPP, EROFS].contains(errno) else { return }
  throw Failure(errno: errno, .write, path)
}
