// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Tally
import TallyStore
import TallySync
import TallyRelay
import TallyTesting
import Testing

#if Macros
  import TallyMacros
#endif
#if Network
  import TallyNetwork
#endif

#if Macros
// README.md
private enum README_md_1 {
@Entity struct BoardGame {
  var id = RecordName<BoardGame>()
  var title = ""
  var minutes: Int?
  @Members static var players: Relationship<BoardGame, Person>
}
}
#endif

// README.md
private enum README_md_2 {

final class Scores: Sendable {
  let store: Store
  private let engine: SyncEngine

  init(file: String, schema: Schema, space: String, token: String) async throws {
    store = try Store(path: file, schema: schema)
    engine = SyncEngine(store)
    await engine.add(try RelayMailbox(space, token: token), named: "relay")
    await engine.resume()
  }

  // For a settings screen: what is sent, what waits, and why.
  func status() async -> AsyncStream<SyncStatus> { await engine.statusUpdates() }

  // The app goes to the background.
  func sleep() async { await engine.pause() }
}
}

// README.md
private enum README_md_3 {
@MainActor final class GameList {
  // In SwiftUI, `list.games.value` is all that a view needs.
  let games: Observed<[Game]>

  init(_ store: Store) {
    games = Observed([], in: store) { db in try Game.order(Column("title")).fetchAll(db) }
  }
}
}

// Docs/CrashTests.md
private func Docs_CrashTests_md_1() throws {
let disk = SimulatedDisk()
var store = try disk.store(schema: schema)
try store.write { try Game(name: "Chess").insert($0) }
disk.inject(.powerFailure, atCall: 3)            // the third call from here that changes the disk
try? store.write { try Game(name: "Go").insert($0) }
disk.powerCut(using: &generator)                 // what was not synced is there, gone or torn
store = try disk.store(schema: schema)
_ = disk
_ = store
}

#if Macros
// Docs/Entities.md
private enum Docs_Entities_md_1 {

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
// Docs/Entities.md
private enum Docs_Entities_md_2 {
@Entity struct Score {
  var id = RecordName<Score>()
  @Field(renamedFrom: "value") var points = 0
}
}
#endif

// Docs/Entities.md
private enum Docs_Entities_md_3 {
struct Player: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Player",
    .text("name", default: ""), .integer("seat"), .text("rank", wireName: "level"),
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

// Docs/Mailboxes.md
private enum Docs_Mailboxes_md_1 {

struct WebDAVMailbox: FileMailbox {
  let server: WebDAVServer
  var name: String { server.url.host() ?? "WebDAV" }
  // Unlike the name, another for each place.
  var identity: String { "webdav \(server.url)" }

  func list(prefix: String) throws -> [MailboxItem] {
    try server.properties().filter { $0.name.hasPrefix(prefix) }.map { MailboxItem(name: $0.name, version: $0.etag) }
  }

  func get(_ name: String) throws -> () throws -> [UInt8]? {
    guard let bytes = try server.get(name) else { throw MailboxError(.noSuchFile, "there is no \(name)") }
    var rest = bytes[...]
    return {
      defer { rest = rest.dropFirst(1 << 18) }
      return rest.isEmpty ? nil : Array(rest.prefix(1 << 18))
    }
  }

  func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    var bytes: [UInt8] = []
    while let piece = try source() { bytes += piece }
    // Under another name first, so that nobody sees half of it.
    try server.put(bytes, as: "~\(name).tmp")
    try server.move("~\(name).tmp", to: name)
  }

  func remove(_ name: String) throws { try server.delete(name) }
}
}

// Docs/Mailboxes.md
private enum Docs_Mailboxes_md_2 {
func myMailboxConforms() async throws {
  try await MailboxConformance.check { try await MyMailbox.empty() }
}
}

// Docs/Relay.md
private func Docs_Relay_md_1() async throws {
let mailbox = try RelayMailbox("https://relay.example/s/3f2a", token: token)
try await store.sync(through: mailbox)  // one pass
await engine.add(mailbox, named: "relay")  // or stay in sync
_ = mailbox
}

// Docs/Seeds.md
private func Docs_Seeds_md_1() throws {
let speechTypes = SeedSet(
  "speech-types", version: 1,
  records: [
    SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120]),
    SeedRecord("eulogy", of: SpeechType.self, ["name": "Eulogy", "seconds": 600]),
  ])
try store.seed(speechTypes)   // at every launch
_ = speechTypes
}

