// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally

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

// Sources/Tally/Tally.docc/Accounts.md
private func Sources_Tally_Tally_docc_Accounts_md_1() throws {
let container = try Container(directory: folder, schema: Pantry.schema)
var store = try container.store()
store = try container.signIn("ann", localData: .move)
store = try container.signOut()
_ = container
_ = store
}

// Sources/Tally/Tally.docc/Accounts.md
private func Sources_Tally_Tally_docc_Accounts_md_2() async throws {
await engine.pause()
}

// Sources/Tally/Tally.docc/Accounts.md
private func Sources_Tally_Tally_docc_Accounts_md_3() throws {
let other = try container.signIn("bob", localData: .keepApart)
let next = SyncEngine(other)
_ = other
_ = next
}

// Sources/Tally/Tally.docc/Accounts.md
private func Sources_Tally_Tally_docc_Accounts_md_4() throws {
try container.erase(.person("ann"))
}

// Sources/Tally/Tally.docc/ConflictsAndUndo.md
private func Sources_Tally_Tally_docc_ConflictsAndUndo_md_1() throws {
for conflict in try store.conflicts() {
  if let draft = conflict.merged() {
    try store.resolve(conflict, with: .text(draft))   // another value: here both texts in one, line by line
  } else if conflict.kind == .referenceCleared {
    try store.restore(conflict)                       // what lost counts after all
  } else {
    try store.dismiss(conflict)                       // what is there stays
  }
}
}

// Sources/Tally/Tally.docc/ConflictsAndUndo.md
private enum Sources_Tally_Tally_docc_ConflictsAndUndo_md_2 {
struct Decision: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Decision", .text("conflict", default: ""))
  var id = RecordName<Decision>()
  var conflict = ""
}

func decide(_ conflict: Conflict, with text: String, in store: Store) throws {
  try store.write { db in
    try store.resolve(db, conflict, with: .text(text))   // or store.dismiss(db, conflict)
    try Decision(conflict: "\(conflict.id)").insert(db)
  }
}

func dropDecided(in store: Store) throws {   // when an event's tables contain "Decision"
  try store.write { db in
    let decided = try String.fetchSet(db, Decision.select(Column("conflict")))
    try store.dismiss(db, store.conflicts(db, limit: .max).filter { decided.contains("\($0.id)") })
  }
}
}

// Sources/Tally/Tally.docc/ConflictsAndUndo.md
private func Sources_Tally_Tally_docc_ConflictsAndUndo_md_3() throws {
if let history = try store.history(of: Pantry.groceries.name) {
  for field in history.fields { print(field.field, field.value, field.stamp) }
}
}

// Sources/Tally/Tally.docc/Counters.md
private func Sources_Tally_Tally_docc_Counters_md_1() throws {
try store.write { db in try Game.score.add(3, to: chess, in: db) }
}

#if Macros
// Sources/Tally/Tally.docc/DefiningEntities.md
private enum Sources_Tally_Tally_docc_DefiningEntities_md_1 {

@Entity struct Person {
  var id = RecordName<Person>()
  var name = ""
}

@Entity("BoardGame", deleteWins: true) struct Game {
  enum Level: String { case easy, hard }

  var id = RecordName<Game>()
  var title = ""
  var minutes: Int?
  var level: Level = .easy
  var boughtAt = Date()
  @Field(onDelete: .cascade) var owner: RecordName<Person>?
  @Members static var players: Relationship<Game, Person>
}
}
#endif

#if Macros
// Sources/Tally/Tally.docc/DefiningEntities.md
private enum Sources_Tally_Tally_docc_DefiningEntities_md_2 {
@Entity struct Item {
  var id = RecordName<Item>()
  var title = ""
  var note = ""
  @Field(renamedFrom: "quantity") var amount = 1
  var position = 0.0
  var due: Date?
  var isBought = false
  @Field(onDelete: .cascade) var list: RecordName<ShoppingList>?
  var shop: RecordName<Shop>?
  @Members static var tags: Relationship<Item, Tag>
}
}
#endif

#if Macros
// Sources/Tally/Tally.docc/DefiningEntities.md
private enum Sources_Tally_Tally_docc_DefiningEntities_md_3 {
@Entity struct Score {
  var id = RecordName<Score>()
  @Field(renamedFrom: "value") var points = 0
}
}
#endif

// Sources/Tally/Tally.docc/DefiningEntities.md
private enum Sources_Tally_Tally_docc_DefiningEntities_md_4 {
struct Player: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Player",
    .text("name", default: ""), .integer("seat"), .text("rank", renamedFrom: "level"),
    .reference("game", to: "Game", onDelete: .cascade),
    .toMany("partners", to: "Player"))
  static let partners = Relationship<Player, Player>("partners")

  var id = RecordName<Player>()
  var name = ""
  var seat: Int?
  var rank: String?
  var game: RecordName<Game>?
}
}

