import TallyCRDT

extension WriteTransaction {
  /// Looks once for what was written while capture triggers were missing: a shell dropped them, or a table was rebuilt.
  ///
  /// Rows that came are captured now, and so are those that went. A value that was changed meanwhile cannot be told
  /// from the one before: it stays, and the sum of the content, which no longer fits, tells `verify` and peers.
  func findMissedWrites() throws {
    environment.logger.warning(
      "capture triggers were missing or a table was made again; looking once for what was written meanwhile")
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
    try noteStrays()
    try capture(.outside, lost: findLostRows(nil))
    // If states are lost, `commit()` rebuilds and recomputes; if they may not be readable, healing does.
    guard try !isSumLost && reader.doubt()?.level != .damaged else { return }
    try renewWhatFollows()
    if try reader.recomputedFingerprint() != standing.fingerprint {
      environment.logger.warning(
        "values were changed where nothing noted it; a repair with a peer will tell which")
    }
  }

  /// Notes rows that carry the clock of another as rows that came.
  private func noteStrays() throws {
    // Of what may not be readable healing sees to all.
    guard try reader.doubt()?.level != .damaged else { return }
    let note = try connection.statement("INSERT INTO tally_pending(kind, op, key, number) VALUES(?, 0, ?, ?)")
    for row in try StrayRows(reader).rows {
      note.bind(1, row.kind)
      note.bind(2, row.key)
      note.bind(3, row.number)
      try note.run()
    }
  }

  /// Finds rows that were deleted without a note; nil if there are none. `kinds` are those whose tables may have lost
  /// rows; nil for all.
  func findLostRows(_ kinds: Set<KindNumber>?) throws -> LostRows? {
    // What a disk has lost is not what somebody has deleted.
    guard try kinds?.isEmpty != true && reader.doubt()?.level != .damaged else { return nil }
    let lost = try LostRows(kinds, reader)
    return lost.isEmpty ? nil : lost
  }

  /// Captures the deletes of records that are gone. Links that are gone are not deleted: peers restore them.
  func captureGone(_ lost: LostRows) throws {
    for name in lost.gone.sorted() {
      guard let kind = catalog.kind(of: name.type) else { continue }
      try captureVanished(name, kind)
      writer.count(kind.number, -1)
    }
    for address in lost.returned { writer.count(address.kind, -1) }
    loseSum()
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

  /// Rebuilds what is derived from the states of all records. After a state is lost, `tally_wait` and
  /// `tally_seeded` may still list it, and deleted records may still be visible for its sake. Cost: reads the whole
  /// store.
  func renewWhatFollows() throws {
    try connection.execute("DELETE FROM tally_wait")
    try connection.execute("DELETE FROM tally_seeded")
    view.changeVisibility()
    for kind in catalog.records.values {
      let list = { [writer, view] (name: AnyRecordName, stored: StoredRecord) in
        let shown = stored.place.isVisible ? stored.values : nil
        try writer.putWaits(for: name, kind, stored.state, shown, nil)
        try writer.putSeeded(name, kind, stored.state, isShown: shown != nil, nil)
        // Only these can be visible, or hidden, because of what they own.
        if !stored.state.deletes.isEmpty || stored.state.seed != nil { view.mark(name) }
      }
      if kind.isKnown { try reader.forEachRow(kind, list) }
      try reader.forEachHiddenRecord(kind.number, list)
    }
  }
}
