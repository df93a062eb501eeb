import TallyCRDT

/// Captures writes to the columns between which lenses lead (`LensWrites`).
/// In the short ways the older columns are written with the row's clock. In the long way the view writes them, as after
/// a merge.
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
      values, over: LensWrites.Before(values: before), kind, except: refused, isAnew: isAnew, isUnnoted: isUnnoted,
      transaction.environment)
    return (writes, before)
  }

  /// Adds what an edit of newer columns writes to older ones, and the time that it must exceed so that it shows.
  /// `state` is that of the row before the edit.
  /// - Returns: the values of older columns that the row does not show yet; nil if the short way does not apply, since
  ///   a column shows or hides another one's value, or since triggers may answer the store's write.
  func follow(
    _ row: EditedRow, _ changes: inout [RowChange], over state: StampedState
  ) throws -> [(place: Int, value: Value)]? {
    guard changes.contains(where: { kind.lenses.involves($0.place) }) else { return [] }
    let lens = LensWrites(
      row.lensed, over: LensWrites.Before(values: row.lensed, changes: changes), kind, except: [], isAnew: false,
      transaction.environment)
    for (place, value) in lens.writes {
      if let index = changes.firstIndex(where: { $0.place == place }) {
        changes[index].new = value
      } else {
        changes.append(RowChange(place: place, old: row.lensed[place], new: value))
      }
    }
    for index in changes.indices where kind.lenses.involves(changes[index].place) {
      for place in kind.lenses.family(of: changes[index].place) {
        let column = kind.columns[place]
        let value = changes.first { $0.place == place }?.old ?? row.lensed[place]
        guard let stamp = state.stamp(of: column.field, isDefault: column.isDefault(value)) else { continue }
        changes[index].floor = max(changes[index].floor ?? stamp.time, stamp.time)
      }
    }
    let isPlain = kind.lenses.pairs.allSatisfy { pair in
      changes.contains { $0.place == pair.newer }
        ? lens.writes(pair.older) : !changes.contains { $0.place == pair.older }
    }
    let older = lens.older
    return try isPlain && (older.isEmpty || mayWriteRows()) ? older : nil
  }

  /// Returns what the newer columns of a row that has come say to its older ones, where a query is at the row; nil if
  /// the short way does not apply.
  func follow(new query: SQLStatement) throws -> [(place: Int, value: Value)]? {
    guard !kind.lenses.isEmpty else { return [] }
    let values = kind.lenses.values(in: query, kind)
    let lens = LensWrites(values, over: nil, kind, except: [], isAnew: true, transaction.environment)
    let older = lens.older
    return try kind.lenses.agree(lens.values, kind) && (older.isEmpty || mayWriteRows()) ? older : nil
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
