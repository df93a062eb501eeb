// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
import TallyStore
import TallySync
import TallyRelay
import TallyTesting
import Testing

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

// Sources/TallyStore/Importing/ImportMap+Draft.swift
private func Sources_TallyStore_Importing_ImportMap_Draft_swift_1() throws {
let draft = try ImportMap.draft(of: url, for: schema)
print(draft.unmatched)
_ = draft
}

// Sources/TallyStore/Importing/ImportMap.swift
private func Sources_TallyStore_Importing_ImportMap_swift_1() throws {
let map = ImportMap(
  tables: [
    .init(from: "ZLIST", to: "ShoppingList", fields: ["title": "ZTITLE"]),
    .init(from: "ZTAG", to: "Tag", fields: ["name": "ZNAME"]),
    .init(from: "ZITEM", to: "Item", fields: [
      "title": "ZTITLE", "due": .init(column: "ZDUE", as: .coreDataSeconds), "list": "ZLIST",
    ]),
  ],
  links: [.init(from: "Z_1TAGS", to: "Item.tags", source: "Z_1ITEMS", target: "Z_2TAGS")])
_ = map
}

// Sources/TallyStore/Importing/ImportMap.swift
private func Sources_TallyStore_Importing_ImportMap_swift_2() throws {
let lists = ImportMap.Table(from: "ZLIST", to: "ShoppingList", fields: ["title": "ZTITLE"])
_ = lists
}

// Sources/TallyStore/Importing/ImportMap.swift
private func Sources_TallyStore_Importing_ImportMap_swift_3() throws {
let tags = ImportMap.Links(from: "Z_1TAGS", to: "Item.tags", source: "Z_1ITEMS", target: "Z_2TAGS")
_ = tags
}

// Sources/TallyStore/Importing/ImportMap.swift
private func Sources_TallyStore_Importing_ImportMap_swift_4() throws {
let note = ImportColumn(sql: "trim(coalesce(ZNOTES, ''))")
_ = note
}

// Sources/TallyStore/Importing/Store+Import.swift
private func Sources_TallyStore_Importing_Store_Import_swift_1() throws {
let map = try ImportMap(json: Data(contentsOf: folder.appendingPathComponent("map.json")))
let report = try store.importDatabase(at: url, map: map)
_ = map
_ = report
}

// Sources/TallyStore/Schema/Entity.swift
private enum Sources_TallyStore_Schema_Entity_swift_1 {
struct Game: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("SBGame", .text("name"), .reference("owner", to: "SBPerson"))
  var id = RecordName<Game>()
  var name: String?
  var owner: RecordName<Person>?
}
}

// Sources/TallyStore/Schema/EntitySchema.swift
private enum Sources_TallyStore_Schema_EntitySchema_swift_1 {
static let schema = EntitySchema(
  "SBGame",
  .text("name"), .real("rating"),
  .reference("owner", to: "SBPerson", onDelete: .cascade),
  .toMany("players", to: "SBPerson"))
}

// Sources/TallyStore/Schema/EntitySchema.swift
private func Sources_TallyStore_Schema_EntitySchema_swift_2() throws {
let schema = EntitySchema("Note", deleteWins: true, .text("text", default: ""), .date("due"))
_ = schema
}

// Sources/TallyStore/Schema/EntitySchema.swift
private func Sources_TallyStore_Schema_EntitySchema_swift_3() throws {
let note = EntitySchema("Note", .text("title", default: ""), .text("body", renamedFrom: "text"))
_ = note
}

// Sources/TallyStore/Schema/RecordName+Conformances.swift
private func Sources_TallyStore_Schema_RecordName_Conformances_swift_1() throws {
let id = RecordName<Game>("Game|~|chess")
_ = id
}

