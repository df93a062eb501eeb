#if Relay
  import Foundation

  /// Says that a process serves from a relay's file: `flock` on a file beside it, and on Linux on the file itself,
  /// which may have several names. It ends with the process, however that ends, and does not keep `tally relay token`
  /// from writing. On other systems such a lock is one for SQLite as well.
  final class RelayFileLock: Sendable {
    private let descriptors: [Int32]

    init(on path: String) throws {
      var taken: [Int32] = []
      do {
        taken.append(try Self.lock(path + "-serving", O_RDWR | O_CREAT))
        #if os(Linux)
          taken.append(try Self.lock(path, O_RDONLY))
        #endif
      } catch {
        for descriptor in taken { close(descriptor) }
        throw error
      }
      descriptors = taken
    }

    private static func lock(_ path: String, _ flags: Int32) throws -> Int32 {
      let descriptor = open(path, flags | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw RelayStoreError(
          errno == EROFS ? .readOnly : .cannotLock, "cannot open \(path): \(String(cString: strerror(errno)))")
      }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let number = errno
        close(descriptor)
        guard number == EWOULDBLOCK else {
          throw RelayStoreError(.cannotLock, "cannot lock \(path): \(String(cString: strerror(number)))")
        }
        throw RelayStoreError(.inUse, "another tally relay serves from this file")
      }
      return descriptor
    }

    /// Lets another process serve.
    func release() { for descriptor in descriptors { flock(descriptor, LOCK_UN) } }

    deinit { for descriptor in descriptors { close(descriptor) } }
  }
#endif