// Sources/Tally/Tally.docc/Deleting.md
private func Sources_Tally_Tally_docc_Deleting_md_1() throws {
let bin = try store.recentlyDeleted(Item.self)
for item in bin { print(item.values["title"] ?? .null, item.restorableUntil ?? "not synced yet") }
if let last = bin.first { try store.restore(last.name) }
_ = bin
}

// Sources/Tally/Tally.docc/Deleting.md
private func Sources_Tally_Tally_docc_Deleting_md_2() throws {
var options = StoreOptions()
options.compaction = .automatic(restoreWindow: .days(90))
_ = options
}

// Sources/Tally/Tally.docc/Deleting.md
private func Sources_Tally_Tally_docc_Deleting_md_3() throws {
try store.write { db in _ = try ShoppingList.deleteOne(db, id: Pantry.groceries) }
try store.purge(Pantry.groceries)
}

// Sources/Tally/Tally.docc/Deleting.md
private func Sources_Tally_Tally_docc_Deleting_md_4() throws {
let report = try store.compact(vacuum: .incremental)
print("\(report.reclaimed) bytes given back, \(report.reclaimable) still free")
_ = report
}

// Sources/Tally/Tally.docc/GettingStarted.md
private enum Sources_Tally_Tally_docc_GettingStarted_md_1 {

struct Item: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Item", .text("title", default: ""), .bool("isBought", default: false))
  var id = RecordName<Item>()
  var title = ""
  var isBought = false
}
}

#if canImport(CloudKit)
// Sources/Tally/Tally.docc/ICloud.md
private enum Sources_Tally_Tally_docc_ICloud_md_1 {

@MainActor final class Syncing {
  let iCloud = CloudKitAccount(CKContainer.default())

  func run(_ container: Container, show: (Store, SyncEngine) -> Void) async throws {
    try await iCloud.run(container, localData: .move) { store, engine in show(store, engine) }
  }
}
}
#endif

#if canImport(CloudKit)
// Sources/Tally/Tally.docc/ICloud.md
private enum Sources_Tally_Tally_docc_ICloud_md_2 {
@MainActor func received(_ userInfo: [AnyHashable: Any], _ iCloud: CloudKitAccount, _ engine: SyncEngine) async -> Bool {
  guard iCloud.handle(userInfo) else { return false }
  NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
  defer { NotificationCenter.default.post(name: Database.suspendNotification, object: nil) }
  return await engine.syncOnce(within: .seconds(25)).isUpToDate
}
}
#endif

#if canImport(CloudKit)
// Sources/Tally/Tally.docc/ICloud.md
private enum Sources_Tally_Tally_docc_ICloud_md_3 {
func cameToTheFront(_ iCloud: CloudKitAccount, _ engine: SyncEngine) async {
  iCloud.lookAgain()
  await engine.syncNow()
}
}
#endif

#if canImport(CloudKit)
// Sources/Tally/Tally.docc/ICloud.md
private enum Sources_Tally_Tally_docc_ICloud_md_4 {
func sentence(_ peer: PeerStatus) -> String? {
  switch peer.errorCode.flatMap(CloudKitError.Code.init) {
  case .full: "Your iCloud storage is full. Your data is safe on this device, and syncs when there is room."
  case .notSignedIn: "Sign in to iCloud to see this on your other devices."
  case .temporarilyUnavailable: "Confirm your Apple Account in Settings to go on syncing."
  case .accountChanged: "Another person is signed in to iCloud. What is here stays as it is."
  case .zoneDeleted: "This app's data was deleted from iCloud. Put it there again?"
  case .outdated: "Update the app to go on syncing."
  case .restricted, .misconfigured: "iCloud is not available for this app."
  case .unreachable, .busy, .failed, .tooLarge, nil: nil
  }
}
}
#endif

#if canImport(CloudKit)
// Sources/Tally/Tally.docc/ICloud.md
private func Sources_Tally_Tally_docc_ICloud_md_5() async throws {
try await mailbox.putAgain()
await engine.resume()
}
#endif

// Sources/Tally/Tally.docc/InXcode.md
private enum Sources_Tally_Tally_docc_InXcode_md_1 {
func open(inGroup folder: URL, _ schema: Schema, isWidget: Bool) throws -> Store {
  var options = StoreOptions()
  options.observesSuspensionNotifications = true
  options.isReadOnly = isWidget
  return try Store(path: folder.appendingPathComponent("app.tally").path, schema: schema, options: options)
}
}

