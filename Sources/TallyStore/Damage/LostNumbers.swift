import TallyCRDT

/// The counters of records whose states were lost, while their rows still showed a number.
///
/// What a peer has of such a record says what everybody has added, but for what this store has not given away yet. Of
/// a peer that has all else that was here, and of a record whose number nobody has changed since, that is the
/// difference to what the row showed; it is added again. In any other case nothing tells what it was.
struct LostNumbers {
  private var shown: [(name: AnyRecordName, kind: RecordKind, numbers: [Int: Int64])] = []

  /// Notes what a row shows, before a peer's state takes the place of the one that is lost.
  mutating func note(_ name: AnyRecordName, _ kind: RecordKind, _ values: [Value]) {
    guard !kind.counters.isEmpty else { return }
    var numbers: [Int: Int64] = [:]
    for place in kind.counters.places where values.indices.contains(place) {
      if case .integer(let number) = values[place] { numbers[place] = number }
    }
    shown.append((name, kind, numbers))
  }

  /// Adds what this store alone had added. `own` is the vector of what was here, `target` that of the peer.
  /// - Returns: the states that change, to be written.
  func restored(
    _ transaction: WriteTransaction, own: StateVector, target: StateVector
  ) throws -> [(name: AnyRecordName, kind: RecordKind, state: RecordState, stored: StoredRecord)] {
    let mine = transaction.replica
    // What others have added and the peer lacks comes back from somebody else.
    guard !target.covers(own), own.entries.allSatisfy({ target.covers($0) || $0.replica == mine }) else { return [] }
    return try shown.compactMap { name, kind, numbers in
      guard let stored = try transaction.reader.record(name, kind) else { return nil }
      // A later version of a seed, or another life, has a number of its own.
      let (existence, life) = (stored.state.existence?.dot, stored.state.life?.dot)
      let whole = [existence, life].compactMap { $0 } + (stored.state.seed?.dots ?? [])
      guard whole.allSatisfy(own.covers) else { return nil }
      var cells: [FieldCell] = []
      for place in kind.counters.places {
        let column = kind.columns[place]
        let known = stored.state.totals(of: column.field) + [stored.state[column.field]].compactMap { $0 }
        guard let before = numbers[place], known.allSatisfy({ own.covers($0.stamp.dot) }),
          case .cell(let cell) = try CounterWrites(transaction).counted(
            column, kind, from: nil, to: before, stored.state)
        else { continue }
        cells.append(cell)
      }
      guard !cells.isEmpty else { return nil }
      let written = stored.state.written(cells.sorted { $0.field < $1.field })
      return (name, kind, stored.state.merging(written), stored)
    }
  }
}
