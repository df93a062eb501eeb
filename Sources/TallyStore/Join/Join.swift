import TallyCRDT
import TallyWire

/// Joins what a peer wrote: loads the state of each item, joins, saves.
///
/// It joins states and nothing else. Rows follow where that is plain (a new record, a changed field); everything that
/// depends on other records is marked and decided when all states are in.
struct Join {
  let transaction: WriteTransaction
  let header: DeltaHeader
  let isRepair: Bool
  /// The dots for which the change log already has entries.
  private let logged: StateVector
  private var copies: CopyDetection
  var journal: ConflictJournal
  private var changes = 0
  /// The process that replaces the own content by a peer's, where the own is damaged or in doubt.
  private var healing: Healing?
  /// Of a delta that must add up to what its header says: what has come so far.
  private let sum: ContentSum?
  /// Whether SQLite knows of references to what is not there.
  private let enforcesKeys: Bool
  /// The vector of what is here already, where what comes is not vouched for: then only what is beyond it is taken.
  private var vouched: StateVector?
  /// The former content of records that were shown, and whose lives the delta has ended.
  let seenContents: SeenContents
  /// Records with a new life, and the content that they had.
  private var renewed: [RenewedRecord] = []
  /// The vector before anything was joined.
  var before: StateVector { journal.before }
  /// Whether a peer's content takes the place of the own: nothing is lifted then.
  var isHealing: Bool { healing != nil }

  /// Whether damage stays in the record after healing: what it had said before may be what the disk made of it.
  func holdsUnfit(_ name: AnyRecordName, _ kind: RecordKind) -> Bool { healing?.holdsUnfit(name, kind) ?? false }
  /// Deletes that were received, with what they had seen stored: see `shared(_:)`.
  var sharedDeletes = RecentValues<SharedDelete>()
  /// Whether something was not found here although the vector covers it.
  private var isMissing = false

  var reader: StateReader { transaction.reader }
  var writer: StateWriter { transaction.writer }
  private var catalog: Catalog { transaction.catalog }
  private var environment: StoreEnvironment { transaction.environment }

  /// Begins to join a delta. A repair joins cells even if the vector says they are here. Unless it comes from a peer,
  /// it says nothing of what a damaged store should hold, and heals nothing.
  /// - Throws: `StoreError.wrongZone`, `.baseNotCovered`.
  init(_ transaction: WriteTransaction, _ header: DeltaHeader, isRepair: Bool, isFromPeer: Bool) throws {
    (self.transaction, self.header, self.isRepair) = (transaction, header, isRepair)
    let vector = transaction.standing.vector
    sum = header.isEverything && header.fingerprint != nil ? ContentSum() : nil
    logged = isRepair ? StateVector() : vector
    let hasLost = try isRepair && transaction.connection.exists("SELECT 1 FROM tally_meta WHERE key = 'lost'")
    copies = CopyDetection(own: transaction.replica, before: vector, header, isRepair: isRepair, hasLost: hasLost)
    journal = ConflictJournal(transaction, header, isRepair: isRepair)
    transaction.view.watch.isJoining = true
    // A repair brings cells that the vector covers.
    if isRepair { transaction.session.giveUpChanges() }
    seenContents = SeenContents(transaction.connection)
    enforcesKeys = transaction.connection.enforcesForeignKeys
    try check(vector)
    if isFromPeer { try judge(vector) } else { vouched = vector }
  }

  /// Decides whose content counts, before anything is joined. What each side holds is a claim; a sum that fits vouches
  /// for it.
  private mutating func judge(_ vector: StateVector) throws {
    let doubt = try reader.doubt()
    var level = doubt?.level
    // Two contents differ because one of them is damaged, or because two copies have written under one id.
    let mayDiffer = header.isEverything ? header.target.covers(vector) : header.target == vector
    if doubt?.mayPass ?? true, level == .damaged || isRepair && mayDiffer {
      // A store that knows of damage may not even be readable.
      switch level == .damaged ? (try? reader.soundness()) ?? .unsound : try reader.soundness() {
      case .sound: if level == .damaged { level = nil }
      case .derivedOnly where try transaction.putDerivedRight(): if level == .damaged { level = nil }
      case .derivedOnly, .unsound: level = .damaged
      }
      if doubt?.level == .damaged, level == nil { try transaction.note(doubt: nil, because: "") }
    }
    guard let level else {
      if header.fingerprint == nil { vouched = vector }
      return
    }
    guard header.isEverything, level == .damaged || isRepair && header.fingerprint != nil else {
      guard level == .unvouched else { throw StoreError(.damaged, StoreError.unfit) }
      return
    }
    healing = try Healing(transaction, level, header, seenContents)
  }

