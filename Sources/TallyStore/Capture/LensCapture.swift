import TallyCRDT

/// Captures writes to the columns between which lenses lead (`LensWrites`).
/// In the short ways the older columns are written into the row first, as if the app had written both. In the long way
/// the view writes them, as after a merge.
struct LensCapture {
  let transaction: WriteTransaction
  let kind: RecordKind

  /// Returns the writes of an update, and the values of the row before it, where the state's stand for refused ones: so
  /// putting back a refused value writes nothing.
  func update(
    _ values: [Value], over before: [Value], _ old: RecordState, wereRefused: Set<FieldID>, except refused: Set<Int>,
    isAnew: Bool, isUnnoted: Bool
  ) -> (writes: LensWrites, before: [Value]) {
    guard !kind.lenses.isEmpty else { return (LensWrites(values), before) }
    var before = before
    if !wereRefused.isEmpty {
      let plain = kind.plainValues(of: old)
      for place in kind.lenses.places where wereRefused.contains(kind.columns[place].field) {
        before[place] = plain[place]
      }
    }
    let writes = LensWrites(
      values, over: before, kind, except: refused, isAnew: isAnew, isUnnoted: isUnnoted, transaction.environment)
    return (writes, before)
  }

  /// The part of an edit that follows from its newer columns.
  struct Edit {
    /// The values of older columns that the row does not show yet.
    var older: [(place: Int, value: Value)] = []
    /// For columns that lenses join the time that the edit must exceed so that it shows.
    var floors: [(place: Int, time: HybridTime)] = []

    /// The time that a write of a column must exceed; `old` is that of its register.
    func time(over old: HybridTime?, at place: Int) -> HybridTime? {
      floors.first { $0.place == place }.map { max($0.time, old ?? $0.time) } ?? old
    }
  }

  /// Adds what an edit of newer columns writes to older ones. `state` is that of the row before the edit.
  /// - Returns: nil if the short way does not apply, since a column shows or hides another one's value, or since
  ///   triggers may answer the store's write.
  func follow(_ row: RowID, _ changes: inout [RowChange], over state: StampedState) throws -> Edit? {
    guard changes.contains(where: { kind.lenses.involves($0.place) }) else { return Edit() }
    guard let values = try values(of: row) else { return nil }
    var before = values
    for change in changes { before[change.place] = change.old }
    let lens = LensWrites(values, over: before, kind, except: [], isAnew: false, transaction.environment)
    let written = changes.map(\.place) + lens.restamped
    let isPlain = kind.lenses.pairs.allSatisfy { pair in
      written.contains(pair.newer) ? lens.restamped.contains(pair.older) : !written.contains(pair.older)
    }
    guard isPlain, try mayWriteRows() else { return nil }
    for place in lens.restamped {
      changes.removeAll { $0.place == place }
      changes.append(RowChange(place: place, old: before[place], new: lens.values[place]))
    }
    changes.sort { $0.place < $1.place }
    let floors = changes.compactMap { change -> (place: Int, time: HybridTime)? in
      guard kind.lenses.involves(change.place) else { return nil }
      let times = kind.lenses.family(of: change.place).compactMap { place in
        state.stamp(of: kind.columns[place].field, isDefault: kind.columns[place].isDefault(before[place]))?.time
      }
      return times.max().map { (change.place, $0) }
    }
    let older = lens.restamped.filter { values[$0] != lens.values[$0] }.map { ($0, lens.values[$0]) }
    return Edit(older: older, floors: floors)
  }

  /// Writes what newer columns of a row that has come say to its older ones.
  /// - Returns: whether the row shows what its registers will hold.
  func follow(new row: RowID) throws -> Bool {
    guard let values = try values(of: row) else { return false }
    let lens = LensWrites(values, over: nil, kind, except: [], isAnew: true, transaction.environment)
    guard kind.lenses.agree(lens.values, kind) else { return false }
    let older = lens.restamped.filter { values[$0] != lens.values[$0] }
    guard !older.isEmpty else { return true }
    guard try mayWriteRows() else { return false }
    do {
      try transaction.writer.update(kind, row: row, clock: .unstamped, older.map { ($0, lens.values[$0]) })
    } catch is RowRefusal {
      return false
    }
    // A row that has come has this clock before the write too, so the statement may have been refused all the same.
    return try self.values(of: row).map { now in older.allSatisfy { now[$0] == lens.values[$0] } } ?? false
  }

  /// The values of a row in the columns of lenses, by the places of all columns.
  private func values(of row: RowID) throws -> [Value]? {
    try transaction.connection.row(kind.rowByNumber, row.rawValue) { query in
      var values = [Value](repeating: .null, count: kind.columns.count)
      for place in kind.lenses.places { values[place] = query.value(3 + place) }
      return values
    }
  }

  /// Whether a write to a row is answered by no trigger, neither of the app's nor of the store's own.
  private func mayWriteRows() throws -> Bool {
    try !transaction.writer.announcesRows && !transaction.mayRunTriggers()
  }

  /// Notes a row of the app's whose older columns get what newer ones say.
  func note(_ writes: LensWrites, over values: [Value], of name: AnyRecordName, _ origin: Capture.Origin) {
    guard origin == .app, writes.values != values else { return }
    transaction.held.note(lensed: RowAddress(kind: kind.number, key: name.text))
  }
}
