// Which rows the short ways of capture and of a merge may take. It reads rows and facts, and changes nothing.
import TallyCRDT
import TallyWire

extension WriteTransaction {
  /// Whether no row of a kind can be anything but what its state says, and what comes changes nothing for any other.
  func hasPlainRows(_ kind: RecordKind) -> Bool {
    hasPlainEdits(kind) && reader.aside.isEmpty && !session.refusals.hasAny && !kind.mayCycle
  }

  /// Whether an edit of fields that are no references is nothing but that, in a row that `isPlain`.
  ///
  /// That includes a type that may own itself: an edit is no edge, and so breaks or closes no cycle.
  func hasPlainEdits(_ kind: RecordKind) -> Bool {
    #if PlantedFaults
      // Most faults are in the long way.
      guard environment.planted.isSubset(of: .ofShorterWays) else { return false }
    #endif
    return kind.isKnown && kind.forwardField == nil
  }

  /// Whether a row is what its state says: neither set aside nor refused. Others may be; each commit tries those again.
  func isPlain(_ key: RecordKey, _ kind: RecordKind) throws -> Bool {
    guard !reader.aside.isEmpty || session.refusals.hasAny else { return true }
    guard let name = try? key.name(type: kind.type) else { return false }
    let address = RowAddress(kind: kind.number, key: name.text)
    return !reader.aside.contains(address) && session.refusals.fields(address) == nil
  }

  /// Whether a delete of a record of a kind is nothing but that: no record is seen or hidden with it, and none refers
  /// to it.
  func hasPlainDeletes(_ kind: RecordKind) -> Bool {
    hasPlainRows(kind) && kind.ownerColumns.isEmpty && !catalog.referredKinds.contains(kind.number)
      && !catalog.hasStubs && writer.seenAbove?.isInUse != true
  }

  /// Reads a row by its number. Returns nil if the short way does not apply to it.
  func editedRow(_ row: RowID, _ kind: RecordKind, _ places: [Int], isNumber: Bool) throws -> EditedRow? {
    guard isNumber, places.count == 1, !needsOwners(kind) else {
      return try connection.row(kind.rowByNumber, row.rawValue) { editedRow($0, kind, places) } ?? nil
    }
    // A number is all that need be read: neither it nor the row can have become too large, however large the other
    // columns are.
    let query = try connection.statement(kind.columnByNumber[places[0]])
    query.bind(1, row)
    defer { query.reset() }
    guard try query.step(), let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2) else {
      return nil
    }
    let value = query.value(3)
    guard value.byteCount <= 8 else { return nil }
    return EditedRow(id: row, key: key, hash: hash, clock: clock, values: [value])
  }

  /// Reads a row by its number, and adds what has changed since it was noted. Returns nil if the short way does not
  /// apply.
  func editedRow(
    _ row: RowID, _ kind: RecordKind, since note: PendingWrite.WholeRow, _ changes: inout [RowChange]
  ) throws -> EditedRow? {
    try connection.row(kind.rowByNumber, row.rawValue) { query -> EditedRow? in
      guard let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2) else { return nil }
      try note.bytes.addChanges(ofWholeRowAt: note.position, query, from: 3, to: &changes)
      // What has not changed is small.
      guard changes.reduce(NoteBytes.smallRow, { $0 + $1.new.byteCount }) <= WireLimits.recordBytes,
        let owners = owners(query, kind)
      else { return nil }
      return EditedRow(id: row, key: key, hash: hash, clock: clock, values: [], owners: owners)
    } ?? nil
  }

  /// Reads a row by its name. Returns nil if there is no such row, or if the short way does not apply to it.
  func editedRow(_ name: AnyRecordName, _ kind: RecordKind, _ places: [Int]) throws -> EditedRow? {
    try connection.row(kind.rowByName, name.text) { editedRow($0, kind, places) } ?? nil
  }

  /// The same by the bytes of the name.
  func editedRow(_ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind, _ places: [Int]) throws -> EditedRow? {
    try connection.row(kind.rowByName, name) { editedRow($0, kind, places) } ?? nil
  }

  private func needsOwners(_ kind: RecordKind) -> Bool { !kind.ownerColumns.isEmpty && facts.hasDeletes }

  private func editedRow(_ query: SQLStatement, _ kind: RecordKind, _ places: [Int]) -> EditedRow? {
    guard let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2),
      kind.columns.indices.reduce(0, { $0 + query.byteCount(3 + $1) }) <= WireLimits.recordBytes
    else { return nil }
    guard let owners = owners(query, kind) else { return nil }
    return EditedRow(
      id: query.number(0), key: key, hash: hash, clock: clock,
      values: places.map { query.value(3 + $0) }, owners: owners)
  }

  /// The records that own the one whose row a query is at, where that matters; nil if the row does not say which.
  private func owners(_ query: SQLStatement, _ kind: RecordKind) -> [AnyRecordName]? {
    guard needsOwners(kind) else { return [] }
    var owners: [AnyRecordName] = []
    for (index, column) in kind.columns.enumerated() where column.reference?.isOwning == true {
      // What the row shows is what the register holds, unless it shows nothing, or a seed in place of its duplicate.
      guard let owner = column.target(of: query.value(3 + index)),
        catalog.kind(of: owner.type)?.forwardField == nil
      else { return nil }
      owners.append(owner)
    }
    return owners
  }
}