  private func check(_ vector: StateVector) throws {
    guard header.zone == .default else { throw StoreError(.wrongZone, "the delta belongs to another zone") }
    guard vector.covers(header.base) else {
      throw StoreError(
        .baseNotCovered, "the delta starts after what is here; ask for one since \(vector)", vector: vector)
    }
  }

  /// Whether everything that the delta brings is here already.
  var isKnown: Bool {
    transaction.standing.vector.covers(header.target) && !isRepair && healing == nil
  }

  /// Says what the delta will bring, before the first block is joined.
  func begin() throws {
    var isOldCopy = copies.isOldCopy
    #if PlantedFaults
      if environment.planted.contains(.restoredIDReused) { isOldCopy = false }
    #endif
    if isOldCopy {
      try transaction.renewReplica(
        because: "a peer knows more of this store than the store itself: it is an older copy")
    }
    // What comes may be listed again.
    if isRepair || healing != nil { try transaction.flushEntries() }
    transaction.expect(header.target)
    // Healing writes states in ways of its own.
    if healing == nil { writer.seenAbove = SeenAbove(reader) }
  }

  /// Ends joining; the transaction commits next.
  mutating func end() throws -> ApplyResult {
    if let sum, sum.sum != header.fingerprint {
      throw StoreError(.damagedSender, "the delta does not fit its sender's sum: what the sender holds is damaged")
    }
    var result = ApplyResult(changes: changes, conflicts: 0)
    if let healing { try note(try healing.end(), &result) }
    // All that was lost here and that the peer still had is restored.
    if copies.hasLost, header.target == copies.before {
      try transaction.connection.execute("DELETE FROM tally_meta WHERE key = 'lost'")
    }
    if copies.hasFoundCopy {
      try transaction.renewReplica(because: "another copy of this store has written under its replica id")
    }
    // After a renewal: what is lifted, and what triggers write in response, has the new id.
    try liftSeen()
    try transaction.settleJoined()
    // It may be here all the same, and not be found; then there are two of it now.
    guard try !isMissing || reader.indexesMatch() else { throw StoreError(.corrupt, StoreError.wrongIndex) }
    try forgetRemoved(renewed + (healing?.renewed ?? []), &result)
    try journal.noteSettled()
    try journal.trim()
    result.conflicts = journal.count
    return result
  }

  private func note(_ outcome: Healing.Outcome, _ result: inout ApplyResult) throws {
    environment.logger.warning(
      "damaged content was replaced by a peer's", metadata: ["changes": "\(outcome.changes)"])
    result.changes += outcome.changes
    result.isHealed = true
    result.inDoubt = outcome.inDoubt
    if outcome.level == .damaged {
      result.inDoubt += outcome.held.map { "\($0): does not match its checksum, and the peer does not have it" }
      let count = outcome.held.count > 1 ? " and \(outcome.held.count - 1) more" : ""
      return try transaction.note(
        doubt: .damaged, because: "\(printable(outcome.held[0]))\(count): \(StoreDoubt.unfitStates)")
    }
    // The same doubt as before: what has been asked of others since it arose need not be asked again.
    if outcome.level == .unvouched, try reader.doubt()?.level == .unvouched { return }
    try transaction.note(
      doubt: outcome.level, because: "after damage, not all of what this device alone has could be checked")
  }

  /// Joins one block.
  mutating func apply(_ draft: BlockDraft) throws {
    var draft = draft
    sum?.beginBlock()
    if healing != nil { draft = BlockDraft(try draft.unpacked()) }
    #if PlantedFaults
      if hasPlanted {
        let block = try draft.unpacked()
        sum?.add(block.records)
        draft = BlockDraft(spoiled(block))
      }
    #endif
    let numbers = transaction.session.numbers
    try transaction.connection.lookingUp {
      for (number, group) in try inOrder(draft) {
        switch group {
        case .packed(let records): try join(records, number)
        case .states(let records): try join(records, number)
        }
      }
    }
    for group in draft.block.links {
      sum?.add(group)
      let number = try numbers.kind(source: group.source, relationship: group.relationship, target: group.target)
      guard let kind = catalog.links[number] else { continue }
      for item in group.items {
        let key = LinkKey(source: item.source, target: item.target)
        if let healing {
          try healing.take(key, kind, item.element)
        } else if let new = vouched.map({ item.element.delta(since: $0) }) ?? item.element {
          try join(key, kind, new)
        }
      }
    }
  }

