import Foundation
import GRDB
import Tally
import TallyTesting
import TestEffort
import Testing

/// A store on a disk that fails, at each call that changes the disk in turn.
@Suite struct StoreOnDiskTests {
  /// The power goes at each call of an operation. What was there before is there after, with all of the operation or
  /// nothing; what a peer had seen is there; and what is written next converges with that peer.
  @Test(arguments: StoreOperation.all)
  func powerCutAtEveryCall(_ operation: StoreOperation) throws {
    let start = try StartingPoint.usual.get()
    let (after, calls) = try undisturbed(operation, start)
    for call in Effort.sample(1...calls, max(3, calls / 3)) {
      let disk = SimulatedDisk(start.disk)
      let store = try disk.store(schema: notebook, options: .quiet)
      disk.inject(.powerFailure, atCall: call)
      _ = try? operation.run(store)
      let struck = try #require(disk.struckCall)
      let image = disk.image
      for seed in cutSeeds(call) {
        var generator = SplitMix64(seed: seed)
        let place = "\(operation.testDescription), call \(call): \(struck), TALLY_SEED=\(seed)"
        let left = SimulatedDisk(image.afterPowerCut(using: &generator))
        let reopened = try left.store(schema: notebook, options: .quiet)
        #expect([start.view, after].contains(try reopened.view()), "\(place)")
        try expectGoesOn(reopened, start, place)
      }
    }
  }

  /// A call fails. The operation says so and has done nothing, or has done everything; the store goes on in the same
  /// process.
  @Test(arguments: StoreOperation.all, [DiskFault.inputOutput, .noSpace, .shortWrite])
  func faultAtEveryCall(_ operation: StoreOperation, _ fault: DiskFault) throws {
    let start = try StartingPoint.usual.get()
    let (after, calls) = try undisturbed(operation, start)
    for call in 1...calls where isDue(call, fault) {
      let disk = SimulatedDisk(start.disk)
      let store = try disk.store(schema: notebook, options: .quiet)
      disk.inject(fault, atCall: call)
      let outcome = Result { try operation.run(store) }
      let struck = try #require(disk.struckCall)
      disk.heal()
      let place = "\(operation.testDescription), call \(call): \(fault) in \(struck)"
      let survivor = operation.isClosing ? try disk.store(schema: notebook, options: .quiet) : store
      let view = try survivor.view()
      switch outcome {
      case .success: #expect(view == after, "\(place)")
      case .failure(let error):
        #expect(error is DatabaseError, "\(place): \(error)")
        #expect([start.view, after].contains(view), "\(place)")
      }
      try expectGoesOn(survivor, start, place)
    }
  }

