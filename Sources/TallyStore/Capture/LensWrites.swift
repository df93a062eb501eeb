import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// The effect of a write to a row on the columns between which lenses lead (`LensColumns`).
///
/// A write of a newer column is one of the older column too, by the same transaction, so that a device that knows the
/// older one alone sees it. The older register gets the stamp even where its value stays: otherwise an earlier write of
/// such a device would prevail there, and here the newer value.
struct LensWrites {
  private var row: [Value]
  /// The columns that are written, each once: older ones, and columns whose values stay.
  private(set) var writes: [(place: Int, value: Value)] = []
  /// The places of columns that show another value than before and say nothing.
  private(set) var silent: [Int] = []

  /// Nothing but the values of a row.
  init(_ values: [Value]) { row = values }

  /// `before` has the values that the row showed; nil if there was none. If `isAnew`, the row has been deleted and
  /// inserted since: a column that the insert did not name has its default. If `isUnnoted`, nothing tells what has
  /// changed, and the newer column counts where both do not say the same.
  init(
    _ values: [Value], over before: Before?, _ kind: RecordKind, except refused: Set<Int>, isAnew: Bool,
    isUnnoted: Bool = false, _ environment: StoreEnvironment
  ) {
    row = values
    #if PlantedFaults
      if environment.planted.contains(.lensNotFollowed) { return }
    #endif
    for pair in kind.lenses.pairs.reversed() where !refused.contains(pair.newer) {
      if isUnnoted {
        restate(pair, kind, except: refused)
      } else {
        follow(pair, over: before, kind, except: refused, isAnew: isAnew)
      }
    }
    #if PlantedFaults
      if environment.planted.contains(.oldColumnUnstamped) { (row, writes) = (self.values, []) }
    #endif
  }

  /// What a row showed before.
  struct Before {
    var values: [Value]
    /// The columns of which `values` has what the row shows now.
    var changes: [RowChange] = []

    subscript(place: Int) -> Value { changes.first { $0.place == place }?.old ?? values[place] }
  }

  /// The row's values, with those that are written.
  var values: [Value] {
    var values = row
    for write in writes { values[write.place] = write.value }
    return values
  }

  /// The values that are written where the row shows others.
  var older: [(place: Int, value: Value)] {
    writes.allSatisfy { row[$0.place] != $0.value } ? writes : writes.filter { row[$0.place] != $0.value }
  }

  /// Whether a column is written, also where its value stays.
  func writes(_ place: Int) -> Bool { writes.contains { $0.place == place } }

  func value(_ place: Int) -> Value { writes.first { $0.place == place }?.value ?? row[place] }

  private mutating func write(_ place: Int, _ value: Value) {
    if let index = writes.firstIndex(where: { $0.place == place }) {
      writes[index].value = value
    } else {
      writes.append((place, value))
    }
  }

  private mutating func follow(
    _ pair: LensColumns.Pair, over before: Before?, _ kind: RecordKind, except refused: Set<Int>, isAnew: Bool
  ) {
    let (older, newer) = (pair.older, pair.newer)
    let (shown, olderShown) = (value(newer), value(older))
    let isDefault = kind.columns[newer].isDefault(shown)
    // A value that is refused says nothing.
    let olderIsDefault = refused.contains(older) || kind.columns[older].isDefault(olderShown)
    let isGiven = writes(newer) || (before.map { $0[newer] != shown } ?? !isDefault)
    let isWritten = isGiven || isAnew && !isDefault && olderIsDefault
    guard isWritten else { return }
    let isOlderGiven = before.map { $0[older] != olderShown } ?? true
    if isDefault, !olderIsDefault, isOlderGiven || isAnew {
      silent.append(newer)
      if !isOlderGiven { write(older, olderShown) }
      return
    }
    guard pair.source.keepsOldApps, !refused.contains(older), let value = pair.olderValue(shown, kind) else { return }
    write(older, value)
    if !isGiven { write(newer, shown) }
  }

  /// Makes the older column follow the newer one in a row whose changes are unknown: all its values are written again.
  private mutating func restate(_ pair: LensColumns.Pair, _ kind: RecordKind, except refused: Set<Int>) {
    let shown = value(pair.newer)
    guard pair.source.keepsOldApps, !refused.contains(pair.older),
      pair.newerValue(value(pair.older), kind) != shown, let value = pair.olderValue(shown, kind)
    else { return }
    write(pair.older, value)
  }
}
