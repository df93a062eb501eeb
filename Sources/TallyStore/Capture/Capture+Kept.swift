import TallyCRDT

/// Rows of records that others have deleted, and that SQLite did not let go since a table of the app's refers to them.
extension Capture {
  /// Returns the cells of an edit; if the record was emptied and its row was not let go, with all else that the row
  /// shows. An author who edits a row has the whole of it in view.
  func sayingWhatShows(
    _ cells: [FieldCell], _ name: AnyRecordName, _ kind: RecordKind, _ old: RecordState, _ values: [Value],
    except: Set<Int>
  ) throws -> [FieldCell] {
    let aside = transaction.reader.aside
    guard !cells.isEmpty, old.life != nil, !old.hasContent, !aside.isEmpty,
      aside[RowAddress(kind: kind.number, key: name.text)]?.mode == .kept
    else { return cells }
    var cells = cells
    for (index, column) in kind.columns.enumerated() where !except.contains(index) && column.reference == nil {
      guard values[index] != column.defaultValue else { continue }
      if column.isCounter, case .integer(let number) = values[index] {
        if let cell = try CounterWrites(transaction).setting(number, column, old) { cells.append(cell) }
        continue
      }
      var stamp = try transaction.stamp(over: old.overwrittenTime(column.field))
      // What was shown is said again, and nothing set.
      if column.field.extremum != nil { stamp = Stamp(time: .earliest, dot: stamp.dot) }
      cells.append(FieldCell(field: column.field, stamp: stamp, value: values[index]))
    }
    return cells.sorted { $0.field < $1.field }
  }
}
