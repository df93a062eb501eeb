import Foundation
import GRDB
import Tally
import TallyTesting
import Testing

/// A store that syncs the write-ahead log often keeps room at its end.
@Suite struct LogRoomTests {
  private let scratch: Scratch
  private let store: Store

  init() throws {
    scratch = try Scratch()
    store = try Store(path: scratch.path("a"), schema: Lab.schema)
    try store.run("INSERT INTO P(id, name) VALUES('P|~|1', 'a')")
  }

  private var log: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: scratch.path("a-wal"))) } }

  private func edit(_ count: Int) throws {
    for number in 0..<count { try store.run("UPDATE P SET pos = \(number)") }
  }

  /// Whether the log's file ends with a page that was never written.
  private var hasRoom: Bool { get throws { try log.suffix(4096).allSatisfy { $0 == 0 } } }

  @Test func aLogThatNobodySyncsHasNoRoom() throws {
    try edit(100)
    #expect(try !hasRoom)
    #expect(try (log.count - 32) % (4096 + 24) == 0)
  }

  @Test func theLogOfADeviceThatSyncsGrowsByHalfAMebibyteAtMost() throws {
    var sizes: Set<Int> = []
    for _ in 0..<300 {
      _ = try store.delta()
      try edit(1)
      sizes.insert(try log.count)
    }
    let steps = zip(sizes.sorted(), sizes.sorted().dropFirst()).map { $1 - $0 }
    #expect(steps.count < 15, "\(steps)")
    #expect(steps.allSatisfy { $0 <= 1 << 19 })
    #expect(try hasRoom)
  }

  /// As after the death of the process: whoever opens the file finds the end of the log before the room.
  @Test func aCopyOfTheFilesHasAllThatWasWritten() throws {
    for number in 0..<40 {
      _ = try store.delta()
      try edit(1 + number % 3)
      guard number % 8 == 0 else { continue }
      for suffix in ["", "-wal"] {
        let target = scratch.path("copy \(number)") + suffix
        try FileManager.default.copyItem(atPath: scratch.path("a") + suffix, toPath: target)
      }
      let copy = try Store(path: scratch.path("copy \(number)"), schema: Lab.schema)
      #expect(try copy.summary().fingerprint == store.summary().fingerprint)
      #expect(try copy.summary().vector == store.summary().vector)
      #expect(try copy.verify().problems == [])
    }
    #expect(try hasRoom)
  }

  /// Somebody copies the log into the file and cuts it off; then it grows again.
  @Test func aLogThatWasCutOffGetsRoomAgain() throws {
    for _ in 0..<3 {
      for _ in 0..<20 {
        _ = try store.delta()
        try edit(1)
      }
      #expect(try hasRoom)
      let other = try DatabaseQueue(path: scratch.path("a"))
      try other.inDatabase { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
      try other.close()
      #expect(try log.isEmpty)
    }
    #expect(try store.verify().problems == [])
  }
}
