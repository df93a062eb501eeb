import TallyCRDT
import TallyWire

/// *Lifting*: carrying values over into a later life of their record (Contract.md, section 11).
///
/// Where an earlier life meets a later one, the join leaves the registers of the later. Nothing that its author had not
/// seen may be lost by that, nor what is on a person's screen. So the transaction that joins says such registers again
/// in the later life, each with its own stamp, under its own dot: a lift is a local write, and no edit.
///
/// - *Unsent*: all that was here, if the sender lacks any of it, also if that is a move or a member.
/// - *News*: what the sender has of an earlier life than the one here, and what was never here.
/// - *Seen*: all that was here, if the record is seen before and after. That is known only when everything has come.
/// - *Touched*: that the record exists, if nothing is said of it and an edit has come that the life had not seen.
extension Join {
  /// Lifts into the join of a received state with the stored one what must outlive the life that it was said in, and
  /// tells whether that was anything.
  mutating func lift(
    into state: inout RecordState, _ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState,
    over stored: StoredRecord
  ) throws -> Bool {
    let here = stored.state
    guard here.life != nil || received.life != nil else { return false }
    var isLifted = false
    if received.isInLaterLife(than: here) {
      let seen = SeenContent(of: here)
      if try isUnsent(here, received, name) {
        try noteLost(seen.cells, to: state, name, wereLocal: true)
        isLifted = try lift(seen, into: &state, kind)
      } else if try wasShown(name, kind, stored) {
        try seenContents.insert(seen, name, mustBeSeen: true, writer)
      }
    } else if here.isInLaterLife(than: received) {
      let had = here.touches
      var fresh = received.content.filter { cell, via in
        !before.covers(via) || cell.stamp.rank >= .user && !had.covers(cell.stamp.dot)
      }
      #if PlantedFaults
        if reader.planted.contains(.noLiftNews) { fresh = [] }
      #endif
      try noteLost(fresh.map(\.cell), to: state, name, wereLocal: false)
      let isSaid = received.life?.said.map { !before.covers($0) } ?? false
      isLifted = try lift(SeenContent(cells: fresh.map(\.cell), isSaid: isSaid), into: &state, kind)
    }
    return try sayTouched(&state, name, kind, received, had: here.touches) || isLifted
  }

  /// Says that a record exists, if nothing is said of it and something has come that keeps it: an edit, or a member.
  ///
  /// Edits that the author of the life had seen do not count: they were known when the record was emptied.
  /// - Returns: whether that was said.
  func sayTouched(
    _ state: inout RecordState, _ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState, had: StateVector
  ) throws -> Bool {
    guard let life = state.life, state.saysNothing(followsNewest: kind.followsNewest) else { return false }
    let isNews = received.touches.entries.contains { dot in
      !life.context.covers(dot) && (!before.covers(dot) || !had.covers(dot))
    }
    guard try isNews || hasNewMember(name, unseenBy: life) else { return false }
    state.life?.said = try transaction.stamp().dot
    return true
  }

  private func hasNewMember(_ name: AnyRecordName, unseenBy life: Life) throws -> Bool {
    guard transaction.catalog.links.values.contains(where: { $0.source == name.type }) else { return false }
    return try SnapshotFacts(reader).liveTags(of: name).contains { !before.covers($0) && !life.context.covers($0) }
  }

  /// The same for the source of a link that has come: an add is an edit of the record that has the relationship.
  func sayTouched(by received: ORSetElement, source name: AnyRecordName) throws {
    guard transaction.facts.hasLives, !isHealing, received.liveDots.contains(where: { !before.covers($0) }),
      let kind = transaction.catalog.kind(of: name.type), let stored = try reader.record(name, kind)
    else { return }
    var state = stored.state
    guard try sayTouched(&state, name, kind, RecordState(), had: state.touches) else { return }
    try write(state, name, kind, over: stored)
  }

  /// Whether the sender lacks anything of what was here, by what its vector claims: a value, a move, a member. A repair
  /// that holds all that the sender has also shows which edits that knows; a part of it, such as a file of a mailbox,
  /// does not.
  private func isUnsent(_ here: RecordState, _ received: RecordState, _ name: AnyRecordName) throws -> Bool {
    #if PlantedFaults
      if reader.planted.contains(.noLiftUnsent) { return false }
      if reader.planted.contains(.onlyValuesAreUnsent) {
        return here.content.contains { !header.target.covers($0.via) }
      }
    #endif
    let touches = here.touches
    if isRepair, header.isEverything, !touches.beyond(received.touches).isEmpty { return true }
    if here.content.contains(where: { !header.target.covers($0.via) }) || !touches.beyond(header.target).isEmpty
      || here.life?.said.map({ !header.target.covers($0) }) ?? false
    {
      return true
    }
    return try SnapshotFacts(reader).liveTags(of: name).contains { !header.target.covers($0) }
  }

