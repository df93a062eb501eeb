import GRDB
import TallyCRDT
import TallyStore
import TallySync

/// One installation of the app in a simulated world: a real store, with a clock of its own.
///
/// Records written with `write` and `restore` count as acknowledged, and the world checks that they are kept. Use
/// `store` for everything that only reads.
public final class SimulatedReplica {
  /// The index of this device in `World.replicas`.
  public let index: Int
  /// The clock from which the replica reads the time.
  public let clock: SimulatedClock
  /// The device's store. A restart replaces it with another object.
  public internal(set) var store: Store
  /// The schema of the device's version of the app.
  public internal(set) var schema: Schema
  /// Whether the device has been lost forever.
  public internal(set) var isLost = false
  /// Whether its conflict journal has everything since it began.
  var hasWholeJournal = true
  unowned let world: World
  var storage: Storage
  let mailbox: any Mailbox
  /// The events whose effects it must show.
  var seen = EventSet()
  /// The events of its own from before its file was put back or copied: since then they are others' to it.
  var former = EventSet()
  /// The bytes of an interrupted transfer that have come.
  var part: [UInt8] = []
  /// The state after each commit since the replica was last brought to the disk for certain. A pass of a mailbox that
  /// took several files made several commits, of which the last is here.
  var commits: [(vector: StateVector, seen: EventSet, isLastOfPass: Bool)] = []
  /// When it removes for good what is deleted; nil for what stores do unless told otherwise.
  private(set) var compaction: Compaction?
  /// The events that it had seen, by the day on its clock.
  var days: [Int: EventSet] = [:]

  init(
    _ index: Int, _ world: World, _ storage: Storage, _ schema: Schema, _ compaction: Compaction? = nil
  ) throws {
    self.index = index
    self.world = world
    self.storage = storage
    self.schema = schema
    self.compaction = compaction
    clock = SimulatedClock(SimulatedClock.start + UInt64(index))
    mailbox = world.relay?.mailbox(index) ?? world.shelf.mailbox(index)
    store = try storage.open(schema, world.options(clock, compaction))
    try noteCommit()
  }

  /// The options of its store.
  var options: StoreOptions { world.options(clock, compaction) }

  // MARK: As the app

  /// Reads from the device's store, as `Store.read` does, and returns what the body returns.
  public func read<T>(_ body: (Database) throws -> T) throws -> T { try store.read(body) }

  /// Writes in one transaction, as `Store.write` does, and returns what the body returns. The clock first advances by a
  /// millisecond.
  /// - Throws: the errors of `Store.write`; then nothing has changed.
  @discardableResult
  public func write<T>(_ body: (Database) throws -> T) throws -> T {
    clock.advance(milliseconds: 1)
    var operations: [SpecifiedOperation<SchemaField>] = []
    var before: Set<String> = []
    let schema = schema
    let commit = try store.commit { db in
      let image = try TableImage(db, schema)
      before = Set(image.rows.keys)
      let value = try body(db)
      operations = try TableImage(db, schema).operations(since: image)
      return value
    }
    try world.acknowledge(self, operations, commit.dot, shown: try shown(since: before))
    return commit.value
  }

  /// Restores a deleted record, as `Store.restore` does.
  public func restore(_ name: AnyRecordName) throws {
    clock.advance(milliseconds: 1)
    let operations = world.oracle.restore(name.text, seen: seen, schema)
    let before = try Set(rows().keys)
    do {
      let dot = try store.restore(name)
      try world.acknowledge(self, operations, dot, shown: try shown(since: before))
    } catch let error as StoreError where error.code == .purged {
      try checkRefusal(of: name)
      throw error
    }
  }

  /// Applies a seed set to the store, as `Store.seed` does, and returns its report.
  @discardableResult
  public func seed(_ set: SeedSet) throws -> SeedReport {
    clock.advance(milliseconds: 1)
    let before = try store.summary()
    let report = try store.seed(set)
    world.note("replica \(index) seeds \(set.name) \(set.version)")
    try world.noteSeeds(set, report, self, before)
    return report
  }

  // MARK: As the simulation

  /// Its app removes what is deleted in this way, from the beginning: it has done nothing yet.
  func begin(_ compaction: Compaction) throws {
    self.compaction = compaction
    try restart()
    hasWholeJournal = true
  }

  /// Adds what arrived with a delta.
  func learn(_ events: EventSet) throws {
    seen.formUnion(events)
    try noteLifts()
    try noteCommit()
  }

  /// Notes the transactions in which the store has said values again that a later life had not seen: its own writes, in
  /// which nobody wrote anything.
  func noteLifts() throws {
    let summary = try store.summary()
    guard let own = summary.replica else { return }
    while true {
      let next = world.oracle.count(of: own, in: seen) + 1
      guard next <= summary.vector[own] else { return }
      seen.insert(try world.oracle.noteUnknown(by: Dot(replica: own, sequence: next), seen: seen))
    }
  }

  func renew(_ reason: String) throws {
    try store.renewReplica(because: reason)
    world.note("replica \(index) takes a new id: \(reason)")
    try noteCommit()
  }

  func noteCommit(isLastOfPass: Bool = false) throws {
    noteDay()
    if storage.disk != nil { commits.append((try store.vector, seen, isLastOfPass)) }
  }

  /// What records show instead of unique values that others hold.
  func contested() throws -> [ContestedValue] {
    try schema.hasUniqueRules ? store.read { try ContestedValue.fetchAll($0) } : []
  }

  /// When the lives began that a transaction of its own has begun, where unique values can have put them off.
  func livesBegun(by dot: Dot?) throws -> [String: UInt64] {
    guard let dot, schema.hasUniqueRules else { return [:] }
    return try store.contents(of: Set(rows().keys)).compactMapValues {
      $0.life?.dot == dot ? $0.life?.time.milliseconds : nil
    }
  }

  /// The tables as the app sees them, but for unique values that others hold: of those what its records have.
  func rows() throws -> [String: ShownRow<SchemaField>] {
    let schema = schema
    return try store.read { try TableImage($0, schema).rows }
  }
}
