/// Counters: an offset, which is a register of the record's content, and for each replica that ever added one total,
/// which is a register of its presence and by that replica alone.
///
/// What is shown is the offset and all totals. An add raises the total of its author. A set makes the offset what is
/// asked for, less all totals that its author knows: of concurrent sets the later stays, an add that it had seen is in
/// it, and one that it had not seen counts. No list of what a set had seen is needed, since totals are never dropped,
/// and a vector that covers a set covers all that its author had seen (a positive-negative counter, Shapiro et al., "A
/// comprehensive study of CRDTs", 2011, with one register for both signs, and an offset).
///
/// Where a store has lost the state of a record and still shows its row, which totals the number is made of is not
/// known. Then an offset stands in for all of them (`Stamp.standIn`).
extension RecordState {
  /// Finds what was added to a counter. Totals stand behind all other registers.
  /// - Parameter counter: the field of the offset.
  /// - Returns: the registers of its totals, ascending by field.
  package func totals(of counter: FieldID) -> ArraySlice<FieldCell> {
    guard var start = fields.indices.last, fields[start].field.isTotal else { return [] }
    while start > 0, fields[start - 1].field.isTotal { start -= 1 }
    let own = fields[start...].drop { $0.field.counter != counter }
    return own.prefix { $0.field.counter == counter }
  }

  /// The sum of what was ever added to a counter; exact, however many replicas have added.
  package func added(to counter: FieldID) -> Int128 {
    totals(of: counter).reduce(into: 0) { sum, cell in
      if case .integer(let total) = cell.value { sum += Int128(total) }
    }
  }

  /// Adds up what a counter shows. Cost: linear in the totals.
  /// - Parameters:
  ///   - counter: the field of the offset.
  ///   - start: the counter's default.
  ///   - followsNewest: see `cell(_:followsNewest:)`.
  /// - Returns: what was set or a seed says, or else `start`, and all that was added; the nearest that 64 bits hold.
  public func count(of counter: FieldID, from start: Int64, followsNewest: Bool) -> Int64 {
    let cell = cell(counter, followsNewest: followsNewest)
    let offset = if let cell, counts(cell), case .integer(let number) = cell.value { number } else { start }
    return Int64(clamping: Int128(offset) + added(to: counter))
  }

  /// Whether an offset is part of what its counter shows. One that stands in for a state that was lost gives way to
  /// whatever anybody still knows of the record: the totals that were in it come back with that. A seeded record has no
  /// existence that could say so; what was added to it came with the basis of its first edit.
  private func counts(_ offset: FieldCell) -> Bool {
    !offset.stamp.isStandIn || (offset.stamp == existence && seed?.basis == nil)
  }

  /// The offsets that stand in for a lost state and count: with another existence, or a basis, they would not.
  package var standIns: [FieldCell] {
    guard let existence, existence.isStandIn, seed?.basis == nil else { return [] }
    return fields.filter { $0.stamp == existence }
  }

  /// The offset with which a counter shows a number; nil if 64 bits do not hold it.
  package func offset(showing number: Int64, of counter: FieldID) -> Int64? {
    Int64(exactly: Int128(number) - added(to: counter))
  }
}

extension Stamp {
  /// The stamp of a number that a row showed whose state was lost, and of the existence of its record there.
  package static func standIn(_ dot: Dot) -> Stamp { Stamp(rank: .adopted, time: .earliest, dot: dot) }

  /// Whether it is the stamp of what stands in for a lost state.
  package var isStandIn: Bool { rank == .adopted && time == .earliest }
}
