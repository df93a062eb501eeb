import Foundation
import Synchronization
import TallyCRDT
import TallyStore
import TallySync

/// Simulated devices of one app, with their clocks and the network between them, in one thread and in simulated time.
/// The seed determines everything that happens, and nothing waits for real time.
///
/// The stores are real; so are SQLite, the sync sessions and the mailboxes. They are checked against a specification
/// that shares no code with them: it knows what each replica wrote and what it had seen at the time, and derives what
/// each must show.
public final class World {
  /// The number that determines everything random.
  public let seed: UInt64
  /// The network between the devices, which decides who reaches whom and when connections break.
  public let network = SimulatedNetwork()
  /// All devices, including lost ones.
  public private(set) var replicas: [SimulatedReplica] = []
  /// The time that sessions go by. It stands still but for what `pass` lets go by, and while a connection is cut.
  let time = StepTime()
  /// The events so far, oldest first.
  public private(set) var trace: [String] = []
  let schema: Schema
  let tampering: (any Tampering)?
  /// A relay that tells devices what is new; nil in a world without one.
  let relay: (any WorldRelay)?
  let shelf: SimulatedShelf
  var oracle = WorldOracle()
  var random: SplitMix64
  /// Draws the purges and compactions of a random run; nil if there are none.
  var removals: RandomRemovals?
  var connections: [SimulatedConnection] = []
  /// The error that occurred while a connection was being cut.
  var failureAtCut: (any Error)?
  /// Deltas that travel as files.
  var parcels: [Parcel] = []
  /// The events that went into each file of the mailbox.
  private var shelved: [String: EventSet] = [:]
  private let mint: Mint
  let onDisk: Bool
  /// Which device each event is of.
  private(set) var authors: [Int: Int] = [:]

  struct Parcel {
    var bytes: [UInt8]
    var seen: EventSet
    var base: StateVector
  }

  /// The options with which all stores are opened, except for clocks and ids.
  private let storeOptions: StoreOptions

  package init(
    _ schema: Schema, replicas count: Int, seed: UInt64, onDisk: Bool = false, options: StoreOptions = StoreOptions(),
    tampering: (any Tampering)? = nil, relay: (any WorldRelay)? = nil
  ) throws {
    self.schema = schema
    self.seed = seed
    self.tampering = tampering
    self.relay = relay
    storeOptions = options
    self.onDisk = onDisk
    random = SplitMix64(seed: seed)
    // A quarter of the worlds have a relay, and the others a folder.
    shelf = SimulatedShelf(tampering, isLog: seed % 4 == 3)
    mint = Mint(seed: ~seed)
    network.onChange = { [unowned self] in note($0) }
    for _ in 0..<count { try addReplica() }
    trace = []
  }

  deinit { for connection in connections { connection.abandon() } }

  // MARK: Devices

  /// Returns one of the devices by its number.
  public func replica(_ index: Int) -> SimulatedReplica { replicas[index] }

  /// The devices that are not lost.
  public var present: [SimulatedReplica] { replicas.filter { !$0.isLost } }

  /// Adds a new installation, which joins the others.
  /// - Parameter schema: the schema of its version of the app; by default the world's.
  /// - Returns: the new device, which has the next number.
  /// - Throws: the error of creating its store. Then no device has joined.
  @discardableResult
  public func addReplica(schema: Schema? = nil) throws -> SimulatedReplica {
    let compaction = removals?.drawCompaction()
    let replica = try SimulatedReplica(
      replicas.count, self, Storage(onDisk: onDisk), schema ?? self.schema, compaction)
    replicas.append(replica)
    note("replica \(replica.index) joins")
    return replica
  }

  /// Puts another device in the place of one that has done nothing yet.
  func replace(_ replica: SimulatedReplica) { replicas[replica.index] = replica }

