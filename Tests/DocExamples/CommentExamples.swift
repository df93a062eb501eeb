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

// Sources/TallyCRDT/RecordName.swift
private func Sources_TallyCRDT_RecordName_swift_1() throws {
let name = try AnyRecordName("Game|~|chess")
_ = name
}

// Sources/TallyCRDT/RecordName.swift
private func Sources_TallyCRDT_RecordName_swift_2() throws {
let name = try AnyRecordName(type: "Game", key: "chess")
_ = name
}

#if Inspector
// Sources/TallyInspector/Inspector.swift
private func Sources_TallyInspector_Inspector_swift_1() async throws {
let inspector = Inspector(store, engine)
print(try await inspector.serve())  // http://127.0.0.1:49152/?token=…
_ = inspector
}
#endif

#if Macros
// Sources/TallyMacros/FieldValue.swift
private enum Sources_TallyMacros_FieldValue_swift_1 {
struct Color: DatabaseValueConvertible, FieldValue {
  static var fieldKind: FieldKind { .integer }
  var rgb: Int
  var databaseValue: DatabaseValue { rgb.databaseValue }
  static func fromDatabaseValue(_ value: DatabaseValue) -> Color? {
    Int.fromDatabaseValue(value).map(Color.init)
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
// Sources/TallyNetwork/PairingCode.swift
private func Sources_TallyNetwork_PairingCode_swift_1() async throws {
let code = PairingCode(host: "192.168.1.7", port: 7_400, name: "Ann's Mac", secret: .random())
let text = code.description                      // tally://192.168.1.7:7400/?name=Ann's%20Mac#…
if let scanned = PairingCode(text) { await engine.add(scanned.transport()) }
_ = code
_ = text
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

// Sources/TallyRelay/RelayClient.swift
private func Sources_TallyRelay_RelayClient_swift_1() throws {
let client = RelayClient("https://relay.example", token: token)
let mailbox = try RelayMailbox(space: "3f2a", on: client)
_ = client
_ = mailbox
}

// Sources/TallyRelay/RelayMailbox.swift
private func Sources_TallyRelay_RelayMailbox_swift_1() async throws {
let mailbox = try RelayMailbox("https://relay.example/s/3f2a…", token: token)
try await store.sync(through: mailbox)
await engine.add(mailbox, named: "relay")
_ = mailbox
}

// Sources/TallyRelay/RelayMailbox.swift
private func Sources_TallyRelay_RelayMailbox_swift_2() async throws {
let status = try await RelayMailbox("https://relay.example/s/3f2a", token: token).status()
_ = status
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_1() throws {
let account = container.current
print(account == .local ? "not signed in" : "signed in as \(account)")
_ = account
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_2() throws {
let store = try container.signIn("ann", localData: .copy)
_ = store
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_3() throws {
let container = try Container(directory: folder, schema: schema)
var store = try container.store()
store = try container.signIn("ann", localData: .move)
store = try container.signOut()
_ = container
_ = store
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_4() throws {
let container = try Container(directory: folder, schema: schema)
_ = container
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_5() throws {
let store = try container.store()
_ = store
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_6() throws {
let store = try container.signIn("ann", localData: .move)
_ = store
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_7() async throws {
await engine.pause()
let store = try await container.signOut()
_ = store
}

// Sources/TallySync/Engine/PeerDiscovery.swift
private enum Sources_TallySync_Engine_PeerDiscovery_swift_1 {
struct Neighbors: PeerDiscovery {
  let lists: AsyncStream<[any Transport]>
  func peers() -> AsyncStream<[any Transport]> { lists }
}
}

// Sources/TallySync/Engine/PeerDiscovery.swift
private func Sources_TallySync_Engine_PeerDiscovery_swift_2() async throws {
let following = Task { await engine.follow(neighbors) }
_ = following
}

// Sources/TallySync/Engine/SyncEngine+Once.swift
private func Sources_TallySync_Engine_SyncEngine_Once_swift_1() async throws {
let status = await engine.syncOnce(within: .seconds(25))
let isDone = status.isUpToDate
_ = status
_ = isDone
}

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

// Sources/TallySync/Engine/SyncEngine.swift
private func Sources_TallySync_Engine_SyncEngine_swift_2() throws {
var settings = SyncEngine.Settings()
settings.interval = .seconds(15)
let engine = SyncEngine(store, settings)
_ = settings
_ = engine
}

// Sources/TallySync/Engine/SyncEngine.swift
private func Sources_TallySync_Engine_SyncEngine_swift_3() async throws {
await engine.add(ProcessTransport(command: "ssh home.example tally serve scores.tally --stdio", name: "home"))
}

// Sources/TallySync/Engine/SyncEngine.swift
private func Sources_TallySync_Engine_SyncEngine_swift_4() async throws {
await engine.add(FolderMailbox(driveURL), named: "drive")
}

// Sources/TallySync/Engine/SyncEngine.swift
private func Sources_TallySync_Engine_SyncEngine_swift_5() async throws {
await engine.remove("drive")
}

// Sources/TallySync/Engine/SyncEngine.swift
private func Sources_TallySync_Engine_SyncEngine_swift_6() async throws {
try await engine.accept(StreamConnection.standardStreams(), from: "laptop")
}

// Sources/TallySync/Engine/SyncEngine.swift
private func Sources_TallySync_Engine_SyncEngine_swift_7() async throws {
for await status in await engine.statusUpdates() {
  print(status.isPaused ? "paused" : status.isUpToDate ? "up to date" : "not up to date")
}
}

// Sources/TallySync/Engine/SyncStatus.swift
private func Sources_TallySync_Engine_SyncStatus_swift_1() async throws {
for peer in await engine.status.peers {
  print(peer.id, peer.phase, peer.lastError ?? "")
}
}

// Sources/TallySync/Engine/SyncStatus.swift
private func Sources_TallySync_Engine_SyncStatus_swift_2() async throws {
let status = await engine.status
print(status.isPaused ? "off" : status.isUpToDate ? "up to date" : "\(status.peers.count) peers")
_ = status
}

// Sources/TallySync/Engine/SyncStatus.swift
private enum Sources_TallySync_Engine_SyncStatus_swift_3 {
@MainActor final class Settings {
  let monitor: SyncMonitor
  init(_ engine: SyncEngine) { monitor = SyncMonitor(engine) }
  var line: String {
    monitor.status.isPaused ? "paused" : monitor.status.isUpToDate ? "up to date" : "not up to date"
  }
}
}

// Sources/TallySync/Mailboxes/FolderMailbox.swift
private func Sources_TallySync_Mailboxes_FolderMailbox_swift_1() async throws {
let drive = FolderMailbox(URL(fileURLWithPath: "/Users/ann/Dropbox/Scores", isDirectory: true))
try await store.sync(through: drive)
_ = drive
}

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

// Sources/TallySync/Protocol/SyncDevice.swift
private func Sources_TallySync_Protocol_SyncDevice_swift_1() throws {
var settings = SyncEngine.Settings()
settings.device = SyncDevice(name: "Ann's laptop", app: "Scores 2.1")
_ = settings
}

// Sources/TallySync/Protocol/SyncError.swift
private func Sources_TallySync_Protocol_SyncError_swift_1() async throws {
do {
  try await engine.accept(StreamConnection.standardStreams(), from: "laptop")
} catch let error as SyncError where error.code == .upgradeRequired {
  print("Update the app: \(error)")
}
}

// Sources/TallySync/Session/KnownDevice.swift
private func Sources_TallySync_Session_KnownDevice_swift_1() throws {
for device in try store.devices() {
  print(device.name ?? "a device", device.pending == 0 ? "has everything" : "is \(device.pending) changes behind")
}
}

// Sources/TallySync/Session/Store+Sync.swift
private func Sources_TallySync_Session_Store_Sync_swift_1() throws {
let report = try phone.sync(with: tablet)
print(report.isConverged, report.byteCount)
_ = report
}

// Sources/TallySync/Transports/MemoryTransport.swift
private func Sources_TallySync_Transports_MemoryTransport_swift_1() async throws {
let transport = MemoryTransport(name: "tablet") { connection in try await tablet.sync(over: connection) }
await engine.add(transport)
_ = transport
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

// Sources/TallySync/Transports/Transport.swift
private enum Sources_TallySync_Transports_Transport_swift_1 {
struct Tunnel: Transport {
  let name = "home"
  func open() async throws -> any SyncConnection { try StreamConnection(reading: 3, writing: 4) }
}
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
