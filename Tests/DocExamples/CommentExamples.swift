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

// Sources/Tally/RowSection.swift
private func Sources_Tally_RowSection_swift_1() throws {
let games = try Game.order(Column("name")).fetchAll(db)
for section in games.sections(by: { $0.name?.first }) { print(section.id ?? "–", section.rows.count) }
_ = games
}

// Sources/Tally/RowSection.swift
private func Sources_Tally_RowSection_swift_2() throws {
let byLetter = try Game.order(Column("name")).fetchAll(db).sections { $0.name?.first }
_ = byLetter
}

// Sources/Tally/Sequence+Cases.swift
private func Sources_Tally_Sequence_Cases_swift_1() throws {
let games = Game.filter(Column("level") == Level.expert)
_ = games
}

// Sources/Tally/Sequence+Cases.swift
private func Sources_Tally_Sequence_Cases_swift_2() throws {
let games = Game.filter(Column("level") != Level.expert)
_ = games
}

// Sources/Tally/Sequence+Cases.swift
private func Sources_Tally_Sequence_Cases_swift_3() throws {
let games = Game.filter([Level.beginner, .expert].contains(Column("level")))
_ = games
}

// Sources/TallyCRDT/ListPosition.swift
private func Sources_TallyCRDT_ListPosition_swift_1() throws {
let chapters = try Chapter.order(Column("rank"), Column("id")).fetchAll(db)
_ = chapters
}

// Sources/TallyCRDT/RecordName.swift
private func Sources_TallyCRDT_RecordName_swift_1() throws {
let name = try AnyRecordName("Game|~|chess")
print(name.type, name.key)   // Game chess
if let history = try store.history(of: name) { print(history.isVisible) }
_ = name
}

// Sources/TallyCRDT/RecordName.swift
private func Sources_TallyCRDT_RecordName_swift_2() throws {
let name = try AnyRecordName("Game|~|chess")
_ = name
}

