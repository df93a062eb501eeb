import TallyCRDT

/// The checksums that are stored with states: as a write makes them, and as they are set again for a state that is
/// taken as it is.
extension StateWriter {
  /// The checksum that is stored with a state from now on.
  func sum(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ previous: StoredRecord?,
    _ difference: Fingerprint?
  ) -> StateSum {
    guard let previous else {
      return StateSum(difference ?? reader.catalog.fingerprint(name, kind, from: nil, to: state))
    }
    return previous.sum
      + (difference ?? reader.catalog.fingerprint(name, kind, from: previous.state, to: state))
  }

  /// Stores the checksum of a record's state if another is stored.
  /// - Returns: whether it was another.
  @discardableResult
  func putSum(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws -> Bool {
    let sum = reader.catalog.sum(of: stored, name, kind)
    guard stored.place == .stub else { return try putSum(sum, over: stored.sum, stored.place, kind.number, kind.type) }
    guard sum != stored.sum else { return false }
    change()
    try putHidden(name, kind, stored.state, sum, .stub)
    return true
  }

  /// Stores the checksum of a link's element if another is stored.
  /// - Returns: whether it was another.
  @discardableResult
  func putSum(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink) throws -> Bool {
    let sum = reader.catalog.sum(of: stored, key, kind)
    guard stored.place == .cut else { return try putSum(sum, over: stored.sum, stored.place, kind.number, kind.table) }
    guard sum != stored.sum else { return false }
    change()
    try putHidden(key, kind.number, stored.element, sum)
    return true
  }

  private func putSum(
    _ sum: StateSum, over old: StateSum, _ place: Place, _ kind: KindNumber, _ table: String
  ) throws -> Bool {
    guard sum != old else { return false }
    change()
    switch place {
    case .nowhere, .stub, .cut, .row(_, .unstamped), .row(_, .leaving): break
    case .row(let row, .uniform(let clock)): try writeClock(kind, table, row: row, InlineClock.uniform(clock).with(sum))
    case .row(_, .extra(let extra)): try putSum(sum, in: "tally_extra", extra.number)
    case .hidden(let number): try putSum(sum, in: "tally_hidden", number)
    }
    return true
  }

  private func putSum(_ sum: StateSum, in table: String, _ number: Int) throws {
    let query = try connection.statement(text: "SELECT body FROM \(table) WHERE n = ?")
    query.bind(1, number)
    guard try query.step() else {
      query.reset()
      throw StoreError(.corrupt, "the state of a row is missing")
    }
    var body = query.blob(0)
    query.reset()
    // Reading the state has found these bytes.
    body.replaceSubrange(1...StateSum.size, with: [sum.bytes.0, sum.bytes.1, sum.bytes.2])
    let update = try connection.statement(text: "UPDATE \(table) SET body = ? WHERE n = ?")
    update.bind(1, body)
    update.bind(2, number)
    try update.run()
  }
}

extension Catalog {
  /// The checksum of what a record's state holds. Cost: hashes each cell.
  func sum(of stored: StoredRecord, _ name: AnyRecordName, _ kind: RecordKind) -> StateSum {
    StateSum(fingerprint(name, kind, from: nil, to: stored.state))
  }

  /// The checksum of what a link's element holds.
  func sum(of stored: StoredLink, _ key: LinkKey, _ kind: LinkKind) -> StateSum {
    StateSum(fingerprint(key, kind, from: ORSetElement(), to: stored.element))
  }

  /// Checks that a record is what was last written, before it is given away.
  /// - Throws: `StoreError.corrupt`.
  package func check(_ stored: StoredRecord, _ name: AnyRecordName, _ kind: RecordKind) throws(StoreError) {
    guard sum(of: stored, name, kind) == stored.sum else { throw .unfit(printable(name.text)) }
  }

  /// Checks that a link is what was last written, before it is given away.
  /// - Throws: `StoreError.corrupt`.
  package func check(_ stored: StoredLink, _ key: LinkKey, _ kind: LinkKind) throws(StoreError) {
    guard sum(of: stored, key, kind) == stored.sum else {
      throw .unfit("\(printable(key.source.text)).\(kind.relationship) of \(printable(key.target.text))")
    }
  }
}

extension StoreError {
  /// The error for a record or link whose state does not match the checksum that is stored with it.
  static func unfit(_ label: String) -> StoreError {
    StoreError(.corrupt, "\(label): the stored content does not match its checksum")
  }
}
