import Foundation
import TallyStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The file system operations of a folder mailbox. Foundation's calls follow links, wait for pipes and read whole
/// folders into memory.
enum FolderFiles {
  static let pieceSize = 1 << 18
  private static let staleSeconds = 86_400

  static func failure(_ code: MailboxError.Code, _ doing: String) -> MailboxError {
    let number = errno
    let gone: Set<Int32> = [ENOTDIR, ENXIO, ENODEV, ESTALE]
    let isGone = gone.contains(number) || number == ENOENT && code == .unwritable
    return MailboxError(
      isGone ? .unavailable : code, "cannot \(doing): \(String(cString: strerror(number)))",
      cause: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
  }

  // MARK: Listing

  /// Gives each name, one by one: a folder of any size costs the memory of one.
  static func forEachName(in folder: String, _ body: (String) throws -> Void) throws {
    guard let directory = opendir(folder) else {
      throw MailboxError(.unavailable, failure(.unavailable, "open the folder").message)
    }
    defer { closedir(directory) }
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        guard errno == 0 else { throw MailboxError(.unavailable, failure(.unavailable, "read the folder").message) }
        return
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: MailboxLimits.nameBytes + 1) {
          String(validatingCString: $0)
        }
      }
      if let name { try body(name) }
    }
  }

  /// Returns the item under a name, looked at without following links; nil if it has gone meanwhile.
  static func item(_ name: String, at path: String, isPlaceholder: Bool) -> MailboxItem? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    guard status.st_mode & S_IFMT == S_IFREG else { return MailboxItem(name: name, state: .notAFile) }
    if isPlaceholder || isDataless(status) { return MailboxItem(name: name, state: .notDownloaded) }
    let (changed, modified) = times(status)
    // Not the inode: where a file system has none (exFAT, sshfs) each mount makes them up.
    return MailboxItem(
      name: name,
      version: "\(status.st_size)-\(modified.tv_sec).\(modified.tv_nsec)-\(changed.tv_sec).\(changed.tv_nsec)",
      byteCount: Int(status.st_size))
  }

  /// A file of a cloud drive whose content is not on this device; reading it would wait for the network.
  private static func isDataless(_ status: stat) -> Bool {
    #if canImport(Darwin)
      // SF_DATALESS, see stat(2).
      return status.st_flags & 0x4000_0000 != 0
    #else
      return false
    #endif
  }

  private static func times(_ status: stat) -> (changed: timespec, modified: timespec) {
    #if canImport(Darwin)
      return (status.st_ctimespec, status.st_mtimespec)
    #else
      return (status.st_ctim, status.st_mtim)
    #endif
  }

  // MARK: Reading

  /// A file being read, as far as it went when it was opened.
  final class Reading {
    private let descriptor: Int32
    private var rest: Int

    init(_ path: String, from offset: Int = 0) throws {
      // Without O_NONBLOCK, opening a pipe waits for a writer.
      descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw FolderFiles.failure(
          errno == ELOOP ? .notAFile : errno == ENOENT ? .noSuchFile : .unreadable, "open the file")
      }
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        close(descriptor)
        throw MailboxError(.notAFile, "it is not a plain file")
      }
      rest = max(0, Int(status.st_size) - offset)
      guard offset == 0 || lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else {
        // All properties are set, so `deinit` closes it.
        throw FolderFiles.failure(.unreadable, "read the file")
      }
    }

    deinit { close(descriptor) }

    func next() throws -> [UInt8]? {
      guard rest > 0 else { return nil }
      var count = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: min(rest, FolderFiles.pieceSize)) { buffer, initialized in
        repeat { count = read(descriptor, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
        initialized = max(0, count)
      }
      guard count >= 0 else { throw FolderFiles.failure(.unreadable, "read the file") }
      rest = count == 0 ? 0 : rest - count
      return bytes.isEmpty ? nil : bytes
    }
  }

  // MARK: Writing

  /// Drives do not carry names like these to other devices (`~*.tmp`: Dropbox, OneDrive, iCloud).
  static func isTemporary(_ name: String) -> Bool { name.hasPrefix("~tally-") && name.hasSuffix(".tmp") }

  /// Removes what a writer has begun and not ended within a day.
  static func removeIfStale(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
    if time(nil) - times(status).modified.tv_sec > staleSeconds { unlink(path) }
  }

  static func save(_ source: () throws -> [UInt8]?, to target: String, in folder: String) throws {
    guard FileRole(of: target) == nil else {
      throw MailboxError(.unwritable, "a store or database has the name of the file")
    }
    // It would be found out only once all of the content is written.
    var status = stat()
    guard lstat(target, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
      throw MailboxError(.notAFile, "a folder, link or pipe has the name of the file")
    }
    let temporary = "\(folder)/~tally-\(String(UInt64.random(in: .min ... .max), radix: 16)).tmp"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw failure(.unwritable, "create a file") }
    do {
      defer { close(descriptor) }
      while let piece = try source() { try append(piece, descriptor) }
      guard sync(descriptor) else { throw failure(.unwritable, "write the file to the disk") }
    } catch {
      unlink(temporary)
      throw error
    }
    guard rename(temporary, target) == 0 else {
      let error = failure(.unwritable, "give the file its name")
      unlink(temporary)
      throw error
    }
    // The name must outlast a power cut as well; not every file system can be asked for that.
    let parent = open(folder, O_RDONLY | O_CLOEXEC)
    if parent >= 0 {
      _ = sync(parent)
      close(parent)
    }
  }

  private static func append(_ piece: [UInt8], _ descriptor: Int32) throws {
    var offset = 0
    while offset < piece.count {
      let count = piece[offset...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(.unwritable, "write the file") }
      offset += count
    }
  }

  private static func sync(_ descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      // Only a full sync reaches the medium; file servers do not know it.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
    #endif
    return fsync(descriptor) == 0
  }

  static func remove(_ path: String) throws {
    guard unlink(path) != 0, errno != ENOENT else { return }
    throw failure(.unwritable, "remove the file")
  }
}