  private mutating func join(_ group: DeltaBlock.Records, _ number: KindNumber) throws {
    let fields = try group.fields.map { try transaction.session.numbers.field($0, kind: number) }
    guard let kind = catalog.records[number] else { return }
    for item in group.items { try join(item, kind, fields) }
  }

  /// Joins a record. `fields` has, for each field of the item's group, its number here.
  private mutating func join(_ item: DeltaBlock.Record, _ kind: RecordKind, _ fields: [FieldID]) throws {
    try Self.check(item)
    var state = item.state
    state.renumberFields { fields[Int($0.rawValue)] }
    // Of a new record it is also what the record adds here.
    let fingerprint = sum.flatMap { count(item.name, kind, state, in: $0) }
    if let healing {
      try healing.take(item.name, kind, state)
    } else if let vouched {
      if let new = state.delta(since: vouched) { try join(item.name, kind, new, nil) }
    } else {
      try join(item.name, kind, state, fingerprint)
    }
  }

  private mutating func join(_ packed: PackedRecords, _ number: KindNumber) throws {
    let fields = try packed.fields.map { try transaction.session.numbers.field($0, kind: number) }
    guard let kind = catalog.records[number] else { return }
    let short =
      try packed.items.contains { $0.content == .insert }
      ? PackedJoin(transaction, kind, packed, isRepair: isRepair, enforcesKeys: enforcesKeys) : nil
    let changed = PackedChanges(packed, kind, fields)
    for item in packed.items {
      let dot = packed.stamps[item.stamp].dot
      if let vouched, vouched.covers(dot) { continue }
      if sum == nil, try join(item, of: changed) { continue }
      switch try short?.join(item, isNew: isNew(dot)) ?? .notHandled {
      case .inserted(let new):
        if let sum { sum += new.sum }
        try transaction.inserted(new.key, kind, new.dot, new.sum, owners: new.owners)
        if isRepair, isCovered(new.dot) { isMissing = true }
        changes += 1
        if new.dangles { try transaction.view.mark(packed.name(of: item)) }
      case .unchanged(let fingerprint):
        if let sum { sum += fingerprint }
      case .notHandled:
        try join(try packed.record(item), kind, fields)
      }
    }
  }

  /// - Returns: whether an edit or a delete is joined. Otherwise nothing was written.
  private mutating func join(_ item: PackedRecords.Item, of changed: PackedChanges) throws -> Bool {
    switch item.content {
    case .insert: false
    case .edit: try joinEdit(item, of: changed)
    case .delete: try joinDelete(item, of: changed)
    }
  }

  /// - Returns: what a record adds to the fingerprint.
  private func count(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, in sum: ContentSum)
    -> Fingerprint?
  {
    #if PlantedFaults
      if hasPlanted { return nil }
    #endif
    return sum.add(name, state) { catalog.fingerprint(name, kind, from: nil, to: $0) }
  }

  /// The records of one type in a block, as far as they are in one form.
  private enum Group {
    case packed(PackedRecords)
    case states(DeltaBlock.Records)
  }

  /// The groups of a block, which are in the order of their names, with what others refer to first: a record whose
  /// owner is here already needs no second look.
  private func inOrder(_ draft: BlockDraft) throws -> [(KindNumber, Group)] {
    let numbers = transaction.session.numbers
    let numbered =
      try draft.packed.map { (number: try numbers.kind(source: $0.type), group: Group.packed($0)) }
      + draft.block.records.map { (number: try numbers.kind(source: $0.type), group: Group.states($0)) }
    guard numbered.count > 1 else { return numbered }
    let order = catalog.orderedKinds.map(\.number)
    func rank(_ kind: KindNumber) -> Int { order.firstIndex(of: kind) ?? order.count }
    return numbered.sorted { (rank($0.number), $0.number) < (rank($1.number), $1.number) }
  }

