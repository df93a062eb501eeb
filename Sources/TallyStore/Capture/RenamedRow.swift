import TallyCRDT

/// A new row that may be that of a record which got another name: then it carries the clock of the former one.
struct RenamedRow {
  private let clock: InlineClock
  private let shown: [Value]
  private let kind: RecordKind

  init(_ clock: InlineClock, _ shown: [Value], _ kind: RecordKind) {
    (self.clock, self.shown, self.kind) = (clock, shown, kind)
  }

  /// The values that the row says. What it shows in the place of a unique value is none of its own: the record has that
  /// value under its new name, and waits for it.
  func values(for name: AnyRecordName, _ transaction: WriteTransaction) throws -> [Value] {
    let reader = transaction.reader
    let rules = UniquePlaces.contested(of: kind)
    guard !rules.isEmpty, !reader.aside.contested.isEmpty, clock.extra != nil,
      let former = try? reader.state(clock, shown, kind).state
    else { return shown }
    var values = shown
    for unique in rules {
      let column = kind.columns[unique.last]
      guard let wanted = former.cell(column.field, followsNewest: kind.followsNewest)?.value,
        wanted != shown[unique.last],
        reader.aside.contested.isShown(shown[unique.last], for: wanted, kind.number, column.name)
      else { continue }
      values[unique.last] = wanted
      try reader.aside.contested.insert(
        RowAddress(kind: kind.number, key: name.text), column.name,
        ContestedValues.Entry(wanted: wanted, shown: shown[unique.last]), transaction.connection)
      transaction.writer.touch(ContestedValue.databaseTableName)
      transaction.view.mark(name)
    }
    return values
  }
}
