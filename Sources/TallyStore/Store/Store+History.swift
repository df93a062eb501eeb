import Foundation
import GRDB
import TallyCRDT

/// The author and the time of the last write of one field of a record.
public struct FieldHistory: Sendable, Equatable {
  /// The field's wire name, which a rename does not change.
  public var field: String
  /// The value that the register holds; for an addition to a counter, the sum of everything that the device has added.
  public var value: Value
  /// The stamp of the write that the field shows.
  public var stamp: Stamp
  /// The reason why the app does not see this value although the register holds it; nil if it does.
  public var hiddenReason: String?
  /// Whether the value is what one device has added to a counter. The counter's own entry has the number without these.
  public var isAddition = false
}

/// The part of a seed in a record.
public struct SeedProvenance: Sendable, Equatable {
  /// The version that the record shows beneath the person's own fields; nil if the newest version retires it.
  public var shown: Int?
  /// All versions that the store has, ascending.
  public var versions: [Int]
  /// Whether the newest version retires the record.
  public var isRetired: Bool
  /// Whether a person has edited the record, so that later versions change nothing in it.
  public var belongsToUser: Bool
}

/// Everything that the store knows of one record, as `tally why` prints it.
public struct RecordHistory: Sendable, Equatable {
  /// The name of the record whose history this is.
  public var name: AnyRecordName
  /// The stamp of the latest insert or restore.
  public var existence: Stamp?
  /// The history of each field, ordered by name.
  public var fields: [FieldHistory]
  /// The seed's part in the record; nil if the record did not come from a seed.
  public var seed: SeedProvenance?
  /// The seed, or the record with the same unique value, to which the record gave way; nil if it is not a duplicate.
  public var replacedBySeed: AnyRecordName?
  /// The deletes of the record, none of which had seen another.
  public var deletes: [Delete]
  /// Whether the record is alive, regardless of its owners.
  public var isAlive: Bool
  /// Whether the app sees the record.
  public var isVisible: Bool
  /// The writes to the record that lost, newest first.
  public var conflicts: [Conflict]
}

extension Store {
  /// Returns everything that is known of a record: who wrote its fields and when, which writes lost, who deleted it,
  /// and which seed it came from.
  ///
  /// ```swift
  /// if let history = try store.history(of: chess.name) {
  ///   for field in history.fields { print(field.field, field.value, field.stamp) }
  /// }
  /// ```
  ///
  /// Use it when a record is not shown or shows something unexpected: a field that the app does not see gives the
  /// reason, and `isVisible` distinguishes a deleted record from one hidden with its owner. `tally why` prints the
  /// same.
  ///
  /// Cost: reads this record, its entries of the conflict journal, and as many of its owners and owned records as are
  /// needed to determine its visibility.
  /// - Returns: the history, even of a deleted record; nil if nothing is known of the name.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func history(of name: AnyRecordName) throws -> RecordHistory? {
    try capturedSnapshot { reader in
      guard let kind = reader.catalog.kind(of: name.type), let stored = try reader.record(name, kind) else {
        return nil
      }
      let visibility = Visibility(SnapshotFacts(reader))
      let forward = kind.forwardField
      let shownSeed = stored.state.shownSeed(followsNewest: kind.followsNewest)
      let seeded = (shownSeed?.fields ?? []).filter {
        stored.state.cell($0.field, followsNewest: kind.followsNewest) == $0
      }
      let own = stored.state.fields.filter { cell in
        cell.field != forward && !seeded.contains { $0.field == cell.field }
      }
      let fields = (own + seeded).map { cell in
        let shown = kind.columns.firstIndex { $0.field == cell.field }.flatMap {
          stored.values.isEmpty ? nil : stored.values[$0]
        }
        return FieldHistory(
          field: reader.catalog.fields[cell.field]?.name ?? "?", value: cell.value, stamp: cell.stamp,
          hiddenReason: reader.aside.contested.reason(cell, shown, kind, name)
            ?? Self.reason(cell, shown, kind, stored), isAddition: cell.field.isTotal)
      }
      return RecordHistory(
        name: name, existence: stored.state.existence,
        fields: fields.sorted { ($0.field, $0.isAddition ? 1 : 0) < ($1.field, $1.isAddition ? 1 : 0) },
        seed: Self.provenance(stored, shownSeed), replacedBySeed: try reader.forward(of: name, stored.state),
        deletes: stored.state.deletes, isAlive: try visibility.isAlive(name),
        isVisible: stored.place.isVisible, conflicts: try reader.conflicts(of: name))
    }
  }

  private static func provenance(_ stored: StoredRecord, _ shown: SeedLayer?) -> SeedProvenance? {
    guard let seed = stored.state.seed, let newest = seed.newest else { return nil }
    let isGone = newest.isRetired && !stored.place.isVisible
    return SeedProvenance(
      shown: isGone ? nil : shown.map { Int($0.version) }, versions: seed.layers.map { Int($0.version) },
      isRetired: newest.isRetired, belongsToUser: stored.state.belongsToUser)
  }

  private static func reason(
    _ cell: FieldCell, _ shown: Value?, _ kind: RecordKind, _ stored: StoredRecord
  ) -> String? {
    guard stored.place.isVisible else { return "the record is not visible" }
    guard let column = kind.columns.first(where: { $0.field == cell.field.counter ?? cell.field }) else {
      return "this schema does not have the field"
    }
    if cell.field.isTotal || column.isCounter && shown == .integer(column.number(in: stored.state, kind)) { return nil }
    guard shown != cell.value else { return nil }
    guard column.accepts(cell.value) else { return "the value is of another type than the field" }
    if let place = kind.lenses.pairs.map(\.newer).first(where: { kind.columns[$0].field == cell.field }),
      kind.plainValues(of: stored.state)[place] == shown
    {
      return "the field whose place it takes was written later"
    }
    return column.reference == nil || shown?.isNull == false
      ? "another program wrote a value that cannot be replicated" : "its target is not visible"
  }
}
