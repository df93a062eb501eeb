import Foundation
import GRDB
import TallyStore
import Testing

/// The write-ahead log while somebody reads an old snapshot.
@Suite struct CheckpointTests {
  private let scratch: Scratch
  private let writer: DatabaseQueue
  private let pacer = CheckpointPacer()

  init() throws {
    scratch = try Scratch()
    writer = try DatabaseQueue(path: scratch.path("log"))
    let pacer = pacer
    try writer.inDatabase { db in
      try db.execute(sql: "PRAGMA journal_mode = WAL")
      try db.execute(sql: "PRAGMA synchronous = OFF")
      pacer.follow(try #require(db.sqliteConnection))
    }
    try writer.write { db in
      try db.execute(sql: "CREATE TABLE t(n INTEGER PRIMARY KEY, count, value)")
      for number in 0..<3000 {
        try db.execute(sql: "INSERT INTO t VALUES(?, 0, zeroblob(3000))", arguments: [number])
      }
    }
  }

  /// Writes one page in each transaction.
  /// - Returns: the seconds of processor time that this thread used.
  private func commit(_ count: Int) throws -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    return try writer.inDatabase { db in
      let update = try db.makeStatement(sql: "UPDATE t SET count = count + 1 WHERE n = ?")
      let start = now()
      for number in 0..<count { try update.execute(arguments: [number * 7 % 3000]) }
      return now() - start
    }
  }

  private var logSize: Int {
    get throws {
      try #require(FileManager.default.attributesOfItem(atPath: scratch.path("log-wal"))[.size] as? Int)
    }
  }

  /// Somebody who keeps a snapshot.
  private func reader() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let reader = try DatabaseQueue(path: scratch.path("log"), configuration: configuration)
    try reader.inDatabase { try $0.execute(sql: "BEGIN; SELECT count(*) FROM t") }
    return reader
  }

  /// The log of large pages takes no more room than that of small ones, but for SQLite's thousand pages.
  @Test(arguments: [(512, 4000), (4096, 4000), (16384, 1024), (65536, 1000)])
  func theSizeOfAPageCounts(size: Int, most: Int) throws {
    let path = scratch.path("pages")
    let (writer, pacer) = (try DatabaseQueue(path: path), CheckpointPacer())
    try writer.inDatabase { db in
      try db.execute(sql: "PRAGMA page_size = \(size); PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
      pacer.follow(try #require(db.sqliteConnection))
      try db.execute(sql: "CREATE TABLE t(n)")
      try db.execute(sql: "INSERT INTO t VALUES(0)")
      let update = try db.makeStatement(sql: "UPDATE t SET n = n + 1")
      for _ in 0..<(most + most / 2) { try update.execute() }
    }
    let size = try #require(FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int) / (size + 24)
    #expect(size >= most - 10 && size <= most + 10, "\(size) pages")
    try writer.close()
  }

  @Test func aCommitCostsTheSameHoweverLongSomebodyReads() throws {
    let reader = try reader()
    _ = try commit(1000)
    let early = try commit(2000)
    _ = try commit(16_000)
    let late = try commit(2000)
    try reader.inDatabase { try $0.execute(sql: "COMMIT") }
    #expect(late < 3 * early, "\(early) and \(late) s")
  }

  @Test func theLogBeginsAnewWhenNobodyReadsAnyMore() throws {
    let reader = try reader()
    _ = try commit(8000)
    let size = try logSize
    try reader.inDatabase { try $0.execute(sql: "COMMIT") }
    _ = try commit(20_000)
    #expect(try logSize < size * 3 / 2)
  }

  @Test func withoutReadersTheLogStaysShort() throws {
    _ = try commit(10_000)
    #expect(try logSize < 16 << 20)
  }
}
