/// The life that the content of a record belongs to: when it began, by which transaction, and what that had seen.
///
/// A record has two parts. Its presence (existence, touches, deletes, seeds, and all references) is never dropped. Its
/// content, the registers of all other fields, belongs to a life. The content of a later life takes the place of all
/// content of an earlier one, so a transaction that begins a life drops everything that is not said in it: the content
/// of a record that was deleted long ago goes by an ordinary write, which replicates as any other. Values that the
/// author had not seen are said again in the new life, each with its own stamp, by the replica that notices: they are
/// *lifted*.
///
/// A record without a life is in its first one, which has no beginning and in which everything counts as said. Lives
/// are ordered by time, then by dot: a chain, over which the registers form a lexicographic product (Almeida, Shoker
/// and Baquero, "Delta State Replicated Data Types", 2018). The order goes by time and not by a counter so that a write
/// that is later than the life of its record is later than all that the author of the life had seen. The rules are
/// in Contract.md, section 11, and why they hold is in Tests/Models/README.md.
public struct Life: Hashable, Sendable {
  /// A register that travels under another dot than that of its stamp, since it was lifted or said again.
  public struct Via: Hashable, Sendable {
    /// The field of the register.
    public var field: FieldID
    /// The dot of the transaction that wrote the register into this life.
    public var dot: Dot

    /// The dot by which the register of a field travels.
    @inlinable
    public init(field: FieldID, dot: Dot) { (self.field, self.dot) = (field, dot) }
  }

  /// The time at which the life began, which decides which of two lives is later.
  public var time: HybridTime
  /// The transaction that began the life; of two lives of one time that of the greater dot is later.
  public var dot: Dot
  /// The vector of the life's author, its own transaction included. It decides nothing about values; it says which
  /// entries of a change log are no longer needed.
  public var context: StateVector
  /// The transaction that said in this life that the record exists; nil if none has. The greatest is kept.
  public var said: Dot?
  /// The registers with a dot of their own to travel by, ascending by field.
  public var vias: [Via]

  /// A life that the transaction `dot` begins, with nothing in it.
  public init(time: HybridTime, dot: Dot, context: StateVector) {
    (self.time, self.dot, self.context) = (time, dot, context)
    (said, vias) = (nil, [])
  }

  /// The beginning as a stamp, which has the rank of a person's write.
  public var stamp: Stamp { Stamp(time: time, dot: dot) }

  /// Whether this life is later than `other`: its content takes the place of the other's.
  public func isLater(than other: Life) -> Bool { other.stamp < stamp }

  /// The dot by which the register of a field travels, if that is not its stamp's.
  public subscript(via field: FieldID) -> Dot? {
    get { vias.first { $0.field == field }?.dot }
    set {
      let place = vias.firstIndex { $0.field >= field } ?? vias.endIndex
      if place < vias.endIndex, vias[place].field == field { vias.remove(at: place) }
      if let newValue { vias.insert(Via(field: field, dot: newValue), at: place) }
    }
  }

  /// The same life with nothing in it.
  package var beginning: Life { Life(time: time, dot: dot, context: context) }

  /// The same life, in which a transaction says that the record exists, and nothing else.
  package func beginning(saying dot: Dot) -> Life {
    var life = beginning
    life.said = dot
    return life
  }

  /// Every dot of the life itself: its beginning, what was said, and what registers travel by.
  var dots: [Dot] { [dot] + (said.map { [$0] } ?? []) + vias.map { $0.dot } }

  /// Joins what another copy of this life says of it. Of two contexts the lesser sequence of each replica stays: only
  /// copies of a store that write under one id make lives of one dot and time that have not seen the same.
  mutating func merge(sameLife other: Life) {
    if context != other.context {
      context = StateVector(
        context.entries.map { ($0.replica, min($0.sequence, other.context[$0.replica])) })
    }
    if let theirs = other.said { said = said.map { max($0, theirs) } ?? theirs }
  }
}
