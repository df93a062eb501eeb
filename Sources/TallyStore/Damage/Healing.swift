import TallyCRDT
import TallyWire

/// Takes the whole content of an intact peer in the place of what is damaged here.
///
/// What the peer's vector covers, the peer says: cells, and that there are none. What lies beyond, only this store has,
/// and it stays. That is the join of the two stores as if nothing had been damaged: a delta since the peer's vector
/// joins like the whole state. Whether what stays is sound shows the sum that was kept of what was here before, where
/// the peer brings nothing that was not.
///
/// What does not match its checksum and the peer does not have stays as it is, and so does the damage: the store gives
/// nothing away until it meets a device that has it, since a receiver could not tell it from what was written.
final class Healing {
  /// The outcome of healing.
  struct Outcome {
    fileprivate static let limit = 100
    /// Records and links that hold something else now.
    var changes = 0
    /// Those of which this store alone has writes that nothing vouches for, or of which a write could not be read. At
    /// most a hundred.
    var inDoubt: [String] = []
    /// The level of the doubt that is left.
    var level: StoreDoubt.Level?
    /// Those that do not match their checksums, and that the peer does not have. At most a hundred.
    var held: [String] = []
  }

  private let transaction: WriteTransaction
  private let target: StateVector
  private let voucher: Fingerprint?
  /// The vector of what was here, and the checksum of that while it was sound.
  private let own: StateVector
  private let kept: Fingerprint
  private let rebuild: Rebuild
  /// Hashes of the addresses that the peer has.
  private var seen = Set<UInt64>()
  /// Those of the states that do not match their checksums.
  private var unfit = Set<UInt64>()
  /// Those of them of which the peer lacks something.
  private var held = Set<UInt64>()
  private var remains: [String] = []
  /// Records whose states could not be read and of which the peer says something else than the row showed.
  private var replaced: [String] = []
  /// The replicas of which something remains that the peer has not.
  private var remaining = Set<ReplicaID>()
  /// The numbers of rows whose states were lost.
  private var numbers = LostNumbers()
  private let level: StoreDoubt.Level
  private var outcome = Outcome()
  private var reader: StateReader { transaction.reader }
  private var catalog: Catalog { transaction.catalog }

  /// Content in lives that those of the peer replace, or the other way round: to be lifted at the end.
  private let voided: SeenContents
  /// Records with another life than before, and the content that they had.
  private(set) var renewed: [RenewedRecord] = []

  init(
    _ transaction: WriteTransaction, _ level: StoreDoubt.Level, _ header: DeltaHeader, _ voided: SeenContents
  ) throws {
    (self.transaction, self.level, target, voucher) = (transaction, level, header.target, header.fingerprint)
    self.voided = voided
    (own, kept) = (transaction.standing.vector, transaction.standing.fingerprint)
    rebuild = Rebuild(transaction, unreadable: .dropped)
    try rebuild.makeReadable()
    let states = try UnfitStates(reader)
    for (name, kind, _) in states.records { unfit.insert(Rebuild.address(kind.number, name.text)) }
    for (key, kind, _) in states.links { unfit.insert(Rebuild.address(kind.number, key.text)) }
  }

  // MARK: What the peer has

  func take(_ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState) throws {
    let stored = try reader.record(name, kind)
    var new = received
    if seen.insert(Rebuild.address(kind.number, name.text)).inserted {
      if let stored {
        let rest = rest(stored, name, kind, received)
        try noteVoided(name, stored, rest, received, fits: !unfit.contains(Rebuild.address(kind.number, name.text)))
        if let rest { new.merge(rest) }
        if rebuild.dropped[Rebuild.address(kind.number, name.text)] != nil { numbers.note(name, kind, stored.values) }
      }
      if rebuild.dropped[Rebuild.address(kind.number, name.text)] != nil, replaced.count < Outcome.limit,
        !received.deletes.isEmpty || stored?.values != kind.plainValues(of: received)
      {
        replaced.append("\(name): what this device had of it could not be read, and a peer says something else")
      }
    } else if let stored {
      // A further part of one large record.
      new.merge(stored.state)
    }
    if let stored, stored.state.hasContent, stored.state.life?.stamp != new.life?.stamp {
      renewed.append(RenewedRecord(name, stored.state, received: received))
    }
    if new != stored?.state { try write(name, kind, new, stored) }
  }

