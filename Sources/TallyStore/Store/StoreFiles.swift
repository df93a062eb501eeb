import Foundation
import GRDB
import GRDBSQLite

/// The operations on files that a store performs besides SQLite's: it looks before it opens, and keeps a token beside
/// the database. A simulated disk takes the place of the system's files in tests.
package protocol StoreFiles: Sendable {
  /// Returns the kind of file at a path.
  func kind(of path: String) -> StoreFileKind
  /// The first bytes of a file, fewer if it is shorter; nil if it cannot be read.
  func head(_ count: Int, of path: String) -> [UInt8]?
  /// The one of a file's several names in its folder by which it is opened, so that its log and its token have one
  /// place.
  func canonical(_ path: String) -> String
  /// A small text, and the number of the file that holds it; nil if it cannot be read.
  func token(at path: String) -> (text: String, fileNumber: UInt64)?
  /// Puts a new file with a small text in the place of the old one, whole or not at all. `text` makes the text from the
  /// new file's number.
  func writeToken(at path: String, _ text: (UInt64) -> String) throws
  /// The bytes that are free where a file is; nil if nobody can tell.
  func freeBytes(at path: String) -> Int?
}

extension StoreFiles {
  package func canonical(_ path: String) -> String { path }
  package func freeBytes(at path: String) -> Int? { nil }
}

extension Store {
  /// Whether both are of one file, whatever they call it.
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
  /// A named pipe, for instance, which opening would wait on for ever.
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

  func head(_ count: Int, of path: String) -> [UInt8]? {
    guard let file = FileHandle(forReadingAtPath: path), let bytes = try? file.read(upToCount: count) else {
      return nil
    }
    return Array(bytes)
  }

  func freeBytes(at path: String) -> Int? {
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
    return (attributes?[.systemFreeSize] as? NSNumber)?.intValue
  }

  func token(at path: String) -> (text: String, fileNumber: UInt64)? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8), let number = Self.fileNumber(path) else {
      return nil
    }
    return (text, number)
  }

  func writeToken(at path: String, _ text: (UInt64) -> String) throws {
    let temporary = path + "-new"
    try Data().write(to: URL(fileURLWithPath: temporary))
    guard let number = Self.fileNumber(temporary) else { throw CocoaError(.fileWriteUnknown) }
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: temporary))
    defer { try? handle.close() }
    try handle.write(contentsOf: Data(text(number).utf8))
    guard rename(temporary, path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    #if canImport(Darwin)
      var url = URL(fileURLWithPath: path)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try url.setResourceValues(values)
    #endif
  }

  private static func fileNumber(_ path: String) -> UInt64? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.systemFileNumber] as? NSNumber)?.uint64Value
  }
}

extension DatabaseError {
  /// Creates SQLite's error for a file that Foundation cannot write, with the file's name.
  init(writing path: String, _ error: any Error) {
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
