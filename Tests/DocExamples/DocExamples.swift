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

// README.md
private func README_md_1() async throws {

// The address and the token are the two lines that `tally relay token` prints.
let relay = try RelayMailbox("https://relay.example/s/3f2a0c1d", token: token)
await engine.add(relay, named: "relay")
_ = relay
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
    // Under another name first, so that half of it is never seen.
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
let seeded = try SpeechType.seeded().fetchAll(db)          // came from a seed, edited or not
let owned = try SpeechType.belongingToUser().fetchAll(db)  // made or edited by a person
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
