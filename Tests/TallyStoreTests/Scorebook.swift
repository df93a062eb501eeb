import Foundation
import GRDB
import Tally
import Testing

/// A small domain for the store's tests: persons own nothing, games belong to matches' scores by cascade.
struct Person: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
  static let schema = EntitySchema("SBPerson", .text("name"), .date("born"))
  var id = RecordName<Person>()
  var name: String?
  var born: Date?
}

struct Game: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
  static let schema = EntitySchema(
    "SBGame", .text("name"), .real("rating"), .bool("isTeam", default: false), .json("rules"), .blob("icon"),
    .uuid("code"), .reference("author", to: "SBPerson"), .toMany("players", to: "SBPerson"))
  static let players = Relationship<Game, Person>("players")
  var id = RecordName<Game>()
  var name: String?
  var rating: Double?
  var isTeam = false
  var rules: [String]?
  var icon: Data?
  var code: UUID?
  var author: RecordName<Person>?
}

struct Match: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
  static let schema = EntitySchema(
    "SBMatch", .text("place"), .reference("game", to: "SBGame", onDelete: .cascade),
    .reference("parent", to: "SBMatch", onDelete: .cascade))
  var id = RecordName<Match>()
  var place: String?
  var game: RecordName<Game>?
  var parent: RecordName<Match>?
}

struct Score: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
  static let schema = EntitySchema(
    "SBScore", .integer("points"), .reference("match", to: "SBMatch", onDelete: .cascade),
    .reference("person", to: "SBPerson", onDelete: .deny))
  var id = RecordName<Score>()
  var points: Int?
  var match: RecordName<Match>?
  var person: RecordName<Person>?
}

let scorebook = Schema(Person.self, Game.self, Match.self, Score.self)

/// A folder of its own that disappears with the test.
final class Scratch {
  let url: URL
  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("tally-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(at: url) }
  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
  func store(_ name: String = "a.tally", schema: Schema = scorebook, options: StoreOptions = StoreOptions()) throws
    -> Store
  {
    try Store(path: path(name), schema: schema, options: options)
  }
}

/// Both replicas hold the same, and each is sound.
func expectConverged(_ stores: Store..., sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
  for store in stores {
    let report = try store.verify()
    #expect(report.problems == [], sourceLocation: sourceLocation)
  }
  let summaries = try stores.map { try $0.summary() }
  for other in summaries.dropFirst() {
    #expect(other.vector == summaries[0].vector, sourceLocation: sourceLocation)
    #expect(other.fingerprint == summaries[0].fingerprint, sourceLocation: sourceLocation)
  }
}
