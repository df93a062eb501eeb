import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyTesting
import Testing

/// Two machines that write and sync while accidents happen to their disks, as a seed says.
///
/// The story keeps a book of what may be relied on. What a machine has written and its peer has seen is on the
/// machine's disk for ever, unless a person puts an older copy there. What it has taken from a peer may go with the
/// power, and comes again from there. A kill takes nothing. Every transaction that anybody else has seen has its dot to
/// itself.
struct MachineStory {
  private final class Machine {
    let disk = SimulatedDisk()
    var store: Store
    /// An image that was kept as a backup, and the notes in it.
    var backup: (image: DiskImage, notes: Set<String>)?
    /// The notes that no accident may take.
    var onDisk = Set<String>()
    private let options: StoreOptions

    init(_ options: StoreOptions) throws {
      self.options = options
      store = try disk.store(schema: notebook, options: options)
    }

    func reopen() throws { store = try disk.store(schema: notebook, options: options) }
  }

  let seed: UInt64
  private var generator: SplitMix64
  private let machines: [Machine]
  /// Which note a dot belongs to, once a peer has seen it.
  private var owners: [Dot: String] = [:]
  private var written: [Dot: String] = [:]
  private var count = 0
  private(set) var accidents: [String: Int] = [:]

  /// What was not as it must be.
  private(set) var problems: [String] = []

  init(seed: UInt64, options: StoreOptions = .quiet) throws {
    self.seed = seed
    generator = SplitMix64(seed: seed)
    machines = [try Machine(options), try Machine(options)]
  }

  private mutating func demand(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { problems.append("TALLY_SEED=\(seed), after \(count) notes: \(what())") }
  }

  private mutating func demandSound(_ machine: Machine) throws {
    let problems = try machine.store.verify().problems
    demand(problems == [], "\(problems)")
    let missing = machine.onDisk.subtracting(try machine.store.texts())
    demand(missing == [], "\(missing.sorted()) were on the disk and are gone")
  }

  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      let machine = machines[generator.below(2)]
      switch generator.below(20) {
      case 0..<9: try write(machine)
      case 9..<13: try sync()
      case 13:
        try machine.store.close()
        try machine.reopen()
      case 14: try backUp(machine)
      case 15: try restore(machine)
      case 16:
        let before = try machine.store.view()
        try accident(machine, "kill") { disk, _ in disk.kill() }
        demand(try machine.store.view() == before, "a kill took something")
      default: try accident(machine, "power cut") { disk, generator in disk.powerCut(using: &generator) }
      }
    }
    try end()
  }

  private mutating func write(_ machine: Machine) throws {
    count += 1
    let text = "note \(count)"
    let (_, dot) = try machine.store.add(text, bytes: generator.below(3) == 0 ? 9000 : 0)
    let own = try #require(dot)
    let owner = owners[own]
    demand(owner == nil, "\(own) of \(text) is that of \(owner ?? "") already")
    written[own] = text
  }

  private mutating func sync() throws {
    let isCut = generator.below(4) == 0
    if isCut {
      // The power goes on one side somewhere within the sync.
      let victim = machines[generator.below(2)]
      victim.disk.inject(.powerFailure, atCall: 1 + generator.below(20))
      let isDone = (try? machines[0].store.sync(with: machines[1].store)) != nil
      try noteWhatIsSeen()
      victim.disk.powerCut(using: &generator)
      accidents[isDone ? "power cut after sync" : "power cut in sync", default: 0] += 1
      return try comeUp(victim)
    }
    demand(try machines[0].store.sync(with: machines[1].store).isConverged, "a sync left them different")
    try noteWhatIsSeen()
  }

  /// What one machine has of the other's transactions is out, whatever becomes of the other.
  private mutating func noteWhatIsSeen() throws {
    for (one, other) in [(0, 1), (1, 0)] {
      guard let vector = try? machines[one].store.vector, let own = try? machines[other].store.summary().replica else {
        continue
      }
      for (dot, text) in written where dot.replica == own && vector.covers(dot) {
        owners[dot] = text
        machines[other].onDisk.insert(text)
      }
    }
  }

  private mutating func accident(
    _ machine: Machine, _ kind: String, _ happens: (SimulatedDisk, inout SplitMix64) -> Void
  ) throws {
    accidents[kind, default: 0] += 1
    happens(machine.disk, &generator)
    try comeUp(machine)
  }

  private mutating func comeUp(_ machine: Machine) throws {
    try machine.reopen()
    try demandSound(machine)
  }

  private func backUp(_ machine: Machine) throws {
    machine.backup = (machine.disk.image.copied(), Set(try machine.store.texts()))
  }

  private mutating func restore(_ machine: Machine) throws {
    guard let backup = machine.backup else { return }
    accidents["old copy", default: 0] += 1
    machine.disk.restore(backup.image.copied())
    machine.onDisk = backup.notes
    try comeUp(machine)
  }

  private mutating func end() throws {
    for _ in 0..<3 { try write(machines[generator.below(2)]) }
    demand(try machines[0].store.sync(with: machines[1].store).isConverged, "the last sync left them different")
    let views = try machines.map { try $0.store.view() }
    demand(views[0] == views[1], "they end different")
    for machine in machines {
      machine.onDisk.formUnion(machines.flatMap(\.onDisk))
      try demandSound(machine)
    }
  }
}