  /// Notes what ends with the life that it was said in, and is to be said again as by a join (`Join+Lift`): all that
  /// was here, if the peer lacks any of it, or if the record is shown before and after. Of a state that does not match
  /// its checksum only what the peer lacks.
  private func noteVoided(
    _ name: AnyRecordName, _ stored: StoredRecord, _ rest: RecordState?, _ received: RecordState, fits: Bool
  ) throws {
    if let here = fits ? stored.state.within(own) : rest, received.isInLaterLife(than: here) {
      let isUnsent = try rest.map { $0.hasContent || !$0.touches.isEmpty } ?? false || hasUnsentMember(name)
      if isUnsent || stored.place.isVisible {
        try voided.insert(SeenContent(of: here), name, mustBeSeen: !isUnsent, transaction.writer)
      }
    } else if let rest, rest.isInLaterLife(than: received), let news = news(in: received, unseenBy: rest) {
      try voided.insert(news, name, mustBeSeen: false, transaction.writer)
    }
  }

  private func hasUnsentMember(_ name: AnyRecordName) throws -> Bool {
    guard catalog.links.values.contains(where: { $0.source == name.type }) else { return false }
    return try SnapshotFacts(reader).liveTags(of: name).contains { own.covers($0) && !target.covers($0) }
  }

  /// Returns the peer's content of an earlier life than the one here, as far as this store had never seen it; nil if
  /// it had seen everything.
  private func news(in received: RecordState, unseenBy rest: RecordState) -> SeenContent? {
    let cells = received.content.filter { !own.covers($0.via) }.map(\.cell)
    let isSaid = received.life?.said.map { !own.covers($0) } ?? false
    let isTouched = received.touches.entries.contains { dot in
      !own.covers(dot) && rest.life.map { !$0.context.covers(dot) } ?? false
    }
    guard !cells.isEmpty || isSaid || isTouched else { return nil }
    return SeenContent(cells: cells, isSaid: isSaid || isTouched)
  }

  func take(_ key: LinkKey, _ kind: LinkKind, _ received: ORSetElement) throws {
    let stored = try reader.link(key, kind)
    var new = received
    if !seen.insert(Rebuild.address(kind.number, key.text)).inserted {
      // A further part of a link with very many tags.
      if let stored { new.merge(stored.element) }
    } else if let stored, let rest = rest(stored, key, kind, received) {
      new.merge(rest)
    }
    if new != stored?.element { try write(key, kind, new, stored) }
  }

  // MARK: What the peer does not have

  /// Ends healing, when everything has come.
  func end() throws -> Outcome {
    try sweep()
    if level == .damaged { transaction.losses.mayHoldTotals = true }
    for (name, kind, state, stored) in try numbers.restored(transaction, own: own, target: target) {
      try write(name, kind, state, stored)
    }
    try rebuild.derive(leaving: held)
    outcome.inDoubt = Array((rebuild.report.losses + remains).prefix(Outcome.limit))
    let isSound = isSound
    // The sums agree also where the claim to have written something was lost with it.
    if isSound { outcome.inDoubt = replaced } else { try lowerVector() }
    outcome.level = isSound && voucher != nil ? nil : held.isEmpty || isSound ? .unvouched : .damaged
    if isSound, !held.isEmpty {
      // The sum of the whole has proved them all.
      try transaction.putChecksumsRight()
    } else if !held.isEmpty {
      transaction.spoilFingerprint()
    }
    try writeAnew()
    return outcome
  }

  /// Whether the record does not match its checksum, and nothing has proved it right, once healing has ended.
  func holdsUnfit(_ name: AnyRecordName, _ kind: RecordKind) -> Bool {
    outcome.level == .damaged && held.contains(Rebuild.address(kind.number, name.text))
  }

