import Foundation
import TallyCRDT

/// A concurrent change that lost: one entry of the conflict journal, for a person to review.
///
/// ```swift
/// for conflict in try store.conflicts() where conflict.kind == .overwritten {
///   print("\(conflict.name): \(conflict.loserValue) lost to \(conflict.winnerValue)")
/// }
/// ```
///
/// Both sides are kept until a person decides: `store.restore(conflict)` applies the losing change after all,
/// ``Store/resolve(_:with:)`` writes another value, and ``Store/dismiss(_:)`` keeps the current one. Each removes the
/// entry from this device's journal. Other devices have entries of their own. Those disappear automatically once the
/// losing change is restored, but not because of a third value: see ``Store/conflicts(limit:)``.
///
/// An entry is a value and does not change while a list shows it; dismissing one that has disappeared meanwhile is not
/// an error. Its ``id`` is the same on every device that lists it. The journal keeps 10,000 entries for 90 days, unless
/// ``StoreOptions`` set other limits.
public struct Conflict: Sendable, Equatable, Identifiable {
  /// The kinds of loss, which differ in the remedy: the first two can be resolved with a third value, and a delete or a
  /// reference can be restored.
  public enum Kind: String, Sendable, CaseIterable {
    /// A write of a field lost to another write of it.
    case overwritten
    /// An edit of a field lost to a delete of the record, because deletes win in its entity.
    case deleted
    /// A delete lost to a change that it had not seen: the record is back because of an edit, an added member, or a
    /// record that it owns. `field` is empty, and both values are null.
    case deleteUndone
    /// A reference reads null because the author of the target's delete had not seen it. `loserValue` is the target's
    /// name.
    case referenceCleared
  }

  /// The identity of an entry on every device: the cell that lost.
  public struct ID: Hashable, Sendable {
    fileprivate let name: AnyRecordName
    fileprivate let field: String
    fileprivate let loser: Dot
  }

  /// The kind of loss: which change lost to which.
  public var kind: Kind
  /// The name of the record that the two changes were made to.
  public var name: AnyRecordName
  /// The field's wire name, which a rename does not change; empty for a delete that was undone.
  public var field: String
  /// The column of this schema for the field; nil if there is none, and for a delete that was undone.
  public var column: String?
  /// The stamp of the write that lost: when and by which replica.
  public var loser: Stamp
  /// The value that lost, which is kept here until a person decides; null for a delete that was undone.
  public var loserValue: Value
  /// The stamp of the write that won: when and by which replica.
  public var winner: Stamp
  /// The value that won when the two changes met; null if a delete won or was undone. The record may now show a later
  /// value.
  public var winnerValue: Value
  /// The time at which this replica noticed the conflict, by its own clock.
  public var noticed: Date

  package init(
    kind: Kind, name: AnyRecordName, field: String, column: String?, loser: Stamp, loserValue: Value, winner: Stamp,
    winnerValue: Value, noticed: Date
  ) {
    (self.kind, self.name, self.field, self.column) = (kind, name, field, column)
    (self.loser, self.loserValue, self.winner, self.winnerValue) = (loser, loserValue, winner, winnerValue)
    self.noticed = noticed
  }

  /// The entry's identity, for lists: the same on every device that has the entry. Its description is stable text,
  /// which a record of decisions can store.
  ///
  /// ```swift
  /// let open = try store.conflicts().map { "\($0.id)" }
  /// ```
  public var id: ID { ID(name: name, field: field, loser: loser.dot) }

  /// Returns both texts in one, for a long text that two people have edited: the common lines, and between them first
  /// the winner's lines and then the loser's. Nil unless both values are texts.
  ///
  /// ```swift
  /// for conflict in try store.conflicts() {
  ///   if let draft = conflict.merged() { print(draft) }
  /// }
  /// ```
  ///
  /// The journal does not keep the text from which the two edits started, so a line that one of them deleted is still
  /// there: nothing that anybody wrote is missing, and a person decides what to remove. Offer the result as a draft,
  /// and write it with ``Store/resolve(_:with:)``. Cost: proportional to the product of the numbers of differing lines.
  public func merged() -> String? {
    guard case .text(let won) = winnerValue, case .text(let lost) = loserValue else { return nil }
    let (mine, theirs) = (Self.lines(won), Self.lines(lost))
    let difference = theirs.difference(from: mine)
    func places(_ changes: [CollectionDifference<Substring>.Change]) -> Set<Int> {
      Set(
        changes.map { change in
          switch change {
          case .remove(let offset, _, _), .insert(let offset, _, _): offset
          }
        })
    }
    let (removed, inserted) = (places(difference.removals), places(difference.insertions))
    var (one, other) = (0, 0)
    var merged: [Substring] = []
    while one < mine.count || other < theirs.count {
      // What only the winner has, what only the loser has, then a line of both.
      while removed.contains(one) {
        merged.append(mine[one])
        one += 1
      }
      while inserted.contains(other) {
        merged.append(theirs[other])
        other += 1
      }
      guard one < mine.count, other < theirs.count else { break }
      merged.append(mine[one])
      (one, other) = (one + 1, other + 1)
    }
    return merged.joined(separator: "\n")
  }

  private static func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }
}

extension Conflict.Kind {
  /// The number in the journal's table.
  package var number: Int64 {
    switch self {
    case .overwritten: 0
    case .deleted: 1
    case .deleteUndone: 2
    case .referenceCleared: 3
    }
  }

  package init(number: Int64) { self = Self.allCases.first { $0.number == number } ?? .overwritten }
}

extension Conflict.ID: CustomStringConvertible {
  /// The record, the field and the dot of the write, as text.
  public var description: String { "\(name) \(field) \(loser)" }
}
