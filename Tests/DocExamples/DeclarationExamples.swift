// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
import TallyStore
import TallySync
import TallyImport
import TallyRecovery
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
#if canImport(CloudKit)
  import CloudKit
  import TallyCloudKit
#endif

// Sources/TallySchema/Schema/Entity.swift
private enum Sources_TallySchema_Schema_Entity_swift_1 {
struct Game: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("SBGame", .text("name"), .reference("owner", to: "SBPerson"))
  var id = RecordName<Game>()
  var name: String?
  var owner: RecordName<Person>?
}
}

// Sources/TallySchema/Schema/Entity.swift
private enum Sources_TallySchema_Schema_Entity_swift_2 {
struct Tag: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Tag", .text("name", default: ""))
  var id = RecordName<Tag>()
  var name = ""
}
}

// Sources/TallySchema/Schema/Entity.swift
private func Sources_TallySchema_Schema_Entity_swift_3() throws {
let games = try store.read { db in try Game.fetchAll(db) }
_ = games
}

// Sources/TallySchema/Schema/Entity.swift
private func Sources_TallySchema_Schema_Entity_swift_4() throws {
let known = try RecordName<Game>(key: "chess")
try store.write { db in try Game(id: known, name: "Chess").insert(db) }
let chess = try store.read { db in try Game.find(db, id: known) }
_ = known
_ = chess
}

// Sources/TallySchema/Schema/Entity.swift
private func Sources_TallySchema_Schema_Entity_swift_5() throws {
let history = try store.history(of: chess.name)
_ = history
}

// Sources/TallySchema/Schema/Entity.swift
private func Sources_TallySchema_Schema_Entity_swift_6() throws {
let id = RecordName<Game>()
_ = id
}

// Sources/TallySchema/Schema/Entity.swift
private func Sources_TallySchema_Schema_Entity_swift_7() throws {
let id = RecordName<Game>(uuid: UUID())
_ = id
}

// Sources/TallySchema/Schema/Entity.swift
private func Sources_TallySchema_Schema_Entity_swift_8() throws {
let chess = try RecordName<Game>(key: "chess")
_ = chess
}

