import TallyCRDT

/// Passes over all states of a store, seen and hidden, by kinds. Each reads all of them, one at a time.
struct AllStates {
  private let reader: StateReader
  private var recordKinds: [RecordKind] { reader.catalog.records.values.sorted { $0.number < $1.number } }
  private var linkKinds: [LinkKind] { reader.catalog.links.values.sorted { $0.number < $1.number } }

  init(_ reader: StateReader) { self.reader = reader }

  /// Calls `body` with each record, which it must not move.
  func forEachRecord(_ body: (AnyRecordName, RecordKind, StoredRecord) throws -> Void) throws {
    for kind in recordKinds { try forEach(kind) { try body($0, kind, $1) } }
  }

  /// Calls `body` with each link, which it must not move.
  func forEachLink(_ body: (LinkKey, LinkKind, StoredLink) throws -> Void) throws {
    for kind in linkKinds { try forEach(kind) { try body($0, kind, $1) } }
  }

  /// Calls `body` with each of these records, as it is by then. Memory for the names of a kind.
  func rewriteRecords(
    where isMeant: (AnyRecordName, RecordKind, StoredRecord) -> Bool = { _, _, _ in true },
    _ body: (AnyRecordName, RecordKind, StoredRecord) throws -> Void
  ) throws {
    for kind in recordKinds {
      var found: [AnyRecordName] = []
      try forEach(kind) { if isMeant($0, kind, $1) { found.append($0) } }
      for name in found { if let stored = try reader.record(name, kind) { try body(name, kind, stored) } }
    }
  }

  /// Calls `body` with each of these links, as it is by then. Memory for the names of a kind.
  func rewriteLinks(
    where isMeant: (LinkKey, LinkKind, StoredLink) -> Bool = { _, _, _ in true },
    _ body: (LinkKey, LinkKind, StoredLink) throws -> Void
  ) throws {
    for kind in linkKinds {
      var found: [LinkKey] = []
      try forEach(kind) { if isMeant($0, kind, $1) { found.append($0) } }
      for key in found { if let stored = try reader.link(key, kind) { try body(key, kind, stored) } }
    }
  }

  private func forEach(_ kind: RecordKind, _ body: (AnyRecordName, StoredRecord) throws -> Void) throws {
    if kind.isKnown { try reader.forEachRow(kind, body) }
    try reader.forEachHiddenRecord(kind.number, body)
  }

  private func forEach(_ kind: LinkKind, _ body: (LinkKey, StoredLink) throws -> Void) throws {
    if kind.isKnown { try reader.forEachRow(kind, body) }
    try reader.forEachHiddenLink(kind, body)
  }
}
