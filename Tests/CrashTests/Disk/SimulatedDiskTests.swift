import Foundation
import GRDB
import TallyTesting
import TestEffort
import Testing

/// The simulated disk by itself, under plain SQLite.
@Suite struct SimulatedDiskTests {
  private func database(_ disk: SimulatedDisk, _ pragmas: String...) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      for pragma in pragmas { try db.execute(sql: "PRAGMA \(pragma)") }
    }
    return try DatabaseQueue(path: disk.path("db"), configuration: configuration)
  }

  private func fill(_ queue: DatabaseQueue, _ numbers: ClosedRange<Int>) throws {
    try queue.write { try $0.execute(sql: "CREATE TABLE IF NOT EXISTS t(n INTEGER PRIMARY KEY, b BLOB)") }
    for number in numbers {
      try queue.write { try $0.execute(sql: "INSERT INTO t VALUES(?, randomblob(3000))", arguments: [number]) }
    }
  }

  private func numbers(_ queue: DatabaseQueue) throws -> [Int] {
    try queue.read { db in
      #expect(try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok")
      guard try db.tableExists("t") else { return [] }
      return try Int.fetchAll(db, sql: "SELECT n FROM t ORDER BY n")
    }
  }

  @Test(arguments: ["journal_mode = DELETE", "journal_mode = TRUNCATE", "journal_mode = PERSIST", "journal_mode = WAL"])
  func whatWasSyncedSurvivesEveryPowerCut(journal: String) throws {
    for seed in Effort.seeds(20) {
      var generator = SplitMix64(seed: seed)
      let disk = SimulatedDisk()
      try fill(try database(disk, journal, "synchronous = EXTRA"), 1...10)
      disk.powerCut(using: &generator)
      #expect(try numbers(try database(disk)) == Array(1...10), "TALLY_SEED=\(seed)")
    }
  }

  @Test func whatWasNotSyncedMayGoButOnlyFromTheEnd() throws {
    var outcomes = Set<Int>()
    for seed in Effort.seeds(60) {
      var generator = SplitMix64(seed: seed)
      let disk = SimulatedDisk()
      let queue = try database(disk, "journal_mode = WAL", "synchronous = FULL")
      try fill(queue, 1...5)
      try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
      try fill(queue, 6...12)
      disk.powerCut(using: &generator)
      let left = try numbers(try database(disk))
      #expect(left.starts(with: 1...5), "TALLY_SEED=\(seed)")
      #expect(left == Array(1...max(1, left.count)), "TALLY_SEED=\(seed)")
      outcomes.insert(left.count)
    }
    #expect(outcomes.count > 3 || Effort.seeds(60).count == 1)
  }

  @Test func aProgramThatNeverSyncsLosesItsDatabase() throws {
    var broken = 0
    for seed in Effort.seeds(60) {
      var generator = SplitMix64(seed: seed)
      let disk = SimulatedDisk()
      try fill(try database(disk, "journal_mode = OFF", "synchronous = OFF"), 1...20)
      disk.powerCut(using: &generator)
      let isSound = try? database(disk).read { try String.fetchOne($0, sql: "PRAGMA integrity_check") == "ok" }
      if isSound != true { broken += 1 }
    }
    #expect(broken > 0)
  }

  @Test func aKilledProgramLosesNothingThatItWrote() throws {
    let disk = SimulatedDisk()
    let queue = try database(disk, "journal_mode = WAL", "synchronous = OFF")
    try fill(queue, 1...10)
    disk.kill()
    #expect(throws: DatabaseError.self) { try fill(queue, 11...11) }
    #expect(try numbers(try database(disk)) == Array(1...10))
    #expect(throws: DatabaseError.self) { try fill(queue, 12...12) }
  }

  @Test func aCutIsDecidedByItsSeed() throws {
    let disk = SimulatedDisk()
    try fill(try database(disk, "journal_mode = WAL", "synchronous = NORMAL"), 1...10)
    let image = disk.image
    var differ = 0
    for seed in UInt64(1)...20 {
      var one = SplitMix64(seed: seed)
      var two = SplitMix64(seed: seed)
      var other = SplitMix64(seed: seed + 1)
      let cut = image.afterPowerCut(using: &one)
      let again = image.afterPowerCut(using: &two)
      #expect(cut.fileNames == again.fileNames)
      for name in cut.fileNames { #expect(cut[name] == again[name]) }
      if cut["db-wal"] != image.afterPowerCut(using: &other)["db-wal"] { differ += 1 }
    }
    #expect(differ > 5)
  }

  /// After a cut everything that is left is on the disk: a second one takes nothing.
  @Test func aSecondCutTakesNothing() throws {
    for seed in Effort.seeds(20) {
      var generator = SplitMix64(seed: seed)
      let disk = SimulatedDisk()
      try fill(try database(disk, "journal_mode = WAL", "synchronous = NORMAL"), 1...10)
      disk.powerCut(using: &generator)
      let left = disk.image
      disk.powerCut(using: &generator)
      #expect(disk.image.fileNames == left.fileNames)
      for name in left.fileNames { #expect(disk.image[name] == left[name]) }
    }
  }

  @Test func anImageIsAValue() throws {
    let disk = SimulatedDisk()
    let queue = try database(disk)
    try fill(queue, 1...3)
    let before = disk.image
    try fill(queue, 4...6)
    let other = SimulatedDisk(before)
    #expect(try numbers(try database(other)) == [1, 2, 3])
    #expect(try numbers(queue) == [1, 2, 3, 4, 5, 6])
    disk.restore(before)
    #expect(try numbers(try database(disk)) == [1, 2, 3])
  }

  @Test(arguments: [DiskFault.inputOutput, .noSpace, .shortWrite])
  func aFaultStrikesTheCallItIsMeantFor(fault: DiskFault) throws {
    let disk = SimulatedDisk()
    let queue = try database(disk, "journal_mode = WAL")
    try fill(queue, 1...3)
    let before = disk.calls
    try fill(queue, 4...4)
    let calls = disk.calls - before
    #expect(calls >= 2)
    for call in 1...calls {
      disk.inject(fault, atCall: call)
      #expect(throws: DatabaseError.self) { try fill(queue, 5...5) }
      #expect(disk.struckCall != nil)
      #expect(try numbers(queue) == [1, 2, 3, 4])
    }
    disk.inject(fault, atCall: 10 * calls)
    try fill(queue, 5...5)
    #expect(disk.struckCall == nil)
  }

  @Test func aFullDiskRefusesAndGoesOnWhenThereIsRoom() throws {
    let disk = SimulatedDisk()
    let queue = try database(disk, "journal_mode = WAL")
    try fill(queue, 1...3)
    disk.capacity = disk.image.byteCount + 1000
    #expect(throws: DatabaseError.self) { try fill(queue, 4...4) }
    #expect(try numbers(queue) == [1, 2, 3])
    disk.capacity = nil
    try fill(queue, 4...4)
    #expect(try numbers(queue) == [1, 2, 3, 4])
  }

  @Test(arguments: ["journal_mode = DELETE", "journal_mode = WAL"])
  func oneWriterAtATime(journal: String) throws {
    let disk = SimulatedDisk()
    let one = try database(disk, journal)
    try fill(one, 1...1)
    let two = try database(disk)
    try one.inDatabase { db in
      try db.execute(sql: "BEGIN IMMEDIATE; INSERT INTO t(n) VALUES(2)")
      #expect(throws: DatabaseError.self) { try fill(two, 3...3) }
      #expect(try numbers(two) == [1])
      try db.execute(sql: "COMMIT")
    }
    try fill(two, 3...3)
    #expect(try numbers(one) == [1, 2, 3])
  }

  @Test func theSystemsFilesAreAsBefore() throws {
    let disk = SimulatedDisk()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("db").path
    try fill(try DatabasePool(path: path).writeQueue(), 1...3)
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(disk.image.fileNames == [])
    #expect(disk.calls == 0)
  }
}

extension DatabasePool {
  /// A queue on the pool's file.
  fileprivate func writeQueue() throws -> DatabaseQueue { try DatabaseQueue(path: path) }
}