// Sources/TallyStore/Schema/Schema+JSON.swift
private func Sources_TallyStore_Schema_Schema_JSON_swift_1() throws {
let schema = try Schema(json: Data(#"{"entities": [{"type": "Note", "fields": {"text": "text"}}]}"#.utf8))
_ = schema
}

// Sources/TallyStore/Schema/Schema.swift
private func Sources_TallyStore_Schema_Schema_swift_1() throws {
let schema = Schema(Person.self, Game.self)
let store = try Store(path: path, schema: schema)
_ = schema
_ = store
}

// Sources/TallyStore/Schema/Schema.swift
private func Sources_TallyStore_Schema_Schema_swift_2() throws {
let schema = Schema([EntitySchema("Note", .text("text"))])
_ = schema
}

// Sources/TallyStore/Seeds/SeedIdentity.swift
private func Sources_TallyStore_Seeds_SeedIdentity_swift_1() throws {
let toast = RecordName<SpeechType>(seed: "toast", of: "speech-types")
_ = toast
}

// Sources/TallyStore/Seeds/SeedSet.swift
private func Sources_TallyStore_Seeds_SeedSet_swift_1() throws {
let speechTypes = SeedSet("speech-types", version: 2, records: [
  SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120]),
  SeedRecord("eulogy", of: SpeechType.self, ["name": "Eulogy", "seconds": 600]),
], retired: [SeedKey("roast", of: SpeechType.self)])
try store.seed(speechTypes)   // at every launch
_ = speechTypes
}

// Sources/TallyStore/Seeds/SeedSet.swift
private func Sources_TallyStore_Seeds_SeedSet_swift_2() throws {
let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
_ = toast
}

// Sources/TallyStore/Seeds/SeedSet.swift
private func Sources_TallyStore_Seeds_SeedSet_swift_3() throws {
let roast = SeedRecord("roast", of: SpeechType.self, ["name": "Roast"])
_ = roast
}

// Sources/TallyStore/Seeds/SeedSet.swift
private func Sources_TallyStore_Seeds_SeedSet_swift_4() throws {
let next = SeedSet("speeches", version: 3, records: [], retired: [SeedKey("roast", of: SpeechType.self)])
_ = next
}

// Sources/TallyStore/Seeds/SeedSet.swift
private func Sources_TallyStore_Seeds_SeedSet_swift_5() throws {
let rule = SeedAdoption(of: SpeechType.self, matching: ["name"])
_ = rule
}

// Sources/TallyStore/Seeds/SeededRecord.swift
private func Sources_TallyStore_Seeds_SeededRecord_swift_1() throws {
let isOwn = try SeededRecord.fetchOne(db, of: toast.name)?.belongsToUser ?? true
_ = isOwn
}

// Sources/TallyStore/Seeds/SeededRecord.swift
private func Sources_TallyStore_Seeds_SeededRecord_swift_2() throws {
let defaults = try store.read { db in try SpeechType.seeded().fetchAll(db) }
_ = defaults
}

// Sources/TallyStore/Seeds/SeededRecord.swift
private func Sources_TallyStore_Seeds_SeededRecord_swift_3() throws {
let own = try store.read { db in try SpeechType.belongingToUser().fetchCount(db) }
_ = own
}

// Sources/TallyStore/Store/DynamicRecord.swift
private func Sources_TallyStore_Store_DynamicRecord_swift_1() throws {
let record = try schema.record(db, AnyRecordName("Game|~|chess"))
_ = record
}

// Sources/TallyStore/Store/DynamicRecord.swift
private func Sources_TallyStore_Store_DynamicRecord_swift_2() throws {
try schema.put(db, AnyRecordName("Game|~|chess"), ["name": "Chess"])
}

// Sources/TallyStore/Store/Relationship+Association.swift
private enum Sources_TallyStore_Store_Relationship_Association_swift_1 {
struct GameWithPlayers: Decodable, FetchableRecord {
  var game: Game
  var players: [Person]

  static func all(_ db: Database) throws -> [GameWithPlayers] {
    let players = Game.players.association.order(Column("name"))
    return try Game.including(all: players).asRequest(of: Self.self).fetchAll(db)
  }
}
}

