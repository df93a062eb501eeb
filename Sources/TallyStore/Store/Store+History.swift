import Foundation
import GRDB
import TallyCRDT

/// Who wrote one field of a record, and when.
public struct FieldHistory: Sendable, Equatable {
  /// The field's wire name.
  public var field: String
  /// The value that the register holds.
  public var value: Value
  /// Whose write it is.
  public var stamp: Stamp
  /// Why the app does not see this value although the register holds it; nil if it does.
  public var hiddenBecause: String?
}

/// What a seed says of a record.
public struct SeedProvenance: Sendable, Equatable {
  /// The version that the record shows beneath the person's own fields; nil if none, because the newest retires it.
  public var shown: Int?
  /// All versions that are here, ascending.
  public var versions: [Int]
  /// Whether the newest version retires the record.
  public var isRetired: Bool
  /// Whether a person has edited the record, so that later versions change nothing in it.
  public var belongsToUser: Bool
}

/// A write that lost to a write that had not seen it.
public struct Conflict: Sendable, Equatable {
  /// The record.
  public var name: AnyRecordName
  /// The field's wire name.
  public var field: String
  /// The stamp and value that lost.
  public var loser: Stamp
  /// The value that lost.
  public var loserValue: Value
  /// The stamp that won.
  public var winner: Stamp
  /// The value that won; null for a delete.
  public var winnerValue: Value
  /// Whether the winner is a delete of the whole record, whose entity lets deletes win.
  public var winnerIsDelete: Bool
  /// When this replica noticed, by its own clock.
  public var noticed: Date
}

/// Everything known of one record: what `tally why` prints.
public struct RecordHistory: Sendable, Equatable {
  /// The record.
  public var name: AnyRecordName
  /// The latest insert or restore.
  public var existence: Stamp?
  /// The fields, by name.
  public var fields: [FieldHistory]
  /// What a seed says of the record; nil if it is no seed's.
  public var seed: SeedProvenance?
  /// The seed for which the record gave way as a duplicate; nil if it speaks for itself.
  public var gaveWayTo: AnyRecordName?
  /// The deletes, of which none has seen another.
  public var deletes: [Delete]
  /// Whether it is alive, its owners aside.
  public var isAlive: Bool
  /// Whether the app sees it.
  public var isVisible: Bool
  /// The writes to it that lost, newest first.
  public var conflicts: [Conflict]
}

extension Store {
  /// Who wrote a record, when, and what lost; nil if nothing is known of it.
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
          hiddenBecause: Self.reason(cell, shown, kind, isVisible: stored.place.isVisible))
      }
      return RecordHistory(
        name: name, existence: stored.state.existence, fields: fields.sorted { $0.field < $1.field },
        seed: Self.provenance(stored, shownSeed), gaveWayTo: try reader.forward(of: name, stored.state),
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

  private static func reason(_ cell: FieldCell, _ shown: Value?, _ kind: RecordKind, isVisible: Bool) -> String? {
    guard isVisible else { return "the record is not visible" }
    guard let column = kind.columns.first(where: { $0.field == cell.field }) else {
      return "this schema does not have the field"
    }
    guard shown != cell.value else { return nil }
    guard column.accepts(cell.value) else { return "the value is of another type than the field" }
    return column.reference == nil
      ? "another program wrote a value that cannot be replicated" : "its target is not visible"
  }

  /// The conflict journal, newest first: concurrent writes that lost. Bounded by `StoreOptions.conflictLimit`.
  ///
  /// A replica lists a lost write if both writes met there: one was here, the other came from a replica that had not
  /// seen the first. Cells do not say what their author had seen, so who gets the winner from a replica that had both
  /// lists nothing, even the author of the lost write; the replica between them does. Two writes of one time are
  /// concurrent wherever they are met. A repair lists everything that lost in it.
  public func conflicts(limit: Int = 100) throws -> [Conflict] {
    try snapshot { try $0.conflicts(limit: limit) }
  }
}

extension StateReader {
  func conflicts(of name: AnyRecordName? = nil, limit: Int = -1) throws -> [Conflict] {
    let query = try SQLStatement(
      connection.handle,
      """
      SELECT noticed, name, field, loser_replica, loser_sequence, loser_time, loser_value,
        winner_replica, winner_sequence, winner_time, winner_value, winner_deletes
      FROM tally_conflict WHERE ?1 IS NULL OR name = ?1 ORDER BY n DESC LIMIT ?2
      """)
    if let name { query.bind(1, name.text) }
    query.bind(2, limit)
    var result: [Conflict] = []
    while try query.step() {
      func stamp(_ index: Int) -> Stamp {
        Stamp(
          time: HybridTime(milliseconds: UInt64(max(0, query.int(index + 2)))),
          dot: Dot(replica: ReplicaID(query.blob(index)), sequence: UInt64(max(0, query.int(index + 1)))))
      }
      guard let name = try? AnyRecordName(query.text(1) ?? "") else { continue }
      result.append(
        Conflict(
          name: name, field: query.text(2) ?? "", loser: stamp(3), loserValue: query.value(6), winner: stamp(7),
          winnerValue: query.value(10), winnerIsDelete: query.int(11) != 0,
          noticed: Date(timeIntervalSince1970: Double(query.int(0)) / 1000)))
    }
    return result
  }
}
