import Foundation
import Tally

/// What an app keeps: a store, a live list, and an engine that syncs through a folder that devices share.
@MainActor final class Groceries {
  let store: Store
  let items: Observed<[Item]>
  let engine: SyncEngine

  init(file: String, shared folder: URL) async throws {
    store = try Store(path: file, schema: Schema(Item.self))
    items = Observed([], in: store) { db in try Item.order(Column("title")).fetchAll(db) }
    var settings = SyncEngine.Settings()
    settings.interval = .seconds(2)  // how often to look into the folder; default: one minute
    engine = SyncEngine(store, settings)
    await engine.add(FolderMailbox(folder), named: "shared folder")
    await engine.resume()
  }

  func add(_ title: String) async throws {
    try await store.write { db in try Item(title: title).insert(db) }
  }
}