// Docs/Seeds.md
private func Docs_Seeds_md_2() throws {
let toast = RecordName<SpeechType>(seed: "toast", of: "speech-types")
try store.write { db in try Speech(title: "To Ann", type: toast).insert(db) }
_ = toast
}

// Docs/Seeds.md
extension SpeechType {
  var title: String { name ?? NSLocalizedString("speech-type.\(DefaultSpeechTypes.key(of: id) ?? "")", comment: "") }
}

// Docs/Seeds.md
private func Docs_Seeds_md_4() throws {
let seeded = try SpeechType.seeded().fetchAll(db)          // came from a seed, whoever has edited it since
let owned = try SpeechType.belongingToUser().fetchAll(db)  // made or edited by somebody
let origin = try SeededRecord.fetchOne(db, of: toast.name) // version and owner of one record
_ = seeded
_ = owned
_ = origin
}

// Docs/Seeds.md
private func Docs_Seeds_md_5() throws {
let adoption = SeedAdoption(of: SpeechType.self, matching: ["name"], present: ["createdAt"], absent: ["updatedAt"])
_ = adoption
}

// Docs/SharedFolder.md
private func Docs_SharedFolder_md_1() async throws {
let folder = FolderMailbox(url)  // the folder must exist
let report = try await store.sync(through: folder)
_ = folder
_ = report
}

#if Macros
// Sources/TallyMacros/FieldValue.swift
private enum Sources_TallyMacros_FieldValue_swift_1 {
struct Colour: DatabaseValueConvertible, FieldValue {
  static var fieldKind: FieldKind { .integer }
  var rgb: Int
  var databaseValue: DatabaseValue { rgb.databaseValue }
  static func fromDatabaseValue(_ value: DatabaseValue) -> Colour? {
    Int.fromDatabaseValue(value).map(Colour.init)
  }
}
}
#endif

