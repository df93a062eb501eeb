#if Relay
  import Foundation

  /// Says that a process serves from a relay's file: `flock` on a file beside it. It ends with the process, however
  /// that ends, and does not keep `tally relay token` from writing.
  final class RelayFileLock: Sendable {
    private let descriptor: Int32

    init(beside path: String) throws {
      let lockPath = path + "-serving"
      descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw RelayStoreError(.cannotLock, "cannot create \(lockPath): \(String(cString: strerror(errno)))")
      }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let number = errno
        close(descriptor)
        guard number == EWOULDBLOCK else {
          throw RelayStoreError(.cannotLock, "cannot lock \(lockPath): \(String(cString: strerror(number)))")
        }
        throw RelayStoreError(.inUse, "another tally relay serves from this file")
      }
    }

    /// Lets another process serve.
    func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
  }
#endif
