import TallyCRDT

/// Keeps the view equal to the function of the state, after states have changed.
///
/// What may look different is marked while states are written. Once all states are in, each of these records and links
/// is looked at: `Visibility` decides from the state alone, and the row follows. A record that appears or disappears
/// brings in what depends on it. The maintainer reads states and writes rows; it never changes a state.
final class ViewMaintainer {
  let reader: StateReader
  let writer: StateWriter
  private let facts: FileFacts
  private let refusals: Refusals
  private let environment: StoreEnvironment
  var connection: Connection { reader.connection }
  var catalog: Catalog { reader.catalog }

  var dirty = DirtySet()
  private var forwarded = Set<AnyRecordName>()
  /// The records whose links are still to be marked, since a version of a seed has come.
  private var seeds = Set<AnyRecordName>()
  /// The visibility computed from the states. A state that changes makes it void.
  private var visibility: Visibility<SnapshotFacts>?
  /// The number of times that a row has gone or got other values, which can clear the way for rows that SQLite did not
  /// take.
  private(set) var clearings = 0
  /// The records whose dependents were looked at once more, since a trigger of the app's has written last; nil if none
  /// has.
  private var lookedBelow: Set<AnyRecordName>?
  /// What the conflict journal looks at once all is settled.
  let watch: JournalWatch
  /// Whether stubs must be looked at, since one may keep a record above it that its waits do not lead to.
  var looksForStubs = false
  /// What must be said of records that have appeared, once all is settled.
  var appeared = AppearedRecords()

  init(_ writer: StateWriter, _ refusals: Refusals, _ environment: StoreEnvironment) {
    self.writer = writer
    self.refusals = refusals
    self.environment = environment
    reader = writer.reader
    facts = writer.facts
    watch = JournalWatch(hasEntries: facts.hasConflicts)
  }

  // MARK: Marking

  /// What a changed state can mean for the view.
  enum Effect {
    case anything
    /// The record itself is seen or hidden as its state says already.
    case others
    case nothing
  }

  func mark(_ name: AnyRecordName) { dirty.insert(name) }
  func mark(_ kind: KindNumber, _ key: LinkKey) { dirty.insert(kind, key) }

  /// Marks what a changed state can mean for the record itself and its ancestors.
  func mark(
    _ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState, _ effect: Effect = .anything
  ) throws {
    visibility = nil
    if !new.deletes.isEmpty, effect == .anything { dirty.insert(name) }
    if new.life != nil || old?.life != nil { markLife(name, kind, from: old, to: new) }
    // A new life shows nothing of its seed.
    let isNewLife = new.seed != nil && old?.existence != new.existence
    if old?.seed != new.seed || isNewLife { try markSeed(name, kind, new) }
    if kind.forwardField != nil {
      // What the duplicate owned, the seed owns, or no longer does.
      let targets = [old, new].compactMap { $0?.forwardTarget(kind) }
      if !targets.isEmpty { dirty.climb(from: [name] + targets) }
    }
    guard !kind.ownerColumns.isEmpty, facts.hasDeletes || kind.mayCycle else { return }
    if kind.mayCycle { dirty.insert(name) }
    dirty.climb(from: owners(kind, old, new), old.map { Self.reach(kind, from: $0, to: new) } ?? reachOfNew(kind, new))
  }

  /// Marks what another life, or what is said in one, can mean: the record, and every record that shows through it.
  private func markLife(_ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState) {
    let didSay = old.map { !$0.saysNothing(followsNewest: kind.followsNewest) } ?? false
    let says = !new.saysNothing(followsNewest: kind.followsNewest)
    guard didSay != says || old?.life?.stamp != new.life?.stamp else { return }
    facts.hasDeletes = true
    dirty.insert(name)
    dirty.climb(from: owners(kind, old, new))
  }

  /// Marks the owners of a record that has changed, by what that can do to them.
  func mark(owners: [AnyRecordName], _ reach: DirtySet.Reach) {
    visibility = nil
    if !owners.isEmpty { dirty.climb(from: owners, reach) }
  }

