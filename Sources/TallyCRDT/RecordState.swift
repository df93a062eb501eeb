/// The number by which one replica knows a field, and what a join must know of it. Numbers are local: the wire carries
/// names.
///
/// A field of presence outlasts the lives of its record (`Life`). A reference does, since it may mean ownership, and so
/// does a counter's total, since what was added is never lost. A join knows no schema, so names on the wire and in the
/// file are marked.
public struct FieldID: Hashable, Sendable, Comparable {
  /// From the lowest bit on: whether the field is presence; the number, 32 bits; of a total the number of its counter,
  /// 30 bits, and 1; of any other field whether it keeps the greatest or the least, 1 or 2, and no more.
  @usableFromInline let bits: UInt64
  /// The number that stands for the field.
  @inlinable
  public var rawValue: UInt32 { UInt32(truncatingIfNeeded: bits >> 1) }
  /// Whether the field is part of the record's presence: its register is in no life.
  @inlinable
  public var isPresence: Bool { bits & 1 != 0 }
  /// Whether the field is the total of one replica in a counter.
  @inlinable
  public var isTotal: Bool { bits >> 63 != 0 }
  /// The field that holds the offset of the counter; nil unless this is a total.
  @inlinable
  public var counter: FieldID? {
    isTotal ? FieldID(rawValue: UInt32(truncatingIfNeeded: bits >> 33) & Self.counterMask) : nil
  }
  /// Which of concurrent values the register keeps; nil for the latest, as of most fields.
  @inlinable
  public var extremum: Extremum? {
    switch bits >> 33 {
    case 1: .greatest
    case 2: .least
    default: nil
    }
  }
  @usableFromInline static let counterMask: UInt32 = 1 << 30 - 1
  /// A field by its local number.
  @inlinable
  public init(rawValue: UInt32) { bits = UInt64(rawValue) << 1 }
  /// A field by its local number, and whether it is presence.
  @inlinable
  public init(rawValue: UInt32, isPresence: Bool) { bits = UInt64(rawValue) << 1 | (isPresence ? 1 : 0) }
  /// The total of one replica, by its local number, in the counter whose offset has the number `counter`.
  /// - Precondition: `counter` is less than 2^30.
  @inlinable
  public init(rawValue: UInt32, totalOf counter: UInt32) {
    precondition(counter <= Self.counterMask, "the number of a counter is out of range")
    bits = 1 << 63 | UInt64(counter) << 33 | UInt64(rawValue) << 1 | 1
  }
  /// A field that keeps the greatest or the least value, by its local number.
  @inlinable
  public init(rawValue: UInt32, keeping extremum: Extremum) {
    bits = (extremum == .greatest ? 1 : 2) << 33 | UInt64(rawValue) << 1
  }
  /// Orders fields by their numbers; of two with one number the one of presence is the greater. Behind them come those
  /// that keep the greatest, those that keep the least, and totals, those of one counter together.
  @inlinable
  public static func < (lhs: FieldID, rhs: FieldID) -> Bool { lhs.bits < rhs.bits }
}

/// A last-writer-wins register of one field: the write with the greatest stamp wins, ties end in value bytes
/// (Johnson and Thomas, RFC 677, 1975; Shapiro et al., "A comprehensive study of CRDTs", 2011, specification 8).
///
/// A field that keeps the greatest or the least value (`Extremum`) compares values before dots, where rank and time are
/// the same.
public struct FieldCell: Hashable, Sendable {
  /// The field that the cell belongs to.
  public var field: FieldID
  /// The stamp of the write that the register holds.
  public var stamp: Stamp
  /// The value that was written.
  public var value: Value

  /// A register that holds one write.
  @inlinable
  public init(field: FieldID, stamp: Stamp, value: Value) {
    self.field = field
    self.stamp = stamp
    self.value = value
  }

