import Foundation
import GRDB
import Tally
import TallyRig
import TallyTesting
import Testing

/// The example of `Docs/Testing.md`, line by line; `PageTests` compares the two.
// example
struct Note: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Note", .text("text"), .integer("stars", default: 0))
  var id: RecordName<Note>
  var text: String?
  var stars = 0
}

@Suite struct NoteTests {
  @Test func bothEditsOfAnAfternoonApartStay() async throws {
    try await simulate(Note.self, replicas: 2) { world in
      let note = Note(id: RecordName(uuid: world.uuid()), text: "Milk")
      try world.replica(0).write { db in try note.insert(db) }
      try world.sync()

      world.network.partition([0], [1])
      try world.replica(0).write { db in try db.execute(sql: "UPDATE Note SET text = 'Milk and eggs'") }
      world.replica(1).clock.date = .distantPast
      try world.replica(1).write { db in try db.execute(sql: "UPDATE Note SET stars = 5") }
      try world.sync()
      #expect(try world.replica(1).read { try Note.fetchOne($0)?.text } == "Milk")

      world.network.heal()
      try world.sync()
      try expectConverged(world)
      let merged = try world.replica(1).read { try Note.fetchOne($0) }
      #expect(merged?.text == "Milk and eggs" && merged?.stars == 5)
    }
  }

  @Test func nothingIsLostWhateverHappens() async throws {
    try await simulate(Note.self, replicas: 3, runs: 5)
  }
}
// end of example
