import TallyCRDT
import TallyWire

/// Rows that carry the clock of another record or link: they were copied or renamed while no trigger noted it. They are
/// rows that came.
///
/// A record's own row is listed in the change log under all of its clock's transactions, and nothing is hidden under
/// its name. Two records that one transaction made, and that were not written to since, are listed alike: if one has
/// taken the other's name, it is taken for the other with changed values.
struct StrayRows {
  struct Row {
    var kind: KindNumber
    var key: String
    var number: Int
  }

  private(set) var rows: [Row] = []

  /// Searches all rows. Cost: reads the change log and all rows; memory for 16 bytes of each item of the log, and for
  /// the keys that are found. Finds nothing where the log is damaged or lost.
  init(_ reader: StateReader) throws {
    guard let listed = try ListedItems(reader) else { return }
    for kind in reader.catalog.orderedKinds {
      try reader.forEachRow(kind) { query in
        // What cannot be read is damaged, and not written by anybody.
        guard let name = try? reader.name(in: query), let stored = try? reader.record(in: query, kind),
          try listed.isStray(
            ListedItems.address(kind.number, name), try reader.listedDots(stored.state),
            isHidden: { try reader.record(hidden: name, kind) != nil })
        else { return }
        rows.append(Row(kind: kind.number, key: name.text, number: query.int(0)))
      }
    }
    for link in reader.catalog.knownLinks {
      let query = try SQLStatement(reader.connection, link.rowSQL)
      while try query.step() {
        guard let key = try? reader.key(in: query), let stored = try? reader.link(in: query),
          try listed.isStray(
            ListedItems.address(link.number, key.source, key.target), stored.element.dots,
            isHidden: { try reader.link(hidden: key, link) != nil })
        else { continue }
        rows.append(Row(kind: link.number, key: key.text, number: query.int(0)))
      }
    }
  }
}

extension ListedItems {
  /// Returns nil for a log that cannot be read, or lists nothing.
  fileprivate init?(_ reader: StateReader) throws {
    self.init()
    var isReadable = true
    try reader.forEachLogEntry { entry in
      guard let replica = reader.catalog.replicas[entry.replica],
        let items = try? ChangeLog.items(entry.items, reader.catalog)
      else {
        isReadable = false
        return
      }
      for (kind, name, target) in items { add(replica, entry.sequence, Self.address(kind, name, target)) }
    } unreadable: { _ in
      isReadable = false
    }
    guard isReadable, try !reader.tail().isDamaged, !isEmpty else { return nil }
    sort()
  }

  /// Whether a row that has cells of these transactions is not the one that the log lists. One without any is not
  /// captured yet.
  fileprivate func isStray(_ address: String, _ dots: Set<Dot>, isHidden: () throws -> Bool) rethrows -> Bool {
    guard !dots.isEmpty else { return false }
    return try !dots.allSatisfy { lists($0, address) } || isHidden()
  }
}
