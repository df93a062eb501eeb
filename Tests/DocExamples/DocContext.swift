import Foundation
import GRDB
import Tally
import TallyRelay
import TallySync
import TallyTesting

#if Network
  import TallyNetwork
#endif
#if canImport(CloudKit)
  import CloudKit
  import TallyCloudKit
#endif

// What the examples of pages and documentation comments take for granted. Nothing of it is ever run.

struct Person: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Person", .text("name"))
  var id = RecordName<Person>()
  var name: String?
}

struct Game: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Game", .text("name"), .counter("score"), .toMany("players", to: "Person"))
  var id = RecordName<Game>()
  var name: String?
  var score = 0
}

struct Book: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Book", .text("title"))
  var id = RecordName<Book>()
  var title: String?
}

struct Chapter: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Chapter", .text("title"), .reference("book", to: "Book", onDelete: .cascade), .position("rank", within: "book"))
  static let inBook = OrderedChildren<Chapter, Book>("rank")
  var id = RecordName<Chapter>()
  var title: String?
  var book: RecordName<Book>?
  var rank: ListPosition?
}

var photo: AssetName { fatalError("examples are not run") }
let jpeg = Data([1])
let pictureURL = URL(fileURLWithPath: "ann.jpg")

enum Level: String { case beginner, expert }

struct Note: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Note", .text("text"))
  var id: RecordName<Note>
  var text: String?
}

struct Folder: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Folder", .text("name"))
  var id = RecordName<Folder>()
  var name: String?
}

struct SpeechType: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("SpeechType", .text("name"), .integer("seconds"))
  var id = RecordName<SpeechType>()
  var name: String?
  var seconds: Int?
}

struct Speech: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Speech", .text("title"), .reference("type", to: "SpeechType"))
  var id = RecordName<Speech>()
  var title: String?
  var type: RecordName<SpeechType>?
}

enum DefaultSpeechTypes {
  static func key(of name: RecordName<SpeechType>) -> String? { nil }
}

enum MyTransport {
  static func connectedPair() async throws -> (any SyncConnection, any SyncConnection) { MemoryConnection.pair() }
}

enum MyMailbox {
  static func empty() async throws -> any Mailbox { MemoryMailbox() }
}

struct WebDAVServer {
  let url: URL
  func properties() throws -> [(name: String, etag: String)] { [] }
  func get(_ name: String) throws -> [UInt8]? { nil }
  func put(_ bytes: [UInt8], as name: String) throws {}
  func move(_ name: String, to other: String) throws {}
  func delete(_ name: String) throws {}
}

var schema: Schema { Schema(Person.self, Game.self) }
var path: String { "scores.tally" }
var store: Store { fatalError("examples are not run") }
var phone: Store { store }
var tablet: Store { store }
var engine: SyncEngine { fatalError("examples are not run") }
var container: Container { fatalError("examples are not run") }
var db: Database { fatalError("examples are not run") }
var url: URL { URL(fileURLWithPath: path) }
var driveURL: URL { url }
var folder: URL { url }
#if Network
  var secret: SharedSecret { .random() }
#endif
#if canImport(CloudKit)
  var mailbox: CloudKitMailbox { fatalError("examples are not run") }
  var iCloud: CloudKitAccount { fatalError("examples are not run") }
#endif
var token: String { "tally1_" }
var ann: RecordName<Person> { RecordName() }
var chess: RecordName<Game> { RecordName() }
var novel: RecordName<Book> { RecordName() }
var intro: RecordName<Chapter> { RecordName() }
var ending: RecordName<Chapter> { RecordName() }
var toast: RecordName<SpeechType> { RecordName() }
var generator: SystemRandomNumberGenerator {
  get { SystemRandomNumberGenerator() }
  set {}
}

struct EmptyNeighborhood: PeerDiscovery {
  func peers() -> AsyncStream<[any Transport]> { AsyncStream { $0.finish() } }
}

let neighbors = EmptyNeighborhood()