// Sources/TallyCRDT/RecordName.swift
private func Sources_TallyCRDT_RecordName_swift_3() throws {
let name = try AnyRecordName(type: "Game", key: "chess")
_ = name
}

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount+Run.swift
private func Sources_TallyCloudKit_CloudKitAccount_Run_swift_1() async throws {
try await iCloud.run(container, localData: .move) { store, engine in
  await engine.add(FolderMailbox(folder), named: "iCloud Drive")
}
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private func Sources_TallyCloudKit_CloudKitAccount_swift_1() async throws {
let iCloud = CloudKitAccount(CKContainer.default())
for await state in iCloud.states() {
  let store = try await container.follow(state, localData: .move)
  print(try store.vector.isEmpty, iCloud.mailbox(for: container.current)?.name ?? "no iCloud")
}
_ = iCloud
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private func Sources_TallyCloudKit_CloudKitAccount_swift_2() throws {
let iCloud = CloudKitAccount(CKContainer(identifier: "iCloud.com.example.scores"))
_ = iCloud
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private func Sources_TallyCloudKit_CloudKitAccount_swift_3() async throws {
let isSignedIn = await iCloud.state() != .noAccount
_ = isSignedIn
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private func Sources_TallyCloudKit_CloudKitAccount_swift_4() async throws {
for await state in iCloud.states() { print(state) }
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private func Sources_TallyCloudKit_CloudKitAccount_swift_5() async throws {
if let mailbox = iCloud.mailbox(for: container.current) { await engine.add(mailbox, named: "iCloud") }
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private enum Sources_TallyCloudKit_CloudKitAccount_swift_6 {
func registered(deviceToken: Data) { iCloud.didRegisterForNotifications() }
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private func Sources_TallyCloudKit_CloudKitAccount_swift_7() async throws {
iCloud.lookAgain()
await engine.syncNow()
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private enum Sources_TallyCloudKit_CloudKitAccount_swift_8 {
func received(_ userInfo: [AnyHashable: Any]) async {
  if iCloud.handle(userInfo) { await engine.syncOnce(within: .seconds(25)) }
}
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitAccount.swift
private func Sources_TallyCloudKit_CloudKitAccount_swift_9() async throws {
await engine.pause()
let store = try await container.follow(await iCloud.state(), localData: .move)
_ = store
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitError.swift
private func Sources_TallyCloudKit_CloudKitError_swift_1() async throws {
do {
  try await store.sync(through: mailbox)
} catch let error as CloudKitError where error.code == .full {
  print("Your iCloud storage is full. Nothing is lost; it syncs when there is room.")
}
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitMailbox.swift
private func Sources_TallyCloudKit_CloudKitMailbox_swift_1() async throws {
let mailbox = CloudKitMailbox(CKContainer.default(), account: "_3f2a9c")
await engine.add(mailbox, named: "iCloud")
_ = mailbox
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitMailbox.swift
private func Sources_TallyCloudKit_CloudKitMailbox_swift_2() throws {
let mailbox = CloudKitMailbox(CKContainer(identifier: "iCloud.com.example.scores"), account: "_3f2a9c")
_ = mailbox
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitMailbox.swift
private enum Sources_TallyCloudKit_CloudKitMailbox_swift_3 {
func received(_ userInfo: [AnyHashable: Any]) async {
  guard mailbox.handle(userInfo) else { return }
  await engine.syncOnce(within: .seconds(25))
}
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitMailbox.swift
private enum Sources_TallyCloudKit_CloudKitMailbox_swift_4 {
func registered(deviceToken: Data) { mailbox.didRegisterForNotifications() }
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitMailbox.swift
private func Sources_TallyCloudKit_CloudKitMailbox_swift_5() async throws {
mailbox.lookAgain()
await engine.syncNow()
}
#endif

#if canImport(CloudKit)
// Sources/TallyCloudKit/CloudKitMailbox.swift
private func Sources_TallyCloudKit_CloudKitMailbox_swift_6() async throws {
try await mailbox.putAgain()
await engine.resume()
}
#endif

// Sources/TallyImport/ImportMap+Draft.swift
private func Sources_TallyImport_ImportMap_Draft_swift_1() throws {
let draft = try ImportMap.draft(of: url, for: schema)
print(draft.unmatched, draft.leftOut, draft.unused)
_ = draft
}

// Sources/TallyImport/ImportMap.swift
private func Sources_TallyImport_ImportMap_swift_1() throws {
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

// Sources/TallyImport/ImportMap.swift
private func Sources_TallyImport_ImportMap_swift_2() throws {
let pictures = ImportMap(
  folder: "Pictures",
  tables: [.init(from: "person", to: "Person", fields: ["photo": .init(column: "photo", as: .path)])])
_ = pictures
}

// Sources/TallyImport/ImportMap.swift
private func Sources_TallyImport_ImportMap_swift_3() throws {
let lists = ImportMap.Table(from: "ZLIST", to: "ShoppingList", fields: ["title": "ZTITLE"])
_ = lists
}

// Sources/TallyImport/ImportMap.swift
private func Sources_TallyImport_ImportMap_swift_4() throws {
let tags = ImportMap.Links(from: "Z_1TAGS", to: "Item.tags", source: "Z_1ITEMS", target: "Z_2TAGS")
_ = tags
}

// Sources/TallyImport/ImportMap.swift
private func Sources_TallyImport_ImportMap_swift_5() throws {
let photo = ImportColumn(column: "ZPHOTO", as: .coreDataBlob, type: "jpg")
_ = photo
}

// Sources/TallyImport/ImportMap.swift
private func Sources_TallyImport_ImportMap_swift_6() throws {
let note = ImportColumn(sql: "trim(coalesce(ZNOTES, ''))")
_ = note
}

// Sources/TallyImport/Store+Import.swift
private func Sources_TallyImport_Store_Import_swift_1() throws {
let map = try ImportMap(json: Data(contentsOf: folder.appendingPathComponent("map.json")))
let report = try store.importDatabase(at: url, map: map)
_ = map
_ = report
}

#if Inspector
// Sources/TallyInspector/Inspector.swift
private func Sources_TallyInspector_Inspector_swift_1() async throws {
let inspector = Inspector(store, engine)
print(try await inspector.serve())  // http://127.0.0.1:49152/?token=…
_ = inspector
}
#endif

#if Inspector
// Sources/TallyInspector/Inspector.swift
private func Sources_TallyInspector_Inspector_swift_2() async throws {
let inspector = Inspector(store, engine)
let (first, second) = (try await inspector.serve(), try inspector.newAddress())
print(first, second)
_ = inspector
}
#endif

#if Network
// Sources/TallyNetwork/PairingCode.swift
private func Sources_TallyNetwork_PairingCode_swift_1() async throws {
let code = try PairingCode(host: "192.168.1.7", port: 7_400, name: "Ann's Mac", secret: .random())
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

// Sources/TallyRelay/RelayError.swift
private func Sources_TallyRelay_RelayError_swift_1() async throws {
do {
  let status = try await RelayMailbox("https://relay.example/s/3f2a", token: token).status()
  print(status)
} catch let error as RelayError where error.code == .unauthenticated {
  print("Ask for another token: \(error.message)")
}
}

// Sources/TallyRelay/RelayMailbox.swift
private func Sources_TallyRelay_RelayMailbox_swift_1() async throws {
let mailbox = try RelayMailbox("https://relay.example/s/3f2a…", token: token)
try await store.sync(through: mailbox)
await engine.add(mailbox, named: "relay")
_ = mailbox
}

// Sources/TallyRelay/RelayMailbox.swift
private func Sources_TallyRelay_RelayMailbox_swift_2() throws {
var settings = RelayClient.Settings()
settings.timeout = .seconds(20)
let mailbox = try RelayMailbox("https://relay.example/s/3f2a", token: token, settings)
_ = settings
_ = mailbox
}

// Sources/TallyRelay/RelayMailbox.swift
private func Sources_TallyRelay_RelayMailbox_swift_3() async throws {
let status = try await RelayMailbox("https://relay.example/s/3f2a", token: token).status()
_ = status
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
