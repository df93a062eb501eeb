import TallyCRDT
import TallyWire

/// Where the state of a hidden record goes: to `tally_stub` if it is a stub, otherwise to `tally_hidden`.
extension StateWriter {
  /// Stores the state of a record that has no row. `place` is where it is now.
  func putHidden(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ sum: StateSum, _ place: Place?
  ) throws {
    guard StubCoding.isStub(state) else {
      if place == .stub { try deleteStub(name, kind.number) }
      return try putHidden(name, kind.number, try encode(state, sum, row: nil), place)
    }
    if case .hidden(let number) = place { try blankHidden(number) }
    try putStub(name, kind.number, state, sum)
  }

  /// Empties a row of `tally_hidden` in its place, under a kind that there is not; `deleteBlanks` removes it.
  ///
  /// Where a delete leaves little on a page, SQLite moves rows from page to page and does not overwrite where they
  /// were. Rows that are deleted one by one as they are emptied would leave pieces of those whose turn comes next.
  private func blankHidden(_ number: Int) throws {
    touchesDeleted = true
    let update = try connection.statement("UPDATE tally_hidden SET kind = 0, key = n, body = x'' WHERE n = ?")
    update.bind(1, number)
    try update.run()
    hasBlanks = true
  }

  /// Removes the rows that became stubs in this transaction, when none of them holds anything any more.
  func deleteBlanks() throws {
    guard hasBlanks else { return }
    try connection.execute("DELETE FROM tally_hidden WHERE kind = 0")
    hasBlanks = false
  }

  private func putStub(_ name: AnyRecordName, _ kind: KindNumber, _ state: RecordState, _ sum: StateSum) throws {
    touchesDeleted = true
    try storeContexts(of: state)
    let body = try StubCoding.encode(
      state, sum, reader.catalog, isShared: { reader.knows(context: $0, of: $1) }, replicaNumber: numbers.number(of:))
    facts.hiddenKinds.insert(kind)
    try numbers.noteStubs()
    let insert = try connection.statement("INSERT OR REPLACE INTO tally_stub VALUES(?, ?, ?)")
    insert.bind(1, kind)
    insert.bind(2, key: RecordKey(name))
    insert.bind(3, body)
    try insert.run()
  }

  /// Moves a hidden record to where its state belongs.
  /// - Returns: whether it was anywhere else.
  func putInPlace(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws -> Bool {
    guard !stored.place.isVisible, StubCoding.isStub(stored.state) != (stored.place == .stub) else { return false }
    change()
    try putHidden(name, kind, stored.state, stored.sum, stored.place)
    return true
  }

  func deleteStub(_ name: AnyRecordName, _ kind: KindNumber) throws {
    touchesDeleted = true
    let delete = try connection.statement("DELETE FROM tally_stub WHERE kind = ? AND key = ?")
    delete.bind(1, kind)
    delete.bind(2, key: RecordKey(name))
    try delete.run()
  }

  /// Removes the state of a record that is about to get a row.
  func removeHidden(_ place: Place?, _ name: AnyRecordName, _ kind: KindNumber) throws {
    switch place {
    case .hidden(let number): try deleteHidden(number)
    case .stub: try deleteStub(name, kind)
    case .row, .nowhere, .cut, nil: break
    }
  }
}
