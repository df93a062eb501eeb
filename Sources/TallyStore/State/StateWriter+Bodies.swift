import TallyCRDT
import TallyWire

/// Bodies in `tally_hidden`, bodies that are deleted, and what deletes and lives had seen.
extension StateWriter {
  func putHidden(_ name: AnyRecordName, _ kind: KindNumber, _ body: [UInt8], _ place: Place?) throws {
    touchesDeleted = true
    if case .hidden(let number) = place {
      let update = try connection.statement("UPDATE tally_hidden SET body = ? WHERE n = ?")
      update.bind(1, body)
      update.bind(2, number)
      return try update.run()
    }
    facts.hiddenKinds.insert(kind)
    let insert = try connection.statement("INSERT INTO tally_hidden(kind, key, body) VALUES(?, ?, ?)")
    insert.bind(1, kind)
    insert.bind(2, name.text)
    insert.bind(3, body)
    try insert.run()
  }

  /// Writes the body of a record that was seen and has got its first delete: see `StampedState.encoded(deleted:)`.
  func putDeleted(_ body: [UInt8], _ kind: RecordKind, _ name: UnsafeBufferPointer<UInt8>) throws {
    change()
    touchesDeleted = true
    facts.hiddenKinds.insert(kind.number)
    let insert = try connection.statement("INSERT INTO tally_hidden(kind, key, body) VALUES(?, ?, ?)")
    insert.bind(1, kind.number)
    insert.bindInPlace(2, text: name)
    try body.withUnsafeBytes { body in
      insert.bindInPlace(3, blob: body)
      defer { insert.clearBindings() }
      try insert.run()
    }
  }

  func deleteExtra(_ number: Int) throws {
    let delete = try connection.statement("DELETE FROM tally_extra WHERE n = ?")
    delete.bind(1, number)
    try delete.run()
  }

  func deleteHidden(_ number: Int) throws {
    touchesDeleted = true
    let delete = try connection.statement("DELETE FROM tally_hidden WHERE n = ?")
    delete.bind(1, number)
    try delete.run()
  }

  func storeContexts(of state: RecordState) throws {
    // All of a transaction share one, and the first that comes keeps it: other records may rely on it. The time tells
    // apart most deletes of a dot that two copies of one store have both issued.
    for delete in state.deletes { try store(delete.context, of: delete.stamp) }
    guard let life = state.life else { return }
    try store(life.context, of: life.stamp)
    guard !facts.hasLives else { return }
    try connection.execute("INSERT OR REPLACE INTO tally_meta VALUES('lives', 1)")
    facts.hasLives = true
    try overwriteDeleted()
  }

  /// Lets SQLite overwrite what it deletes from now on: pages that are free must not hold what was removed for good.
  func overwriteDeleted() throws {
    guard !overwritesDeleted else { return }
    try connection.execute("PRAGMA secure_delete = ON")
    overwritesDeleted = true
  }

  /// Stores what a delete or a life had seen, if nothing is stored for its stamp.
  func store(_ context: StateVector, of stamp: Stamp) throws {
    guard !reader.hasContext(of: stamp) else { return }
    let insert = try connection.statement("INSERT OR IGNORE INTO tally_context VALUES(?, ?, ?, ?)")
    var writer = ByteWriter()
    try StateCoding.encode(context, to: &writer, numbers.number(of:))
    insert.bind(1, try numbers.number(of: stamp.dot.replica))
    insert.bind(2, Int64(stamp.dot.sequence))
    insert.bind(3, Int64(stamp.time.milliseconds))
    insert.bind(4, writer.bytes)
    try insert.run()
    reader.note(context: connection.changes == 0 ? try reader.context(of: stamp) : context, of: stamp)
    facts.hasDeletes = true
  }
}