  func owners(_ kind: RecordKind, _ states: RecordState?...) -> Set<AnyRecordName> {
    var owners = Set<AnyRecordName>()
    for column in kind.ownerColumns {
      for state in states {
        guard let cell = state?.cell(column.field, followsNewest: kind.followsNewest) else { continue }
        if let target = column.target(of: cell.value) { owners.insert(target) }
      }
    }
    return owners
  }

  private func reachOfNew(_ kind: RecordKind, _ new: RecordState) -> DirtySet.Reach {
    kind.mayCycle || kind.forwardField != nil || new.seed != nil || !new.deletes.isEmpty ? .anything : .revivesOnly
  }

  private static func reach(_ kind: RecordKind, from old: RecordState, to new: RecordState) -> DirtySet.Reach {
    guard kind.forwardField == nil else { return .anything }
    let hasSameOwners = kind.ownerColumns.allSatisfy { column in
      old.cell(column.field, followsNewest: kind.followsNewest)
        == new.cell(column.field, followsNewest: kind.followsNewest)
    }
    guard hasSameOwners else { return .anything }
    return old.deletes == new.deletes && old.seed == new.seed ? .revivesOnly : .sameEdges
  }

  /// Marks what a changed link can mean for its source: a tag is an edit of the record that has the relationship.
  func mark(_ key: LinkKey, from old: ORSetElement, to new: ORSetElement) {
    guard facts.hasDeletes else { return }
    visibility = nil
    dirty.climb(from: [key.source])
  }

  /// Marks what another version of a seed can mean: the record, and the links that came with a version.
  private func markSeed(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState) throws {
    dirty.insert(name)
    // Their rows may be newer than their states as long as anything is captured.
    seeds.insert(name)
    guard state.seed?.newest?.isRetired == true, !facts.hasDeletes else { return }
    try connection.execute("INSERT OR REPLACE INTO tally_meta VALUES('retired', 1)")
    facts.hasDeletes = true
  }

  /// Marks the links that came with versions of the seeds that were marked.
  private func markSeedLinks() throws {
    while let name = seeds.popFirst() {
      for (kind, key, link) in try reader.links(from: name) where link.element.hasSeedTags {
        dirty.insert(kind.number, key)
      }
    }
  }

  /// Marks what waits for a record that has appeared.
  func markWaiting(for name: AnyRecordName) throws {
    try markHiddenLinks(of: name)
    guard facts.hasWaits else { return }
    for (_, key) in try reader.waiting(for: name) {
      guard let waiting = try? AnyRecordName(key) else {
        throw StoreError(.corrupt, "a waiting record's name is malformed")
      }
      dirty.insert(waiting)
    }
  }

  /// Marks the links from and to a record that are hidden and have a member.
  private func markHiddenLinks(of name: AnyRecordName) throws {
    func mark(_ numbers: [KindNumber]?, _ find: (LinkKind) throws -> [(key: LinkKey, link: StoredLink)]) throws {
      for number in numbers ?? [] where facts.hiddenKinds.contains(number) {
        guard let kind = catalog.links[number] else { continue }
        for (key, link) in try find(kind) where link.element.mayBeMember { dirty.insert(number, key) }
      }
    }
    try mark(catalog.linksFrom[name.type]) { try reader.hiddenLinks(from: name, $0) }
    try mark(catalog.linksTo[name.type]) { try reader.hiddenLinks(to: name, $0) }
  }

  /// A trigger of the app's has answered a row that was written. It can bring back a record that others were hidden
  /// with while the record's own row was still there, so from now on looking at a record includes what depends on it.
  func noteEcho() { lookedBelow = [] }

  /// Marks the rows that refer to a record that has disappeared.
  func markReferrers(of name: AnyRecordName) throws {
    for referrer in catalog.referrers[name.type] ?? [] {
      let query = try connection.statement(referrer.rows)
      query.bind(1, name.text)
      while try query.step() {
        if let referrer = try? AnyRecordName(query.text(0) ?? "") { dirty.insert(referrer) }
      }
    }
    for (numbers, end) in [(catalog.linksFrom[name.type], "source"), (catalog.linksTo[name.type], "target")] {
      for number in numbers ?? [] {
        guard let kind = catalog.links[number] else { continue }
        let query = try connection.statement(text: "\(kind.rowSQL) WHERE \(end) = ?")
        query.bind(1, name.text)
        while try query.step() { if let key = try reader.key(in: query) { dirty.insert(number, key) } }
      }
    }
  }

