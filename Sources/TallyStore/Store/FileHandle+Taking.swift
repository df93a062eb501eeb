import Foundation

/// Files that one user at a time has, such as a transfer that waits beside a store.
extension FileHandle {
  /// A new file that only this user reads, taken.
  package convenience init(creating url: URL) throws { try self.init(url, O_RDWR | O_CREAT | O_EXCL, isTaken: true) }

  /// A file that is there, taken: no other call, in this process or another, takes it before it is closed.
  /// - Throws: `POSIXError`; EWOULDBLOCK if it is taken already.
  package convenience init(taking url: URL) throws { try self.init(url, O_RDWR, isTaken: true) }

  /// A file that is there, to be read together with others.
  package convenience init(sharing url: URL) throws { try self.init(url, O_RDONLY, isTaken: false) }

  private convenience init(_ url: URL, _ flags: Int32, isTaken: Bool) throws {
    // Neither follows a link nor waits for the other end of a pipe.
    let descriptor = open(url.path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    self.init(fileDescriptor: descriptor, closeOnDealloc: true)
    guard !isTaken || flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EWOULDBLOCK)
    }
  }
}
