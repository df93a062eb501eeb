import TallyCRDT

extension WriteTransaction {
  /// Looks once for writes that no trigger noted: a shell dropped the triggers of `tables`, or a tool rebuilt these
  /// tables.
  ///
  /// Rows that came are captured now, and so are those that went. If the values of a row of these tables do not fit its
  /// checksum, all of them are captured as edits, since the checksum does not say which have changed. In any other
  /// table that is damage; it is noted, and the next sync with an intact device heals it.
  func findMissedWrites(in tables: Set<String>) throws {
    environment.logger.warning(
      "capture triggers were missing or a table was made again; looking once for what was written meanwhile")
    for (table, key, kind) in catalog.orderedKinds.map({ ($0.type, "id", $0.number) })
      + catalog.knownLinks.map({ ($0.table, "source || char(10) || target", $0.number) })
    {
      try connection.execute(
        """
        INSERT INTO tally_pending(kind, op, key, number)
          SELECT \(kind), 0, \(key), rowid FROM main."\(table)"
          WHERE (tally_clock = \(InlineClock.unstampedSQL) OR tally_clock IS NULL)
          AND NOT EXISTS(SELECT 1 FROM tally_pending WHERE op = 4 LIMIT 1)
        """)
    }
    try noteStrays()
    try capture(.outside, lost: findLostRows(nil))
    // What may not be readable healing sees to.
    guard try reader.doubt()?.level != .damaged else { return }
    guard try isSumLost || reader.recomputedFingerprint() != standing.fingerprint else { return try renewWhatFollows() }
    let changed = try UnfitRows(reader)
    func isOf(_ tables: Set<String>, _ kind: KindNumber) -> Bool {
      catalog.records[kind].map { tables.contains($0.type) } ?? false
    }
    try captureUnnoted(changed.records.filter { isOf(tables, $0.kind) })
    // What was changed before it was deleted is taken as it was deleted; where peers differ, the next sync joins both.
    for (name, kind) in changed.hidden where tables.contains(kind.type) {
      guard let stored = try reader.record(name, kind) else { continue }
      try writer.putSum(name, kind, stored)
      loseSum()
    }
    let isExplained =
      changed.records.allSatisfy { isOf(tables, $0.kind) }
      && changed.hidden.allSatisfy { tables.contains($0.kind.type) }
    guard isExplained, !changed.isEmpty || isSumLost, !changed.hasOthers else {
      hasUnfitStates = true
      return try note(doubt: .damaged, because: StoreError.unfit)
    }
  }

  /// Captures all values of rows that were changed without a note.
  private func captureUnnoted(_ rows: [UnfitRows.Row]) throws {
    guard !rows.isEmpty else { return }
    let insert = try connection.statement(
      text:
        "INSERT INTO tally_pending(kind, op, key, clock, number, changed) VALUES(?, \(PendingTable.unnotedChange), ?, ?, ?, 0)"
    )
    for row in rows {
      insert.bind(1, row.kind)
      insert.bind(2, row.key)
      insert.bind(3, row.clock)
      insert.bind(4, row.number)
      try insert.run()
    }
    loseSum()
    try capture(.outside, lost: nil)
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
    // What a disk has lost was not deleted by anyone.
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