  /// Rows whose states could not be read and of which the peer knows nothing are this device's alone.
  private func writeAnew() throws {
    guard !rebuild.dropped.isEmpty else { return }
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) where kind.isKnown {
      var found: [String] = []
      try reader.forEachRow(kind) { name, stored in if stored.place.isUnstamped { found.append(name.text) } }
      for key in found { try writeAnew(kind.number, key) }
    }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) where kind.isKnown {
      var found: [String] = []
      try reader.forEachRow(kind) { key, stored in if stored.place.isUnstamped { found.append(key.text) } }
      for key in found { try writeAnew(kind.number, key) }
    }
    if try reader.hasPendingWrites() { try transaction.capture(.outside) }
  }

  private func writeAnew(_ kind: KindNumber, _ key: String) throws {
    let address = Rebuild.address(kind, key)
    guard let row = rebuild.dropped[address], !seen.contains(address) else { return }
    try rebuild.writeAnew(row, key, kind)
    let name = key.replacing("\n", with: " with ")
    outcome.inDoubt.append("\(name): its author is unknown and no peer has it; it was captured again as a new write")
  }

  /// Whether what is here now adds up to what is vouched for: by the peer, where it has all that this store has seen;
  /// otherwise the own sum of before, where this store had seen all that the peer has. The sum of content that was
  /// taken as it was found vouches for nothing.
  private var isSound: Bool {
    let sum = transaction.standing.fingerprint
    if target.covers(own) { return sum == voucher }
    return level == .damaged && own.covers(target) && sum == kept
  }

  /// Gives up the claim to have seen what is lost: of a replica that the peer has seen less of, and of which nothing
  /// remains here. A store that has it gives it again.
  private func lowerVector() throws {
    var vector = target
    let mine = transaction.replica
    for entry in own.entries where entry.sequence > target[entry.replica] {
      if entry.replica == mine || remaining.contains(entry.replica) { vector.include(entry) }
    }
    guard !vector.covers(own) else { return }
    try transaction.resetVector()
    try transaction.raise(to: vector)
    try lowerContexts(to: vector)
  }

  /// Neither a delete nor the author of a life can have seen more than there was: no store takes a delta in which one
  /// has. If what is not seen any more comes back, it counts as not seen, and an edit undoes the delete.
  private func lowerContexts(to vector: StateVector) throws {
    try AllStates(reader).rewriteRecords { _, _, stored in
      stored.state.having(seen: vector) != stored.state
    } _: { name, kind, stored in
      try write(name, kind, stored.state.having(seen: vector), stored)
    }
  }

  private func sweep() throws {
    func isLeft(_ place: Place, _ kind: KindNumber, _ key: String) -> Bool {
      !place.isUnstamped && !seen.contains(Rebuild.address(kind, key))
    }
    try AllStates(reader).rewriteRecords(where: { isLeft($2.place, $1.number, $0.text) }, keepRest)
    try AllStates(reader).rewriteLinks(where: { isLeft($2.place, $1.number, $0.text) }, keepRest)
  }

  private func keepRest(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws {
    let new = rest(stored, name, kind, RecordState()) ?? RecordState()
    if new != stored.state || new.isEmpty { try write(name, kind, new, stored) }
  }

  private func keepRest(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink) throws {
    let new = rest(stored, key, kind, ORSetElement()) ?? ORSetElement()
    if new != stored.element || new.isEmpty { try write(key, kind, new, stored) }
  }

  // MARK: States

  /// Returns the part of a record that only this store has. A cell beyond the own vector has no author.
  ///
  /// What the peer says, as far as this store had seen it, and what only this store has, joined, are the state before
  /// the damage. If that matches the checksum, the damage was in what the peer says.
  private func rest(
    _ stored: StoredRecord, _ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState
  ) -> RecordState? {
    guard let rest = stored.state.delta(since: target)?.within(own).nonEmpty else { return nil }
    let address = Rebuild.address(kind.number, name.text)
    if unfit.contains(address) {
      var before = received.within(own)
      before.merge(rest)
      if StateSum(catalog.fingerprint(name, kind, from: nil, to: before)) == stored.sum { unfit.remove(address) }
    }
    note(rest.dots, kind.number, name.text)
    return rest
  }

  private func rest(
    _ stored: StoredLink, _ key: LinkKey, _ kind: LinkKind, _ received: ORSetElement
  ) -> ORSetElement? {
    guard let rest = stored.element.delta(since: target)?.within(own), !rest.isEmpty else { return nil }
    let address = Rebuild.address(kind.number, key.text)
    if unfit.contains(address) {
      var before = received.within(own)
      before.merge(rest)
      let sum = catalog.fingerprint(key, kind, from: ORSetElement(), to: before)
      if StateSum(sum) == stored.sum { unfit.remove(address) }
    }
    note(rest.dots, kind.number, key.text)
    return rest
  }

  /// Notes what stays of a record or link. What was once taken as it was found matches its checksum, right or wrong.
  private func note(_ dots: Set<Dot>, _ kind: KindNumber, _ key: String) {
    for dot in dots where dot.sequence > target[dot.replica] { remaining.insert(dot.replica) }
    let label = key.replacing("\n", with: " with ")
    if unfit.contains(Rebuild.address(kind, key)) {
      held.insert(Rebuild.address(kind, key))
      if outcome.held.count < Outcome.limit { outcome.held.append(label) }
    } else if level == .unvouched, remains.count < Outcome.limit {
      remains.append("\(label): this device alone has writes of it")
    }
  }

  // MARK: Writing

  private func write(_ name: AnyRecordName, _ kind: RecordKind, _ new: RecordState, _ stored: StoredRecord?) throws {
    outcome.changes += 1
    // Shown as it was until all is in; what the view must show is decided then.
    let shown = new.isEmpty || stored?.place.isVisible != true ? nil : stored?.values
    try transaction.writer.put(name, kind, new, previous: stored, shown: shown)
    if new.isEmpty {
      try transaction.connection.run("DELETE FROM tally_hidden WHERE kind = ? AND key = ?", kind.number, name.text)
    }
    try transaction.changed(name, kind, from: stored?.state, to: new, dots: [])
    transaction.view.mark(name)
    if new.isEmpty { try transaction.view.markReferrers(of: name) }
  }

  private func write(_ key: LinkKey, _ kind: LinkKind, _ new: ORSetElement, _ stored: StoredLink?) throws {
    outcome.changes += 1
    let isShown = !new.isEmpty && stored?.place.isVisible == true
    try transaction.writer.put(key, kind, new, previous: stored, isShown: isShown)
    if new.isEmpty { try transaction.writer.deleteHidden(key, kind.number) }
    try transaction.changed(key, kind, from: stored?.element ?? ORSetElement(), to: new, dots: [])
    transaction.view.mark(kind.number, key)
  }
}

