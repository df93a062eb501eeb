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
let store = try container.store(of: .person("ann"))
_ = store
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_7() throws {
let store = try container.signIn("ann", localData: .move)
_ = store
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_8() async throws {
await engine.pause()
let store = try await container.signOut()
_ = store
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_9() async throws {
let store = try await container.signOut()
_ = store
}

// Sources/TallySync/Engine/Container.swift
private func Sources_TallySync_Engine_Container_swift_10() throws {
try container.erase(.person("ann"))
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
await engine.syncNow()
}

// Sources/TallySync/Engine/SyncEngine+Once.swift
private func Sources_TallySync_Engine_SyncEngine_Once_swift_2() async throws {
let status = await engine.syncOnce(within: .seconds(25))
let isDone = status.isUpToDate
_ = status
_ = isDone
}

// Sources/TallySync/Engine/SyncEngine+Settings.swift
private func Sources_TallySync_Engine_SyncEngine_Settings_swift_1() throws {
var settings = SyncEngine.Settings()
settings.interval = .seconds(15)
settings.device = SyncDevice(name: "Ann's laptop", app: "Scores 2.1")
let engine = SyncEngine(store, settings)
_ = settings
_ = engine
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
  let behind = peer.pending.map { "\($0) changes to send" } ?? "not met yet"
  print(peer.device?.name ?? peer.id, peer.phase, peer.lastError ?? behind)
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

// Sources/TallySync/Engine/SyncStatus.swift
private enum Sources_TallySync_Engine_SyncStatus_swift_4 {
@MainActor func monitor(_ engine: SyncEngine) -> SyncMonitor { SyncMonitor(engine) }
}

// Sources/TallySync/Mailboxes/FolderMailbox.swift
private func Sources_TallySync_Mailboxes_FolderMailbox_swift_1() async throws {
await engine.add(FolderMailbox(driveURL), named: "drive")
}

// Sources/TallySync/Mailboxes/FolderMailbox.swift
private func Sources_TallySync_Mailboxes_FolderMailbox_swift_2() async throws {
let drive = FolderMailbox(URL(fileURLWithPath: "/Users/ann/Dropbox/Scores", isDirectory: true))
try await store.sync(through: drive)
_ = drive
}

// Sources/TallySync/Mailboxes/Mailbox.swift
private func Sources_TallySync_Mailboxes_Mailbox_swift_1() async throws {
let report = try await store.sync(through: FolderMailbox(driveURL))
print(report.changes, report.isComplete)
_ = report
}

// Sources/TallySync/Mailboxes/MailboxCursor.swift
private func Sources_TallySync_Mailboxes_MailboxCursor_swift_1() throws {
let cursor = MailboxCursor(position: 42, entry: "9f04c2d1")
precondition(MailboxCursor("\(cursor)") == cursor)
_ = cursor
}

// Sources/TallySync/Mailboxes/MailboxReport.swift
private func Sources_TallySync_Mailboxes_MailboxReport_swift_1() async throws {
let report = try await store.sync(through: FolderMailbox(folder))
for issue in report.pending + report.refused { print(issue.name, issue.message) }
_ = report
}

// Sources/TallySync/Mailboxes/Store+Mailbox.swift
private func Sources_TallySync_Mailboxes_Store_Mailbox_swift_1() async throws {
let folder = FolderMailbox(driveURL)
let report = try await store.sync(through: folder)
_ = folder
_ = report
}

// Sources/TallySync/Mailboxes/Store+Mailbox.swift
private func Sources_TallySync_Mailboxes_Store_Mailbox_swift_2() throws {
let report = try store.sync(through: FolderMailbox(driveURL))
_ = report
}

// Sources/TallySync/Protocol/SyncDevice.swift
private func Sources_TallySync_Protocol_SyncDevice_swift_1() throws {
var settings = SyncEngine.Settings()
settings.device = SyncDevice(name: "Ann's laptop", app: "Scores 2.1")
let engine = SyncEngine(store, settings)
_ = settings
_ = engine
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

// Sources/TallySync/Session/KnownDevice.swift
private func Sources_TallySync_Session_KnownDevice_swift_2() throws {
for device in try store.devices() where device.name == "old phone" { try store.forget(device: device.id) }
}

// Sources/TallySync/Session/Store+Sync.swift
private func Sources_TallySync_Session_Store_Sync_swift_1() throws {
let report = try phone.sync(with: tablet)
print(report.isConverged, report.byteCount)
_ = report
}

// Sources/TallySync/Session/SyncOverConnection.swift
private func Sources_TallySync_Session_SyncOverConnection_swift_1() async throws {
let home = ProcessTransport(command: "ssh home.example tally serve scores.tally --stdio", name: "home")
let outcome = try await store.sync(over: home.open())
print(outcome.changes, outcome.bytesSent + outcome.bytesReceived)
_ = home
_ = outcome
}

// Sources/TallySync/Session/TransferProgress.swift
private func Sources_TallySync_Session_TransferProgress_swift_1() async throws {
for transfer in await engine.status.peers.compactMap(\.transfer) {
  let part = transfer.fraction.map { " \(Int($0 * 100)) %" } ?? ""
  let left = transfer.timeLeft.map { ", \($0.components.seconds) s left" } ?? ""
  print("\(transfer.stage)\(part), \(transfer.records) records\(left)")
}
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

// Sources/TallySync/Transports/Streams/StreamConnection.swift
private func Sources_TallySync_Transports_Streams_StreamConnection_swift_2() async throws {
try await engine.accept(StreamConnection.standardStreams(), from: "laptop")
}

// Sources/TallySync/Transports/Streams/StreamConnection.swift
private func Sources_TallySync_Transports_Streams_StreamConnection_swift_3() async throws {
let (here, there) = try StreamConnection.pair()
async let other = tablet.sync(over: there)
let outcome = try await phone.sync(over: here)
_ = try await other
_ = outcome
}

// Sources/TallySync/Transports/Transport.swift
private enum Sources_TallySync_Transports_Transport_swift_1 {
struct Tunnel: Transport {
  let name = "home"
  func open() async throws -> any SyncConnection { try StreamConnection(reading: 3, writing: 4) }
}
}
