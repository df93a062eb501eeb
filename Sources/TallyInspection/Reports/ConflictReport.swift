import TallyCRDT
import TallyStore

/// A write or delete that lost to another.
package struct ConflictReport: Sendable, Codable {
  /// One of the two writes.
  package struct Side: Sendable, Codable {
    /// The value, or its beginning; nil for a delete, and for a write that kept a record from one.
    package var value: ValuePreview?
    /// Who wrote it.
    package var written: StampReport
  }

  /// What names the entry: the record, the field and the write that lost.
  package var id: String
  /// What lost to what: the raw value of `Conflict.Kind`.
  package var kind: String
  /// The record.
  package var name: String
  /// The column; the wire name where the schema has none; empty for a delete that was undone.
  package var field: String
  /// The write that lost.
  package var loser: Side
  /// The write that won.
  package var winner: Side
  /// When this replica noticed, by its own clock.
  package var noticed: String

  /// The report of a conflict.
  package init(_ conflict: Conflict) {
    id = "\(conflict.id)"
    kind = conflict.kind.rawValue
    name = conflict.name.text
    field = conflict.column ?? conflict.field
    loser = Side(
      value: conflict.kind == .deleteUndone ? nil : ValuePreview(conflict.loserValue),
      written: StampReport(conflict.loser))
    winner = Side(
      value: conflict.kind == .overwritten ? ValuePreview(conflict.winnerValue) : nil,
      written: StampReport(conflict.winner))
    noticed = StampReport.text(conflict.noticed)
  }
}

/// A record that a delete did not take away.
package struct KeptReport: Sendable, Codable {
  /// The record.
  package var name: String
  /// The delete that did not take it away.
  package var delete: StampReport
  /// Why not, in words.
  package var sentence: String

  /// The report of a kept record.
  package init(_ kept: KeptRecord, _ directory: ReplicaDirectory) {
    name = kept.name.text
    delete = StampReport(kept.delete)
    let reason =
      kept.edits.isEmpty
      ? "a link or something that it owns was written, which the delete had not seen"
      : "the delete had not seen \(directory.list(kept.edits))"
    sentence = "\(directory.name(of: kept.delete.dot)) deleted it, and it stayed: \(reason)."
  }
}
