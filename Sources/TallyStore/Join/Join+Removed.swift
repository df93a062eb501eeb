import TallyCRDT
import TallySchema

/// A record that a delta has brought into another life, and the content that it had before.
struct RenewedRecord {
  let name: AnyRecordName
  private let former: [FieldID: Stamp]
  private(set) var files: [AssetName: HybridTime] = [:]
  /// The registers that came with the other life, which has not removed them.
  private let said: [FieldCell]
  /// Those of them that were here, and that the author of the life has said again: nothing of them was removed.
  private let saidAgain: Set<FieldID>

  init(_ name: AnyRecordName, _ state: RecordState, received: RecordState) {
    self.name = name
    let stamps = Dictionary(uniqueKeysWithValues: state.content.map { ($0.cell.field, $0.cell.stamp) })
    let author = received.life?.dot
    (former, said) = (stamps, received.content.map(\.cell))
    for (cell, _) in state.content { files.insert(cell.value, cell.stamp) }
    saidAgain = Set(
      received.content.filter { $0.via == author && stamps[$0.cell.field] == $0.cell.stamp }.map(\.cell.field))
  }

  /// Whether a write came with the other life.
  func says(_ dot: Dot, of field: String, _ catalog: Catalog) -> Bool {
    said.contains { $0.stamp.dot == dot && catalog.fields[$0.field]?.name == field }
  }

  /// Whether a field has what it had before, said again by the author of the other life.
  func saysAgain(_ field: String, _ catalog: Catalog) -> Bool {
    saidAgain.contains { catalog.fields[$0]?.name == field }
  }

  /// Whether some of that content is not there any more: it was removed, or a later life has written over it.
  func hasLost(in state: RecordState) -> Bool {
    let now = Dictionary(uniqueKeysWithValues: state.content.map { ($0.cell.field, $0.cell.stamp) })
    return former.contains { now[$0.key] != $0.value }
  }
}

/// Files that values name, each with the time of the last write that named it.
extension [AssetName: HybridTime] {
  mutating func insert(_ value: TallyCRDT.Value, _ stamp: Stamp) {
    guard case .text(let text) = value, let name = AssetName(text) else { return }
    self[name] = Swift.max(self[name] ?? stamp.time, stamp.time)
  }

  mutating func insert(_ conflict: Conflict) {
    insert(conflict.loserValue, conflict.loser)
    insert(conflict.winnerValue, conflict.winner)
  }
}

extension Join {
  /// Follows the removal of content that has gone with a former life, by a purge or because the name was used again:
  /// drops the entries of the conflict journal whose losers the author of the new life had seen and left out, and notes
  /// that files may still hold the content.
  func forgetRemoved(_ renewed: [RenewedRecord], _ result: inout ApplyResult) throws {
    var (dots, files) = (StateVector(), [AssetName: HybridTime]())
    for record in renewed {
      guard let kind = transaction.catalog.kind(of: record.name.type),
        let stored = try reader.record(record.name, kind), let life = stored.state.life,
        record.hasLost(in: stored.state)
      else { continue }
      let isEmptied = !stored.place.isVisible && !stored.state.hasContent
      files.merge(record.files, uniquingKeysWith: max)
      if isEmptied {
        try transaction.forgetConflicts(of: record.name, &files)
      } else {
        try transaction.forgetConflicts(of: record.name, &files) { conflict in
          // A loser that is new here came as a present value, and one whose winner stays was not removed. References
          // are in no life.
          let (dot, field) = (conflict.loser.dot, conflict.field)
          return life.context.covers(dot) && before.covers(dot) && !record.says(dot, of: field, transaction.catalog)
            && !record.saysAgain(field, transaction.catalog)
            && !kind.columns.contains { $0.reference != nil && $0.wireName == field }
        }
      }
      dots.include(life.stamp.dot)
      if isEmptied { result.emptied += 1 }
    }
    result.hasRemoved = !dots.isEmpty
    try transaction.note(removals: dots, files)
  }
}