  /// Marks the rows that SQLite did not take, so that they are tried again; in turn, if there are many.
  func markSetAside() {
    #if PlantedFaults
      if environment.planted.contains(.setAsideForGood) { return }
    #endif
    for address in reader.aside.retries(atMost: Self.retries) {
      if catalog.links[address.kind] != nil {
        if let key = try? LinkKey(address.key) { dirty.insert(address.kind, key) }
      } else if let name = try? AnyRecordName(address.key) {
        dirty.insert(name)
      }
    }
  }

  /// The number of rows set aside that a transaction tries again.
  private static let retries = 1000

  // MARK: Climbing

  /// Marks records and all their ancestors: a touch below can revive an owner, an edge can close or open a cycle.
  private func climb() throws {
    #if PlantedFaults
      if environment.planted.contains(.climbsOneLevel) { return try climb(levels: 1) }
    #endif
    while let (name, reach) = dirty.popClimb() {
      // Of an owner that is seen nothing changes because it is touched once more, nor of what is above it.
      if reach == .revivesOnly, try reader.hasRow(name) { continue }
      // One that was never deleted is there whatever is below it. What is above it may not be.
      if reach == .sameEdges, let owners = try Ownership(reader: reader).owners(ofUndeleted: name) {
        dirty.climb(from: owners, reach)
        continue
      }
      dirty.insert(name)
      guard let facts = try SnapshotFacts(reader).facts(of: name) else { continue }
      // Also where it no longer gives way: what it owns was the other one's.
      var target: AnyRecordName?
      if let kind = catalog.kind(of: name.type), kind.forwardField != nil {
        target = try reader.record(name, kind)?.state.forwardTarget(kind)
      }
      dirty.climb(from: facts.owners.map(\.target) + [target].compactMap { $0 }, reach)
    }
    dirty.endClimbs()
  }

  // MARK: Settling

  /// Looks at everything that was marked, until nothing is.
  func settle() throws {
    var repetitions = 0
    forwarded = []
    repeat {
      while !dirty.isEmpty {
        if looksForStubs { try listStubs() }
        try markSeedLinks()
        try climb()
        while let name = dirty.popRecord() { try settle(name) }
        while let (kind, key) = dirty.popLink() { try settle(kind, key) }
      }
      repetitions += 1
    } while try !reader.aside.isEmpty && repetitions < UniqueSettling.repetitions && UniqueSettling(view: self).settle()
  }

  /// Notes that a row has gone of which nothing else is seen or hidden, or shows another value.
  func noteGone() {
    clearings += 1
    visibility = nil
  }

  /// Discards the visibility computed so far, which no longer holds.
  func changeVisibility() { visibility = nil }

  /// States change while rows are written if triggers of the app's write, so each look takes what is known by then.
  func currentVisibility() -> Visibility<SnapshotFacts> {
    if let visibility { return visibility }
    let fresh = Visibility(SnapshotFacts(reader))
    visibility = fresh
    return fresh
  }

  private func settle(_ name: AnyRecordName) throws {
    guard let kind = catalog.kind(of: name.type), kind.isKnown else { return }
    guard !reader.aside.isEmpty else { return try settle(name, kind, retrying: nil) }
    // Tried as if nothing were in the way.
    let address = RowAddress(kind: kind.number, key: name.text)
    let mode = reader.aside[address]?.mode
    let isRetry = reader.aside.lift(address)
    if isRetry { visibility = nil }
    try settle(name, kind, retrying: isRetry ? mode : nil)
    try reader.aside.land(address, connection)
  }

