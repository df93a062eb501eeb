import GRDBSQLite

/// One file that SQLite has open. It stops working when its program is ended by the disk.
///
/// SQLite uses a handle from one thread at a time; what handles share is under the disk's lock.
final class DiskHandle: @unchecked Sendable {
  let disk: SimulatedDisk
  private let number: UInt64
  private let name: String
  private let generation: Int
  /// SQLite's Unix file system syncs the folder with the first sync of a journal or log, which has just made it as far
  /// as it knows.
  private var mustSyncFolder: Bool
  private var shared: SharedMemory?

  /// SQLite's extended codes, which its header spells in a way that Swift does not import.
  enum Failure {
    static let read = SQLITE_IOERR | 1 << 8
    static let shortRead = SQLITE_IOERR | 2 << 8
    static let write = SQLITE_IOERR | 3 << 8
    static let sync = SQLITE_IOERR | 4 << 8
    static let truncate = SQLITE_IOERR | 6 << 8
    static let size = SQLITE_IOERR | 7 << 8
    static let delete = SQLITE_IOERR | 10 << 8
    static let lock = SQLITE_IOERR | 15 << 8
    static let sharedSize = SQLITE_IOERR | 19 << 8
    static let sharedLock = SQLITE_IOERR | 20 << 8
    static let sharedMap = SQLITE_IOERR | 21 << 8
    static let deleteNothing = SQLITE_IOERR | 23 << 8
  }

  init(_ disk: SimulatedDisk, _ number: UInt64, _ name: String, generation: Int, flags: Int32) {
    self.disk = disk
    self.number = number
    self.name = name
    self.generation = generation
    let journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL
    mustSyncFolder = flags & SQLITE_OPEN_CREATE != 0 && flags & journals != 0
  }

  private var id: ObjectIdentifier { ObjectIdentifier(self) }

  /// Runs the body unless the program was ended or the machine is off.
  private func alive(else failure: Int32, _ body: (inout DiskState) -> Int32) -> Int32 {
    disk.state.withLock { state in
      state.generation == generation && !state.faults.isOff ? body(&state) : failure
    }
  }

  /// Runs a call that changes the disk, or fails it. A call in which the power goes is done as far as a power cut
  /// leaves it.
  private func change(_ kind: DiskCall.Kind, else failure: Int32, _ body: (inout DiskState) -> Int32) -> Int32 {
    alive(else: failure) { state in
      switch state.faults.judge(DiskCall(kind: kind, file: name)) {
      case .done: return body(&state)
      case .failed(.noSpace): return kind == .sync || kind == .delete ? failure : SQLITE_FULL
      case .failed, .off: return failure
      case .lastOne:
        if kind != .sync { _ = body(&state) }
        return failure
      }
    }
  }

  func close() {
    unmapShared()
    disk.state.withLock { state in
      guard state.generation == generation else { return }
      state.locks[number]?.unlock(SQLITE_LOCK_NONE, for: id)
      state.openCounts[number, default: 1] -= 1
      if state.openCounts[number] == 0 { state.openCounts[number] = nil }
    }
  }

  // MARK: Bytes

  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
    alive(else: Failure.read) { state in
      let there = state.image.files[number]?.part(offset..<offset + buffer.count) ?? []
      there.withUnsafeBytes { buffer.copyMemory(from: $0) }
      guard there.count < buffer.count else { return SQLITE_OK }
      UnsafeMutableRawBufferPointer(rebasing: buffer[there.count...]).initializeMemory(as: UInt8.self, repeating: 0)
      return Failure.shortRead
    }
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
    alive(else: Failure.write) { state in
      let verdict = state.faults.judge(DiskCall(kind: .write, file: name))
      let count: Int
      switch verdict {
      case .done, .lastOne:
        // Overwriting needs no room.
        let end = state.image.files[number]?.bytes.count ?? 0
        let overwritten = max(0, end - offset)
        count = min(buffer.count, overwritten + min(buffer.count, state.room))
      case .failed(.shortWrite): count = buffer.count / 2
      case .failed(.noSpace): return SQLITE_FULL
      case .failed, .off: return Failure.write
      }
      state.image.change(number) { $0.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset) }
      guard case .lastOne = verdict else { return count < buffer.count ? SQLITE_FULL : SQLITE_OK }
      return Failure.write
    }
  }

  func truncate(to count: Int) -> Int32 {
    change(.truncate, else: Failure.truncate) { state in
      state.image.change(number) { $0.truncate(to: count) }
      return SQLITE_OK
    }
  }

  func sync() -> Int32 {
    change(.sync, else: Failure.sync) { state in
      state.image.change(number) { $0.sync() }
      if mustSyncFolder { state.image.syncNames(open: Set(state.openCounts.keys)) }
      mustSyncFolder = false
      return SQLITE_OK
    }
  }

  var byteCount: Int? {
    var count: Int?
    _ = alive(else: Failure.size) { state in
      count = state.image.files[number]?.bytes.count ?? 0
      return SQLITE_OK
    }
    return count
  }

  // MARK: Locks

  func lock(_ level: Int32) -> Int32 {
    alive(else: Failure.lock) { $0.locks[number, default: FileLocks()].lock(level, for: id) ? SQLITE_OK : SQLITE_BUSY }
  }

  func unlock(_ level: Int32) -> Int32 {
    alive(else: SQLITE_OK) { state in
      state.locks[number]?.unlock(level, for: id)
      return SQLITE_OK
    }
  }

  var isReserved: Bool {
    disk.state.withLock { $0.generation == generation && $0.locks[number]?.isReserved ?? false }
  }

  // MARK: Shared memory

  func mapShared(
    _ region: Int, of size: Int, canGrow: Bool, _ memory: inout UnsafeMutableRawPointer?
  ) -> Int32 {
    let node = shared ?? disk.state.withLock { $0.sharedMemory(of: number, generation) }
    guard let node else { return Failure.sharedMap }
    shared = node
    var found: UnsafeMutableRawPointer?
    let isThere = alive(else: Failure.sharedMap) { _ in
      if node.has(region) { found = node.region(region) }
      return SQLITE_OK
    }
    memory = found
    guard isThere == SQLITE_OK, found == nil, canGrow else { return isThere }
    let status = change(.share, else: Failure.sharedSize) { _ in
      node.grow(to: region, of: size)
      found = node.region(region)
      return SQLITE_OK
    }
    memory = found
    return status
  }

  func lockShared(_ slots: Range<Int>, _ flags: Int32) -> Int32 {
    guard let shared else { return Failure.sharedLock }
    let isRelease = flags & SQLITE_SHM_UNLOCK != 0
    return alive(else: isRelease ? SQLITE_OK : Failure.sharedLock) { _ in
      shared.lock(slots, flags, for: id) ? SQLITE_OK : SQLITE_BUSY
    }
  }

  func barrier() { disk.state.withLock { _ in } }

  func unmapShared() {
    guard let shared else { return }
    self.shared = nil
    disk.state.withLock { state in
      shared.release(of: id)
      state.leaveShared(number, generation)
    }
  }
}
