import TallyStore

/// The storage of a replica's file: in memory, or on a disk that forgets in a power cut what was not synced.
final class Storage {
  let disk: SimulatedDisk?
  /// A copy that was made of the file, and where its owner stood then.
  var backup: (image: DiskImage, seen: EventSet, schema: Schema)?

  init(onDisk: Bool) { disk = onDisk ? SimulatedDisk() : nil }

  init(_ image: DiskImage) { disk = SimulatedDisk(image) }

  func open(_ schema: Schema, _ options: StoreOptions) throws -> Store {
    if let disk { return try disk.store(schema: schema, options: options) }
    return try Store(inMemory: schema, options: options)
  }

  /// Ends the app and starts it with a schema.
  func reopen(_ store: Store, _ schema: Schema, _ options: StoreOptions) throws -> Store {
    if let disk {
      disk.kill()
      return try disk.store(schema: schema, options: options)
    }
    let next = try open(schema, options)
    try next.apply(try store.delta())
    return next
  }
}
