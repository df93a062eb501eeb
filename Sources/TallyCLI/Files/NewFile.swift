import Foundation
import Tally
import TallyStore

/// A file that appears under its name only when it is complete and on disk. It takes the place of an ordinary file, but
/// not of a store, of what belongs to one, of what it is made from, or of a file that another program holds a lock on.
final class NewFile {
  let path: String
  private let rules: Rules
  private let folder: String
  private let target: String
  private let temporary: String?
  private var descriptor: Int32
  private var note: Int?
  private(set) var byteCount = 0

  /// The rules for what may be overwritten.
  struct Rules {
    /// The files that the new one is made from, and all else that this process has open. None of these may be
    /// overwritten.
    var inputs: [String] = []
    /// The database that the person has named as the one to be replaced.
    var replacing: String?
    /// Whether the command has an option to name one.
    var offersReplace = false
  }

  init(_ path: String, _ rules: Rules = Rules()) throws {
    self.rules = rules
    guard !path.isEmpty else { throw Failure(.cannotCreate, Self.hasNoName) }
    // What a symbolic link points to is replaced, not the link.
    let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    self.path = path
    target = url.path
    folder = url.deletingLastPathComponent().path
    var status = stat()
    let isThere = stat(path, &status) == 0
    let kind = status.st_mode & S_IFMT
    guard !isThere || kind != S_IFDIR else { throw Failure(errno: EISDIR, .create, path) }
    try rules.check(path)
    if isThere, Self.isStandardOutput(status) {
      // Another file in its place would be one that is not read.
      temporary = nil
      descriptor = dup(STDOUT_FILENO)
    } else if isThere, kind != S_IFREG {
      // A device or a named pipe cannot be replaced; it takes the bytes as they come.
      temporary = nil
      descriptor = open(path, O_WRONLY | O_CLOEXEC)
    } else {
      let tail = String(UInt64.random(in: .min ... .max), radix: 16)
      let name = ".\(url.lastPathComponent.prefix(100)).\(tail).tmp"
      let temporary = url.deletingLastPathComponent().appendingPathComponent(name).path
      self.temporary = temporary
      descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    }
    guard descriptor >= 0 else { throw Failure(errno: errno, .create, path) }
    note = temporary.map(Ending.note(file:))
  }

  /// The complaint about an empty name, which the system would take for the folder that one is in.
  static let hasNoName = "the name of the file to write is empty"

  private static func isStandardOutput(_ status: stat) -> Bool {
    var output = stat()
    return fstat(STDOUT_FILENO, &output) == 0 && Place(output) == Place(status)
  }

  deinit {
    if let note { Ending.forget(note) }
    guard descriptor >= 0 else { return }
    close(descriptor)
    if let temporary { unlink(temporary) }
  }

  func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, path) }
    byteCount += bytes.count
  }

  /// Puts the file in its place.
  func finish() throws {
    guard let temporary else { return }
    guard fsync(descriptor) == 0 else { throw Failure(errno: errno, .write, path) }
    // It took a while, and another process may have made a store there.
    try rules.check(path)
    guard rename(temporary, target) == 0 else { throw Failure(errno: errno, .create, path) }
    close(descriptor)
    descriptor = -1
    try syncFolder(folder, for: path)
  }
}

extension NewFile.Rules {
  /// - Throws: `Failure` with `.cannotCreate`, which says what stands there.
  func check(_ path: String) throws {
    func refuse(_ reason: String) -> Failure { Failure(.cannotCreate, "cannot create \(path): \(reason)") }
    let place = Place(path)
    for input in inputs where input != "-" {
      // Compared before anything is opened: closing a file that SQLite has open would drop its locks.
      if let place, place == Place(input) { throw refuse("it is what is read") }
    }
    switch FileRole(of: path) {
    case .part(let store)?: throw refuse("it belongs to the store \(store)")
    case .store?, .database?:
      guard let replacing, Place(replacing) == place else {
        throw refuse("a store or database is there" + (offersReplace ? "; name it with --replace if it may go" : ""))
      }
    case nil: break
    }
    if place != nil, isLocked(path) { throw refuse("another program uses it") }
  }

  /// Whether another process holds a lock on the file, as SQLite and others do.
  private func isLocked(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var lock = flock()
    (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
    return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }
}

/// Which file it is, under any name.
struct Place: Equatable {
  private let device: UInt64
  private let number: UInt64

  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) { (device, number) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino)) }
}
