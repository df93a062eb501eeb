import GRDB

/// Tables that were dropped and made again, or have lost their triggers or the indexes of their unique rules, since a
/// store that writes has looked: what was written to them is captured by the next one that does, and one that only
/// reads knows nothing of it.
package enum UnseenTables {
  /// Whether there are any in a store's file. Cost: that of reading the SQL of the file's schema.
  package static func areThere(in store: Store) throws -> Bool {
    try store.read { db in
      let connection = Connection(try db.handle())
      guard try KnownShape.load(connection) == nil else { return false }
      let catalog = try Catalog.load(connection, cached: nil)
      let order = try TableOrder(connection)
      // Of a table that is gone who reads says so.
      guard Set(order.names).isSuperset(of: catalog.ownTables) else { return false }
      if let before = try TableOrder.kept(connection),
        catalog.ownTables.contains(where: { order.hasMadeAnew($0, since: before) })
      {
        return true
      }
      if try UniqueIndexes.differ(connection, catalog) { return true }
      return try !CaptureTriggers(connection, catalog, AppObjects(connection, catalog)).unwatched().isEmpty
    }
  }
}