// Sources/TallyStore/Store/Relationship+Association.swift
private func Sources_TallyStore_Store_Relationship_Association_swift_2() throws {
let busy = try Person.having(Game.players.inverse.isEmpty == false).fetchAll(db)
_ = busy
}

// Sources/TallyStore/Store/Relationship.swift
extension Game { static let players = Relationship<Game, Person>("players") }

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_2() throws {
try Game.players.insert(db, ann, to: chess)
let names = try Game.players.members(db, of: chess)
_ = names
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_3() throws {
let players = Relationship<Game, Person>("players")
_ = players
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_4() throws {
let players = try Person.filter(keys: Game.players.members(db, of: chess)).fetchAll(db)
_ = players
}

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_5() throws {
let games = try Game.filter(keys: Game.players.sources(db, of: ann)).fetchAll(db)
_ = games
}

// Sources/TallyStore/Store/Store+Async.swift
private func Sources_TallyStore_Store_Store_Async_swift_1() async throws {
for conflict in try await store.conflicts() { try await store.dismiss(conflict) }
}

// Sources/TallyStore/Store/Store+Async.swift
private func Sources_TallyStore_Store_Store_Async_swift_2() async throws {
try await store.restore(chess)
}

// Sources/TallyStore/Store/Store+Changes.swift
private func Sources_TallyStore_Store_Store_Changes_swift_1() async throws {
for await _ in store.changes() { print(try store.vector) }
}

// Sources/TallyStore/Store/Store+Changes.swift
private func Sources_TallyStore_Store_Store_Changes_swift_2() throws {
// In an app whose widget writes too: after it has come to the front.
try store.captureChanges()
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_1() throws {
for conflict in try store.conflicts() { try store.dismiss(conflict) }
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_2() throws {
try store.dismiss(store.conflicts())
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_3() throws {
let count = ValueObservation.tracking { db in try ConflictRow.fetchCount(db) }
_ = count
}

// Sources/TallyStore/Store/Store+Delta.swift
private func Sources_TallyStore_Store_Store_Delta_swift_1() throws {
let news = try phone.delta(since: try tablet.vector)
try tablet.apply(news)
_ = news
}

// Sources/TallyStore/Store/Store+Delta.swift
private func Sources_TallyStore_Store_Store_Delta_swift_2() throws {
let result = try tablet.apply(try phone.delta())
_ = result
}

// Sources/TallyStore/Store/Store+Events.swift
private func Sources_TallyStore_Store_Store_Events_swift_1() async throws {
for await event in store.events() where event.origins.contains(.peer) {
  if event.mayConcern(chess) { print("somebody else has changed chess") }
}
}

// Sources/TallyStore/Store/Store+History.swift
private func Sources_TallyStore_Store_Store_History_swift_1() throws {
if let history = try store.history(of: chess.name) {
  for field in history.fields { print(field.field, field.value, field.stamp) }
}
}

// Sources/TallyStore/Store/Store+Reader.swift
private func Sources_TallyStore_Store_Store_Reader_swift_1() async throws {
let count = ValueObservation.tracking { db in try Game.fetchCount(db) }
for try await games in count.values(in: store) { print(games) }
_ = count
}

// Sources/TallyStore/Store/Store+Reader.swift
private func Sources_TallyStore_Store_Store_Reader_swift_2() throws {
let snapshot = try store.makeSnapshot()
let count = try snapshot.read { db in try Game.fetchCount(db) }
_ = snapshot
_ = count
}

// Sources/TallyStore/Store/Store+Restore.swift
private func Sources_TallyStore_Store_Store_Restore_swift_1() throws {
try store.restore(chess)
}

// Sources/TallyStore/Store/Store+Shared.swift
private func Sources_TallyStore_Store_Store_Shared_swift_1() throws {
try store.write { db in
  try store.restore(db, chess)
  try db.execute(sql: "UPDATE Game SET name = 'Chess again' WHERE id = ?", arguments: [chess])
}
}

// Sources/TallyStore/Store/Store+Shared.swift
private func Sources_TallyStore_Store_Store_Shared_swift_2() throws {
try store.write { db in try store.restore(db, chess) }
}

// Sources/TallyStore/Store/Store+Shared.swift
private func Sources_TallyStore_Store_Store_Shared_swift_3() throws {
let conflicts = store.values { db in try store.conflicts(db) }
_ = conflicts
}

// Sources/TallyStore/Store/Store+Status.swift
private func Sources_TallyStore_Store_Store_Status_swift_1() throws {
let status = try store.status()
for row in status.setAside { print(row.row, row.reason) }
_ = status
}

// Sources/TallyStore/Store/Store+Values.swift
private func Sources_TallyStore_Store_Store_Values_swift_1() async throws {
for try await games in store.values({ try Game.order(Column("name")).fetchAll($0) }) { print(games.count) }
}

// Sources/TallyStore/Store/Store+Values.swift
private enum Sources_TallyStore_Store_Store_Values_swift_2 {
@MainActor final class GameList {
  let games: Observed<[Game]>

  init(_ store: Store) {
    games = Observed([], in: store) { try Game.order(Column("name")).fetchAll($0) }
  }

  var title: String { games.isLoading ? "…" : "\(games.value.count) games" }
}
}

// Sources/TallyStore/Store/Store+Values.swift
private enum Sources_TallyStore_Store_Store_Values_swift_3 {
@MainActor func badge(_ store: Store) -> Observed<Int> {
  Observed(0, in: store) { db in try Game.fetchCount(db) }
}
}

// Sources/TallyStore/Store/Store+Writer.swift
private func Sources_TallyStore_Store_Store_Writer_swift_1() throws {
var migrator = DatabaseMigrator()
migrator.registerMigration("settings") { db in
  try db.create(table: "setting") { $0.primaryKey("key", .text) }
}
try migrator.migrate(store)
_ = migrator
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_1() throws {
let store = try Store(path: path, schema: Schema(Person.self, Game.self))
try store.write { db in
  try Game(name: "Chess").insert(db)
}
let games = try store.read { db in try Game.order(Column("name")).fetchAll(db) }
_ = store
_ = games
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_2() throws {
let store = try Store(inMemory: Schema(Person.self, Game.self))
_ = store
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_3() throws {
let games = try store.read { db in try Game.order(Column("name")).fetchAll(db) }
_ = games
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_4() async throws {
let count = try await store.read { db in try Game.fetchCount(db) }
_ = count
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_5() throws {
try store.write { db in
  try Game(name: "Chess").insert(db)
  try db.execute(sql: "DELETE FROM Game WHERE name IS NULL")
}
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_6() async throws {
try await store.write { db in try Game(name: "Chess").insert(db) }
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_7() throws {
let commit = try store.commit { db in try Game(name: "Chess").insert(db) }
let isReplicated = commit.dot != nil
_ = commit
_ = isReplicated
}

// Sources/TallyStore/Store/StoreOptions.swift
private func Sources_TallyStore_Store_StoreOptions_swift_1() throws {
var options = StoreOptions()
options.prepareDatabase = { db in try db.execute(sql: "PRAGMA cache_size = -8000") }
let store = try Store(path: path, schema: schema, options: options)
_ = options
_ = store
}

// Sources/TallyStore/Values/Conflict.swift
private func Sources_TallyStore_Values_Conflict_swift_1() throws {
for conflict in try store.conflicts() where conflict.kind == .overwritten {
  print("\(conflict.name): \(conflict.loserValue) lost to \(conflict.winnerValue)")
}
}

// Sources/TallyStore/Values/StoreEvent.swift
private func Sources_TallyStore_Values_StoreEvent_swift_1() async throws {
for await event in store.events() where event.mayConcern(chess) { print("read it again") }
}

// Sources/TallyStore/Values/TallyError.swift
private func Sources_TallyStore_Values_TallyError_swift_1() async throws {
do {
  try await store.sync(through: FolderMailbox(folder))
} catch let error as any TallyError {
  print("\(error.code.rawValue): \(error.message)", error.isPermanent ? "needs help" : "will pass")
}
}
