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
  /// The row's values, with what newer columns write to older ones.
  private(set) var values: [Value]
  /// The places of columns that are written although their values stay.
  private(set) var restamped: [Int] = []
  /// The places of columns that show another value than before and say nothing.
  private(set) var silent: [Int] = []

  /// Nothing but the values of a row.
  init(_ values: [Value]) { self.values = values }

  /// `before` has the values that the row showed; nil if there was none. If `isAnew`, the row has been deleted and
  /// inserted since: a column that the insert did not name has its default. If `isUnnoted`, nothing tells what has
  /// changed, and the newer column counts where both do not say the same.
  init(
    _ values: [Value], over before: [Value]?, _ kind: RecordKind, except refused: Set<Int>, isAnew: Bool,
    isUnnoted: Bool = false, _ environment: StoreEnvironment
  ) {
    self.values = values
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
      if environment.planted.contains(.oldColumnUnstamped) { restamped = [] }
    #endif
  }

  /// The values of the columns that are written, where a row shows others.
  func older(than row: [Value]) -> [(place: Int, value: Value)] {
    restamped.compactMap { place in row[place] == values[place] ? nil : (place, values[place]) }
  }

  private mutating func follow(
    _ pair: LensColumns.Pair, over before: [Value]?, _ kind: RecordKind, except refused: Set<Int>, isAnew: Bool
  ) {
    let (older, newer) = (pair.older, pair.newer)
    let isDefault = kind.columns[newer].isDefault(values[newer])
    // A value that is refused says nothing.
    let olderIsDefault = refused.contains(older) || kind.columns[older].isDefault(values[older])
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

  /// Makes the older column follow the newer one in a row whose changes are unknown: all its values are written again.
  private mutating func restate(_ pair: LensColumns.Pair, _ kind: RecordKind, except refused: Set<Int>) {
    guard pair.source.keepsOldApps, !refused.contains(pair.older),
      pair.newerValue(values[pair.older], kind) != values[pair.newer],
      let value = pair.olderValue(values[pair.newer], kind)
    else { return }
    values[pair.older] = value
    restamped.append(pair.older)
  }
}