  /// Settles a record that is not set aside, or was in this mode and is tried again.
  private func settle(_ name: AnyRecordName, _ kind: RecordKind, retrying mode: SetAside.Mode?) throws {
    let isRetry = mode != nil
    guard let stored = try reader.record(name, kind), !stored.state.isEmpty else { return }
    let visibility = currentVisibility()
    let isDone: Bool
    if try visibility.isShown(name) {
      if !isRetry { appeared.note(name, stored) }
      isDone = try show(name, kind, stored, visibility)
    } else {
      // What refers to a duplicate follows its seed, which may have appeared, or no longer does.
      if let forward = kind.forwardField, stored.state[forward] != nil, forwarded.insert(name).inserted {
        try markWaiting(for: name)
      }
      guard stored.place.isVisible else {
        if isRetry { try markReferrers(of: name) }
        return
      }
      isDone = try writer.put(name, kind, stored.state, previous: stored, shown: nil)
      writer.touches?.note(name)
      watch.note(name)
      if isDone {
        clearings += 1
        try markReferrers(of: name)
      }
    }
    guard !isDone else { return }
    self.visibility = nil
    // It is as it was, and so is what refers to it, which may be the record itself.
    if let mode, reader.aside[RowAddress(kind: kind.number, key: name.text)]?.mode == mode { return }
    // What was shown with it must go, what was hidden with it may stay.
    try markReferrers(of: name)
    if !isRetry { try markWaiting(for: name) }
  }

  /// - Returns: whether the row is as it should be.
  private func show(
    _ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord, _ visibility: Visibility<SnapshotFacts>
  ) throws -> Bool {
    var shown = try visibility.values(of: name, kind, stored.state)
    if stored.place.isVisible, let fields = refusals.fields(RowAddress(kind: kind.number, key: name.text)) {
      for (index, column) in kind.columns.enumerated() where fields.contains(column.field) {
        shown[index] = stored.values[index]
      }
    }
    if !reader.aside.isEmpty {
      let address = RowAddress(kind: kind.number, key: name.text)
      shown = reader.aside.contested.shown(shown, over: stored.values, address, kind)
    }
    watch.note(name, kind, stored, shown)
    if stored.state.saysNothing(followsNewest: kind.followsNewest) { appeared.note(unsaid: name) }
    if !stored.place.isVisible || shown != stored.values {
      writer.touches?.note(name)
      watch.note(name)
      guard try writer.put(name, kind, stored.state, previous: stored, shown: shown) else {
        return try makeRoom(for: name, kind, shown)
      }
      if stored.place.isVisible { clearings += 1 }
    }
    if !stored.place.isVisible || lookedBelow?.insert(name).inserted == true { try markWaiting(for: name) }
    return true
  }

  private func settle(_ number: KindNumber, _ key: LinkKey) throws {
    guard let kind = catalog.links[number], kind.isKnown else { return }
    let address = RowAddress(kind: number, key: key.text)
    if !reader.aside.isEmpty { _ = reader.aside.lift(address) }
    guard let stored = try reader.link(key, kind) else { return }
    let visibility = currentVisibility()
    let isShown =
      try reader.isMember(key, stored.element) && visibility.isShown(key.source) && visibility.isShown(key.target)
    let isElsewhere = kind.isOrdered && isShown && stored.shown != stored.element.place?.position
    if isShown != stored.place.isVisible || isElsewhere {
      try writer.put(key, kind, stored.element, previous: stored, isShown: isShown)
      writer.touches?.note(key, kind)
    }
    if !reader.aside.isEmpty { try reader.aside.land(address, connection) }
  }

  // MARK: Rows that others hold

  /// Brings back the row of a record that the state hides, because a table of the app's own refers to it.
  /// - Returns: whether it is back.
  func keep(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord, because reason: String) throws -> Bool {
    let address = RowAddress(kind: kind.number, key: name.text)
    let entry = SetAside.Entry(mode: .kept, reason: reason)
    try reader.aside.insert(address, entry, connection)
    visibility = nil
    let shown = try currentVisibility().values(of: name, kind, stored.state)
    guard try writer.put(name, kind, stored.state, previous: stored, shown: shown) else { return false }
    try reader.aside.insert(address, entry, connection)
    try markWaiting(for: name)
    return true
  }
}

#if PlantedFaults
  extension ViewMaintainer {
    private func climb(levels: Int) throws {
      for _ in 0..<levels {
        var names: [AnyRecordName] = []
        while let (name, _) = dirty.popClimb() { names.append(name) }
        for name in names {
          dirty.insert(name)
          guard let facts = try SnapshotFacts(reader).facts(of: name) else { continue }
          dirty.climb(from: facts.owners.map(\.target) + (facts.forward.map { [$0] } ?? []))
        }
      }
      while dirty.popClimb() != nil {}
      dirty.endClimbs()
    }
  }
#endif