#if Macros
// Sources/TallyMacros/Macros.swift
private enum Sources_TallyMacros_Macros_swift_1 {
@Entity struct Person {
  var id = RecordName<Person>()
  var name = ""
}

@Entity("BoardGame") struct Game {
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
// Sources/TallyMacros/Macros.swift
private enum Sources_TallyMacros_Macros_swift_2 {
@Entity struct Score {
  var id = RecordName<Score>()
  @Field(renamedFrom: "value") var points = 0
  @Field(onDelete: .cascade) var game: RecordName<Game>?
}
}
#endif

#if Macros
// Sources/TallyMacros/Macros.swift
private enum Sources_TallyMacros_Macros_swift_3 {
@Entity struct Club {
  var id = RecordName<Club>()
  @Members static var members: Relationship<Club, Person>
}
}
#endif

#if Network
// Sources/TallyNetwork/TCPListener.swift
private func Sources_TallyNetwork_TCPListener_swift_1() async throws {
let listener = try await TCPListener(host: "0.0.0.0", port: 7_400, security: .secret(secret)) { connection in
  try await engine.accept(connection, from: connection.remoteAddress)
}
_ = listener
}
#endif

#if Network
// Sources/TallyNetwork/TCPTransport.swift
private func Sources_TallyNetwork_TCPTransport_swift_1() async throws {
let transport = TCPTransport(host: "home.example", port: 7_400, security: .tls(TLSSettings(), secret: secret))
await engine.add(transport)
_ = transport
}
#endif

// Sources/TallyRelay/RelayMailbox.swift
private func Sources_TallyRelay_RelayMailbox_swift_1() async throws {
let mailbox = try RelayMailbox("https://relay.example/s/3f2a…", token: token)
try await store.sync(through: mailbox)
await engine.add(mailbox, named: "relay")
_ = mailbox
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

// Sources/TallyStore/Seeds/SeedSet.swift
private func Sources_TallyStore_Seeds_SeedSet_swift_1() throws {
let speechTypes = SeedSet("speech-types", version: 2, records: [
  SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120]),
  SeedRecord("eulogy", of: SpeechType.self, ["name": "Eulogy", "seconds": 600]),
], retired: [SeedKey("roast", of: SpeechType.self)])
try store.seed(speechTypes)   // at every launch
_ = speechTypes
}

// Sources/TallyStore/Store/Relationship.swift
extension Game { static let players = Relationship<Game, Person>("players") }

// Sources/TallyStore/Store/Relationship.swift
private func Sources_TallyStore_Store_Relationship_swift_2() throws {
try Game.players.insert(db, ann, to: chess)
let names = try Game.players.members(db, of: chess)
_ = names
}

// Sources/TallyStore/Store/Store+Conflicts.swift
private func Sources_TallyStore_Store_Store_Conflicts_swift_1() throws {
let count = ValueObservation.tracking { db in try ConflictRow.fetchCount(db) }
_ = count
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

// Sources/TallyStore/Values/Conflict.swift
private func Sources_TallyStore_Values_Conflict_swift_1() throws {
for conflict in try store.conflicts() {
  print("\(conflict.name): \(conflict.loserValue) lost to \(conflict.winnerValue)")
}
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_1() throws {
let container = try Container(directory: folder, schema: schema)
var store = try container.store()
store = try container.signIn("ann", localData: .move)
store = try container.signOut()
_ = container
_ = store
}

#if Network
// Sources/TallySync/Engine/SyncEngine+Once.swift
private func Sources_TallySync_Engine_SyncEngine_Once_swift_1() async throws {
let status = await engine.syncOnce(within: .seconds(25))
let isDone = status.isUpToDate
_ = status
_ = isDone
}
#endif

#if Network
// Sources/TallySync/Engine/SyncEngine.swift
private func Sources_TallySync_Engine_SyncEngine_swift_1() async throws {
let engine = SyncEngine(store)
await engine.add(TCPTransport(host: "mac.local", port: 7_400, security: .secret(secret)))
await engine.add(FolderMailbox(driveURL), named: "drive")
await engine.resume()
_ = engine
}
#endif

// Sources/TallySync/Mailboxes/MailboxCursor.swift
private func Sources_TallySync_Mailboxes_MailboxCursor_swift_1() throws {
let cursor = MailboxCursor(position: 42, entry: "9f04c2d1")
precondition(MailboxCursor("\(cursor)") == cursor)
_ = cursor
}

// Sources/TallySync/Mailboxes/Store+Mailbox.swift
private func Sources_TallySync_Mailboxes_Store_Mailbox_swift_1() async throws {
let folder = FolderMailbox(driveURL)
let report = try await store.sync(through: folder)
_ = folder
_ = report
}

// Sources/TallySync/Session/Store+Sync.swift
private func Sources_TallySync_Session_Store_Sync_swift_1() throws {
let report = try phone.sync(with: tablet)
print(report.isConverged, report.byteCount)
_ = report
}

// Sources/TallySync/Transports/Streams/ProcessTransport.swift
private func Sources_TallySync_Transports_Streams_ProcessTransport_swift_1() async throws {
await engine.add(ProcessTransport(command: "ssh home.example tally serve scores.tally --stdio"))
}

// Sources/TallySync/Transports/Streams/StreamConnection.swift
private func Sources_TallySync_Transports_Streams_StreamConnection_swift_1() async throws {
let outcome = try await store.sync(over: StreamConnection.standardStreams())
_ = outcome
}

// Sources/TallyTesting/Disk/SimulatedDisk.swift
private func Sources_TallyTesting_Disk_SimulatedDisk_swift_1() throws {
let disk = SimulatedDisk()
var store = try disk.store(schema: schema)
try store.write { try Game(name: "Chess").insert($0) }
disk.powerCut(using: &generator)                 // the store that was open is lost
store = try disk.store(schema: schema)           // what a peer has seen is there, the rest perhaps
_ = disk
_ = store
}

// Sources/TallyTesting/Mailbox/MailboxConformance.swift
private enum Sources_TallyTesting_Mailbox_MailboxConformance_swift_1 {
func myMailboxConforms() async throws {
  try await MailboxConformance.check { try await MyMailbox.empty() }
}
}

// Sources/TallyTesting/Transport/TransportConformance.swift
private enum Sources_TallyTesting_Transport_TransportConformance_swift_1 {
func myTransportConforms() async throws {
  try await TransportConformance.check { try await MyTransport.connectedPair() }
}
}

// Sources/TallyTesting/World/Simulate.swift
private enum Sources_TallyTesting_World_Simulate_swift_1 {
func bothNotesStay() async throws {
  try await simulate(Note.self, replicas: 2) { world in
    world.network.partition([0], [1])
    try world.replica(0).write { db in try Note(id: .init(uuid: world.uuid()), text: "from the train").insert(db) }
    try world.replica(1).write { db in try Note(id: .init(uuid: world.uuid()), text: "from home").insert(db) }
    world.network.heal()
    try world.sync()
    try expectConverged(world)
    #expect(try world.replica(0).read { try Note.fetchCount($0) } == 2)
  }
}
}

// Sources/TallyTesting/World/Simulate.swift
private enum Sources_TallyTesting_World_Simulate_swift_2 {
func nothingIsLostInRandomRuns() async throws {
  try await simulate(Note.self, Folder.self, replicas: 3, runs: 50)
}
}
