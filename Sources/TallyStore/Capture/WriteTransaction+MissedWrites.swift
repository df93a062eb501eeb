import TallyCRDT

extension WriteTransaction {
  /// Looks once for what was written while capture triggers were missing: a shell dropped them, or a table was rebuilt.
  ///
  /// Rows that came are captured now, and so are those that went. A value that was changed meanwhile cannot be told
  /// from the one before: it stays, and the sum of the content, which no longer fits, tells `verify` and peers.
  func findMissedWrites() throws {
    environment.logger.warning("capture triggers were missing; looking once for what was written meanwhile")
    for (table, key, kind) in catalog.orderedKinds.map({ ($0.type, "id", $0.number) })
      + catalog.knownLinks.map({ ($0.table, "source || char(10) || target", $0.number) })
    {
      try connection.execute(
        """
        INSERT INTO tally_pending(kind, op, key, number)
          SELECT \(kind), 0, \(key), rowid FROM main."\(table)" WHERE tally_clock = \(InlineClock.unstampedSQL)
          AND NOT EXISTS(SELECT 1 FROM tally_pending WHERE op = 4 LIMIT 1)
        """)
    }
    if try reader.hasPendingWrites() { try capture(.outside) }
    // What a disk has lost is not what somebody has deleted.
    if try reader.doubt()?.level != .damaged { try captureVanished(nil) }
    try renewWaits()
    if try !isSumLost && reader.recomputedFingerprint() != standing.fingerprint {
      environment.logger.warning(
        "values were changed while capture triggers were missing; a repair with a peer will tell which")
    }
  }

  /// Looks for rows that REPLACE has removed and no trigger has noted.
  /// - Parameter kinds: those whose tables can have lost some.
  func findVanishedRows(_ kinds: Set<KindNumber>) throws {
    guard try !kinds.isEmpty && reader.doubt()?.level != .damaged else { return }
    if try captureVanished(kinds) { try renewWaits() }
  }

  /// Captures the delete of what the change log lists and nothing stores.
  /// - Parameter kinds: only of these; nil for all.
  /// - Returns: whether there was anything. What is gone of a relationship is not deleted: peers bring it back.
  @discardableResult
  private func captureVanished(_ kinds: Set<KindNumber>?) throws -> Bool {
    var records = Set<AnyRecordName>()
    var links: [(KindNumber, LinkKey)] = []
    let query = try SQLStatement(connection.handle, "SELECT items FROM tally_log")
    while try query.step() {
      // What a damaged row lists may be there or not.
      guard let items = try? ChangeLog.items(query.blob(0), catalog) else { continue }
      for (kind, name, target) in items where kinds?.contains(kind) ?? true {
        if let target {
          guard let link = catalog.links[kind] else { continue }
          let key = LinkKey(source: name, target: target)
          if try reader.link(key, link) == nil { links.append((kind, key)) }
        } else if let record = catalog.records[kind], try reader.record(name, record) == nil {
          records.insert(name)
        }
      }
    }
    for name in records.sorted() {
      guard let kind = catalog.kind(of: name.type) else { continue }
      try captureVanished(name, kind)
    }
    guard !records.isEmpty || !links.isEmpty else { return false }
    loseSum()
    return true
  }

  /// Captures the delete of a record whose row is gone, and with it what the state was.
  func captureVanished(_ name: AnyRecordName, _ kind: RecordKind) throws {
    let stamp = try stamp()
    var state = RecordState()
    state.deletes = [Delete(stamp: stamp, context: context)]
    try writer.put(name, kind, state, previous: nil, shown: nil)
    try changed(name, kind, from: nil, to: state, dots: CollectionOfOne(stamp.dot))
    try view.markReferrers(of: name)
    loseSum()
  }

  /// Rebuilds `tally_wait` and `tally_seeded` from the states. They still list rows that are gone, even where a new row
  /// has the same name.
  private func renewWaits() throws {
    try connection.execute("DELETE FROM tally_wait")
    try connection.execute("DELETE FROM tally_seeded")
    for kind in catalog.records.values {
      let list = { [writer] (name: AnyRecordName, stored: StoredRecord) in
        let shown = stored.place.isVisible ? stored.values : nil
        try writer.putWaits(for: name, kind, stored.state, shown, nil)
        try writer.putSeeded(name, kind, stored.state, isShown: shown != nil, nil)
      }
      if kind.isKnown { try reader.forEachRow(kind, list) }
      try reader.forEachHiddenRecord(kind.number, list)
    }
    for kind in catalog.links.values {
      try reader.forEachHiddenLink(kind.number) { key, stored in
        try writer.putWaits(for: key, kind, stored.element, false, nil)
      }
    }
  }
}
