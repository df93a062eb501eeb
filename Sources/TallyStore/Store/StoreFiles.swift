import CTallySystem
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The operations on files that a store performs besides SQLite's: it looks before it opens, and keeps a token beside
/// the database. A simulated disk takes the place of the system's files in tests.
package protocol StoreFiles: Sendable {
  /// Returns the kind of file at a path.
  func kind(of path: String) -> StoreFileKind
  /// The first bytes of a file, fewer if it is shorter; nil if it cannot be read. Must not drop the locks that this
  /// process has on it.
  func head(_ count: Int, of path: String) -> [UInt8]?
  /// The one of a file's several names in its folder by which it is opened, so that its log and its token have one
  /// place.
  func canonical(_ path: String) -> String
  /// A small text, the number of the file that holds it, and what tells this writing of the file from any other, before
  /// it under the same number or over it; nil if it cannot be read.
  func token(at path: String) -> (text: String, fileNumber: UInt64, writing: String)?
  /// Puts a new file with a small text in the place of the old one, whole or not at all. `text` makes the text from the
  /// new file's number.
  func writeToken(at path: String, _ text: (UInt64) -> String) throws
  /// The bytes that are free where a file is; nil if that is not known.
  func freeBytes(at path: String) -> Int?
}

extension StoreFiles {
  package func canonical(_ path: String) -> String { path }
  package func freeBytes(at path: String) -> Int? { nil }
}

extension Store {
  /// Whether both are of one file, under any names.
  package func isSame(as other: Store) -> Bool {
    guard self !== other else { return true }
    guard let file, let otherFile = other.file else { return false }
    var (one, two) = (stat(), stat())
    guard stat(file, &one) == 0, stat(otherFile, &two) == 0 else { return false }
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino
  }
}

/// The kinds of file that a store may find where its own should be.
package enum StoreFileKind: Sendable {
  case nothing
  case file
  case folder
  /// A named pipe, for instance, which opening would wait on forever.
  case other
}

