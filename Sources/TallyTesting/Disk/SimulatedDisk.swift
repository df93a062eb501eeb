import Synchronization
import TallyStore

/// A machine's disk, simulated in memory: SQLite writes to it, and a power cut loses data that was not synced.
///
/// ```swift
/// let disk = SimulatedDisk()
/// var store = try disk.store(schema: schema)
/// try store.write { try Game(name: "Chess").insert($0) }
/// disk.powerCut(using: &generator)                 // the store that was open is lost
/// store = try disk.store(schema: schema)           // what a peer has seen is there, the rest perhaps
/// ```
///
/// Nothing depends on time or on the system's disk: the same calls and the same generator produce the same bytes. A
/// disk may hold several stores and be used from several threads; each disk is a machine of its own. It is slower than
/// memory and faster than a real disk, because nothing waits.
///
/// The simulation follows what SQLite expects of disks (https://sqlite.org/atomiccommit.html, section 2): bytes that
/// were not written to never change, synced data is durable, a new file's name is durable after the first sync of a
/// journal or log beside it, sectors of 512 bytes are written in any order, and one may be torn. A failed sync reports
/// its failure, and the next one tries again.
public final class SimulatedDisk: Sendable {
  let state: Mutex<DiskState>
  let number: Int

  private static let last = Atomic(0)

  /// Creates a disk with these files; empty by default.
  public init(_ image: DiskImage = DiskImage()) {
    state = Mutex(DiskState(image: image))
    number = Self.last.add(1, ordering: .relaxed).newValue
    DiskRegistry.add(self)
  }

  deinit { DiskRegistry.remove(number) }

  // MARK: Stores

  /// Returns the path at which SQLite finds a file of this disk within this process, for instance for
  /// `DatabasePool(path:)`.
  public func path(_ file: String = "store") -> String { "\(DiskRegistry.root)\(number)/\(file)" }

  /// Opens a store on the disk, or creates one, and returns it.
  /// - Throws: the errors of `Store(path:schema:options:)`.
  public func store(_ file: String = "store", schema: Schema, options: StoreOptions = StoreOptions()) throws -> Store {
    try Store(path: path(file), schema: schema, options: self.options(options))
  }

  /// Opens an existing store on the disk with the schema in its file, and returns it.
  /// - Throws: the errors of `Store(existing:options:)`.
  public func store(existing file: String, options: StoreOptions = StoreOptions()) throws -> Store {
    try Store(existing: path(file), options: self.options(options))
  }

  private func options(_ options: StoreOptions) -> StoreOptions {
    var options = options
    options.files = SimulatedFiles(disk: self)
    return options
  }

  // MARK: Accidents

  /// The current content of the disk, including the parts that a power cut may still lose.
  public var image: DiskImage { state.withLock { $0.image } }

  /// Ends every program that has a file open, as `kill -9` does. Everything that they wrote remains. Their stores fail
  /// from then on.
  public func kill() { state.withLock { $0.restart($0.image) } }

  /// Ends every program and replaces the disk's files with these: an older copy, one of another machine, or a damaged
  /// one.
  public func restore(_ image: DiskImage) { state.withLock { $0.restart(image) } }

  /// Ends every program and removes from the disk all, some or none of the data that was not synced, as the generator
  /// decides.
  public func powerCut(using generator: inout some RandomNumberGenerator) {
    state.withLock { $0.restart($0.image.afterPowerCut(using: &generator)) }
  }

  /// The maximum number of bytes of all files together; nil for no limit. Beyond it, writes fail because the disk is
  /// full.
  public var capacity: Int? {
    get { state.withLock { $0.capacity } }
    set { state.withLock { $0.capacity = newValue } }
  }

  /// The number of calls so far that have changed the disk, or would have.
  public var calls: Int { state.withLock { $0.faults.calls } }

  /// Makes a call fail. `kill()`, `restore(_:)`, `powerCut(using:)` or `heal()` ends the fault.
  /// - Parameters:
  ///   - fault: the way in which the call fails.
  ///   - call: the number of the call, counted from now: 1 is the next call that changes the disk.
  ///   - isLasting: whether all later calls fail too.
  public func inject(_ fault: DiskFault, atCall call: Int, isLasting: Bool = false) {
    state.withLock { $0.faults.inject(fault, inCalls: call, isLasting: isLasting) }
  }

  /// Ends the faults that were injected.
  public func heal() { state.withLock { $0.faults.heal() } }

  /// The first call that the most recently injected fault has affected; nil if there is none.
  public var struckCall: DiskCall? { state.withLock { $0.faults.struck } }
}

/// A simulated disk, and what is open on it.
struct DiskState: Sendable {
  var image: DiskImage
  var faults = DiskFaults()
  var capacity: Int?
  /// Handles of another generation belong to programs that have been ended.
  private(set) var generation = 0
  var openCounts: [UInt64: Int] = [:]
  var locks: [UInt64: FileLocks] = [:]
  var shared: [UInt64: SharedNode] = [:]

  init(image: DiskImage) { self.image = image }

  mutating func restart(_ image: DiskImage) {
    self.image = image
    generation += 1
    faults.heal()
    openCounts = [:]
    locks = [:]
    shared = [:]
  }

  /// The number of further bytes for which there is room.
  var room: Int { capacity.map { max(0, $0 - image.byteCount) } ?? .max }
}