// Sources/Tally/Tally.docc/InXcode.md
private enum Sources_Tally_Tally_docc_InXcode_md_2 {
func refresh(_ engine: SyncEngine) async -> Bool {
  NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
  defer { NotificationCenter.default.post(name: Database.suspendNotification, object: nil) }
  return await engine.syncOnce(within: .seconds(25)).isUpToDate
}
}

// Sources/Tally/Tally.docc/MigrationsAndVersions.md
private func Sources_Tally_Tally_docc_MigrationsAndVersions_md_7() throws {
try store.write { db in
  try db.execute(sql: "UPDATE Item SET note = 'several' WHERE amount > 1 AND note = ''")
}
}

// Sources/Tally/Tally.docc/MigrationsAndVersions.md
private func Sources_Tally_Tally_docc_MigrationsAndVersions_md_8() throws {
var migrator = DatabaseMigrator()
migrator.registerMigration("drafts") { db in
  try db.create(table: "Draft") { table in
    table.autoIncrementedPrimaryKey("id")
    table.column("item", .text).references("Item", onDelete: .setNull)
    table.column("text", .text).notNull()
  }
}
migrator.registerMigration("item titles are found fast") { db in
  try db.create(index: "itemTitle", on: "Item", columns: ["title"])
}
try migrator.migrate(store)
_ = migrator
}

// Sources/Tally/Tally.docc/ObservingAndSwiftUI.md
private func Sources_Tally_Tally_docc_ObservingAndSwiftUI_md_1() async throws {
for try await titles in store.values({ db in try Item.order(Column("title")).fetchAll(db).map(\.title) }) {
  print(titles)
}
}

// Sources/Tally/Tally.docc/ObservingAndSwiftUI.md
private enum Sources_Tally_Tally_docc_ObservingAndSwiftUI_md_2 {
@MainActor @Observable final class ItemsScreen {
  let rows: Observed<[ItemRow]>

  init(_ store: Store, list: RecordName<ShoppingList>) {
    rows = Observed([], in: store) { db in try ItemRow.items(of: list).fetchAll(db) }
  }
}
}

// Sources/Tally/Tally.docc/ObservingAndSwiftUI.md
private enum Sources_Tally_Tally_docc_ObservingAndSwiftUI_md_3 {
@MainActor func gamesByLetter(_ store: Store) -> Observed<[RowSection<Character?, Game>]> {
  Observed([], in: store) { db in try Game.order(Column("name")).fetchAll(db).sections { $0.name?.first } }
}
}

// Sources/Tally/Tally.docc/ObservingAndSwiftUI.md
private enum Sources_Tally_Tally_docc_ObservingAndSwiftUI_md_4 {
@MainActor final class SettingsScreen {
  let monitor: SyncMonitor
  init(_ engine: SyncEngine) { monitor = SyncMonitor(engine) }
  var line: String {
    monitor.status.isPaused ? "paused" : monitor.status.isUpToDate ? "up to date" : "not up to date"
  }
}
}

// Sources/Tally/Tally.docc/RelationshipsAndAssociations.md
private func Sources_Tally_Tally_docc_RelationshipsAndAssociations_md_1() throws {
let (milk, dairy) = (Item(title: "Milk"), Tag(name: "dairy"))
try store.write { db in
  try milk.insert(db)
  try dairy.insert(db)
  try Item.tags.insert(db, dairy.id, to: milk.id)
  let labels = try Item.tags.members(db, of: milk.id)
  let items = try Item.tags.sources(db, of: dairy.id)
  try Item.tags.set(db, labels.subtracting([dairy.id]), of: items.first ?? milk.id)
}
}

// Sources/Tally/Tally.docc/RelationshipsAndAssociations.md
private enum Sources_Tally_Tally_docc_RelationshipsAndAssociations_md_2 {
struct TaggedItem: Decodable, FetchableRecord {
  var item: Item
  var tags: [Tag]
}

func rows(_ db: Database) throws -> [TaggedItem] {
  try Item.including(all: Item.tags.association.order(Column("name"))).asRequest(of: TaggedItem.self).fetchAll(db)
}
}

// Sources/Tally/Tally.docc/SearchIndexesTriggers.md
private func Sources_Tally_Tally_docc_SearchIndexesTriggers_md_1() throws {
let pattern = FTS5Pattern(matchingAllPrefixesIn: "oat mil")
let found = try Item
  .filter(literal: "\(Column.rowID) IN (SELECT rowid FROM ItemText WHERE ItemText MATCH \(pattern))")
  .fetchAll(db)
_ = pattern
_ = found
}

