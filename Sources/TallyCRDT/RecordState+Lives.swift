/// The registers of records that have a life.
extension RecordState {
  /// For each register, in the order of `fields`, the dot by which it travels: that of its stamp, unless the register
  /// was lifted or said again.
  package var fieldVias: [Dot] {
    var rest = life?.vias[...] ?? []
    return fields.map { cell in
      while let first = rest.first, first.field < cell.field { rest.removeFirst() }
      guard let first = rest.first, first.field == cell.field else { return cell.stamp.dot }
      return first.dot
    }
  }

  // MARK: What is said

  /// Whether the registers of the present life hold anything, references aside.
  package var hasContent: Bool { fields.contains { !$0.field.isPresence } }

  /// Whether the record is in a later life than the first of which nothing is said, and shows nothing of a seed. Such a
  /// record is seen only through what it owns.
  /// - Parameter followsNewest: see `SeedState.shown(followsNewest:)`.
  /// - Returns: whether nothing is said. False in the first life, in which everything counts as said.
  package func saysNothing(followsNewest: Bool) -> Bool {
    guard let life, life.said == nil, !hasContent else { return false }
    return shownSeed(followsNewest: followsNewest) == nil
  }

  /// The registers of the present life, each with the dot by which it travels.
  package var content: [(cell: FieldCell, via: Dot)] {
    guard life != nil else { return fields.lazy.filter { !$0.field.isPresence }.map { ($0, $0.stamp.dot) } }
    return zip(fields, fieldVias).filter { !$0.0.field.isPresence }.map { ($0, $1) }
  }

  /// The part that a write of these registers adds to this state: they are said in its present life.
  package func written(_ cells: [FieldCell]) -> RecordState {
    var part = RecordState()
    part.fields = cells
    part.life = life?.beginning
    return part
  }

  /// The time that a write must exceed, so that it is later than what its author has seen: that of the register, and
  /// the beginning of the life unless the field is a reference.
  package func overwrittenTime(_ field: FieldID) -> HybridTime? {
    let old = self[field]?.stamp.time
    guard let life, !field.isPresence else { return old }
    return max(old ?? life.time, life.time)
  }

  /// The time of a life that follows the present one: later than it, and than every register in it.
  package func nextLifeTime(now: HybridTime) -> HybridTime {
    var time = now
    if let life { time = .next(now: time, over: life.time) }
    for cell in fields where !cell.field.isPresence { time = .next(now: time, over: cell.stamp.time) }
    return time
  }

  /// Begins a life with nothing in it. What is dropped stays as touches.
  package mutating func begin(_ life: Life) {
    var touches = supersededTouches
    fields = Self.references(among: fields, touches: &touches)
    self.life = life.beginning
    normalizeTouches(touches)
  }

  /// Begins a life in which everything that this state has is said, registers with their stamps, and that the record
  /// exists.
  package mutating func sayAgain(in life: Life) {
    var life = life.beginning
    life.said = life.dot
    life.vias = fields.compactMap { cell in
      cell.field.isPresence || cell.stamp.dot == life.dot ? nil : Life.Via(field: cell.field, dot: life.dot)
    }
    self.life = life
  }

  /// Says a register of an earlier life in the present one, with its own stamp, unless that has one of the field which
  /// is not earlier. A lift is no edit: it is no touch, and loses to every later write.
  /// - Parameters:
  ///   - cell: the register.
  ///   - dot: the transaction that lifts, by which the register travels from now on.
  /// - Returns: whether it was.
  package mutating func lift(_ cell: FieldCell, by dot: Dot) -> Bool {
    guard life != nil, !cell.field.isPresence else { return false }
    if let present = self[cell.field] {
      guard present.stamp != cell.stamp, cell.wins(over: present) else { return false }
      if present.stamp.rank >= .user { supersededTouches.include(present.stamp.dot) }
    }
    let place = fields.firstIndex { $0.field >= cell.field } ?? fields.endIndex
    if place < fields.endIndex, fields[place].field == cell.field { fields.remove(at: place) }
    fields.insert(cell, at: place)
    life?[via: cell.field] = dot == cell.stamp.dot ? nil : dot
    normalizeTouches(supersededTouches)
    return true
  }

  // MARK: Joining

  /// The entries of a life for the dots that the registers travel by, one dot for each register of the state.
  private func vias(_ dots: [Dot]) -> [Life.Via] {
    zip(fields, dots).compactMap { cell, dot in
      dot == cell.stamp.dot ? nil : Life.Via(field: cell.field, dot: dot)
    }
  }

  /// Joins the registers of `other`, and its life: of two lives the later wins whole; within one the greater stamp
  /// wins, then the greater value, then the greater dot to travel by. References are joined across all lives.
  mutating func mergeContent(_ other: RecordState, touches: inout StateVector, lost: inout [LostWrite]) {
    if let mine = life, let theirs = other.life, mine.stamp == theirs.stamp {
      return mergeSameLife(mine, other, theirs, touches: &touches, lost: &lost)
    }
    if let theirs = other.life, life.map({ theirs.isLater(than: $0) }) ?? true {
      fields = Self.references(among: fields, touches: &touches)
      mergeFields(other.fields, touches: &touches, lost: &lost)
      life = theirs
    } else {
      mergeFields(Self.references(among: other.fields, touches: &touches), touches: &touches, lost: &lost)
    }
  }

  private mutating func mergeSameLife(
    _ mine: Life, _ other: RecordState, _ theirs: Life, touches: inout StateVector, lost: inout [LostWrite]
  ) {
    let before = self
    mergeFields(other.fields, touches: &touches, lost: &lost)
    var joined = mine
    joined.merge(sameLife: theirs)
    if !mine.vias.isEmpty || !theirs.vias.isEmpty {
      let dots = zip(before.vias(of: fields), other.vias(of: fields)).map { mine, theirs in
        mine.map { dot in theirs.map { max(dot, $0) } ?? dot } ?? theirs
      }
      joined.vias = vias(zip(fields, dots).map { $1 ?? $0.stamp.dot })
    }
    life = joined
  }

  /// By which dot each of some registers travels here, nil where this state has another one or none. Both ascend by
  /// field.
  private func vias(of cells: [FieldCell]) -> [Dot?] {
    let dots = fieldVias
    var next = 0
    return cells.map { cell in
      while next < fields.count, fields[next].field < cell.field { next += 1 }
      return next < fields.count && fields[next] == cell ? dots[next] : nil
    }
  }

  /// The references among some registers. The others are void; their writes stay as touches.
  private static func references(among cells: [FieldCell], touches: inout StateVector) -> [FieldCell] {
    for cell in cells where !cell.field.isPresence && cell.stamp.rank >= .user { touches.include(cell.stamp.dot) }
    return cells.filter { $0.field.isPresence }
  }
}
