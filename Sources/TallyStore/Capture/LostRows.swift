import TallyCRDT

/// Rows that were deleted without a note: the change log lists them, and neither a row nor a hidden body is stored.
struct LostRows {
  /// The records without a row.
  private(set) var gone = Set<AnyRecordName>()
  /// The records that were deleted and inserted again, by a row that is not captured yet.
  private(set) var returned = Set<RowAddress>()
  /// Whether links were deleted. That is not captured: peers restore them.
  private(set) var hasLinks = false

  var isEmpty: Bool { gone.isEmpty && returned.isEmpty && !hasLinks }

  /// Searches for such rows, of these kinds, or of all if `kinds` is nil. Must run before pending writes are captured.
  /// Cost: reads the change log and looks up each row that it lists; memory for the keys of the pending writes.
  init(_ kinds: Set<KindNumber>?, _ reader: StateReader) throws {
    let notes = try FirstNotes(kinds, reader)
    // What a damaged row lists may be there or not.
    try reader.forEachLogEntry { entry in
      guard let items = try? ChangeLog.items(entry.items, reader.catalog) else { return }
      for (kind, name, target) in items where kinds?.contains(kind) ?? true {
        if let target {
          try note(LinkKey(source: name, target: target), kind, reader, notes)
        } else {
          try note(name, kind, reader, notes)
        }
      }
    } unreadable: { _ in
    }
  }

  private mutating func note(
    _ name: AnyRecordName, _ kind: KindNumber, _ reader: StateReader, _ notes: FirstNotes
  ) throws {
    let address = RowAddress(kind: kind, key: name.text)
    guard let record = reader.catalog.records[kind], !notes.found.contains(address) else { return }
    let hasRow = try reader.hasRow(name)
    guard !hasRow || notes.made.contains(address), try reader.record(hidden: name, record) == nil else { return }
    if hasRow { returned.insert(address) } else { gone.insert(name) }
  }

  private mutating func note(_ key: LinkKey, _ kind: KindNumber, _ reader: StateReader, _ notes: FirstNotes) throws {
    let address = RowAddress(kind: kind, key: key.text)
    guard let link = reader.catalog.links[kind], !notes.found.contains(address) else { return }
    guard try notes.made.contains(address) || !reader.hasRow(key, link), try reader.link(hidden: key, link) == nil
    else { return }
    hasLinks = true
  }
}

/// The keys of the pending writes, by whether the row existed when it was first noted.
private struct FirstNotes {
  /// The rows that existed.
  private(set) var found = Set<RowAddress>()
  /// The rows that did not exist.
  private(set) var made = Set<RowAddress>()

  init(_ kinds: Set<KindNumber>?, _ reader: StateReader) throws {
    let query = try SQLStatement(
      reader.connection,
      """
      SELECT kind, key, clock IS NOT NULL FROM tally_pending
      WHERE n IN (SELECT min(n) FROM tally_pending WHERE op < 4 GROUP BY kind, key)
      """)
    while try query.step() {
      let kind: KindNumber = query.number(0)
      guard kinds?.contains(kind) ?? true, let key = query.text(1) else { continue }
      let address = RowAddress(kind: kind, key: key)
      if query.int(2) == 1 { found.insert(address) } else { made.insert(address) }
    }
  }
}
