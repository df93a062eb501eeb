// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
import TallyCRDT

@testable import Pantry
@testable import struct Pantry.Tag

#if Macros
  import TallyMacros
#endif
#if Inspector
  import TallyInspector
#endif
#if Network
  import TallyNetwork
#endif
#if canImport(CloudKit)
  import CloudKit
  import TallyCloudKit
#endif

// Sources/Tally/Tally.docc/MigrationsAndVersions.md
private enum Sources_Tally_Tally_docc_MigrationsAndVersions_md_1 {
struct Product: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Product", .text("title", default: ""), .integer("cents", from: .lens("price", .real, .scale(100))))
  var id = RecordName<Product>()
  var title = ""
  var cents: Int?
}
}

// Sources/Tally/Tally.docc/MigrationsAndVersions.md
private func Sources_Tally_Tally_docc_MigrationsAndVersions_md_2() throws {
let errand = EntitySchema(
  "Errand",
  .text(
    "state", default: "open",
    from: .lens("done", .bool, default: false, .map([false: "open", true: "done", true: "paid"]))))
_ = errand
}

// Sources/Tally/Tally.docc/MigrationsAndVersions.md
private func Sources_Tally_Tally_docc_MigrationsAndVersions_md_3() throws {
let product = EntitySchema(
  "Product", .integer("cents", from: .lens("price", .real, .scale(100))),
  .text("amount", from: .lens("cents", .integer, .digits)))
_ = product
}

// Sources/Tally/Tally.docc/MigrationsAndVersions.md
private enum Sources_Tally_Tally_docc_MigrationsAndVersions_md_4 {
struct Player: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Player", .text("name", default: ""), .integer("points", default: 0), .counter("score"))
  static let score = Counter<Player>("score")
  var id = RecordName<Player>()
  var name = ""
  var points = 0
  var score = 0
}

func best(_ store: Store) throws -> [Row] {
  try store.read { db in
    try Row.fetchAll(db, sql: "SELECT name, points + score AS total FROM Player ORDER BY total DESC")
  }
}
}

// Sources/Tally/Tally.docc/MigrationsAndVersions.md
private enum Sources_Tally_Tally_docc_MigrationsAndVersions_md_5 {
struct Chore: Entity, Codable, FetchableRecord, PersistableRecord {
  enum State: String, Codable { case open, done }

  static let schema = EntitySchema(
    "Chore", .text("title", default: ""), .text("state", default: "open", oneOf: ["open", "done"], unknown: "open"))
  var id = RecordName<Chore>()
  var title = ""
  var state = State.open
}
}

// Sources/Tally/Tally.docc/MigrationsAndVersions.md
private enum Sources_Tally_Tally_docc_MigrationsAndVersions_md_6 {
struct Match: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Game", .text("title", default: ""), .reference("rematch", to: "Game"))
  var id = RecordName<Match>()
  var title = ""
  var rematch: RecordName<Match>?
}
}

// Sources/Tally/Tally.docc/OrderedLists.md
private enum Sources_Tally_Tally_docc_OrderedLists_md_1 {
struct Song: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Song", .text("title"))
  var id = RecordName<Song>()
  var title: String?
}

struct Playlist: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Playlist", .text("title"), .toMany("songs", to: "Song", ordered: true))
  static let songs = Relationship<Playlist, Song>("songs")
  var id = RecordName<Playlist>()
  var title: String?
}

func example(_ store: Store, _ playlist: RecordName<Playlist>, _ song: RecordName<Song>) throws {
  try store.write { db in
    try Playlist.songs.insert(db, song, to: playlist, at: .first)
    try Playlist.songs.move(db, song, of: playlist, to: .last)
  }
  let songs = try store.read { db in try Playlist.songs.ordered(db, of: playlist) }
  try store.write { db in try Playlist.songs.setOrder(db, Array(songs.reversed()), of: playlist) }
}
}

// Sources/Tally/Tally.docc/OrderedLists.md
private enum Sources_Tally_Tally_docc_OrderedLists_md_2 {
struct Book: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Book", .text("title"))
  var id = RecordName<Book>()
  var title: String?
}

struct Chapter: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Chapter", .text("title"), .reference("book", to: "Book", onDelete: .cascade),
    .position("rank", within: "book"))
  static let inBook = OrderedChildren<Chapter, Book>("rank")

  var id = RecordName<Chapter>()
  var title: String?
  var book: RecordName<Book>?
  var rank: ListPosition?
}

func example(_ store: Store, _ book: RecordName<Book>) throws {
  try store.write { db in
    let last = try Chapter.inBook.position(db, at: .last, of: book)
    let ending = Chapter(title: "The end", book: book, rank: last)
    try ending.insert(db)

    let first = try Chapter.inBook.position(db, at: .first, of: book)
    try Chapter(title: "Beginnings", book: book, rank: first).insert(db)

    try Chapter.inBook.move(db, ending.id, to: .last, of: book)
  }
}
}

// Sources/Tally/Tally.docc/PicturesAndFiles.md
private enum Sources_Tally_Tally_docc_PicturesAndFiles_md_1 {
struct Person: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Person", .text("name"), .asset("photo"))
  var id = RecordName<Person>()
  var name: String?
  var photo: AssetName?
}

func setPhoto(_ store: Store, _ ann: RecordName<Person>, _ url: URL) throws {
  let name = try store.assets.add(contentsOf: url)
  try store.write { db in
    guard var person = try Person.fetchOne(db, id: ann) else { return }
    try person.updateChanges(db) { $0.photo = name }
  }
}

func photo(_ store: Store, _ person: Person) async throws -> URL? {
  guard let name = person.photo else { return nil }
  return try await store.assets.url(for: name)
}
}

// Sources/Tally/Tally.docc/PicturesAndFiles.md
private func Sources_Tally_Tally_docc_PicturesAndFiles_md_2() throws {
let report = try store.assets.moveBlobs(of: "Person", from: "image", to: "photo")
if report.moved > 0 { try store.compact(vacuum: .full) }
_ = report
}
