import Foundation
import Observation
import Tally

/// The state and the actions of the screen of one list.
@MainActor @Observable final class ListModel {
  let rows: Observed<[ItemRow]>
  /// The text in the search field.
  var searchText = "" { didSet { search() } }
  /// The item that was removed last, for an undo button.
  private(set) var removed: RecordName<Item>?
  private let store: Store
  private let list: RecordName<ShoppingList>

  init(_ store: Store, list: RecordName<ShoppingList> = Pantry.groceries) {
    (self.store, self.list) = (store, list)
    rows = Observed([], in: store) { db in try ItemRow.items(of: list).fetchAll(db) }
  }

  private func search() {
    let (list, text) = (list, searchText)
    rows.follow(in: store) { db in try ItemRow.items(of: list, matching: text).fetchAll(db) }
  }

  func add(_ title: String, amount: Int = 1, due: Date? = nil, tags: [String] = []) async throws {
    let list = list
    _ = try await store.write { db in try Item.add(db, title, amount: amount, due: due, tags: tags, to: list) }
  }

  /// Changes an item as it is now. `updateChanges` writes what differs, so a field that only another device changed
  /// stays as that device left it.
  func edit(_ id: RecordName<Item>, _ change: @escaping @Sendable (inout Item) -> Void) async throws {
    try await store.write { db in
      var item = try Item.find(db, id: id)
      try item.updateChanges(db, modify: change)
    }
  }

  func move(_ id: RecordName<Item>, after other: RecordName<Item>?) async throws {
    try await store.write { db in try Item.move(db, id, after: other) }
  }

  func remove(_ id: RecordName<Item>) async throws {
    try await store.write { db in _ = try Item.deleteOne(db, id: id) }
    removed = id
  }

  /// Brings back what was removed last, on all devices, with its tags.
  func undoRemove() throws {
    guard let id = removed else { return }
    try store.restore(id)
    removed = nil
  }
}
