import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// What a write to a row means for the columns between which lenses lead (`LensColumns`).
///
/// A write of a newer column is one of the older column too, by the same transaction, so that a device that knows the
/// older one alone sees it. The older register gets the stamp even where its value stays: otherwise an earlier write of
/// such a device would prevail there, and here the newer value.
struct LensWrites {
  /// The row's values, with what newer columns write to older ones.
  private(set) var values: [Value]
  /// The places of columns that are written although their values stay.
  private(set) var restamped: [Int] = []
  /// The places of columns that show another value than before and say nothing.
  private(set) var silent: [Int] = []

  /// Nothing but the values of a row.
  init(_ values: [Value]) { self.values = values }

  /// `before` has the values that the row showed; nil if there was none, or if they are not known. If `isAnew`, the row
  /// has been deleted and inserted since: a column that the insert did not name has its default.
  init(
    _ values: [Value], over before: [Value]?, _ kind: RecordKind, except refused: Set<Int>, isAnew: Bool,
    _ environment: StoreEnvironment
  ) {
    self.values = values
    #if PlantedFaults
      if environment.planted.contains(.lensNotFollowed) { return }
    #endif
    for pair in kind.lenses.pairs.reversed() where !refused.contains(pair.newer) {
      follow(pair, over: before, kind, except: refused, isAnew: isAnew)
    }
    #if PlantedFaults
      if environment.planted.contains(.oldColumnUnstamped) { restamped = [] }
    #endif
  }

  private mutating func follow(
    _ pair: LensColumns.Pair, over before: [Value]?, _ kind: RecordKind, except refused: Set<Int>, isAnew: Bool
  ) {
    let (older, newer) = (pair.older, pair.newer)
    let isDefault = kind.columns[newer].isDefault(values[newer])
    let olderIsDefault = kind.columns[older].isDefault(values[older])
    let isGiven = restamped.contains(newer) || (before.map { $0[newer] != values[newer] } ?? !isDefault)
    let isWritten = isGiven || isAnew && !isDefault && olderIsDefault
    guard isWritten else { return }
    let isOlderGiven = before.map { $0[older] != values[older] } ?? true
    if isDefault, !olderIsDefault, isOlderGiven || isAnew {
      silent.append(newer)
      if !isOlderGiven { restamped.append(older) }
      return
    }
    guard pair.source.keepsOldApps, !refused.contains(older), let value = pair.olderValue(values[newer], kind) else {
      return
    }
    values[older] = value
    restamped.append(older)
    if !isGiven { restamped.append(newer) }
  }
}
