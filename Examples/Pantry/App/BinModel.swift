import Foundation
import Observation
import Tally

/// Items that were removed and can still be brought back, for a screen of recently deleted ones.
@MainActor @Observable final class BinModel {
  let removed: Observed<[DeletedRecord]>
  private let store: Store

  init(_ store: Store) {
    self.store = store
    removed = Observed([], in: store) { db in try store.recentlyDeleted(db, Item.self) }
  }

  func restore(_ record: DeletedRecord) throws { try store.restore(record.name) }

  /// Removes what the item held for good, on all devices.
  func purge(_ record: DeletedRecord) throws { try store.purge(record.name) }
}

extension DeletedRecord {
  /// `Oat milk, until 2030-02-05`.
  var line: String {
    let title = values["title"].flatMap { String.fromDatabaseValue($0.databaseValue) } ?? name.key
    guard let end = restorableUntil else { return "\(title), not synced yet" }
    return "\(title), until \(end.formatted(.iso8601.year().month().day()))"
  }
}
