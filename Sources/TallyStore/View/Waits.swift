import TallyCRDT

/// `tally_wait` finds the records that must be looked at again when another appears: those that it owns and that are
/// hidden with it, and those with references that read as null without it. The links hidden with it are found in
/// `tally_cut`.
extension RecordKind {
  /// Returns what a record in this state waits for, with a row of these values or without a row. `forward` is the field
  /// that says for which seed the record gave way.
  func waits(_ state: RecordState, shown: [Value]?, forward: FieldID?) -> Set<AnyRecordName> {
    var result = Set<AnyRecordName>()
    if let forward, case .text(let text) = state[forward]?.value, let target = try? AnyRecordName(text) {
      result.insert(target)
    }
    for (index, column) in columns.enumerated() {
      guard let reference = column.reference, shown != nil || reference.isOwning,
        let cell = state.cell(column.field, followsNewest: followsNewest)
      else { continue }
      if let shown, shown[index] == cell.value { continue }
      if let target = column.target(of: cell.value) { result.insert(target) }
    }
    return result
  }
}

extension StateWriter {
  func putWaits(
    for name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ shown: [Value]?, _ previous: StoredRecord?,
    isAwaited: Bool = false
  ) throws {
    let forward = kind.forwardField
    guard forward != nil || kind.hasReferences else { return }
    var new = kind.waits(state, shown: shown, forward: forward)
    let old = previous.map { kind.waits($0.state, shown: $0.values.isEmpty ? nil : $0.values, forward: forward) } ?? []
    guard reader.catalog.hasStubs else { return try replaceWaits(old, with: new, kind.number, name.text) }
    if let shown { try listOwners(of: shown, kind, before: previous?.values ?? []) }
    if shown == nil, !isAwaited, StubCoding.isStub(state), try !mustBeListed(name, kind, state, new) { new = [] }
    try replaceWaits(old, with: new, kind.number, name.text, isStub: previous?.place == .stub)
  }

  /// Lists what waits for `new` and no longer for the rest of `old`. Which of `old` a stub was listed for is not known.
  func replaceWaits(
    _ old: Set<AnyRecordName>, with new: Set<AnyRecordName>, _ kind: KindNumber, _ key: String, isStub: Bool = false
  ) throws {
    guard old != new || isStub else { return }
    for target in old.subtracting(new) {
      try wait("DELETE FROM tally_wait WHERE target = ? AND kind = ? AND key = ?", target, kind, key)
      if connection.changes > 0 { noteWaiting(target, kind) }
    }
    if !new.isEmpty { facts.hasWaits = true }
    for target in isStub ? new : new.subtracting(old) {
      try wait("INSERT OR IGNORE INTO tally_wait VALUES(?, ?, ?)", target, kind, key)
      if connection.changes > 0 { noteWaiting(target, kind) }
    }
    try listAwaited()
  }

  private func wait(_ sql: StaticString, _ target: AnyRecordName, _ kind: KindNumber, _ key: String) throws {
    let statement = try connection.statement(sql)
    statement.bind(1, target.text)
    statement.bind(2, kind)
    statement.bind(3, key)
    try statement.run()
  }
}

extension StateReader {
  /// Returns the kinds and names of the records that wait for a record.
  func waiting(for target: AnyRecordName) throws -> [(kind: KindNumber, key: String)] {
    let query = try connection.statement("SELECT kind, key FROM tally_wait WHERE target = ?")
    query.bind(1, target.text)
    var result: [(KindNumber, String)] = []
    while try query.step() { result.append((query.number(0), query.text(1) ?? "")) }
    return result
  }
}