// Sources/Tally/Tally.docc/SearchIndexesTriggers.md
private func Sources_Tally_Tally_docc_SearchIndexesTriggers_md_2() throws {
try store.write { db in
  try db.create(index: "Item_due", on: "Item", columns: ["due"], options: .ifNotExists)
}
}

// Sources/Tally/Tally.docc/SearchIndexesTriggers.md
private func Sources_Tally_Tally_docc_SearchIndexesTriggers_md_3() throws {
let report = try store.status()
for row in report.setAside { print(row.row, row.reason) }
_ = report
}

// Sources/Tally/Tally.docc/SearchIndexesTriggers.md
private func Sources_Tally_Tally_docc_SearchIndexesTriggers_md_4() throws {
try store.write { db in
  try db.execute(
    sql: """
      CREATE TRIGGER IF NOT EXISTS tidy AFTER UPDATE OF title ON Item WHEN NOT tally_applying()
      BEGIN UPDATE Item SET title = trim(NEW.title) WHERE id = NEW.id; END
      """)
}
}

// Sources/Tally/Tally.docc/Seeds.md
private func Sources_Tally_Tally_docc_Seeds_md_1() throws {
try store.seed(Pantry.seeds)   // at every launch
}

// Sources/Tally/Tally.docc/Seeds.md
private func Sources_Tally_Tally_docc_Seeds_md_2() throws {
let second = SeedSet(
  "pantry", version: 2,
  records: [
    SeedRecord("groceries", of: ShoppingList.self, ["title": "Groceries"]),
    SeedRecord("bakery", of: Tag.self, ["name": "bread"]),
  ],
  retired: [SeedKey("drinks", of: Tag.self)])
try store.seed(second)
_ = second
}

// Sources/Tally/Tally.docc/Sync.md
private func Sources_Tally_Tally_docc_Sync_md_2() async throws {
await engine.pause()
try store.close()
}

// Sources/Tally/Tally.docc/Sync.md
private func Sources_Tally_Tally_docc_Sync_md_4() async throws {
var settings = SyncEngine.Settings()
settings.device = SyncDevice(name: "Ann's iPad", app: "Pantry 1.2")
let engine = SyncEngine(store, settings)

for device in try await store.devices() {
  print(device.name ?? "a device", device.lastSeen, device.pending == 0 ? "has everything" : "\(device.pending) behind")
}
_ = settings
_ = engine
}

// Sources/Tally/Tally.docc/Sync.md
private func Sources_Tally_Tally_docc_Sync_md_5() async throws {
let status = await engine.syncOnce(within: .seconds(25))
print(status.isUpToDate ? "done" : status.peers.compactMap(\.lastError).joined(separator: "; "))
_ = status
}

// Sources/Tally/Tally.docc/Sync.md
private func Sources_Tally_Tally_docc_Sync_md_6() throws {
let report = try phone.sync(with: tablet)
print(report.isConverged)
_ = report
}

// Sources/Tally/Tally.docc/Tally.md
private func Sources_Tally_Tally_docc_Tally_md_1() throws {
let store = try Store(path: path, schema: Schema(ShoppingList.self, Shop.self, Tag.self, Item.self))
try store.write { db in
  try Item(title: "Milk").insert(db)
}
let titles = try store.read { db in try Item.order(Column("title")).fetchAll(db).map(\.title) }
_ = store
_ = titles
}

// Sources/Tally/Tally.docc/TestingAndPreviews.md
private func Sources_Tally_Tally_docc_TestingAndPreviews_md_1() throws {
let store = try Store(inMemory: Pantry.schema)
_ = store
}

// Sources/Tally/Tally.docc/Troubleshooting.md
private func Sources_Tally_Tally_docc_Troubleshooting_md_1() async throws {
for peer in await engine.status.peers {
  print(peer.id, peer.phase, peer.lastError ?? "no error", peer.pending.map { "\($0) to send" } ?? "never connected")
}
}

// Sources/Tally/Tally.docc/Troubleshooting.md
private func Sources_Tally_Tally_docc_Troubleshooting_md_2() throws {
let status = try store.status()
print(status.counts, status.setAside, status.rejectedWrites, status.hasTriggerLoop)
if let lead = status.clockAhead { print("\(lead.replica) writes \(lead.seconds) seconds ahead of this clock") }
_ = status
}

// Sources/Tally/Tally.docc/UniqueFields.md
private func Sources_Tally_Tally_docc_UniqueFields_md_1() throws {
do {
  try store.write { db in try Shop(name: "Market").insert(db) }
} catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
  print("There is a shop of that name already.")
}
}