  /// Whether the record was shown before the delta, as far as its state is concerned and not what SQLite takes.
  private func wasShown(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws -> Bool {
    guard !reader.aside.isEmpty else { return stored.place.isVisible }
    let facts = SnapshotFacts(reader)
    var (chain, known) = ([name], Set([name]))
    while let next = chain.popLast() {
      guard let nextKind = transaction.catalog.kind(of: next.type) else { continue }
      switch reader.aside[RowAddress(kind: nextKind.number, key: next.text)]?.mode {
      case .withheld: return true
      case .kept where next == name: return false
      case .kept, nil: break
      }
      for owner in try facts.facts(of: next)?.owners ?? [] where known.insert(owner.target).inserted {
        chain.append(owner.target)
      }
    }
    return stored.place.isVisible
  }

  private func lift(_ content: SeenContent, into state: inout RecordState, _ kind: RecordKind) throws -> Bool {
    var isLifted = false
    for cell in content.cells where state[cell.field].map({ $0.stamp != cell.stamp && cell.wins(over: $0) }) ?? true {
      var dot = try transaction.stamp().dot
      #if PlantedFaults
        if reader.planted.contains(.liftKeepsVia) { dot = cell.stamp.dot }
      #endif
      if state.lift(cell, by: dot) { isLifted = true }
    }
    guard content.isSaid, state.saysNothing(followsNewest: kind.followsNewest) else { return isLifted }
    state.life?.said = try transaction.stamp().dot
    return true
  }

  /// Notes the writes that lose where lives meet: a value to a later one of the other life.
  private mutating func noteLost(
    _ cells: [FieldCell], to state: RecordState, _ name: AnyRecordName, wereLocal: Bool
  ) throws {
    for cell in cells {
      guard let other = state[cell.field], cell.isConflict(with: other), other.stamp != cell.stamp else { continue }
      let lost =
        cell.wins(over: other)
        ? LostWrite(loser: other, winner: cell, wasLocal: !wereLocal)
        : LostWrite(loser: cell, winner: other, wasLocal: wereLocal)
      try note(transaction.catalog.kind(of: name.type)?.counters.counted(lost, in: state) ?? lost, name)
    }
  }

  // MARK: What is seen

  /// Lifts the values of records that were shown before the delta and still are. After healing, which has replaced the
  /// store's content by a peer's, also those of records of which the peer had not seen all.
  func liftSeen() throws {
    guard seenContents.hasAny else { return }
    #if PlantedFaults
      if reader.planted.contains(.noLiftSeen) { return try seenContents.clear() }
    #endif
    let visibility = Visibility(SnapshotFacts(reader, countsRefusals: false))
    try seenContents.forEach(reader) { name, content, mustBeSeen in
      guard try !mustBeSeen || visibility.isVisible(name), let kind = transaction.catalog.kind(of: name.type),
        let stored = try reader.record(name, kind), !holdsUnfit(name, kind)
      else { return }
      var state = stored.state
      guard try lift(content, into: &state, kind) else { return }
      try write(state, name, kind, over: stored)
    }
    try seenContents.clear()
  }

  /// Writes a state in which something was lifted; the view follows when all is settled.
  private func write(_ state: RecordState, _ name: AnyRecordName, _ kind: RecordKind, over stored: StoredRecord) throws
  {
    guard let dot = transaction.dot else { return }
    let difference = transaction.catalog.fingerprint(name, kind, from: stored.state, to: state)
    transaction.view.mark(name)
    let shown = stored.place.isVisible ? stored.values : nil
    try writer.put(name, kind, state, previous: stored, shown: shown, difference: difference)
    // What was lifted has its own stamps as well, whose rows may have gone with the life that ended.
    let dots = state.dots.subtracting(stored.state.dots).union(CollectionOfOne(dot))
    try transaction.changed(name, kind, from: stored.state, to: state, dots: dots, fingerprint: difference)
  }
}

extension RecordState {
  /// Whether the life of this state takes the place of the other's.
  func isInLaterLife(than other: RecordState) -> Bool {
    guard let life else { return false }
    return other.life.map(life.isLater) ?? true
  }
}

/// The content of a record in one life: its registers, and whether the life says that the record exists.
struct SeenContent {
  var cells: [FieldCell]
  /// In the first life everything counts as said.
  var isSaid: Bool
}

extension SeenContent {
  init(of state: RecordState) {
    cells = state.content.map(\.cell)
    isSaid = state.life.map { $0.said != nil } ?? true
  }
}

/// The former content of records whose lives a delta has ended, until it is known which of them are still shown. It is
/// kept in a temporary table, since a purge may concern any number of records.
final class SeenContents {
  private let connection: Connection
  private(set) var hasAny = false

  init(_ connection: Connection) { self.connection = connection }

  /// Adds what was said of a record. What was said first stays: a record may come in pieces. `mustBeSeen` says whether
  /// it is lifted only if the record is shown in the end.
  func insert(_ content: SeenContent, _ name: AnyRecordName, mustBeSeen: Bool, _ writer: StateWriter) throws {
    if !hasAny {
      try connection.execute(
        """
        CREATE TEMP TABLE IF NOT EXISTS tally_seen(
          name TEXT PRIMARY KEY, said INTEGER, must_be_seen INTEGER, body BLOB) WITHOUT ROWID
        """)
      try clear()
      hasAny = true
    }
    var state = RecordState()
    state.fields = content.cells
    let insert = try connection.statement("INSERT OR IGNORE INTO temp.tally_seen VALUES(?, ?, ?, ?)")
    insert.bind(1, name.text)
    insert.bind(2, content.isSaid ? 1 : 0)
    insert.bind(3, mustBeSeen ? 1 : 0)
    insert.bind(4, try writer.encode(state, StateSum(), row: nil))
    try insert.run()
  }

  func forEach(_ reader: StateReader, _ body: (AnyRecordName, SeenContent, _ mustBeSeen: Bool) throws -> Void) throws {
    let query = try SQLStatement(connection, "SELECT name, said, must_be_seen, body FROM temp.tally_seen ORDER BY name")
    while try query.step() {
      guard let name = try? AnyRecordName(query.text(0) ?? "") else { continue }
      let state = try query.withBlob(3) { try StateCoding.decodeRecord($0, reader, row: nil).0 }
      try body(name, SeenContent(cells: state.fields, isSaid: query.int(1) == 1), query.int(2) == 1)
    }
  }

  func clear() throws {
    try connection.execute("DELETE FROM temp.tally_seen")
    hasAny = false
  }
}