  /// Whether this write wins over `other` of the same field.
  @inlinable
  public func wins(over other: FieldCell) -> Bool {
    if let extremum = field.extremum, hasBase(of: other), value != other.value {
      return extremum.prefers(value, over: other.value)
    }
    return stamp == other.stamp ? other.value < value : other.stamp < stamp
  }
}

/// One delete of a record: what the deleter had seen, so that anything it had not seen survives it.
public struct Delete: Hashable, Sendable {
  /// The stamp of the delete; its dot names it.
  public var stamp: Stamp
  /// The deleter's state vector, its own transaction included.
  public var context: StateVector

  /// A delete by the transaction of `stamp`, over everything that `context` covers.
  public init(stamp: Stamp, context: StateVector) {
    self.stamp = stamp
    self.context = context
  }
}

/// The replicated state of one record: a join semilattice.
///
/// Fields are last-writer-wins registers. Presence is decided by causality and not by time: a record is alive when some
/// user cell was ever written to it that no delete had seen (see `touches`). Cells of a deleted record stay, so that a
/// concurrent edit or a restore brings it back whole. What seeds say stands beside the cells, in `seed`. All concurrent
/// deletes are kept; one goes only when another delete's context covers it. Removing by context follows Bieniusa et
/// al., "An optimized conflict-free replicated set" (2012); keeping the removed cells, and the touches whose cells have
/// lost, is ours.
///
/// The registers of a record belong to a life, but for references (`Life`): those of a later life win whole.
///
/// The properties are in a canonical form, and equal states are equal in all of them; who changes a property by hand
/// must keep it so. `Visibility` says what a state means to the app.
public struct RecordState: Hashable, Sendable {
  /// The latest insert or restore of the record.
  public var existence: Stamp?
  /// The registers, ascending by field.
  public var fields: [FieldCell]
  /// Touches beyond those that `existence` and `fields` show: dots of user cells that another write has replaced. For
  /// each replica the latest; no entry that a dot of a live user cell covers.
  public var supersededTouches: StateVector
  /// The deletes, ascending by dot; none covers another.
  public var deletes: [Delete]
  /// The state that seeds contribute to the record; nil if it is no seed's.
  public var seed: SeedState?
  /// The life that the registers belong to, but for references; nil for the first one.
  public var life: Life?

  /// The state of a record that was never written.
  public init() {
    existence = nil
    fields = []
    supersededTouches = StateVector()
    deletes = []
    seed = nil
    life = nil
  }

  /// The state after one transaction inserted the record: every cell has the same stamp.
  /// - Precondition: `fields` ascends by field.
  @inlinable
  public init(inserted stamp: Stamp, fields: [FieldCell]) {
    existence = stamp
    self.fields = fields
    supersededTouches = StateVector()
    deletes = []
    seed = nil
    life = nil
  }

  /// The part of a state that is a delete.
  package init(delete: Delete) {
    self.init()
    deletes = [delete]
  }

  /// The part of a state that is these registers.
  /// - Precondition: `fields` ascends by field.
  package init(fields: [FieldCell]) {
    self.init()
    self.fields = fields
  }

  /// Whether nothing is known of the record.
  public var isEmpty: Bool {
    existence == nil && fields.isEmpty && supersededTouches.isEmpty && deletes.isEmpty && seed == nil && life == nil
  }

  /// The one stamp of an insert that nothing has been added to, or nil. A record in a later life than the first has
  /// none.
  @inlinable
  public var uniformStamp: Stamp? {
    guard let existence, deletes.isEmpty, supersededTouches.isEmpty, seed == nil, life == nil else { return nil }
    for cell in fields where cell.stamp != existence { return nil }
    return existence
  }

  /// Whether the record is an insert that nothing has been added to. What keeps the greatest or the least has another
  /// time than the rest of it.
  package var isOneInsert: Bool {
    guard let existence, deletes.isEmpty, supersededTouches.isEmpty, seed == nil, life == nil else { return false }
    return fields.allSatisfy { cell in
      cell.field.extremum == nil ? cell.stamp == existence : cell.stamp.dot == existence.dot
    }
  }

