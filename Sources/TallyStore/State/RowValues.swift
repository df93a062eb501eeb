import TallyCRDT

/// The values of a record's row, by field.
struct RowValues {
  let kind: RecordKind
  let values: [Value]
  /// The places of the columns that show the sum of several registers: see `withoutSums`.
  var sums: [Int] = []

  subscript(field: FieldID) -> Value? { kind.index(of: field).map { values[$0] } }

  /// Whether the row shows what the cell holds.
  func shows(_ cell: FieldCell) -> Bool {
    kind.index(of: cell.field).map { values[$0] == cell.value && !sums.contains($0) } ?? false
  }

  /// Whether the row shows what the cell holds, and not because it is the default.
  func implies(_ cell: FieldCell) -> Bool {
    guard let index = kind.index(of: cell.field), !sums.contains(index) else { return false }
    return !kind.columns[index].isDefault(values[index]) && values[index] == cell.value
  }

  /// Whether each value but the defaults is that of a cell: of one that is listed, or of as many others.
  func isComplete(with listed: [FieldCell], implying count: Int) -> Bool {
    let shown = kind.columns.indices.count { !kind.columns[$0].isDefault(values[$0]) && !sums.contains($0) }
    let others = listed.count { cell in
      kind.index(of: cell.field).map { !kind.columns[$0].isDefault(values[$0]) && !sums.contains($0) } ?? false
    }
    return shown == others + count
  }

  /// The cells that are listed, ascending by field, and one for each other value but the defaults.
  func completing(_ listed: [FieldCell], stamp: Stamp) -> [FieldCell] {
    var cells: [FieldCell] = []
    cells.reserveCapacity(listed.count + values.count)
    var next = 0
    for (place, (column, value)) in zip(kind.columns, values).enumerated() {
      while next < listed.count, listed[next].field < column.field {
        cells.append(listed[next])
        next += 1
      }
      if next < listed.count, listed[next].field == column.field {
        cells.append(listed[next])
        next += 1
      } else if !column.isDefault(value), !sums.contains(place) {
        cells.append(FieldCell(field: column.field, stamp: stamp, value: value))
      }
    }
    return cells + listed[next...]
  }
}

extension RowValues {
  /// The row without the columns of counters to which replicas have added: they show sums, and no register.
  func withoutSums(_ fields: [FieldCell]) -> RowValues {
    guard fields.last?.field.isTotal == true else { return self }
    var row = self
    for cell in fields.reversed() {
      guard let counter = cell.field.counter else { break }
      if let place = kind.index(of: counter), !row.sums.contains(place) { row.sums.append(place) }
    }
    return row
  }
}
