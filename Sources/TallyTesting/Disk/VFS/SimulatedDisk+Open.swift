import GRDBSQLite

/// SQLite's operations on names.
extension SimulatedDisk {
  func open(_ name: String, _ flags: Int32) -> DiskHandle? {
    state.withLock { state in
      guard !state.faults.isOff, let number = state.number(of: name, canCreate: flags & SQLITE_OPEN_CREATE != 0) else {
        return nil
      }
      state.openCounts[number, default: 0] += 1
      return DiskHandle(self, number, name, generation: state.generation, flags: flags)
    }
  }

  func delete(_ name: String, thenSync: Bool) -> Int32 {
    state.withLock { state in
      guard !state.faults.isOff else { return DiskHandle.Failure.delete }
      guard state.image.names[name] != nil else { return DiskHandle.Failure.deleteNothing }
      switch state.faults.judge(DiskCall(kind: .delete, file: name)) {
      case .done:
        state.image.remove(name)
        if thenSync { state.image.syncNames(open: Set(state.openCounts.keys)) }
        return SQLITE_OK
      case .lastOne:
        state.image.remove(name)
        return DiskHandle.Failure.delete
      case .failed, .off: return DiskHandle.Failure.delete
      }
    }
  }

  func exists(_ name: String) -> Bool { state.withLock { $0.image.names[name] != nil && !$0.faults.isOff } }
}

extension DiskState {
  /// The file of a name, made if it may be.
  fileprivate mutating func number(of name: String, canCreate: Bool) -> UInt64? {
    if let number = image.names[name] { return number }
    guard canCreate else { return nil }
    switch faults.judge(DiskCall(kind: .create, file: name)) {
    case .done: return image.create(name)
    case .lastOne:
      _ = image.create(name)
      return nil
    case .failed, .off: return nil
    }
  }

  /// The memory that connections to a file share; nil for a program that was ended.
  mutating func sharedMemory(of number: UInt64, _ generation: Int) -> SharedMemory? {
    guard generation == self.generation else { return nil }
    let node = shared[number] ?? SharedNode(memory: SharedMemory(), users: 0)
    shared[number] = SharedNode(memory: node.memory, users: node.users + 1)
    return node.memory
  }

  /// The last connection that leaves takes the memory with it: the next one rebuilds the index from the log.
  mutating func leaveShared(_ number: UInt64, _ generation: Int) {
    guard generation == self.generation, let node = shared[number] else { return }
    shared[number] = node.users > 1 ? SharedNode(memory: node.memory, users: node.users - 1) : nil
  }
}

/// Memory that connections share, and how many do.
struct SharedNode: Sendable {
  var memory: SharedMemory
  var users: Int
}
