import Foundation
import GRDB
import Tally
import TallyCRDT

/// The small domain of these tests: notes in folders, with tags.
struct Folder: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("CTFolder", .text("name"))
  var id = RecordName<Folder>()
  var name: String?
}

struct Note: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "CTNote", .text("text"), .integer("count"), .blob("body"), .reference("folder", to: "CTFolder", onDelete: .cascade),
    .toMany("tags", to: "CTTag"))
  static let tags = Relationship<Note, Tag>("tags")
  var id = RecordName<Note>()
  var text: String?
  var count: Int?
  var body: Data?
  var folder: RecordName<Folder>?
}

struct Tag: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("CTTag", .text("name"))
  var id = RecordName<Tag>()
  var name: String?
}

let notebook = Schema(Folder.self, Note.self, Tag.self)

extension RecordName {
  /// The name of a key that is known to be well-formed.
  static func at(_ key: String) -> Self {
    guard let name = try? Self(key: key) else { preconditionFailure("malformed key") }
    return name
  }
}

extension StoreOptions {
  /// New replica ids are what these tests are about, and no reason for a warning.
  static var quiet: StoreOptions {
    var options = StoreOptions()
    options.logger.logLevel = .critical
    return options
  }
}

extension Store {
  /// The texts of the notes that a person sees, in order.
  func texts() throws -> [String] {
    try read { try String.fetchAll($0, sql: "SELECT text FROM CTNote WHERE text IS NOT NULL ORDER BY text") }
  }

  /// Adds a note.
  /// - Returns: its name and the dot of the transaction.
  @discardableResult
  func add(_ text: String, bytes: Int = 0) throws -> (name: RecordName<Note>, dot: Dot?) {
    let note = Note(text: text, body: bytes > 0 ? Data(repeating: 7, count: bytes) : nil)
    return (note.id, try commit { try note.insert($0) }.dot)
  }
}