/// The system's files.
struct SystemFiles: StoreFiles {
  func kind(of path: String) -> StoreFileKind {
    var status = stat()
    // What a failing disk cannot tell is not nothing: opening it says what is wrong.
    guard stat(path, &status) == 0 else { return errno == EIO ? .file : .nothing }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .file
    case S_IFDIR: return .folder
    default: return .other
    }
  }

  /// Two names of one file would have a write-ahead log each, and SQLite would ruin it.
  func canonical(_ path: String) -> String {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1 else { return path }
    let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    let folder = url.deletingLastPathComponent()
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else { return path }
    let same = names.filter { name in
      var other = stat()
      return lstat(folder.appendingPathComponent(name).path, &other) == 0 && other.st_ino == status.st_ino
        && other.st_dev == status.st_dev
    }
    return same.min().map { folder.appendingPathComponent($0).path } ?? path
  }

  /// Reads a file by SQLite's own means. Closing any descriptor of a file drops all locks that the process has on it
  /// (https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_), and only
  /// SQLite knows whether a connection of this process needs them; it then keeps the descriptor.
  func head(_ count: Int, of path: String) -> [UInt8]? {
    // SQLite's locks on the index of a log are not among those that it knows of as a file's.
    if path.hasSuffix("-shm") { return KeptFiles.shared.head(count, of: path) }
    guard let system = sqlite3_vfs_find(nil), let open = system.pointee.xOpen else { return nil }
    var full = [CChar](repeating: 0, count: Int(system.pointee.mxPathname) + 1)
    guard let resolve = system.pointee.xFullPathname,
      resolve(system, path, Int32(full.count), &full) & 0xFF == SQLITE_OK,
      let name = sqlite3_create_filename(full, "", "", 0, nil)
    else { return nil }
    defer { sqlite3_free_filename(UnsafeMutablePointer(mutating: name)) }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: Int(system.pointee.szOsFile), alignment: 16)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: Int(system.pointee.szOsFile))
    let file = memory.bindMemory(to: sqlite3_file.self, capacity: 1)
    let status = open(system, name, file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nil)
    guard let methods = file.pointee.pMethods?.pointee else { return nil }
    defer { _ = methods.xClose?(file) }
    var size: sqlite3_int64 = 0
    guard status == SQLITE_OK, methods.xFileSize?(file, &size) == SQLITE_OK else { return nil }
    var bytes = [UInt8](repeating: 0, count: min(count, Int(size)))
    guard bytes.isEmpty || methods.xRead?(file, &bytes, Int32(bytes.count), 0) == SQLITE_OK else { return nil }
    return bytes
  }

  /// The first bytes, fewer at the file's end; nil if they cannot be read.
  fileprivate static func read(_ count: Int, from file: Int32) -> [UInt8]? {
    var isRead = true
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
      while length < count {
        let got = pread(file, buffer.baseAddress.map { $0 + length }, count - length, off_t(length))
        if got < 0, errno == EINTR { continue }
        isRead = got >= 0
        guard got > 0 else { return }
        length += got
      }
    }
    return isRead ? bytes : nil
  }

  func freeBytes(at path: String) -> Int? {
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
    return (attributes?[.systemFreeSize] as? NSNumber)?.intValue
  }

  /// No program can set when a file was made, so another file of that number differs; and `cp` over it alters when it
  /// was written to. Owners, permissions and names may change. Not nanoseconds: some file servers round those later.
  func token(at path: String) -> (text: String, fileNumber: UInt64, writing: String)? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var (status, made, written) = (stat(), Int64(), Int64())
    // A token is far shorter than this.
    guard fstat(file, &status) == 0, tally_file_times(file, &made, &written) == 0,
      let bytes = Self.read(1024, from: file), let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    return (text, UInt64(status.st_ino), "\(made) \(written)")
  }

  /// Foundation would ask for the owner's name at each look at a file, in a database of all users.
  func writeToken(at path: String, _ text: (UInt64) -> String) throws {
    let temporary = path + "-new"
    let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw Self.lastError }
    do {
      defer { close(file) }
      var status = stat()
      guard fstat(file, &status) == 0 else { throw Self.lastError }
      try Self.write(Array(text(UInt64(status.st_ino)).utf8), to: file)
    }
    guard rename(temporary, path) == 0 else { throw Self.lastError }
    #if canImport(Darwin)
      var url = URL(fileURLWithPath: path)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try url.setResourceValues(values)
    #endif
  }

  private static func write(_ bytes: [UInt8], to file: Int32) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, off_t(bytes.count - $0.count)) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw lastError }
      rest = rest.dropFirst(count)
    }
  }

  private static var lastError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}

/// Files that were looked at and stay open as long as the process lives, since closing them could drop its locks. There
/// are few: indexes of logs, where no log is.
private final class KeptFiles: Sendable {
  static let shared = KeptFiles()

  private struct Key: Hashable {
    var device: UInt64
    var number: UInt64
  }

  private let files = Mutex<[Key: Int32]>([:])

  func head(_ count: Int, of path: String) -> [UInt8]? {
    files.withLock { files in
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      let key = Key(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
      if let known = files[key] { return SystemFiles.read(count, from: known) }
      let file = open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return nil }
      // Another one may have come in its place since.
      guard fstat(file, &status) == 0 else { return nil }
      files[Key(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))] = file
      return SystemFiles.read(count, from: file)
    }
  }
}

extension DatabaseError {
  /// Creates SQLite's error for a file that Foundation cannot write, with the file's name.
  package init(writing path: String, _ error: any Error) {
    let cause = (error as? CocoaError)?.underlying ?? error
    let code: ResultCode =
      switch ((cause as? POSIXError)?.code, (error as? CocoaError)?.code) {
      case (.ENOSPC, _), (.EDQUOT, _), (_, .fileWriteOutOfSpace): .SQLITE_FULL
      case (.EROFS, _), (.EACCES, _), (.EPERM, _), (_, .fileWriteNoPermission), (_, .fileWriteVolumeReadOnly):
        .SQLITE_READONLY
      default: .SQLITE_IOERR
      }
    let reason = String(cString: sqlite3_errstr(code.rawValue))
    self.init(resultCode: code, message: "the file \(path) cannot be written: \(reason)")
  }
}
