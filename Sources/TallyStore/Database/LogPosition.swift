import GRDBSQLite

/// How far a file has come: the header of SQLite's index of the write-ahead log, which every commit changes, whoever
/// commits. While two positions are equal, nothing was committed between them.
///
/// The header is in memory that all processes share which have the file open, and SQLite itself looks at it before each
/// transaction. To look costs a hundredth of the smallest read, and holds up nobody. For the layout see
/// https://sqlite.org/walformat.html#the_wal_index_header.
struct LogPosition: Equatable, Sendable {
  fileprivate static let byteCount = 48
  private static let version: UInt32 = 3_007_000

  /// The number of commits, modulo 2^32.
  private let commits: UInt32
  private let head: SIMD4<UInt64>
  private let tail: SIMD2<UInt64>

  private init(_ header: UnsafeRawPointer) {
    commits = header.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
    head = header.loadUnaligned(as: SIMD4<UInt64>.self)
    tail = header.loadUnaligned(fromByteOffset: 32, as: SIMD2<UInt64>.self)
  }

  /// Reads the header as SQLite does: a writer writes the second copy first.
  fileprivate init?(_ index: UnsafeRawPointer, barrier: () -> Void) {
    self.init(index)
    barrier()
    guard self == Self(index + Self.byteCount), index.load(as: UInt32.self) == Self.version,
      index.load(fromByteOffset: 12, as: UInt8.self) != 0
    else { return nil }
  }

  /// Whether one commit leads from another position to this one.
  func isNext(after other: LogPosition) -> Bool { commits == other.commits &+ 1 }
}

extension Connection {
  /// The size of a piece of the index: SQLite maps it in such.
  private static let indexPiece: Int32 = 32_768

  /// Where the file is now; nil without a write-ahead log, and while the log's index is being written.
  ///
  /// For a connection that has read, and that nobody uses meanwhile. It keeps the file from leaving the log.
  func logPosition() -> LogPosition? { withLogIndex { index, barrier in LogPosition(index, barrier: barrier) } ?? nil }

  /// How many pages the log has, and how large they are; nil without a log, and if all of it is in the file, so that
  /// the next writer restarts it.
  ///
  /// For a connection that is writing.
  func logLength() -> (pages: Int, pageSize: Int)? {
    let length = withLogIndex { index, _ -> (pages: Int, pageSize: Int)? in
      let pages = index.load(fromByteOffset: 16, as: UInt32.self)
      let pageSize = Int(index.load(fromByteOffset: 14, as: UInt16.self))
      let copied = index.load(fromByteOffset: 2 * LogPosition.byteCount, as: UInt32.self)
      return pages == copied ? nil : (Int(pages), pageSize == 1 ? 1 << 16 : pageSize)
    }
    return length ?? nil
  }

  /// The write-ahead log, if there is one.
  func log() -> UnsafeMutablePointer<sqlite3_file>? {
    var log: UnsafeMutablePointer<sqlite3_file>?
    let found = sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log)
    return found == SQLITE_OK && log?.pointee.pMethods != nil ? log : nil
  }

  private func withLogIndex<T>(_ body: (UnsafeRawPointer, () -> Void) -> T) -> T? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    // Without a write-ahead log there is no index, and asking for it would make one. A rollback journal is only open
    // while its connection writes.
    guard log() != nil,
      sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
      let file, let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2,
      let map = methods.pointee.xShmMap, let barrier = methods.pointee.xShmBarrier
    else { return nil }
    var index: UnsafeMutableRawPointer?
    guard map(file, 0, Self.indexPiece, 0, &index) == SQLITE_OK, let index else { return nil }
    return body(UnsafeRawPointer(index)) { barrier(file) }
  }
}
