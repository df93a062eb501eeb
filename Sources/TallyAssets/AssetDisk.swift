#if PlantedFaults
  import Synchronization

  /// Faults that tests cause in the folder of a store's files. After a number of operations the folder no longer
  /// changes, as if the process had been killed, or takes no more bytes, as on a full disk.
  ///
  /// An operation that comes after the end throws `AssetError.unwritable`. After a kill, what would be tidied up stays
  /// as well.
  package enum AssetDisk {
    /// How the operations end.
    package enum Ending: Sendable {
      case killed, full
    }

    private struct State {
      var ending: Ending
      var operationsLeft: Int
    }

    private static let states = Mutex<[String: State]>([:])

    /// Lets so many operations in a folder succeed, and no further one.
    package static func end(_ folder: String, as ending: Ending, after operations: Int) {
      states.withLock { $0[folder] = State(ending: ending, operationsLeft: operations) }
    }

    /// Lets all operations in a folder succeed again.
    /// - Returns: whether an operation has failed.
    @discardableResult
    package static func goOn(_ folder: String) -> Bool {
      states.withLock { $0.removeValue(forKey: folder).map { $0.operationsLeft < 0 } ?? false }
    }

    /// Counts an operation.
    static func step(in folder: String) throws {
      let isOver = states.withLock { states in
        guard var state = states[folder] else { return false }
        state.operationsLeft = max(-1, state.operationsLeft - 1)
        states[folder] = state
        return state.operationsLeft < 0
      }
      if isOver { throw AssetError(.unwritable, "the disk of this test has ended") }
    }

    /// Whether what was begun can be tidied up: on a full disk it can.
    static func tidies(_ folder: String) -> Bool {
      states.withLock { states in
        guard let state = states[folder] else { return true }
        return state.ending == .full || state.operationsLeft >= 0
      }
    }
  }
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension AssetFolder {
  /// Comes before each operation that changes the folder; tests let them fail.
  @inline(__always)
  func step() throws {
    #if PlantedFaults
      try AssetDisk.step(in: path)
    #endif
  }

  /// Removes what was begun.
  @inline(__always)
  func tidy(_ file: String) {
    #if PlantedFaults
      guard AssetDisk.tidies(path) else { return }
    #endif
    unlink(file)
  }
}
