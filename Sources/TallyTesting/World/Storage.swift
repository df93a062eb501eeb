import TallyStore

/// Where a replica keeps its file.
final class Storage {
  var losesPower: Bool { false }
  var keepsJournal: Bool { false }

  func open(_ schema: Schema, _ options: StoreOptions) throws -> Store {
    try Store(inMemory: schema, options: options)
  }

  /// Ends the app and starts it with a schema.
  func reopen(_ store: Store, _ schema: Schema, _ options: StoreOptions) throws -> Store {
    let next = try open(schema, options)
    try next.apply(try store.delta())
    return next
  }
}
