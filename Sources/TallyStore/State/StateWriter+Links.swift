import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// Links: the same as for records, with one clock and, in an ordered relationship, a position.
extension StateWriter {
  /// Writes a link's state and, if it is to be seen, its row. A row that SQLite refuses is set aside. `difference` is
  /// what the change of the state adds to the fingerprint; it is computed unless given.
  /// - Returns: whether the view is as asked.
  @discardableResult
  func put(
    _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement, previous: StoredLink?, isShown: Bool,
    difference: Fingerprint? = nil
  ) throws -> Bool {
    #if PlantedFaults
      var element = element
      if reader.planted.contains(.positionPurged), !isShown { element.place = nil }
    #endif
    change()
    if element.place != nil { try numbers.notePlaces(of: kind) }
    let sum = sum(key, kind, element, previous, difference)
    let refusal = isShown ? try show(key, kind, element, sum, previous) : try hide(key, kind, element, sum, previous)
    try note(refusal, RowAddress(kind: kind.number, key: key.text))
    if isShown || previous?.place.isVisible == true { try onRowWritten?() }
    return refusal == nil
  }

  /// The checksum that is stored with an element from now on.
  private func sum(
    _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement, _ previous: StoredLink?, _ difference: Fingerprint?
  ) -> StateSum {
    let old = previous?.element ?? ORSetElement()
    return (previous?.sum ?? StateSum())
      + (difference ?? reader.catalog.fingerprint(key, kind, from: old, to: element))
  }

  /// Writes the state of a link whose row the app has just inserted, and which shows this position. `difference` is
  /// what that adds to the fingerprint.
  func adopt(
    row: RowID, showing shown: ListPosition?, _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement,
    hidden: StoredLink?, difference: Fingerprint
  ) throws {
    change()
    if hidden?.place == .cut { try deleteHidden(key, kind.number) }
    let sum = sum(key, kind, element, hidden, difference)
    let place = Place.row(id: row, clock: .unstamped)
    let refusal = try show(key, kind, element, sum, StoredLink(element: element, place: place, sum: sum, shown: shown))
    try note(refusal, RowAddress(kind: kind.number, key: key.text))
  }

  private func show(
    _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement, _ sum: StateSum, _ previous: StoredLink?
  ) throws -> SetAside.Entry? {
    let clock = try clock(element, sum, previous?.place, kind)
    if case .row(let row, let old) = previous?.place {
      guard kind.isOrdered, previous?.shown != element.place?.position else {
        try writeClock(kind.number, kind.table, row: row, clock)
        return nil
      }
      // With the same clock before and after, the triggers would take the write for the app's.
      if old == clock { try writeClock(kind.number, kind.table, row: row, .leaving) }
      do {
        try PlacedRow(kind, row, element.place?.position).write(clock, self)
        return nil
      } catch let refusal as RowRefusal {
        // The row stays where it is.
        let shown = previous?.shown
        let body = try StateCoding.encode(element, sum, shown: shown, replicaNumber: numbers.number(of:))
        try writeClock(kind.number, kind.table, row: row, try putExtra(body, clock.extra))
        return SetAside.Entry(mode: .kept, reason: refusal.reason)
      }
    }
    if previous?.place == .cut { try deleteHidden(key, kind.number) }
    do {
      try insert(key, kind, clock, element.place?.position)
      return nil
    } catch let refusal as RowRefusal {
      if let extra = clock.extra { try deleteExtra(extra.number) }
      try putHidden(key, kind.number, element, sum)
      return SetAside.Entry(mode: .withheld, reason: refusal.reason)
    }
  }

  private func insert(
    _ key: LinkKey, _ kind: LinkKind, _ clock: InlineClock, _ position: ListPosition?
  ) throws {
    let insert = try rowStatement(kind.insert, kind.number)
    touch(kind.table)
    insert.bind(1, key.source.text)
    insert.bind(2, key.target.text)
    insert.bind(3, clock)
    if kind.isOrdered { insert.bind(4, position?.bytes ?? []) }
    try announce(clock)
    try insert.runOnRow(connection)
  }

  private func hide(
    _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement, _ sum: StateSum, _ previous: StoredLink?
  ) throws -> SetAside.Entry? {
    if case .row(let row, let clock) = previous?.place {
      do {
        try deleteRow(kind.number, kind.table, kind.deleteByNumber, row: row, clock)
      } catch let refusal as RowRefusal {
        if let extra = clock.extra { try deleteExtra(extra.number) }
        let shown = previous?.shown
        let body = try StateCoding.encode(element, sum, shown: shown, replicaNumber: numbers.number(of:))
        try writeClock(kind.number, kind.table, row: row, try putExtra(body, nil))
        return SetAside.Entry(mode: .kept, reason: refusal.reason)
      }
    }
    try putHidden(key, kind.number, element, sum)
    return nil
  }

  /// Stores the state of a link that has no row.
  func putHidden(_ key: LinkKey, _ kind: KindNumber, _ element: ORSetElement, _ sum: StateSum) throws {
    touchesDeleted = true
    facts.hiddenKinds.insert(kind)
    let insert = try connection.statement(
      """
      INSERT INTO tally_cut VALUES(?, ?, ?, ?) \
      ON CONFLICT(kind, source, target) DO UPDATE SET body = excluded.body
      """)
    insert.bind(1, kind)
    insert.bind(2, key)
    insert.bind(4, try StateCoding.encode(element, sum, replicaNumber: numbers.number(of:)))
    try insert.run()
  }

  /// Removes the state of a link that is about to get a row, or of which nothing is left.
  func deleteHidden(_ key: LinkKey, _ kind: KindNumber) throws {
    touchesDeleted = true
    let delete = try connection.statement("DELETE FROM tally_cut WHERE kind = ? AND source = ? AND target = ?")
    delete.bind(1, kind)
    delete.bind(2, key)
    try delete.run()
  }

  /// The clock of a row that shows the element's position, if the relationship is ordered.
  private func clock(
    _ element: ORSetElement, _ sum: StateSum, _ place: Place?, _ kind: LinkKind
  ) throws -> InlineClock {
    let old = place?.extra
    let isPlain = element.place.map { kind.isOrdered && $0.stamp == element.uniformStamp } ?? true
    if isPlain, let stamp = element.uniformStamp, let clock = try clock(of: stamp)?.with(sum) {
      if let old { try deleteExtra(old.number) }
      return clock
    }
    let shown = kind.isOrdered ? element.place?.position : nil
    return try putExtra(try StateCoding.encode(element, sum, shown: shown, replicaNumber: numbers.number(of:)), old)
  }
}

/// The row of a link that is to show where it stands.
private struct PlacedRow {
  private let kind: LinkKind
  private let row: RowID
  private let position: ListPosition?

  init(_ kind: LinkKind, _ row: RowID, _ position: ListPosition?) {
    (self.kind, self.row, self.position) = (kind, row, position)
  }

  /// - Throws: `RowRefusal`; the row and its clock are then as they were.
  func write(_ clock: InlineClock, _ writer: StateWriter) throws {
    let move = try writer.rowStatement(kind.move, kind.number)
    writer.touch(kind.table)
    move.bind(1, clock)
    move.bind(2, position?.bytes ?? [])
    move.bind(3, row)
    try writer.announce(clock)
    try move.runOnRow(writer.connection)
  }
}
