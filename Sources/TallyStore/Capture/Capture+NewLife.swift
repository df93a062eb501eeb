import TallyCRDT

extension Capture {
  /// The cells of an insert: every value that differs from its default, and the default over every register of an
  /// earlier life and over what a seed says. If `areLost`, the earlier life had registers that are not known here.
  func newLife(
    _ name: AnyRecordName, _ kind: RecordKind, _ values: [Value], _ earlier: RecordState, _ stamp: Stamp, areLost: Bool
  ) throws -> [FieldCell] {
    var cells: [FieldCell] = []
    cells.reserveCapacity(values.count)
    #if PlantedFaults
      let earlier = environment.planted.contains(.newLifeKeepsOld) ? RecordState() : earlier
    #endif
    guard !earlier.isEmpty || areLost else {
      for (column, value) in zip(kind.columns, values) where value != column.defaultValue {
        // Who inserts the same record elsewhere begins with the same.
        let stamp = column.field.extremum == nil ? stamp : Stamp(time: .earliest, dot: stamp.dot)
        cells.append(FieldCell(field: column.field, stamp: stamp, value: value))
      }
      return cells
    }
    // Registers that went with a table that was dropped may still be on other devices.
    let areLost = areLost || earlier.hasLostRegisters
    for (place, (column, shown)) in zip(kind.columns, values).enumerated() {
      let old = earlier[column.field]
      var value = shown
      let hasTotals = column.isCounter && !earlier.totals(of: column.field).isEmpty
      if hasTotals, case .integer(let number) = shown {
        let offset = earlier.offset(showing: number, of: column.field)
        guard offset != nil || origin != .app else { throw StoreError.overflow(name, column) }
        // There is nobody to tell, and the row follows.
        if offset == nil { transaction.view.mark(name) }
        value = .integer(offset ?? (number < 0 ? .min : .max))
      }
      let isSeeded = earlier.seed?.layers.contains { $0[column.field] != nil } ?? false
      // Which fields a purged record had is not known.
      var isPurged = earlier.life != nil && !column.field.isPresence
      #if PlantedFaults
        if environment.planted.contains(.insertBare) { isPurged = false }
      #endif
      guard
        value != column.defaultValue || isSeeded || areLost || isPurged || hasTotals
          || (old != nil && old?.value != value)
      else { continue }
      let overwritten = kind.lenses.settingTime(place, earlier, kind)
      let stamp = overwritten == nil ? stamp : try transaction.stamp(over: overwritten)
      cells.append(FieldCell(field: column.field, stamp: stamp, value: value))
    }
    let offsets = try CounterWrites(transaction).newOffsets(of: earlier, besides: kind)
    cells += offsets
    // What it gave way to says nothing until it gives way again, and a person's null would prevail over that.
    for cell in earlier.fields
    where !cell.field.isTotal && cell.field != kind.forwardField && !cell.value.isNull
      && !kind.columns.contains(where: { $0.field == cell.field })
      && !offsets.contains(where: { $0.field == cell.field })
    {
      let stamp = try transaction.stamp(over: earlier.overwrittenTime(cell.field))
      cells.append(FieldCell(field: cell.field, stamp: stamp, value: .null))
    }
    return cells.sorted { $0.field < $1.field }
  }

  /// A record that begins a new life starts with empty relationships, on both sides.
  func endMemberships(of name: AnyRecordName) throws {
    #if PlantedFaults
      if environment.planted.contains(.newLifeKeepsOld) { return }
    #endif
    // Rows of links may not be captured yet; those that are seen do not end.
    for (kind, key, link) in try transaction.reader.hiddenLinks(of: name) where link.element.mayBeMember {
      var element = link.element
      let stamp = try transaction.stamp(over: element.latestTime)
      element.remove(stamp)
      try transaction.writer.put(key, kind, element, previous: link, isShown: false)
      // The tag may have been all that kept its source.
      try transaction.changed(key, kind, from: link.element, to: element, dots: CollectionOfOne(stamp.dot))
    }
  }
}

extension RecordState {
  /// Whether all that is known of a record is that it was deleted, as after its row went unnoticed.
  var hasLostRegisters: Bool { existence == nil && fields.isEmpty && seed == nil }
}
