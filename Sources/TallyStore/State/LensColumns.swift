import TallyCRDT
import TallyWire

/// The columns of a kind between which lenses lead (`FieldSource`): an older one, and the newer one that takes its
/// place.
///
/// Each is a register of its own, and stays what was written to it. The newer column shows the later of the two writes;
/// what the older one holds is seen through the lens.
struct LensColumns: Sendable {
  /// The places of two columns. A class, so that handing it on costs one reference count.
  final class Pair: Sendable {
    let older: Int
    let newer: Int
    let source: FieldSource

    init(older: Int, newer: Int, _ source: FieldSource) {
      (self.older, self.newer, self.source) = (older, newer, source)
    }
  }

  /// In a chain of lenses, the pair with the oldest field comes first.
  let pairs: [Pair]
  /// The places of all these columns, each once.
  let places: [Int]
  let isEmpty: Bool
  /// For each column the places of all that lenses join to it, itself included; none if there are no lenses.
  private let families: [[Int]]

  init(_ columns: [Column], _ entity: EntitySchema?) {
    pairs =
      entity?.lensPairs.compactMap { pair in
        guard let entity, let source = entity.fields[pair.newer].source,
          let older = columns.firstIndex(where: { $0.key == entity.fields[pair.older].key }),
          let newer = columns.firstIndex(where: { $0.key == entity.fields[pair.newer].key })
        else { return nil }
        return Pair(older: older, newer: newer, source)
      } ?? []
    places = Set(pairs.flatMap { [$0.older, $0.newer] }).sorted()
    isEmpty = pairs.isEmpty
    var families: [[Int]] = isEmpty ? [] : columns.indices.map { [$0] }
    for pair in pairs {
      let family = families[pair.older] + families[pair.newer]
      for place in family { families[place] = family }
    }
    self.families = families
  }

  /// Whether a lens leads from or to a column.
  func involves(_ place: Int) -> Bool { !isEmpty && families[place].count > 1 }

  /// The places of all columns that lenses join to one, that one included.
  func family(of place: Int) -> [Int] { isEmpty ? [place] : families[place] }

  /// The values of these columns in a query for the kind's rows, by the places of all columns.
  func values(in query: SQLStatement, _ kind: RecordKind) -> [Value] {
    guard !isEmpty else { return [] }
    return [Value](unsafeUninitializedCapacity: kind.columns.count) { values, count in
      count = values.count
      values.initialize(repeating: .null)
      for place in places { values[place] = query.value(3 + place) }
    }
  }

  /// The time that a write of a column must exceed so that it shows: also that of the columns that lenses join to it.
  func settingTime(_ place: Int, _ state: RecordState, _ kind: RecordKind) -> HybridTime? {
    guard !isEmpty else { return state.settingTime(kind.columns[place].field) }
    return family(of: place).compactMap { state.settingTime(kind.columns[$0].field) }.max()
  }

  /// Puts what newer columns show into the values of a state's row. The others have the values of their own registers.
  func show(_ state: RecordState, _ kind: RecordKind, into values: inout [Value]) {
    var later: [(place: Int, stamp: Stamp)] = []
    for pair in pairs {
      let known = later.first { $0.place == pair.older }?.stamp
      let shown = pair.shown(kind, values[pair.older], values[pair.newer]) { column, value in
        if let known, column === kind.columns[pair.older] { return known }
        return state.cell(column.field, followsNewest: kind.followsNewest)?.stamp
      }
      guard let shown else { continue }
      values[pair.newer] = pair.newerValue(values[pair.older], kind)
      later.append((pair.newer, shown))
    }
  }

  /// Whether a newer column shows what an older one holds, where registers have these values and stamps.
  func showOlder(_ kind: RecordKind, _ value: (Int) -> Value, _ stamp: (Column, Value) -> Stamp?) -> Bool {
    pairs.contains { $0.shown(kind, value($0.older), value($0.newer), stamp) != nil }
  }

  /// The values of a stored row, with those of newer columns that a later state of the same life shows otherwise.
  func shown(_ state: RecordState, _ kind: RecordKind, over stored: StoredRecord, _ values: inout [Value]) {
    guard !isEmpty else { return }
    let (old, new) = (kind.plainValues(of: stored.state), kind.plainValues(of: state))
    for place in pairs.map(\.newer) { values[place] = old[place] == new[place] ? stored.values[place] : new[place] }
  }

  /// Whether a row shows something else in these columns than its state says.
  func differ(_ state: RecordState, _ kind: RecordKind, from values: [Value]) -> Bool {
    guard !isEmpty else { return false }
    let plain = kind.plainValues(of: state)
    return pairs.contains { plain[$0.older] != values[$0.older] || plain[$0.newer] != values[$0.newer] }
  }

  /// Whether a write that has lost is one to an older field that came with one to the newer.
  func isFollowed(_ write: LostWrite, in lost: [LostWrite], _ kind: RecordKind) -> Bool {
    pairs.contains { pair in
      kind.columns[pair.older].field == write.loser.field
        && lost.contains { $0.loser.field == kind.columns[pair.newer].field }
    }
  }

  /// Whether a register of an older field came with one of the newer field.
  func isFollowed(_ cell: FieldCell, in state: RecordState, _ kind: RecordKind) -> Bool {
    pairs.contains { pair in
      kind.columns[pair.older].field == cell.field
        && state[kind.columns[pair.newer].field]?.stamp.dot == cell.stamp.dot
    }
  }

  /// Whether a row that one transaction has inserted shows what its registers hold.
  func agree(_ values: [Value], _ kind: RecordKind) -> Bool {
    pairs.allSatisfy { pair in
      !kind.columns[pair.newer].isDefault(values[pair.newer]) || kind.columns[pair.older].isDefault(values[pair.older])
    }
  }
}

extension LensColumns.Pair {
  /// The stamp of what the older column holds, where that counts before what the newer one does.
  fileprivate func shown(
    _ kind: RecordKind, _ old: Value, _ new: Value, _ stamp: (Column, Value) -> Stamp?
  ) -> Stamp? {
    let (older, newer) = (kind.columns[older], kind.columns[newer])
    guard let last = stamp(older, old) else { return nil }
    guard let own = stamp(newer, new) else { return last }
    // What default data takes over from a duplicate keeps its time alone.
    let areOne = last.dot == own.dot && last.rank == own.rank && (last.rank != .adopted || last.time == own.time)
    return (areOne ? newer.isDefault(new) && !older.isDefault(old) : last > own) ? last : nil
  }

  /// What the newer column shows of a value of the older one.
  func newerValue(_ value: Value, _ kind: RecordKind) -> Value {
    let column = kind.columns[newer]
    guard !kind.columns[older].isDefault(value), let type = column.kind else { return column.defaultValue }
    let translated = source.lens.newer(value, type)
    return translated.flatMap { column.admits($0) ? $0 : nil } ?? column.defaultValue
  }

  /// What a value of the newer column is in the older one; nil if it has no counterpart.
  func olderValue(_ value: Value, _ kind: RecordKind) -> Value? {
    let column = kind.columns[older]
    guard !kind.columns[newer].isDefault(value) else { return column.defaultValue }
    guard let translated = source.lens.older(value, source.kind), column.admits(translated) else { return nil }
    return translated
  }
}