extension RecordState {
  /// Returns the state with deletes and a life that have seen no more than `vector`.
  package func having(seen vector: StateVector) -> RecordState {
    var result = self
    for index in result.deletes.indices {
      result.deletes[index].context = result.deletes[index].context.limited(to: vector)
    }
    if let life { result.life?.context = life.context.limited(to: vector) }
    return result
  }

  /// Returns the state without the cells that `vector` does not cover.
  package func within(_ vector: StateVector) -> RecordState {
    var result = self
    if let existence, !vector.covers(existence.dot) { result.existence = nil }
    if let life {
      result.keepContent(of: life, within: vector)
    } else {
      result.fields.removeAll { !vector.covers($0.stamp.dot) }
    }
    result.deletes.removeAll { !vector.covers($0.stamp.dot) }
    result.supersededTouches = supersededTouches.filter { vector.covers($0) }
    if let seed {
      let layers = seed.layers.filter { vector.covers($0.stamp.dot) }
      let basis = seed.basis.flatMap { vector.covers($0.stamp.dot) ? $0 : nil }
      result.seed = layers.isEmpty && basis == nil ? nil : SeedState(layers: layers, basis: basis)
    }
    return result
  }

  /// Keeps the registers that travel by what `vector` covers; of a life that it does not cover none but references.
  private mutating func keepContent(of life: Life, within vector: StateVector) {
    let isKept = vector.covers(life.dot)
    let vias = fieldVias
    fields = zip(fields, vias).filter { (isKept || $0.field.isPresence) && vector.covers($1) }.map(\.0)
    guard isKept else {
      self.life = nil
      return
    }
    if let said = life.said, !vector.covers(said) { self.life?.said = nil }
    self.life?.vias = life.vias.filter { vector.covers($0.dot) }
  }

  fileprivate var nonEmpty: RecordState? { isEmpty ? nil : self }
}

extension Place {
  /// Whether it is a row that another program wrote and that was never captured, perhaps because it cannot be. It
  /// stays.
  fileprivate var isUnstamped: Bool { if case .row(_, .unstamped) = self { true } else { false } }
}

extension ORSetElement {
  /// Returns the element without the tags, removals and place that `vector` does not cover.
  package func within(_ vector: StateVector) -> ORSetElement {
    var result = self
    result.tags.removeAll { !vector.covers($0.added.dot) && !($0.removed.map { vector.covers($0.dot) } ?? false) }
    if let place, !vector.covers(place.stamp.dot) { result.place = nil }
    return result
  }
}
