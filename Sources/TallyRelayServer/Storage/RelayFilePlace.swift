#if Relay
  import Foundation
  import TallyRelayProtocol

  /// Notices when a relay's file is removed, renamed or replaced while it is open: what is written from then on would
  /// be lost when the process ends.
  struct RelayFilePlace: Sendable {
    private let path: String
    private let device: UInt64
    private let number: UInt64

    /// Remembers the file that is there now.
    init(_ path: String) throws {
      guard let (device, number) = Self.identity(path) else {
        throw RelayStoreError(.noSuchFile, "there is no file \(path)")
      }
      (self.path, self.device, self.number) = (path, device, number)
    }

    /// - Throws: `RelayFileGone` if another file, or none, has the name now.
    func check() throws {
      guard let (device, number) = Self.identity(path), device == self.device, number == self.number else {
        throw RelayFileGone(path: path)
      }
    }

    private static func identity(_ path: String) -> (UInt64, UInt64)? {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      return (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
    }
  }

  /// The file that a relay serves from no longer has its name. It is the same file again when it is renamed back.
  struct RelayFileGone: RelayStorageFailure {
    let path: String

    var problem: RelayProblem { RelayProblem(.storageFailed, "the relay's file is gone", retryAfter: 5) }
    var fault: String {
      "\(path) was removed, renamed or replaced; nothing is acknowledged until it is back or the relay is restarted"
    }
  }
#endif
