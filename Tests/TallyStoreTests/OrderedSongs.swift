import Foundation
import GRDB
import Tally
import TallyCRDT
import TallySchema
import TallyStore
import TallySync

struct ORSong: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("ORSong", .text("title"))
  var id = RecordName<ORSong>()
  var title: String?
}

struct ORList: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("ORList", .text("title"), .toMany("songs", to: "ORSong", ordered: true))
  static let songs = Relationship<ORList, ORSong>("songs")
  var id = RecordName<ORList>()
  var title: String?
}

let orderedSongs = Schema(ORSong.self, ORList.self)
/// The same before the relationship was ordered.
let plainSongs = Schema([
  ORSong.schema, EntitySchema("ORList", .text("title"), .toMany("songs", to: "ORSong")),
])
private let orderedLetters = "abcdefghijklmnopqrstuvwxyz".map(String.init)

/// Stores with one list and a song for each letter.
protocol OrderedSongs {
  var scratch: Scratch { get }
  var list: RecordName<ORList> { get }
}

extension OrderedSongs {
  func id(_ key: String) throws -> RecordName<ORSong> { try RecordName(key: key) }

  /// A store with the list and all songs, none of which is a member.
  func store(
    _ name: String = "a.tally", _ schema: Schema = orderedSongs, options: StoreOptions = StoreOptions()
  ) throws -> Store {
    try scratch.store(name, schema: schema, options: options)
  }

  func filled(_ store: Store) throws -> Store {
    try store.write { db in
      try ORList(id: list, title: "List").insert(db)
      for letter in orderedLetters { try ORSong(id: try id(letter), title: letter).insert(db) }
    }
    return store
  }

  func other(_ store: Store, _ name: String = "b.tally", options: StoreOptions = StoreOptions()) throws -> Store {
    let other = try self.store(name, options: options)
    try other.sync(with: store)
    return other
  }

  func run(_ store: Store, _ sql: String, _ arguments: StatementArguments = []) throws {
    try store.write { db in try db.execute(sql: sql, arguments: arguments) }
  }

  /// Inserts by SQL that says nothing of positions.
  func append(_ keys: String, to store: Store) throws {
    try store.write { db in
      for key in keys {
        try db.execute(
          sql: "INSERT INTO ORList_songs(source, target) VALUES(?, ?)", arguments: [list, try id("\(key)")])
      }
    }
  }

  func order(_ store: Store) throws -> String {
    try store.read { db in try ORList.songs.ordered(db, of: list).map { "\($0.name.key)" }.joined() }
  }

  func move(_ key: String, _ place: ListPlace<RecordName<ORSong>>, in store: Store) throws {
    try store.write { db in try ORList.songs.move(db, try id(key), of: list, to: place) }
  }

  func positions(_ store: Store) throws -> [String: Data] {
    try store.read { db in
      let rows = try Row.fetchAll(db, sql: "SELECT target, position FROM ORList_songs")
      return Dictionary(uniqueKeysWithValues: rows.map { ($0["target"], $0["position"]) })
    }
  }
}
