import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// The visible records that have the same values in a unique rule's columns, and what each of them is to show: the one
/// with the oldest claim the values, every other what the rule's policy says. A function of the states.
///
/// It reads states and rows, and changes nothing.
struct UniqueGroup {
  struct Member {
    var name: AnyRecordName
    /// What its row shows in the rule's last column.
    var current: Value
    /// What it is to show there.
    var target: Value
  }

  let key: UniqueKey
  let unique: UniquePlaces
  /// The holder first, if there is one; then by claim.
  private(set) var members: [Member] = []
  /// The record that shows the values as it should; nil if there is none, or one that SQLite does not let go.
  private(set) var holder: AnyRecordName?
  /// Records whose rows show one of the values instead of what they have.
  private(set) var squatters: [AnyRecordName] = []
  /// Records that are listed as waiting for the values and have others by now, or do not show.
  private(set) var strangers: [(name: AnyRecordName, isVisible: Bool)] = []

  var wanted: Value { key.values[key.values.count - 1] }

  /// Nil if nobody waits for the values, and no two rows have them: then all is as SQLite admits it.
  ///
  /// `returned` are records that a local transaction has brought back, and whose new lives have not begun yet: they
  /// come after all others.
  init?(_ key: UniqueKey, _ reader: StateReader, returned: Set<AnyRecordName> = []) throws {
    guard let kind = reader.catalog.records[key.kind], kind.isKnown, let unique = UniquePlaces(kind, key.rule),
      unique.policy != .hide, key.values.count == unique.places.count
    else { return nil }
    (self.key, self.unique) = (key, unique)
    let rows = try UniqueRows(connection: reader.connection).names(showing: key, unique)
    let waiting = reader.aside.contested.names(wanting: wanted, key.kind, unique.column)
    guard rows.count > 1 || !waiting.isEmpty else { return nil }
    var candidates: [Candidate] = []
    var isHeld = false
    for name in Set(rows + waiting).sorted() {
      let address = RowAddress(kind: kind.number, key: name.text)
      let entry = reader.aside.contested[address]?[unique.column]
      guard let stored = try reader.record(name, kind), stored.isVisible else {
        if entry != nil { strangers.append((name, false)) }
        continue
      }
      let (own, current) = (unique.key(of: stored.state), stored.values[unique.last])
      // What the state hides, and SQLite does not let go, gives up nothing.
      if rows.contains(name), reader.aside[address]?.isHeld == true {
        isHeld = true
      } else if own == key {
        let claim = UniqueClaim(name, stored.state, kind, unique.places.map { kind.columns[$0].name }, reader)
        candidates.append(Candidate(name: name, current: current, isReturned: returned.contains(name), claim: claim))
      } else if rows.contains(name) {
        if entry?.shown == current { squatters.append(name) } else { isHeld = true }
      } else if own == nil || own?.values.last != entry?.wanted {
        strangers.append((name, true))
      }
    }
    candidates.sort()
    #if PlantedFaults
      if reader.planted.contains(.lastHolds) { candidates.reverse() }
    #endif
    if !isHeld { holder = candidates.first?.name }
    try assign(candidates, reader)
  }

  private struct Candidate: Comparable {
    var name: AnyRecordName
    var current: Value
    var isReturned: Bool
    var claim: UniqueClaim

    static func < (lhs: Candidate, rhs: Candidate) -> Bool {
      lhs.isReturned == rhs.isReturned ? lhs.claim < rhs.claim : rhs.isReturned
    }

    static func == (lhs: Candidate, rhs: Candidate) -> Bool { lhs.name == rhs.name }
  }

  private mutating func assign(_ candidates: [Candidate], _ reader: StateReader) throws {
    var taken = Set<String>()
    let own = Set(candidates.map(\.name))
    for candidate in candidates {
      var target = Value.null
      if candidate.name == holder {
        target = wanted
      } else if unique.policy.isRenaming, case .text(let text) = wanted {
        var name = try UniqueName.first(for: text, of: candidate.name) { other in
          try taken.contains(other) || isTaken(other, reader, except: own)
        }
        #if PlantedFaults
          if reader.planted.contains(.suffixByPlace) { name = "\(text) \(taken.count + 2)" }
        #endif
        taken.insert(name)
        target = .text(name)
      }
      members.append(Member(name: candidate.name, current: candidate.current, target: target))
    }
  }

  /// Whether a visible record has a text, or a row shows it that is none of this group's.
  private func isTaken(_ text: String, _ reader: StateReader, except own: Set<AnyRecordName>) throws -> Bool {
    let value = Value.text(text)
    if !reader.aside.contested.names(wanting: value, key.kind, unique.column).isEmpty { return true }
    let other = UniqueKey(kind: key.kind, rule: key.rule, values: [value])
    return try UniqueRows(connection: reader.connection).names(showing: other, unique).contains { name in
      guard own.contains(name) else { return true }
      let address = RowAddress(kind: key.kind, key: name.text)
      return reader.aside.contested[address]?[unique.column]?.shown != value
    }
  }
}
