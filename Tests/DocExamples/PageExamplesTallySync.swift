// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
import TallySync

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

// Sources/Tally/Tally.docc/GettingStarted.md
private enum Sources_Tally_Tally_docc_GettingStarted_md_2 {

struct Shopping {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count > 2 else { return print("Shopping FILE add TITLE | buy TITLE | watch COMMAND | serve") }
    let store = try Store(path: arguments[1], schema: Schema(Item.self))
    switch (arguments[2], arguments.dropFirst(3).first) {
    case ("add", let title?):
      try await store.write { db in try Item(title: title).insert(db) }
    case ("buy", let title?):
      try await store.write { db in
        guard var item = try Item.filter(Column("title") == title).fetchOne(db) else { return }
        try item.updateChanges(db) { $0.isBought = true }
      }
    case ("watch", let command?):
      let engine = SyncEngine(store)
      await engine.add(ProcessTransport(command: command, name: "the other"))
      await engine.resume()
      for try await items in store.values({ db in try Item.order(Column("title")).fetchAll(db) }) {
        print(items.map { ($0.isBought ? "✓ " : "· ") + $0.title }.joined(separator: "\n") + "\n")
      }
    case ("serve", nil):
      let engine = SyncEngine(store)
      await engine.resume()
      try await engine.accept(StreamConnection.standardStreams(), from: "the other")
    default: print("Shopping FILE add TITLE | buy TITLE | watch COMMAND | serve")
    }
  }
}
}

// Sources/Tally/Tally.docc/Sync.md
private func Sources_Tally_Tally_docc_Sync_md_1() async throws {

let engine = SyncEngine(store)
await engine.add(FolderMailbox(folder), named: "iCloud Drive")
await engine.add(ProcessTransport(command: "ssh home.example tally serve list.tally --stdio", name: "home"))
await engine.resume()
_ = engine
}

// Sources/Tally/Tally.docc/Sync.md
private enum Sources_Tally_Tally_docc_Sync_md_3 {
struct Neighbors: PeerDiscovery {
  let lists: AsyncStream<[any Transport]>   // a new list whenever the browser's results change
  func peers() -> AsyncStream<[any Transport]> { lists }
}
}

// Sources/Tally/Tally.docc/Sync.md
private func Sources_Tally_Tally_docc_Sync_md_7() async throws {
let outcome = try await store.sync(over: StreamConnection.standardStreams())
let pass = try await store.sync(through: FolderMailbox(folder))
print(outcome.changes, pass.isComplete)
_ = outcome
_ = pass
}