  /// Returns a UUID that the seed determines, for records that must be the same when a run is replayed.
  public func uuid() -> UUID {
    let (high, low) = (random.next(), random.next())
    return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  func options(_ clock: SimulatedClock, _ compaction: Compaction? = nil) -> StoreOptions {
    var options = storeOptions
    if let compaction { options.compaction = compaction }
    options.now = { clock.date }
    options.mintReplica = { [mint] in mint.next() }
    options.logger.logLevel = .critical
    options.conflictAge = nil
    return options
  }

  func note(_ event: String) { trace.append(event) }

  // MARK: What replicas report

  func acknowledge(
    _ replica: SimulatedReplica, _ operations: [SpecifiedOperation<SchemaField>], _ dot: Dot?,
    shown: Specification<SchemaField>.Shown?
  ) throws {
    let event = try oracle.note(
      operations, by: dot, seen: replica.seen, now: replica.clock.milliseconds, replica.schema, shown: shown,
      begun: try replica.livesBegun(by: dot))
    guard let event, let dot else { return }
    try oracle.forgetUnwritten(by: event, replica.store, replica.schema)
    note("replica \(replica.index): \(operations.map(\.description).joined(separator: "; "))")
    try take(event, dot, of: replica)
  }

  /// A device has written an event.
  func take(_ event: Int, _ dot: Dot, of replica: SimulatedReplica) throws {
    authors[event] = replica.index
    try checkUnique(event, dot)
    replica.seen.insert(event)
    try replica.noteCommit()
  }

  /// No two transactions that anybody knows have one number.
  private func checkUnique(_ event: Int, _ dot: Dot) throws {
    guard !oracle.hasCopies else { return }
    for other in oracle.dots.indices where other != event && oracle.dots[other] == dot {
      guard !isKnown(other) else { throw Finding("the number \(dot) was given to two transactions") }
    }
  }

  /// Whether a device has an event, or it is on its way.
  func isKnown(_ event: Int, besides index: Int? = nil) -> Bool {
    replicas.contains { $0.index != index && $0.seen.contains(event) } || parcels.contains { $0.seen.contains(event) }
      || shelved.values.contains { $0.contains(event) }
  }

  func noteSeeds(_ set: SeedSet, _ report: SeedReport, _ replica: SimulatedReplica, _ before: StoreSummary) throws {
    for record in set.records { oracle.seeded.insert(Self.seedName(record.key, record.type, set)) }
    for key in set.retired { oracle.seeded.insert(Self.seedName(key.key, key.type, set)) }
    for name in report.adopted { oracle.seeded.insert(name.text) }
    let after = try replica.store.summary()
    if let own = after.replica, after.vector[own] > before.vector[own] {
      let dot = Dot(replica: own, sequence: after.vector[own])
      replica.seen.insert(try oracle.noteUnknown(by: dot, seen: replica.seen))
    }
    try replica.noteCommit()
  }

  private static func seedName(_ key: String, _ type: String, _ set: SeedSet) -> String {
    "\(type)|~|\(SeedIdentity.uuid(ofKey: key, set: set.name).uuidString.lowercased())"
  }

  /// Opens a connection that stays; its messages wait until they are let go.
  package func connect(_ one: Int, _ other: Int) throws -> SimulatedConnection {
    let connection = SimulatedConnection(replicas[one], replicas[other], isLive: true)
    connections.append(connection)
    return connection
  }

  // MARK: Mailbox

  /// Lets a replica visit the mailbox that all share: it takes in what has arrived, puts what is missing, and returns
  /// the report of the pass.
  @discardableResult
  public func visitMailbox(_ index: Int) throws -> MailboxReport {
    let replica = replicas[index]
    // Nothing in a world waits for another thread.
    let watch = try replica.watch()
    var settings = MailboxSettings()
    // With so few replicas no header would name a snapshot. Half of the worlds force it.
    if seed / 4 % 2 == 1 {
      settings.namesBases = .always
      // In half of these, snapshots are replaced and removed soon.
      if seed / 8 % 2 == 1 { (settings.deltaBytes, settings.minimumDeltaWeight) = (1 << 10, 1 << 8) }
    }
    let report = try replica.store.blockingSync(through: replica.mailbox, settings)
    note("replica \(index) visits the mailbox, takes \(report.taken.count), puts \(report.written.count)")
    for name in report.taken { replica.seen.formUnion(shelved[name] ?? EventSet()) }
    try replica.noteLifts()
    // Between several files a record may have been deleted.
    try watch?.end(of: replica, isOneDelta: report.taken.count == 1)
    for name in report.written { shelved[name, default: EventSet()].formUnion(replica.seen) }
    if !report.taken.isEmpty { try replica.noteCommit(isLastOfPass: report.taken.count > 1) }
    try relay?.wait(index, after: report.cursor)
    return report
  }

  /// A relay is restored from a backup: what came after a position is gone from there.
  func setBack(_ log: MemoryLog, to position: Int) {
    log.goBack(to: position)
    let names = Set(log.names)
    shelved = shelved.filter { names.contains($0.key) }
    note("the mailbox goes back to \(position)")
  }
}

/// Gives out replica ids that follow from a seed.
private final class Mint: Sendable {
  private let random: Mutex<SplitMix64>
  init(seed: UInt64) { random = Mutex(SplitMix64(seed: seed)) }
  func next() -> ReplicaID { random.withLock { ReplicaID.random(using: &$0) } }
}