  /// A rank that this version does not know could not be overwritten here: what the app writes would show and never
  /// leave.
  private static func check(_ item: DeltaBlock.Record) throws(StoreError) {
    let state = item.state
    guard state.existence.map({ $0.rank <= .user }) ?? true, state.fields.allSatisfy({ $0.stamp.rank <= .user }),
      state.deletes.allSatisfy({ $0.stamp.rank <= .user })
    else {
      throw StoreError(.unknownRank, "\(item.name) was written with a rank that only a newer version knows")
    }
  }

  /// The dots that the change log may not have for an item: those that the vector does not cover, and those that it
  /// covers although the item had no cell of them, because some peer's vector claimed more than it had.
  private func unlisted(_ received: Set<Dot>, _ old: () -> Set<Dot>) -> Set<Dot> {
    let covered = received.filter(logged.covers)
    guard !covered.isEmpty else { return received }
    return received.subtracting(covered.intersection(old()))
  }

  // MARK: Records

  /// Whether the change log has nothing of a transaction yet.
  func isNew(_ dot: Dot) -> Bool { !logged.covers(dot) }

  /// Whether the vector covered a transaction before anything was joined.
  private func isCovered(_ dot: Dot) -> Bool { journal.before.covers(dot) }

  mutating func noteChange() { changes += 1 }

  private mutating func note(renewed name: AnyRecordName, _ former: RecordState, by received: RecordState) {
    if former.hasContent { renewed.append(RenewedRecord(name, former, received: received)) }
  }

  mutating func note(_ write: LostWrite, _ name: AnyRecordName) throws { try journal.note(write, name) }

  /// Notes a write to a field that has lost, if no other author has written to the row since it shows what won.
  mutating func note(shown write: LostWrite, _ name: AnyRecordName) throws {
    try journal.note(write, name, isShown: !transaction.hasEcho)
  }

  /// Joins a state that was received, and that has this fingerprint, if it is known.
  private mutating func join(
    _ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState, _ fingerprint: Fingerprint?
  ) throws {
    if healing == nil, try joinEdit(name, kind, received) || joinDelete(name, kind, received) { return }
    guard let stored = try reader.record(name, kind) else { return try receive(name, kind, received, fingerprint) }
    transaction.markIfSetAside(name, kind)
    var state = stored.state
    var lost: [LostWrite] = []
    state.merge(received, lost: &lost)
    #if PlantedFaults
      environment.planted.spoil(&state, joinOf: stored.state, received, &lost)
    #endif
    let isLifted = try lift(into: &state, name, kind, received, over: stored)
    guard state != stored.state || isRepair else { return }
    copies.look { stored.state.contradicts($0, by: received) }
    if !kind.lenses.isEmpty { lost = lost.filter { !kind.lenses.isFollowed($0, in: lost, kind) } }
    for write in lost { try journal.note(kind.counters.counted(write, in: state), name) }
    guard state != stored.state else { return }
    if kind.entity?.deleteWins == true { try noteBeaten(name, kind, state, over: stored.state) }
    changes += 1
    let difference = catalog.fingerprint(name, kind, from: stored.state, to: state)
    try storeMerged(name, kind, state, stored, received, difference)
    try transaction.changed(
      name, kind, from: stored.state, to: state,
      dots: dots(of: received, over: stored.state).union(isLifted ? transaction.dot.map { [$0] } ?? [] : []),
      fingerprint: difference)
  }

  /// A record that was not here. It is written as if it were visible; what may not be is looked at when all is in.
  private mutating func receive(
    _ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState, _ fingerprint: Fingerprint?
  ) throws {
    changes += 1
    var state = received
    let isSaid = try state.life != nil && sayTouched(&state, name, kind, received, had: StateVector())
    // Who leaves out the insert takes it for known.
    if state.existence.map({ isCovered($0.dot) }) ?? (state.seed == nil) { isMissing = true }
    copies.look { RecordState().contradicts($0, by: state) }
    let mayBeVisible = kind.isKnown && state.deletes.isEmpty && state.seed?.newest?.isRetired != true
    let shown = mayBeVisible ? kind.plainValues(of: state) : nil
    let known = isSaid ? nil : fingerprint
    let fingerprint = known ?? catalog.fingerprint(name, kind, from: nil, to: state)
    // Triggers of the app's may write to it at once, and what it is known by then is this.
    try transaction.changed(
      name, kind, from: nil, to: state,
      dots: dots(of: received, over: nil).union(isSaid ? transaction.dot.map { [$0] } ?? [] : []),
      fingerprint: fingerprint)
    let isAsAsked = try writer.put(name, kind, state, previous: nil, shown: shown, difference: fingerprint)
    // Without an insert, whether it is seen depends on who wrote the fields.
    if try !isAsAsked || state.existence == nil || state.life != nil || shown.map({ try dangles(kind, $0) }) == true {
      transaction.view.mark(name)
    }
    if shown != nil { try transaction.view.markWaiting(for: name) }
  }

