import TallyStore

/// What happens to a device.
extension SimulatedReplica {
  /// The device is lost for ever, with all that only it knew.
  public func lose() {
    world.note("replica \(index) is lost")
    world.disconnect(index)
    isLost = true
  }

  /// The app is ended and starts again, with this version of its schema.
  public func upgrade(to schema: Schema) throws {
    guard schema != self.schema else { return }
    world.note("replica \(index) gets another version of the app")
    self.schema = schema
    try restart()
  }

  func restart() throws {
    world.disconnect(index)
    if !storage.keepsJournal { hasWholeJournal = false }
    store = try storage.reopen(store, schema, world.options(clock))
    try noteCommit()
  }
}