  /// The same for opening: a store that is there, and one that is not there yet.
  @Test(arguments: [true, false], DiskFault.allCases)
  func faultAtEveryCallOfOpening(isNew: Bool, _ fault: DiskFault) throws {
    let start = try StartingPoint.usual.get()
    let view = isNew ? "" : start.view
    let whole = SimulatedDisk(isNew ? DiskImage() : start.disk)
    let opened = try whole.store(schema: notebook, options: .quiet)
    let calls = whole.calls
    #expect(try opened.view() == view && calls > 5)
    let cuts = Effort.sample(1...calls, max(6, calls / 3))
    for call in fault == .powerFailure ? cuts : (1...calls).filter({ isDue($0, fault) }) {
      let disk = SimulatedDisk(isNew ? DiskImage() : start.disk)
      disk.inject(fault, atCall: call)
      let outcome = Result { try disk.store(schema: notebook, options: .quiet) }
      let struck = try #require(disk.struckCall)
      if case .failure(let error) = outcome { #expect(error is DatabaseError, "call \(call): \(fault) in \(struck)") }
      for seed in fault == .powerFailure ? cutSeeds(call) : [1] {
        var generator = SplitMix64(seed: seed)
        let place = "opening, call \(call): \(fault) in \(struck), TALLY_SEED=\(seed)"
        let left = SimulatedDisk(fault == .powerFailure ? disk.image.afterPowerCut(using: &generator) : disk.image)
        let store = try left.store(schema: notebook, options: .quiet)
        #expect(try store.view() == view, "\(place)")
        try expectGoesOn(store, start, place)
      }
    }
  }

  /// The very first opening makes the file with a rollback journal. Who is killed there leaves one that must be played
  /// back, which a connection that only reads cannot do.
  @Test func aStoreWhoseFirstOpeningWasKilledOpens() throws {
    var journals = 0
    for call in 1...20 {
      let disk = SimulatedDisk()
      disk.inject(.powerFailure, atCall: call)
      _ = try? disk.store(schema: notebook, options: .quiet)
      disk.kill()
      if disk.image["store-journal"]?.isEmpty == false { journals += 1 }
      #expect(try disk.store(schema: notebook, options: .quiet).view() == "", "call \(call)")
    }
    #expect(journals > 0)
  }

  /// A store has on its disk whatever it gives away, also of an id that it has given up since: otherwise it would
  /// forget, and give the same number to something else.
  @Test(arguments: [false, true]) func nothingIsGivenAwayThatAPowerCutTakesBack(isRenewed: Bool) throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      let disk = SimulatedDisk()
      let (store, peer) = (try disk.store(schema: notebook, options: .quiet), try Store(inMemory: notebook))
      try store.write { try Tag(id: .at("one"), name: "one").insert($0) }
      try peer.apply(try store.delta())
      try store.write { try Tag(id: .at("two"), name: "two").insert($0) }
      if isRenewed { try store.renewReplica(because: "the app says so") }
      try peer.apply(try store.delta(since: try peer.vector))
      var generator = SplitMix64(seed: seed)
      let left = try SimulatedDisk(disk.image.afterPowerCut(using: &generator)).store(schema: notebook, options: .quiet)
      #expect(try left.vector.covers(try peer.vector), "TALLY_SEED=\(seed)")
    }
  }

  // MARK: How much

  /// The bounded form strikes each call with one of the faults, the long form with all.
  private func isDue(_ call: Int, _ fault: DiskFault) -> Bool {
    Effort.factor > 1 || call % 3 == [.inputOutput: 0, .noSpace: 1][fault] ?? 2
  }

  /// The bounded form cuts the power once at a call, and not in the same way everywhere; the long form ten times and
  /// more.
  private func cutSeeds(_ call: Int) -> [UInt64] {
    let seeds = Effort.seeds(1)
    return seeds.count == 1 && seeds[0] == 1 ? [UInt64(call)] : Array(seeds.prefix(max(10, seeds.count / 4)))
  }

  // MARK: Expectations

  /// What a person sees after the operation, and how many calls it makes.
  private func undisturbed(_ operation: StoreOperation, _ start: StartingPoint) throws -> (view: String, calls: Int) {
    let disk = SimulatedDisk(start.disk)
    let store = try disk.store(schema: notebook, options: .quiet)
    let before = disk.calls
    try operation.run(store)
    let calls = disk.calls - before
    try #require(calls > 1)
    let after = operation.isClosing ? try disk.store(schema: notebook, options: .quiet) : store
    return (try after.view(), calls)
  }

  /// The store is sound, takes a write, and becomes equal to a peer that has seen all that it had published.
  private func expectGoesOn(_ store: Store, _ start: StartingPoint, _ place: String) throws {
    try store.expectSound(place)
    let peer = try SimulatedDisk(start.peer).store(schema: notebook, options: .quiet)
    try store.add("next")
    #expect(try store.sync(with: peer).isConverged, "\(place)")
    #expect(try store.view() == peer.view(), "\(place)")
    #expect(try peer.texts().contains("next"), "\(place)")
    for one in [store, peer] { try one.expectSound(place) }
    #expect(try peer.lastRenewal() == nil, "\(place)")
  }
}