  /// Whether a row that has just been written refers to something that is not there yet.
  private func dangles(_ kind: RecordKind, _ shown: [Value]) throws -> Bool {
    guard try transaction.plain.mayDangle(kind, enforcesKeys: enforcesKeys) else { return false }
    for (column, value) in zip(kind.columns, shown) {
      if let target = column.target(of: value), try !reader.hasRow(target) { return true }
    }
    return false
  }

  private mutating func storeMerged(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ stored: StoredRecord,
    _ received: RecordState, _ difference: Fingerprint
  ) throws {
    guard stored.place.isVisible else {
      if state.life?.stamp != stored.state.life?.stamp { note(renewed: name, stored.state, by: received) }
      transaction.view.mark(name)
      try writer.put(name, kind, state, previous: stored, shown: nil, difference: difference)
      return
    }
    var shown = kind.counters.shown(state, kind, over: stored)
    // Whether content goes with its life is known when everything has come.
    let isNewLife = state.life?.stamp != stored.state.life?.stamp
    if isNewLife {
      transaction.view.mark(name)
      note(renewed: name, stored.state, by: received)
    }
    for (index, column) in kind.columns.enumerated() where !isNewLife || column.reference != nil {
      let old = stored.state.cell(column.field, followsNewest: kind.followsNewest)
      let new = state.cell(column.field, followsNewest: kind.followsNewest)
      guard old?.value != new?.value, !column.isCounter else { continue }
      if column.reference != nil { transaction.view.mark(name) }
      shown[index] = if let new, column.accepts(new.value) { new.value } else { column.defaultValue }
    }
    #if PlantedFaults
      let areShown = !transaction.environment.planted.contains(.lensNotShown)
    #else
      let areShown = true
    #endif
    if !isNewLife, areShown { kind.lenses.shown(state, kind, over: stored, &shown) }
    guard try !writer.put(name, kind, state, previous: stored, shown: shown, difference: difference) else { return }
    // Its row may be gone, and what refers to it must not dangle.
    transaction.view.mark(name)
    try transaction.view.markReferrers(of: name)
  }

  private func dots(of received: RecordState, over old: RecordState?) -> Set<Dot> {
    if let only = received.uniformStamp?.dot, !logged.covers(only) { return [only] }
    return unlisted(received.dots) { old?.dots ?? [] }
  }

  // MARK: Links

  private mutating func join(_ key: LinkKey, _ kind: LinkKind, _ received: ORSetElement) throws {
    let stored = try reader.link(key, kind)
    let old = stored?.element ?? ORSetElement()
    var element = received
    if stored != nil {
      element = old
      element.merge(received)
      #if PlantedFaults
        environment.planted.spoil(&element, joinOf: old, received)
      #endif
    }
    guard element != old else { return }
    changes += 1
    if stored == nil, received.tags.contains(where: { isCovered($0.added.dot) }) { isMissing = true }
    copies.look { old.contradicts($0, by: received) }
    let isShown =
      try kind.isKnown && reader.isMember(key, element) && reader.hasRow(key.source) && reader.hasRow(key.target)
    let difference = catalog.fingerprint(key, kind, from: old, to: element)
    let isAsAsked = try writer.put(
      key, kind, element, previous: stored, isShown: isShown, difference: difference)
    if kind.isKnown, element.mayBeMember, !isShown || !isAsAsked { transaction.view.mark(kind.number, key) }
    try transaction.changed(
      key, kind, from: old, to: element, dots: unlisted(received.dots) { old.dots }, fingerprint: difference)
    try sayTouched(by: received, source: key.source)
  }
}
