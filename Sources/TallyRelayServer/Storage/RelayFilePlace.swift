#if Relay
  import Foundation
  import TallyRelayProtocol

  /// Notices when a relay's file, or a file that SQLite keeps beside it, is removed, renamed or replaced while it is
  /// open: what is written from then on would be lost when the process ends.
  struct RelayFilePlace: Sendable {
    private struct Part: Sendable {
      let path: String
      let device: UInt64
      let number: UInt64

      init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (self.path, device, number) = (path, UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
      }

      var isThere: Bool { Part(path).map { $0.device == device && $0.number == number } ?? false }
    }

    private let parts: [Part]

    /// Remembers the files that are there now: the database, its log, and the index of that.
    init(_ path: String) throws {
      parts = try ["", "-wal", "-shm"].map { end in
        guard let part = Part(path + end) else { throw RelayStoreError(.noSuchFile, "there is no file \(path)\(end)") }
        return part
      }
    }

    /// - Throws: `RelayFileGone` if another file, or none, has one of the names now.
    func check() throws {
      for part in parts where !part.isThere { throw RelayFileGone(path: part.path) }
    }
  }

  /// A file that a relay serves from no longer has its name. It is the same file again when it is renamed back.
  struct RelayFileGone: RelayStorageFailure {
    let path: String

    var problem: RelayProblem { RelayProblem(.storageFailed, "the relay's file is gone", retryAfter: 5) }
    var fault: String {
      "\(path) was removed, renamed or replaced; nothing is acknowledged until it is back or the relay is restarted"
    }
  }
#endif
