import Foundation
import GRDB
import Synchronization
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting

/// One store on a file, and the connections without Tally beside it.
final class RawDevice {
  let index: Int
  let path: String
  let clock = HistoryClock()
  private let features: Set<RawFeature>
  private let mint: RawMint
  /// What the file holds.
  private(set) var version: RawVersion
  /// Nil while the app is closed.
  private(set) var store: Store?
  /// Whether somebody has written to the file since the store last looked.
  var hasOutsideWrites = false
  /// Whether the sum in the file was changed, and no peer has been met since that could notice.
  var hasDrifted = false { didSet { hasUpgradedInDoubt = hasUpgradedInDoubt && hasDrifted } }
  /// Whether it got another version of the schema meanwhile.
  var hasUpgradedInDoubt = false
  /// The folder that all devices use as a mailbox, as this one sees it.
  private(set) lazy var mailbox = FolderMailbox(
    Self.mailbox(in: URL(fileURLWithPath: path).deletingLastPathComponent()))
  private let planted: PlantedFault
  private let seed: UInt64
  private var second: Store?
  private var connections: [Int: DatabaseQueue] = [:]

  static func mailbox(in folder: URL) -> URL { folder.appendingPathComponent("mailbox") }

  init(_ index: Int, in folder: URL, _ history: RawHistory, _ mint: RawMint, _ planted: PlantedFault) throws {
    (self.planted, seed) = (planted, history.seed)
    self.index = index
    path = folder.appendingPathComponent("\(index).tally").path
    features = history.features
    self.mint = mint
    version = history.versions[index]
    clock.milliseconds = history.clocks[index]
    try open(nil)
  }

  /// The options of every store of every history: the one place for what all of them should try.
  private func options() -> StoreOptions {
    var options = StoreOptions()
    let (clock, mint) = (clock, mint)
    options.now = { Date(timeIntervalSince1970: Double(clock.milliseconds) / 1000) }
    options.mintReplica = { mint.next() }
    options.logger.logLevel = .critical
    options.conflictAge = nil
    // No power is cut here.
    options.flushesBeforeSync = false
    options.plant(planted)
    options.chooseCapture(by: seed, device: index)
    return options
  }

  func open(_ version: RawVersion?) throws {
    guard store == nil else { return }
    let next = version ?? self.version
    store = try Store(path: path, schema: next.schema, options: options())
    self.version = next
    hasOutsideWrites = false
  }

  /// Another store on the same file, as a second process would have it open.
  func secondStore() throws -> Store {
    if let second { return second }
    let store = try Store(path: path, schema: version.schema, options: options())
    second = store
    return store
  }

  func close() throws {
    try second?.close()
    second = nil
    try store?.close()
    store = nil
  }

  /// A connection that knows nothing of Tally.
  func outside(_ number: Int) throws -> DatabaseQueue {
    if let known = connections[number] { return known }
    var configuration = Configuration()
    configuration.foreignKeysEnabled = !features.contains(.unenforcedKeys)
    configuration.busyMode = .timeout(10)
    let isRecursive = features.contains(.recursiveTriggers)
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA recursive_triggers = \(isRecursive ? "ON" : "OFF")")
    }
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    connections[number] = queue
    return queue
  }

  /// A connection that knows nothing of Tally either, whose main file is another one.
  func attached() throws -> DatabaseQueue {
    if let known = connections[-1] { return known }
    var configuration = Configuration()
    configuration.foreignKeysEnabled = !features.contains(.unenforcedKeys)
    configuration.busyMode = .timeout(10)
    let path = path
    configuration.prepareDatabase { try $0.execute(sql: "ATTACH '\(path)' AS \(Self.attachedName)") }
    let queue = try DatabaseQueue(configuration: configuration)
    connections[-1] = queue
    return queue
  }

  static let attachedName = "tallied"

  func end() throws {
    for connection in connections.values { try connection.close() }
    connections = [:]
    try close()
  }
}

/// Gives out replica ids that follow from a seed.
final class RawMint: Sendable {
  private let random: Mutex<SplitMix64>
  init(seed: UInt64) { random = Mutex(SplitMix64(seed: ~seed)) }
  func next() -> ReplicaID { random.withLock { ReplicaID.random(using: &$0) } }
}
