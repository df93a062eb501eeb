import Foundation
import TallyCRDT

/// A deleted record that can be restored.
public struct DeletedRecord: Sendable, Equatable {
  /// The name of the record, for ``Store/restore(_:)`` or ``Store/purge(_:)``.
  public var name: AnyRecordName
  /// The stamp of the latest delete: the device that deleted the record, and the time by its clock.
  public var delete: Stamp
  /// The record's last values, by column; fields that were never written have their defaults.
  public var values: [String: Value]
  /// The time until which the record can be restored, as far as this store knows: a later compaction removes its
  /// content. Nil as long as no other device has received the delete, because the time counts from then.
  public var restorableUntil: Date?
}

extension DeletedRecord {
  /// Those of a type that can be restored within the window, those that were deleted last first.
  static func recent(
    _ reader: StateReader, _ type: String, _ limit: Int, _ window: RestoreWindow, _ today: Int
  ) throws -> [DeletedRecord] {
    guard let kind = reader.catalog.kind(of: type), kind.isKnown else {
      let hint = reader.catalog.schema.hint(forType: type)
      throw StoreError(.unknownType, "the type \(printable(type)) is not in the schema\(hint)")
    }
    let days = try SharedDays(reader.connection)
    let (visibility, hiding) = (Visibility(SnapshotFacts(reader)), Hiding(reader))
    var found: [DeletedRecord] = []
    try reader.forEachHiddenRecord(kind.number) { name, stored in
      guard let delete = stored.state.deletes.map(\.stamp).max(), try !visibility.isAlive(name),
        try !visibility.isHollow(name), try reader.forward(of: name, stored.state) == nil
      else { return }
      guard let causes = try hiding.causes(of: name) else { return }
      found.append(
        DeletedRecord(
          name: name, delete: delete, values: values(of: stored.state, kind),
          restorableUntil: days.end(of: window, for: causes, today: today)))
      // Of very many the oldest go now and then.
      if found.count > 2 * max(limit, 50) { found = Self.newest(found, limit) }
    }
    return Self.newest(found, limit)
  }

  /// The values of a state, by columns.
  private static func values(of state: RecordState, _ kind: RecordKind) -> [String: Value] {
    var values = kind.columns.map { column in
      state.cell(column.field, followsNewest: kind.followsNewest)?.value ?? column.defaultValue
    }
    kind.counters.count(state, kind, into: &values)
    kind.lenses.show(state, kind, into: &values)
    return Dictionary(uniqueKeysWithValues: zip(kind.columns.map(\.name), values))
  }

  private static func newest(_ records: [DeletedRecord], _ limit: Int) -> [DeletedRecord] {
    Array(records.sorted { ($1.delete.time, $0.name) < ($0.delete.time, $1.name) }.prefix(max(0, limit)))
  }
}

extension SharedDays {
  /// The end of the window of a record; nil if no row that is believed covers what hides it yet.
  fileprivate func end(of window: RestoreWindow, for causes: Hiding.Causes, today: Int) -> Date? {
    let covering = rows.filter { row in
      row.day <= today && today - row.day <= Self.believed && row.vector.covers(causes.dots)
    }
    guard let first = covering.map(\.day).min() else { return nil }
    return Date(timeIntervalSince1970: Double(first + window.days + 1) * 86_400)
  }
}
