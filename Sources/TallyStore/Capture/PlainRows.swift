import TallyCRDT
import TallyWire

/// Which rows can be captured and joined by their stamps, without states. It reads rows and facts, and changes nothing.
struct PlainRows {
  let transaction: WriteTransaction

  private var reader: StateReader { transaction.reader }
  private var catalog: Catalog { transaction.catalog }
  private var facts: FileFacts { transaction.facts }
  private var connection: Connection { transaction.connection }
  private var refusals: Refusals { transaction.session.refusals }
  private var ownership: Ownership { Ownership(reader: transaction.reader) }

  /// Whether rows of a kind are what their states say, unless they are set aside or refused (`isPlain`).
  ///
  /// That includes a type that may own itself: an edit is no edge, a delete leaves the edges as they are, and an insert
  /// closes a cycle only under a name that something has already (`isUnknown`).
  func takes(_ kind: RecordKind) -> Bool {
    #if PlantedFaults
      // Most faults are in the long way.
      guard transaction.environment.planted.isSubset(of: .ofShorterWays) else { return false }
    #endif
    return kind.isKnown && kind.forwardField == nil
  }

  /// Whether a row is what its state says: neither set aside nor refused. Others may be; each commit tries those again.
  func isPlain(_ key: RecordKey, _ kind: RecordKind) throws -> Bool {
    guard !reader.aside.isEmpty || refusals.hasAny else { return true }
    guard let name = try? key.name(type: kind.type) else { return false }
    let address = RowAddress(kind: kind.number, key: name.text)
    // With a text that is longer than need be, any other one that is given up can matter.
    guard !reader.aside.contested.isLengthened(kind.number) else { return false }
    return !reader.aside.contains(address) && refusals.fields(address) == nil
  }

  /// Whether an insert of a record that `isUnknown`, and a delete that has seen all of a record, is nothing but that,
  /// and what `inserted` and `deleted` look at.
  func takesPresence(_ kind: RecordKind) -> Bool { takes(kind) && !mayKeepStubs(kind) }

  /// Whether nothing is known of a record that has come or is about to: nothing is hidden under its name, and if it may
  /// own itself, nothing names it as its owner yet.
  func isUnknown(_ name: UnsafeBufferPointer<UInt8>, _ key: RecordKey, _ kind: RecordKind) throws -> Bool {
    guard try isPlain(key, kind) else { return false }
    if facts.hiddenKinds.contains(kind.number) {
      let isHidden = try connection.row(kind.hiddenByName, name) { _ in } != nil || reader.isStub(key, kind.number)
      guard !isHidden else { return false }
    }
    return try !kind.mayCycle || !ownership.isNamed(name, kind)
  }

  /// Whether a row of a kind that has been written may refer to a record that has no row; `enforcesKeys` says whether
  /// SQLite knows of such references.
  func mayDangle(_ kind: RecordKind, enforcesKeys: Bool) throws -> Bool {
    try kind.hasReferences
      && (!enforcesKeys || catalog.uncheckedReferences.contains(kind.number) || connection.hasOpenReferences())
  }

  /// Whether something may keep a record that a delete of a peer's has seen all of: what it owns, or has in a
  /// relationship.
  func isKept(_ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind) throws -> Bool {
    if catalog.links.values.contains(where: { $0.source == kind.type }) { return true }
    return try catalog.owns(kind.type) && ownership.isNamed(name, kind)
  }

  /// Whether it depends on deletes and owners of a kind's records whether stubs are listed: see `StubWaits`.
  private func mayKeepStubs(_ kind: RecordKind) -> Bool {
    (catalog.hasStubs || transaction.writer.seenAbove?.isInUse == true) && catalog.owns(kind.type)
  }

  /// Whether another value of a column is nothing but that, and what `edited` looks at; `moved` gets the owners that a
  /// record has lost and got with it.
  func isPlain(
    _ column: Column, of kind: RecordKind, from old: Value, to new: Value, moved: inout [AnyRecordName]
  ) -> Bool {
    guard let reference = column.reference else { return true }
    guard !reference.isOwning || !kind.mayCycle && !mayKeepStubs(kind),
      catalog.kind(of: reference.to)?.forwardField == nil
    else { return false }
    if reference.isOwning { moved += [old, new].compactMap(column.target) }
    return true
  }

  /// Whether links from or to records of a kind may be hidden.
  func hidesLinks(of kind: RecordKind) -> Bool {
    func isHidden(_ links: [KindNumber]?) -> Bool { links?.contains(where: facts.hiddenKinds.contains) ?? false }
    return !facts.hiddenKinds.isEmpty
      && (isHidden(catalog.linksFrom[kind.type]) || isHidden(catalog.linksTo[kind.type]))
  }

  /// Reads a row by its number. Returns nil if the short way does not apply to it.
  func editedRow(_ row: RowID, _ kind: RecordKind, _ places: [Int], isNumber: Bool) throws -> EditedRow? {
    guard isNumber, places.count == 1, !kind.lenses.involves(places[0]), !needsOwners(kind) else {
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
      return EditedRow(
        id: row, key: key, hash: hash, clock: clock, values: [], owners: owners,
        lensed: kind.lenses.values(in: query, kind))
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

  /// Whether it matters which records own one of a kind.
  func needsOwners(_ kind: RecordKind) -> Bool { !kind.ownerColumns.isEmpty && facts.hasDeletes }

  private func editedRow(_ query: SQLStatement, _ kind: RecordKind, _ places: [Int]) -> EditedRow? {
    guard let (key, hash) = kind.hashedKey(in: query), let clock = try? query.clock(2),
      kind.columns.indices.reduce(0, { $0 + query.byteCount(3 + $1) }) <= WireLimits.recordBytes
    else { return nil }
    guard let owners = owners(query, kind) else { return nil }
    return EditedRow(
      id: query.number(0), key: key, hash: hash, clock: clock,
      values: places.map { query.value(3 + $0) }, owners: owners, lensed: kind.lenses.values(in: query, kind))
  }

  /// The records that own the one whose row a query is at, where that matters; nil if the row does not say which.
  func owners(_ query: SQLStatement, _ kind: RecordKind) -> [AnyRecordName]? {
    needsOwners(kind) ? ownership.owners(kind, in: query) : []
  }
}

extension WriteTransaction {
  var plain: PlainRows { PlainRows(transaction: self) }
}
