import GRDBSQLite

/// The state that SQLite keeps of an open file of a simulated disk: its own part, and ours behind it.
struct OpenFile {
  var base: sqlite3_file
  var handle: Unmanaged<DiskHandle>

  static func start(_ file: UnsafeMutablePointer<sqlite3_file>, _ handle: DiskHandle) {
    UnsafeMutableRawPointer(file).initializeMemory(
      as: OpenFile.self,
      repeating: OpenFile(base: sqlite3_file(pMethods: methods), handle: .passRetained(handle)), count: 1)
  }

  fileprivate static func handle(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Unmanaged<DiskHandle>? {
    UnsafeMutableRawPointer(file)?.assumingMemoryBound(to: OpenFile.self).pointee.handle
  }

  /// Runs a method on the file that SQLite means.
  fileprivate static func on(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (DiskHandle) -> Int32
  ) -> Int32 {
    handle(file).map { $0._withUnsafeGuaranteedRef(body) } ?? SQLITE_MISUSE
  }

  /// The methods of an open file; never freed, since SQLite may use them as long as the process lives.
  private nonisolated(unsafe) static let methods: UnsafePointer<sqlite3_io_methods> = {
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    var table = sqlite3_io_methods()
    table.iVersion = 2
    addFileMethods(to: &table)
    addLockMethods(to: &table)
    addSharedMemoryMethods(to: &table)
    methods.initialize(to: table)
    return UnsafePointer(methods)
  }()

  private static func addFileMethods(to table: inout sqlite3_io_methods) {
    table.xClose = { file in
      guard let handle = OpenFile.handle(file) else { return SQLITE_OK }
      handle.takeUnretainedValue().close()
      handle.release()
      return SQLITE_OK
    }
    table.xRead = { file, buffer, count, offset in
      OpenFile.on(file) { $0.read(UnsafeMutableRawBufferPointer(start: buffer, count: Int(count)), at: Int(offset)) }
    }
    table.xWrite = { file, buffer, count, offset in
      OpenFile.on(file) { $0.write(UnsafeRawBufferPointer(start: buffer, count: Int(count)), at: Int(offset)) }
    }
    table.xTruncate = { file, count in OpenFile.on(file) { $0.truncate(to: Int(count)) } }
    table.xSync = { file, _ in OpenFile.on(file) { $0.sync() } }
    table.xFileSize = { file, size in
      OpenFile.on(file) { handle in
        guard let count = handle.byteCount else { return DiskHandle.Failure.size }
        size?.pointee = sqlite3_int64(count)
        return SQLITE_OK
      }
    }
    table.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
    table.xSectorSize = { _ in Int32(DiskFile.sector) }
    table.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
  }

  private static func addLockMethods(to table: inout sqlite3_io_methods) {
    table.xLock = { file, level in OpenFile.on(file) { $0.lock(level) } }
    table.xUnlock = { file, level in OpenFile.on(file) { $0.unlock(level) } }
    table.xCheckReservedLock = { file, result in
      OpenFile.on(file) {
        result?.pointee = $0.isReserved ? 1 : 0
        return SQLITE_OK
      }
    }
  }

  private static func addSharedMemoryMethods(to table: inout sqlite3_io_methods) {
    table.xShmMap = { file, region, size, extend, result in
      OpenFile.on(file) { handle in
        var memory: UnsafeMutableRawPointer?
        let status = handle.mapShared(Int(region), of: Int(size), canGrow: extend != 0, &memory)
        result?.pointee = memory
        return status
      }
    }
    table.xShmLock = { file, offset, count, flags in
      OpenFile.on(file) { $0.lockShared(Int(offset)..<Int(offset + count), flags) }
    }
    // Taking the lock of any mutex is a barrier.
    table.xShmBarrier = { file in
      _ = OpenFile.on(file) {
        $0.barrier()
        return SQLITE_OK
      }
    }
    table.xShmUnmap = { file, _ in
      OpenFile.on(file) {
        $0.unmapShared()
        return SQLITE_OK
      }
    }
  }
}