// Sources/TallySchema/Schema/Entity.swift
private func Sources_TallySchema_Schema_Entity_swift_9() throws {
for conflict in try store.conflicts() {
  if let game = RecordName<Game>(conflict.name) { print("of a game: \(game)") }
}
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_1() throws {
let note = EntitySchema("Note", .text("title", default: ""), .text("body", renamedFrom: "text"))
_ = note
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_2() throws {
let item = EntitySchema("Item", .integer("amount", default: 1))
_ = item
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_3() throws {
let game = EntitySchema("Game", .text("name"), .counter("score"))
_ = game
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_4() throws {
let item = EntitySchema("Item", .date("due"))
_ = item
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_5() throws {
let person = EntitySchema("Person", .text("name"), .asset("photo"), .asset("avatar", download: .eager))
_ = person
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_6() throws {
let game = EntitySchema("Game", .json("rules"))
_ = game
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_7() throws {
let chapter = EntitySchema(
  "Chapter", .reference("book", to: "Book", onDelete: .cascade), .position("rank", within: "book"))
_ = chapter
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_8() throws {
let item = EntitySchema("Item", .reference("list", to: "ShoppingList", onDelete: .cascade))
_ = item
}

// Sources/TallySchema/Schema/EntitySchema+Properties.swift
private func Sources_TallySchema_Schema_EntitySchema_Properties_swift_9() throws {
let game = EntitySchema("Game", .toMany("players", to: "Person"))
_ = game
}

// Sources/TallySchema/Schema/EntitySchema.swift
private enum Sources_TallySchema_Schema_EntitySchema_swift_1 {
static let schema = EntitySchema(
  "SBGame",
  .text("name"), .real("rating"),
  .reference("owner", to: "SBPerson", onDelete: .cascade),
  .toMany("players", to: "SBPerson"))
}

// Sources/TallySchema/Schema/EntitySchema.swift
private func Sources_TallySchema_Schema_EntitySchema_swift_2() throws {
let schema = EntitySchema("Note", deleteWins: true, .text("text", default: ""), .date("due"))
_ = schema
}

// Sources/TallySchema/Schema/EntitySchema.swift
private func Sources_TallySchema_Schema_EntitySchema_swift_3() throws {
let schema = EntitySchema(type: "Note", fields: [])
_ = schema
}

// Sources/TallySchema/Schema/Lens.swift
private func Sources_TallySchema_Schema_Lens_swift_1() throws {
let states = Lens.map([false: "open", true: "done", true: "paid"])
let item = EntitySchema(
  "Item", .integer("cents", from: .lens("price", .real, .scale(100))),
  .integer("shelf", from: .lens("shelfName", .text, .digits)),
  .text("state", default: "open", from: .lens("done", .bool, default: false, states)))
_ = states
_ = item
}

// Sources/TallySchema/Schema/Lens.swift
private func Sources_TallySchema_Schema_Lens_swift_2() throws {
let item = EntitySchema("Item", .text("title"), .integer("cents", from: .lens("price", .real, .scale(100))))
_ = item
}

// Sources/TallySchema/Schema/Lens.swift
private func Sources_TallySchema_Schema_Lens_swift_3() throws {
let price = FieldSource.lens("price", .real, .scale(100))
_ = price
}

// Sources/TallySchema/Schema/OrderedList.swift
private func Sources_TallySchema_Schema_OrderedList_swift_1() throws {
try Chapter.inBook.move(db, intro, to: .before(ending), of: novel)
}

// Sources/TallySchema/Schema/RecordName+Conformances.swift
private func Sources_TallySchema_Schema_RecordName_Conformances_swift_1() throws {
let id = RecordName<Game>("Game|~|chess")
_ = id
}

// Sources/TallySchema/Schema/Schema+JSON.swift
private func Sources_TallySchema_Schema_Schema_JSON_swift_1() throws {
let schema = try Schema(json: Data(#"{"entities": [{"type": "Note", "fields": {"text": "text"}}]}"#.utf8))
_ = schema
}

// Sources/TallySchema/Schema/Schema+JSON.swift
private func Sources_TallySchema_Schema_Schema_JSON_swift_2() throws {
try schema.json().write(to: url)
}

// Sources/TallySchema/Schema/Schema.swift
private func Sources_TallySchema_Schema_Schema_swift_1() throws {
let schema = Schema(Person.self, Game.self)
let store = try Store(path: path, schema: schema)
_ = schema
_ = store
}

// Sources/TallySchema/Schema/Schema.swift
private func Sources_TallySchema_Schema_Schema_swift_2() throws {
let schema = Schema([EntitySchema("Note", .text("text"))])
_ = schema
}

// Sources/TallySchema/Schema/Schema.swift
private func Sources_TallySchema_Schema_Schema_swift_3() throws {
let store = try Store(inMemory: Schema(Person.self, Game.self))
_ = store
}

// Sources/TallySchema/Schema/Schema.swift
private func Sources_TallySchema_Schema_Schema_swift_4() throws {
try schema.checkDeclarations()   // in a test of the app's
}

// Sources/TallySchema/Schema/Schema.swift
private func Sources_TallySchema_Schema_Schema_swift_5() throws {
try Schema([EntitySchema("Note", .text("text"))]).validate()
}

// Sources/TallySchema/Schema/UniqueRule.swift
private enum Sources_TallySchema_Schema_UniqueRule_swift_1 {
static let schema = EntitySchema("Shop", unique: [.on("name", .rename)], .text("name"))
}

// Sources/TallySchema/Schema/UniqueRule.swift
private func Sources_TallySchema_Schema_UniqueRule_swift_2() throws {
let shop = EntitySchema("Shop", unique: [.on("name", .rename)], .text("name"))
_ = shop
}

// Sources/TallySchema/Schema/UniqueRule.swift
private func Sources_TallySchema_Schema_UniqueRule_swift_3() throws {
let seat = EntitySchema("Seat", unique: [.on(["room", "number"])], .text("room"), .integer("number"))
_ = seat
}

// Sources/TallySchema/Seeds/SeedIdentity.swift
private func Sources_TallySchema_Seeds_SeedIdentity_swift_1() throws {
let toast = RecordName<SpeechType>(seed: "toast", of: "speech-types")
try store.write { db in try Speech(title: "To my friends", type: toast).insert(db) }
_ = toast
}

// Sources/TallySchema/Seeds/SeedSet+JSON.swift
private func Sources_TallySchema_Seeds_SeedSet_JSON_swift_1() throws {
let set = try SeedSet(json: Data(contentsOf: url))
try store.seed(set)
_ = set
}

// Sources/TallySchema/Seeds/SeedSet+JSON.swift
private func Sources_TallySchema_Seeds_SeedSet_JSON_swift_2() throws {
let set = SeedSet("speeches", version: 1, records: [SeedRecord("toast", of: SpeechType.self, ["name": "Toast"])])
try set.json().write(to: url)
_ = set
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_1() throws {
let speechTypes = SeedSet("speech-types", version: 2, records: [
  SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120]),
  SeedRecord("eulogy", of: SpeechType.self, ["name": "Eulogy", "seconds": 600]),
], retired: [SeedKey("roast", of: SpeechType.self)])
try store.seed(speechTypes)   // at every launch
_ = speechTypes
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_2() throws {
let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
let speechTypes = SeedSet("speech-types", version: 1, records: [toast])
_ = toast
_ = speechTypes
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_3() throws {
let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
_ = toast
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_4() throws {
let roast = SeedRecord("roast", of: SpeechType.self, ["name": "Roast"])
let speech = SeedRecord("first", of: Speech.self, ["title": "To my friends"], references: ["type": "roast"])
_ = roast
_ = speech
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_5() throws {
let toast = try SeedRecord("toast", SpeechType(name: "Toast", seconds: 120))
_ = toast
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_6() throws {
let next = SeedSet("speeches", version: 3, records: [], retired: [SeedKey("roast", of: SpeechType.self)])
_ = next
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_7() throws {
let next = SeedSet("speeches", version: 3, records: [], retired: [SeedKey("roast", of: SpeechType.self)])
_ = next
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_8() throws {
let rule = SeedAdoption(of: SpeechType.self, matching: ["name"])
let set = SeedSet(
  "speeches", version: 1, records: [SeedRecord("toast", of: SpeechType.self, ["name": "Toast"])], adoptions: [rule])
try store.seed(set)
_ = rule
_ = set
}

// Sources/TallySchema/Seeds/SeedSet.swift
private func Sources_TallySchema_Seeds_SeedSet_swift_9() throws {
let rule = SeedAdoption(of: SpeechType.self, matching: ["name"])
_ = rule
}

// Sources/TallySchema/Values/AssetName.swift
private func Sources_TallySchema_Values_AssetName_swift_1() throws {
let name = try store.assets.add(jpeg, type: "jpg")
print(name, name.byteCount)
_ = name
}

// Sources/TallySchema/Values/Compaction.swift
private func Sources_TallySchema_Values_Compaction_swift_1() throws {
var options = StoreOptions()
options.compaction = .automatic(restoreWindow: .days(90))
_ = options
}

// Sources/TallySchema/Values/Conflict.swift
private func Sources_TallySchema_Values_Conflict_swift_1() throws {
for conflict in try store.conflicts() where conflict.kind == .overwritten {
  print("\(conflict.name): \(conflict.loserValue) lost to \(conflict.winnerValue)")
}
}

// Sources/TallySchema/Values/Conflict.swift
private func Sources_TallySchema_Values_Conflict_swift_2() throws {
let open = try store.conflicts().map { "\($0.id)" }
_ = open
}

// Sources/TallySchema/Values/Conflict.swift
private func Sources_TallySchema_Values_Conflict_swift_3() throws {
for conflict in try store.conflicts() {
  if let draft = conflict.merged() { print(draft) }
}
}

// Sources/TallySchema/Values/RestoreWindow.swift
private func Sources_TallySchema_Values_RestoreWindow_swift_1() throws {
var options = StoreOptions()
options.compaction = .automatic(restoreWindow: .days(90))
_ = options
}

// Sources/TallySchema/Values/StoreError.swift
private func Sources_TallySchema_Values_StoreError_swift_1() throws {
do {
  try store.write { db in _ = try Person.deleteOne(db, id: ann) }
} catch let error as StoreError where error.code == .deleteDenied {
  print("Somebody still refers to this person.")
}
}

// Sources/TallySchema/Values/StoreEvent.swift
private func Sources_TallySchema_Values_StoreEvent_swift_1() async throws {
for await event in store.events() where event.tables.contains("Game") {
  if case .these(let names) = event.records { print(names.count, "records") } else { print("read all again") }
}
}

// Sources/TallySchema/Values/StoreEvent.swift
private func Sources_TallySchema_Values_StoreEvent_swift_2() async throws {
for await event in store.events() where event.mayConcern(chess) { print("read it again") }
}

// Sources/TallySchema/Values/TallyError.swift
private func Sources_TallySchema_Values_TallyError_swift_1() async throws {
do {
  try await store.sync(through: FolderMailbox(folder))
} catch let error as any TallyError {
  print("\(error.code.rawValue): \(error.message)", error.isPermanent ? "needs help" : "will pass")
}
}

// Sources/TallySchema/Values/Vacuum.swift
private func Sources_TallySchema_Values_Vacuum_swift_1() throws {
let report = try store.compact(vacuum: .incremental)
print("\(report.reclaimed) bytes given back")
_ = report
}

// Sources/TallyStore/Join/ConflictRow.swift
private func Sources_TallyStore_Join_ConflictRow_swift_1() throws {
let count = ValueObservation.tracking { db in try ConflictRow.fetchCount(db) }
_ = count
}

// Sources/TallyStore/Seeds/SeededRecord.swift
private func Sources_TallyStore_Seeds_SeededRecord_swift_1() throws {
let isOwn = try store.read { db in try SeededRecord.fetchOne(db, of: toast.name)?.belongsToUser ?? true }
_ = isOwn
}

// Sources/TallyStore/Seeds/SeededRecord.swift
private func Sources_TallyStore_Seeds_SeededRecord_swift_2() throws {
let isOwn = try SeededRecord.fetchOne(db, of: toast.name)?.belongsToUser ?? true
_ = isOwn
}

// Sources/TallyStore/Seeds/SeededRecord.swift
private func Sources_TallyStore_Seeds_SeededRecord_swift_3() throws {
let defaults = try store.read { db in try SpeechType.seeded().fetchAll(db) }
_ = defaults
}

// Sources/TallyStore/Seeds/SeededRecord.swift
private func Sources_TallyStore_Seeds_SeededRecord_swift_4() throws {
let own = try store.read { db in try SpeechType.belongingToUser().fetchCount(db) }
_ = own
}

// Sources/TallyStore/State/ContestedValue.swift
private func Sources_TallyStore_State_ContestedValue_swift_1() throws {
let contested = try store.read { db in try ContestedValue.fetchAll(db) }
for value in contested { print("\(value.name) wants \(value.field) \(value.wanted)") }
_ = contested
}
