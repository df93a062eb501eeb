/// The registers of records that have a life.
extension RecordState {
  /// For each register, in the order of `fields`, the dot by which it travels: that of its stamp, unless the register
  /// was lifted or said again.
  public var fieldVias: [Dot] {
    var rest = life?.vias[...] ?? []
    return fields.map { cell in
      while let first = rest.first, first.field < cell.field { rest.removeFirst() }
      guard let first = rest.first, first.field == cell.field else { return cell.stamp.dot }
      return first.dot
    }
  }

  /// The entries of a life for the dots that the registers travel by, one dot for each register of the state.
  private func vias(_ dots: [Dot]) -> [Life.Via] {
    zip(fields, dots).compactMap { cell, dot in
      dot == cell.stamp.dot ? nil : Life.Via(field: cell.field, dot: dot)
    }
  }

  /// Joins the registers of `other`, and its life: of two lives the later wins whole; within one the greater stamp
  /// wins, then the greater value, then the greater dot to travel by. References are joined whatever the lives are.
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

  /// The references among some registers. The others are void; that somebody wrote them stays as a touch.
  private static func references(among cells: [FieldCell], touches: inout StateVector) -> [FieldCell] {
    for cell in cells where !cell.field.isReference && cell.stamp.rank >= .user { touches.include(cell.stamp.dot) }
    return cells.filter { $0.field.isReference }
  }
}
