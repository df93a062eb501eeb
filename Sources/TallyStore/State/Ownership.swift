import TallyCRDT

/// What rows say of owners, without a look at states. It reads rows and changes nothing.
struct Ownership {
  let reader: StateReader

  /// The owners that the row shows that a query for a kind's rows is at; nil if that is not sure, since records of an
  /// owner's type have given way to seeds.
  ///
  /// What the row shows is what the register holds, unless its body says more than stamps.
  func owners(_ kind: RecordKind, in query: SQLStatement) -> [AnyRecordName]? {
    owners(kind) { query.value(3 + $0) }
  }

  /// The owners that a row names, whose values `value` gives by the columns' places; nil as above.
  func owners(_ kind: RecordKind, _ value: (Int) -> Value) -> [AnyRecordName]? {
    guard !kind.ownerColumns.isEmpty else { return [] }
    var owners: [AnyRecordName] = []
    for (index, column) in kind.columns.enumerated() where column.reference?.isOwning == true {
      guard let owner = column.target(of: value(index)) else { continue }
      guard reader.catalog.kind(of: owner.type)?.forwardField == nil else { return nil }
      owners.append(owner)
    }
    return owners
  }

  /// The owners of a record that is seen as its state says, and that has no delete, no seed and no other life than the
  /// first; nil for any other.
  func owners(ofUndeleted name: AnyRecordName) throws -> [AnyRecordName]? {
    guard let kind = reader.catalog.kind(of: name.type), kind.isKnown, kind.forwardField == nil, reader.aside.isEmpty
    else { return nil }
    return try reader.connection.row(kind.rowByName, name.text) { query -> [AnyRecordName]? in
      guard try reader.stampedState(query.clock(2)) != nil else { return nil }
      return owners(kind, in: query)
    } ?? nil
  }

  /// Whether a row names a record as its owner, or anything waits for the record.
  func isNamed(_ name: UnsafeBufferPointer<UInt8>, _ kind: RecordKind) throws -> Bool {
    func finds(_ query: SQLStatement) throws -> Bool {
      query.bindInPlace(1, text: name)
      defer {
        query.reset()
        query.clearBindings()
      }
      return try query.step()
    }
    for referrer in reader.catalog.referrers[kind.type] ?? [] where referrer.column.reference?.isOwning == true {
      if try finds(reader.connection.statement(referrer.rows)) { return true }
    }
    return try finds(reader.connection.statement("SELECT 1 FROM tally_wait WHERE target = ? LIMIT 1"))
  }
}
