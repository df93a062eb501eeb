import TallyCRDT

/// Rows whose checksum does not fit their values and stamps: a write that no trigger noted has changed them, or the
/// disk has.
struct UnfitRows {
  struct Row {
    var kind: KindNumber
    var key: String
    var number: Int
    var clock: InlineClock
  }

  private(set) var records: [Row] = []
  /// Records without a row: changed unnoticed, and then deleted with a note.
  private(set) var hidden: [(name: AnyRecordName, kind: RecordKind)] = []
  /// Whether states of links do not fit. An app's SQL cannot have changed these.
  private(set) var hasOthers = false

  var isEmpty: Bool { records.isEmpty && hidden.isEmpty && !hasOthers }

  /// Searches all states. What was noted must be captured before. Cost: reads the whole store; memory for what is
  /// found.
  init(_ reader: StateReader) throws {
    let catalog = reader.catalog
    for kind in catalog.orderedKinds {
      try reader.forEachRow(kind) { query in
        guard let name = try reader.name(in: query) else { return }
        let clock = try query.clock(2)
        guard clock != .unstamped else { return }
        let stored = try reader.record(in: query, kind)
        guard catalog.sum(of: stored, name, kind) != stored.sum else { return }
        records.append(Row(kind: kind.number, key: name.text, number: query.int(0), clock: clock))
      }
    }
    for kind in catalog.records.values {
      try reader.forEachHiddenRecord(kind.number) { name, stored in
        if catalog.sum(of: stored, name, kind) != stored.sum { hidden.append((name, kind)) }
      }
    }
    for kind in catalog.links.values {
      func look(_ key: LinkKey, _ stored: StoredLink) {
        if catalog.sum(of: stored, key, kind) != stored.sum { hasOthers = true }
      }
      if kind.isKnown { try reader.forEachRow(kind, look) }
      try reader.forEachHiddenLink(kind, look)
    }
  }
}
