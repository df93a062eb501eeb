import TallyCRDT

/// A record that a delta has brought into another life, and the content that it had before.
struct RenewedRecord {
  let name: AnyRecordName
  private let former: [FieldID: Stamp]

  init(_ name: AnyRecordName, _ state: RecordState) {
    self.name = name
    former = Dictionary(uniqueKeysWithValues: state.content.map { ($0.cell.field, $0.cell.stamp) })
  }

  /// Whether some of that content is not there any more: it was removed, or a later life has written over it.
  func hasLost(in state: RecordState) -> Bool {
    let now = Dictionary(uniqueKeysWithValues: state.content.map { ($0.cell.field, $0.cell.stamp) })
    return former.contains { now[$0.key] != $0.value }
  }
}

extension Join {
  /// Follows the removal of content that has gone with a former life, by a purge or because the name was used again:
  /// drops the entries of the conflict journal that the author of the new life had seen, and notes that files may still
  /// hold the content.
  func forgetRemoved(_ renewed: [RenewedRecord], _ result: inout ApplyResult) throws {
    var dots = StateVector()
    for record in renewed {
      guard let kind = transaction.catalog.kind(of: record.name.type),
        let stored = try reader.record(record.name, kind), let life = stored.state.life,
        record.hasLost(in: stored.state)
      else { continue }
      let isEmptied = !stored.place.isVisible && !stored.state.hasContent
      try transaction.forgetConflicts(of: record.name, seenBy: isEmptied ? nil : life.context)
      dots.include(life.stamp.dot)
      if isEmptied { result.emptied += 1 }
    }
    result.hasRemoved = !dots.isEmpty
    try transaction.note(removals: dots)
  }
}
