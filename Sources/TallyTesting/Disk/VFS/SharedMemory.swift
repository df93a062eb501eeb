import GRDBSQLite

/// The index of a write-ahead log, which all connections to one database share, and the eight locks on it. See
/// https://sqlite.org/walformat.html, section 2.
///
/// SQLite orders its own accesses to the memory; the rest is used under the disk's lock alone.
final class SharedMemory: @unchecked Sendable {
  private var regions: [UnsafeMutableRawPointer] = []
  private var sharedHolders = [Set<ObjectIdentifier>](repeating: [], count: Int(SQLITE_SHM_NLOCK))
  private var exclusiveHolders = [ObjectIdentifier?](repeating: nil, count: Int(SQLITE_SHM_NLOCK))

  deinit { for region in regions { region.deallocate() } }

  func has(_ region: Int) -> Bool { region < regions.count }

  func region(_ index: Int) -> UnsafeMutableRawPointer { regions[index] }

  func grow(to region: Int, of byteCount: Int) {
    while regions.count <= region {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
      memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
      regions.append(memory)
    }
  }

  /// Takes or gives back locks.
  /// - Returns: whether they were free.
  func lock(_ slots: Range<Int>, _ flags: Int32, for handle: ObjectIdentifier) -> Bool {
    if flags & SQLITE_SHM_UNLOCK != 0 {
      release(slots, of: handle)
      return true
    }
    let isFree = slots.allSatisfy { slot in
      guard exclusiveHolders[slot] == nil || exclusiveHolders[slot] == handle else { return false }
      return flags & SQLITE_SHM_SHARED != 0 || sharedHolders[slot].subtracting([handle]).isEmpty
    }
    guard isFree else { return false }
    for slot in slots {
      if flags & SQLITE_SHM_SHARED != 0 {
        sharedHolders[slot].insert(handle)
      } else {
        exclusiveHolders[slot] = handle
      }
    }
    return true
  }

  func release(_ slots: Range<Int> = 0..<Int(SQLITE_SHM_NLOCK), of handle: ObjectIdentifier) {
    for slot in slots {
      sharedHolders[slot].remove(handle)
      if exclusiveHolders[slot] == handle { exclusiveHolders[slot] = nil }
    }
  }
}
