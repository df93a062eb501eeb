#if Relay
  import Foundation
  import GRDB
  import Tally
  import TallyRelay

  struct Person: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Person", .text("name"), .text("note"), .integer("age"))
    var id = RecordName<Person>()
    var name: String?
    var note: String?
    var age: Int?
  }

  /// A first sync through the relay, beside the same through a folder.
  struct SyncBench {
    let folder: URL

    func run(records: Int) async throws -> [Figure] {
      let source = try store("source")
      try await source.write { db in
        for number in 0..<records {
          try Person(name: "Person \(number)", note: "note \(number &* 7_919)", age: number % 90).insert(db)
        }
      }
      let shared = folder.appendingPathComponent("shared")
      try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: true)
      let mailbox = FolderMailbox(shared)
      let (one, two) = (try store("one"), try store("two"))
      let plain = try await time {
        try await source.sync(through: mailbox)
        try await one.sync(through: mailbox)
      }
      let relay = try await RelayUnderLoad(folder, "sync")
      let token = try await relay.token()
      let place = try RelayMailbox("http://127.0.0.1:\(relay.port)/s/\(token.space)", token: token.token)
      let before = relay.processorTime
      let through = try await time {
        try await source.sync(through: place)
        try await two.sync(through: place)
      }
      let relayTime = relay.processorTime - before
      let isEqual = try one.vector == source.vector && two.vector == source.vector
      let peak = relay.peakMemory
      try relay.stop()
      guard isEqual else { throw LoadConnection.Failure(call: "sync") }
      return [
        Figure(
          name: "first sync of \(records) records through a relay beside a folder: time, processor time of all",
          value: String(
            format: "%.2f ×, %.2f ×", through.wall / plain.wall, (through.processor + relayTime) / plain.processor),
          target: "≤ 1.5"),
        Figure(
          name: "the most memory of the relay meanwhile", value: String(format: "%.0f MiB", peak), target: "≤ 64"),
      ]
    }

    private func store(_ name: String) throws -> Store {
      try Store(path: folder.appendingPathComponent("\(name).tally").path, schema: Schema(Person.self))
    }

    private func time(_ body: () async throws -> Void) async throws -> (wall: Duration, processor: Duration) {
      let (start, before) = (ContinuousClock.now, ownProcessorTime())
      try await body()
      return (ContinuousClock.now - start, ownProcessorTime() - before)
    }
  }
#endif
