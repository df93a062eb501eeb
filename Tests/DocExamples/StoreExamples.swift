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

// Sources/TallyStore/Store/Counter.swift
extension Game { static let score = Counter<Game>("score") }

// Sources/TallyStore/Store/Counter.swift
private func Sources_TallyStore_Store_Counter_swift_2() throws {
try store.write { db in try Game.score.add(1, to: chess, in: db) }
}

// Sources/TallyStore/Store/Counter.swift
private func Sources_TallyStore_Store_Counter_swift_3() throws {
let score = Counter<Game>("score")
_ = score
}

// Sources/TallyStore/Store/Counter.swift
private func Sources_TallyStore_Store_Counter_swift_4() throws {
try store.write { db in try Game.score.add(3, to: chess, in: db) }
}

// Sources/TallyStore/Store/Counter.swift
private func Sources_TallyStore_Store_Counter_swift_5() throws {
try store.write { db in try Game.score.set(0, of: chess, in: db) }
}

// Sources/TallyStore/Store/Counter.swift
private func Sources_TallyStore_Store_Counter_swift_6() throws {
try schema.add(db, AnyRecordName("Game|~|chess"), "score", 1)
}

// Sources/TallyStore/Store/Counter.swift
private func Sources_TallyStore_Store_Counter_swift_7() throws {
try schema.set(db, AnyRecordName("Game|~|chess"), "score", to: 0)
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

// Sources/TallyStore/Store/FileRole.swift
private func Sources_TallyStore_Store_FileRole_swift_1() throws {
try Store.checkPlace(path)
}

// Sources/TallyStore/Store/KeptField.swift
extension Game { static let best = KeptField<Game>("best") }

// Sources/TallyStore/Store/KeptField.swift
private func Sources_TallyStore_Store_KeptField_swift_2() throws {
let best = KeptField<Game>("best")
_ = best
}

// Sources/TallyStore/Store/KeptField.swift
private func Sources_TallyStore_Store_KeptField_swift_3() throws {
try store.write { db in try Game.best.set(0, of: chess, in: db) }
}

// Sources/TallyStore/Store/Store+Async.swift
private func Sources_TallyStore_Store_Store_Async_swift_1() async throws {
for conflict in try await store.conflicts() { try await store.dismiss(conflict) }
}

// Sources/TallyStore/Store/Store+Async.swift
private func Sources_TallyStore_Store_Store_Async_swift_2() async throws {
try await store.restore(chess.name)
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

// Sources/TallyStore/Store/Store+Close.swift
private func Sources_TallyStore_Store_Store_Close_swift_1() async throws {
await engine.pause()
try store.close()
}

// Sources/TallyStore/Store/Store+Compaction.swift
private func Sources_TallyStore_Store_Store_Compaction_swift_1() throws {
let report = try store.compact()
print("\(report.emptied) records emptied, \(report.waiting) can still be restored")
_ = report
}

// Sources/TallyStore/Store/Store+Compaction.swift
private func Sources_TallyStore_Store_Store_Compaction_swift_2() throws {
try store.write { db in _ = try Game.deleteOne(db, id: chess) }
try store.purge(chess.name)
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_1() throws {
for conflict in try store.conflicts() where conflict.kind == .overwritten {
  print("\(conflict.name): \(conflict.loserValue) lost to \(conflict.winnerValue)")
}
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_2() throws {
let conflicts = store.values { db in try store.conflicts(db) }
_ = conflicts
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_3() throws {
if let conflict = try store.conflicts(limit: 1).first { try store.restore(conflict) }
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_4() throws {
try store.write { db in for conflict in try store.conflicts(db) { try store.restore(db, conflict) } }
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_5() throws {
for conflict in try store.conflicts() {
  if let draft = conflict.merged() { try store.resolve(conflict, with: .text(draft)) }
}
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_6() throws {
try store.write { db in
  for conflict in try store.conflicts(db) {
    if let draft = conflict.merged() { try store.resolve(db, conflict, with: .text(draft)) }
  }
}
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_7() throws {
for conflict in try store.conflicts() { try store.dismiss(conflict) }
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_8() throws {
try store.dismiss(store.conflicts())
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_9() throws {
try store.write { db in try store.dismiss(db, store.conflicts(db)) }
}

// Sources/TallyStore/Store/Store+Deleted.swift
private func Sources_TallyStore_Store_Store_Deleted_swift_1() throws {
for item in try store.recentlyDeleted(Game.self) {
  print(item.values["name"] ?? .null, item.restorableUntil ?? "not synced yet")
}
}

// Sources/TallyStore/Store/Store+Deleted.swift
private func Sources_TallyStore_Store_Store_Deleted_swift_2() throws {
let bin = store.values { db in try store.recentlyDeleted(db, Game.self) }
_ = bin
}

// Sources/TallyStore/Store/Store+Delta.swift
private func Sources_TallyStore_Store_Store_Delta_swift_1() throws {
let news = try phone.delta(since: tablet.vector)
_ = news
}

// Sources/TallyStore/Store/Store+Delta.swift
private func Sources_TallyStore_Store_Store_Delta_swift_2() throws {
let news = try phone.delta(since: try tablet.vector)
try tablet.apply(news)
_ = news
}

// Sources/TallyStore/Store/Store+Delta.swift
private func Sources_TallyStore_Store_Store_Delta_swift_3() throws {
let result = try tablet.apply(try phone.delta())
_ = result
}

// Sources/TallyStore/Store/Store+Delta.swift
private func Sources_TallyStore_Store_Store_Delta_swift_4() throws {
let types = try store.schema.entities.map(\.type)
_ = types
}

// Sources/TallyStore/Store/Store+Doubt.swift
private func Sources_TallyStore_Store_Store_Doubt_swift_1() throws {
if let doubt = try store.doubt() { print(doubt.level, doubt.reason) }
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

// Sources/TallyStore/Store/Store+MergeDuplicates.swift
private func Sources_TallyStore_Store_Store_MergeDuplicates_swift_1() throws {
let report = try store.mergeDuplicates()
for (name, other) in report.merged { print("\(name) is \(other) now") }
_ = report
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
try store.write { db in _ = try Game.deleteOne(db, id: chess) }
try store.restore(chess.name)
}

// Sources/TallyStore/Store/Store+Restore.swift
private func Sources_TallyStore_Store_Store_Restore_swift_2() throws {
try store.restore(chess)
}

// Sources/TallyStore/Store/Store+Restore.swift
private func Sources_TallyStore_Store_Store_Restore_swift_3() throws {
try store.write { db in
  try store.restore(db, chess.name)
  try db.execute(sql: "UPDATE Game SET name = 'Chess again' WHERE id = ?", arguments: [chess])
}
}

// Sources/TallyStore/Store/Store+Seed.swift
private func Sources_TallyStore_Store_Store_Seed_swift_1() throws {
let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
try store.seed(SeedSet("speeches", version: 1, records: [toast]))
_ = toast
}

// Sources/TallyStore/Store/Store+Seed.swift
private func Sources_TallyStore_Store_Store_Seed_swift_2() throws {
for set in try store.seedSets() { print(set.name, set.versions.map(\.version), set.applied ?? 0) }
}

// Sources/TallyStore/Store/Store+Status.swift
private func Sources_TallyStore_Store_Store_Status_swift_1() throws {
let status = try store.status()
for row in status.setAside { print("\(row.row) does not show: \(row.reason)") }
if let lead = status.clockAhead { print("a clock is off by \(lead.seconds) seconds") }
if let doubt = status.doubt { print("sync with another device: \(doubt.reason)") }
_ = status
}

// Sources/TallyStore/Store/Store+Status.swift
private func Sources_TallyStore_Store_Store_Status_swift_2() throws {
let status = try store.status()
for row in status.setAside { print(row.row, row.reason) }
_ = status
}

// Sources/TallyStore/Store/Store+Values.swift
private func Sources_TallyStore_Store_Store_Values_swift_1() async throws {
for try await games in store.values({ try Game.order(Column("name")).fetchAll($0) }) { print(games.count) }
}

// Sources/TallyStore/Store/Store+Values.swift
private func Sources_TallyStore_Store_Store_Values_swift_2() async throws {
for try await count in store.values({ db in try Game.fetchCount(db) }) { print(count) }
}

// Sources/TallyStore/Store/Store+Values.swift
private enum Sources_TallyStore_Store_Store_Values_swift_3 {
@MainActor final class GameList {
  let games: Observed<[Game]>

  init(_ store: Store) {
    games = Observed([], in: store) { try Game.order(Column("name")).fetchAll($0) }
  }

  var title: String { games.isLoading ? "…" : "\(games.value.count) games" }
}
}

// Sources/TallyStore/Store/Store+Values.swift
private enum Sources_TallyStore_Store_Store_Values_swift_4 {
@MainActor func badge(_ store: Store) -> Observed<Int> {
  Observed(0, in: store) { db in try Game.fetchCount(db) }
}
}

// Sources/TallyStore/Store/Store+Values.swift
private enum Sources_TallyStore_Store_Store_Values_swift_5 {
@MainActor func search(_ text: String, _ games: Observed<[Game]>, _ store: Store) {
  games.follow(in: store) { db in try Game.filter(Column("name").like("%\(text)%")).fetchAll(db) }
}
}

// Sources/TallyStore/Store/Store+Values.swift
private enum Sources_TallyStore_Store_Store_Values_swift_6 {
@MainActor func count(_ name: String, _ badge: Observed<Int>, _ store: Store) {
  badge.follow(in: store) { db in try Game.filter(Column("name") == name).fetchCount(db) }
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
let store = try Store(path: path, schema: Schema(Person.self, Game.self))
_ = store
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_3() throws {
let types = try Store(existing: path).schema.entities.map(\.type)
_ = types
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_4() throws {
let store = try Store(inMemory: Schema(Person.self, Game.self))
_ = store
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_5() throws {
let games = try store.read { db in try Game.order(Column("name")).fetchAll(db) }
_ = games
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_6() async throws {
let count = try await store.read { db in try Game.fetchCount(db) }
_ = count
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_7() throws {
try store.write { db in
  try Game(name: "Chess").insert(db)
  try db.execute(sql: "DELETE FROM Game WHERE name IS NULL")
}
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_8() async throws {
try await store.write { db in try Game(name: "Chess").insert(db) }
}

// Sources/TallyStore/Store/Store.swift
private func Sources_TallyStore_Store_Store_swift_9() throws {
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