  /// The register of a field, or nil if it was never written. Cost: linear in the registers.
  public subscript(field: FieldID) -> FieldCell? {
    index(of: field).map { fields[$0] }
  }

  /// Gives every field another number; two fields never get the same.
  public mutating func renumberFields(_ number: (FieldID) -> FieldID) {
    Self.renumber(&fields, number)
    if let vias = life?.vias, !vias.isEmpty {
      let renumbered = vias.map { Life.Via(field: number($0.field), dot: $0.dot) }
      life?.vias = renumbered.sorted { $0.field < $1.field }
    }
    guard let seed else { return }
    let layers = seed.layers.map { layer in
      var layer = layer
      Self.renumber(&layer.fields, number)
      return layer
    }
    self.seed = SeedState(layers: layers, basis: seed.basis)
  }

  private static func renumber(_ cells: inout [FieldCell], _ number: (FieldID) -> FieldID) {
    var isAscending = true
    for index in cells.indices {
      cells[index].field = number(cells[index].field)
      isAscending = isAscending && (index == 0 || cells[index - 1].field < cells[index].field)
    }
    if !isAscending { cells.sort { $0.field < $1.field } }
  }

  func index(of field: FieldID) -> Int? {
    for (index, cell) in fields.enumerated() where cell.field >= field {
      return cell.field == field ? index : nil
    }
    return nil
  }
}

// MARK: - Touches and deletes

extension RecordState {
  /// For each replica the highest transaction in which it wrote a user cell of this record, live or superseded.
  ///
  /// Superseded cells count: an edit that lost its register to a concurrent write was still an edit, and a delete that
  /// had not seen it must not take the record away.
  public var touches: StateVector {
    var result = supersededTouches
    if let existence, existence.rank >= .user { result.include(existence.dot) }
    for cell in fields where cell.stamp.rank >= .user { result.include(cell.stamp.dot) }
    return result
  }

  /// Everything that some delete of this record had seen; empty if it was never deleted.
  public var deletedContext: StateVector {
    guard let first = deletes.first else { return StateVector() }
    return deletes.dropFirst().reduce(first.context) { $0.merging($1.context) }
  }

  /// The context of the users' deletes: `deletedContext` without the deletes of adoption.
  public var personalContext: StateVector { context { $0 >= .user } }

  /// The context of adoption when the record gave way to its seed, or to one with the same unique value; empty if it
  /// never did.
  public var adoptedContext: StateVector { context { $0 < .user } }

  private func context(of isCounted: (Rank) -> Bool) -> StateVector {
    deletes.reduce(into: StateVector()) { context, delete in
      if isCounted(delete.stamp.rank) { context.merge(delete.context) }
    }
  }

  /// Every dot in the state: of live cells and what they travel by, superseded touches, deletes, seeds and the life.
  public var dots: Set<Dot> {
    var result = Set<Dot>()
    // Most fields have the stamp of the one before.
    var last = existence?.dot
    if let last { result.insert(last) }
    for field in fields where field.stamp.dot != last {
      last = field.stamp.dot
      result.insert(field.stamp.dot)
    }
    result.formUnion(supersededTouches.entries)
    for delete in deletes { result.insert(delete.stamp.dot) }
    if let seed { result.formUnion(seed.dots) }
    if let life { result.formUnion(life.dots) }
    return result
  }

  package mutating func normalizeTouches(_ candidates: StateVector) {
    supersededTouches = candidates.isEmpty ? candidates : candidates.filter { !isImplied($0) }
  }

  /// Whether the dot of a live user cell covers `dot`.
  private func isImplied(_ dot: Dot) -> Bool {
    existence?.impliesTouch(dot) ?? false || fields.contains { $0.stamp.impliesTouch(dot) }
  }
}

extension Stamp {
  /// Whether a live cell with this stamp shows a touch that covers `dot`.
  package func impliesTouch(_ dot: Dot) -> Bool {
    rank >= .user && self.dot.replica == dot.replica && self.dot.sequence >= dot.sequence
  }
}
