import Foundation
import GRDB
import Tally
import TallyTesting
import Testing

/// A store on a disk that fails, at each call that changes the disk in turn.
@Suite struct StoreOnDiskTests {
  /// The power goes at each call of an operation. What was there before is there after, with all of the operation or nothing; what a
  /// peer had seen is there; and what is written next converges with that peer.
  @Test(arguments: StoreOperation.all)
  func powerCutAtEveryCall(_ operation: StoreOperation) throws {
    let start = try StartingPoint.usual.get()
    let after = try viewAfter(operation, start)
    var call = 0
    repeat {
      call += 1
      let disk = SimulatedDisk(start.disk)
      let store = try disk.store(schema: notebook, options: .quiet)
      disk.inject(.powerFailure, atCall: call)
      let isAcknowledged = (try? operation.run(store)) != nil
      guard let struck = disk.struckCall else { return #expect(isAcknowledged && call > 1) }
      let image = disk.image
      for seed in Effort.seeds(3) {
        var generator = SplitMix64(seed: seed)
        let place = "\(operation.testDescription), call \(call): \(struck), TALLY_SEED=\(seed)"
        let left = SimulatedDisk(image.afterPowerCut(using: &generator))
        let reopened = try left.store(schema: notebook, options: .quiet)
        #expect([start.view, after].contains(try reopened.view()), "\(place)")
        try expectGoesOn(reopened, start, place)
      }
    } while call < 2_000
    Issue.record("it never ends")
  }

  /// A call fails. The operation says so and has done nothing, or has done everything; the store goes on in the same process.
  @Test(arguments: StoreOperation.all, [DiskFault.inputOutput, .noSpace, .shortWrite])
  func faultAtEveryCall(_ operation: StoreOperation, _ fault: DiskFault) throws {
    let start = try StartingPoint.usual.get()
    let after = try viewAfter(operation, start)
    var call = 0
    repeat {
      call += 1
      let disk = SimulatedDisk(start.disk)
      let store = try disk.store(schema: notebook, options: .quiet)
      disk.inject(fault, atCall: call)
      let outcome = Result { try operation.run(store) }
      guard let struck = disk.struckCall else { return try outcome.get() }
      disk.heal()
      let place = "\(operation.testDescription), call \(call): \(fault) in \(struck)"
      let survivor = operation.testDescription == "close" ? try disk.store(schema: notebook, options: .quiet) : store
      let view = try survivor.view()
      switch outcome {
      case .success: #expect(view == after, "\(place)")
      case .failure(let error):
        #expect(error is DatabaseError, "\(place): \(error)")
        #expect([start.view, after].contains(view), "\(place)")
      }
      try expectGoesOn(survivor, start, place)
    } while call < 2_000
    Issue.record("it never ends")
  }

  /// The same for opening: a store that is there, and one that is not there yet.
  @Test(arguments: [true, false], DiskFault.allCases)
  func faultAtEveryCallOfOpening(isNew: Bool, _ fault: DiskFault) throws {
    let start = try StartingPoint.usual.get()
    var call = 0
    repeat {
      call += 1
      let disk = SimulatedDisk(isNew ? DiskImage() : start.disk)
      disk.inject(fault, atCall: call)
      let outcome = Result { try disk.store(schema: notebook, options: .quiet) }
      guard let struck = disk.struckCall else {
        #expect(try outcome.get().view() == (isNew ? "" : start.view))
        return
      }
      for seed in Effort.seeds(fault == .powerFailure ? 3 : 1) {
        var generator = SplitMix64(seed: seed)
        let place = "opening, call \(call): \(fault) in \(struck), TALLY_SEED=\(seed)"
        let left = SimulatedDisk(fault == .powerFailure ? disk.image.afterPowerCut(using: &generator) : disk.image)
        let store = try left.store(schema: notebook, options: .quiet)
        #expect(try store.view() == (isNew ? "" : start.view), "\(place)")
        try expectGoesOn(store, start, place)
      }
    } while call < 2_000
    Issue.record("opening never ends")
  }

  /// The very first opening makes the file with a rollback journal. Who is killed there leaves one that must be played back, which a
  /// connection that only reads cannot do.
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

  // MARK: Expectations

  private func viewAfter(_ operation: StoreOperation, _ start: StartingPoint) throws -> String {
    let disk = SimulatedDisk(start.disk)
    try operation.run(try disk.store(schema: notebook, options: .quiet))
    return try disk.store(schema: notebook, options: .quiet).view()
  }

  /// The store is sound, takes a write, and becomes equal to a peer that has seen all that it had published.
  private func expectGoesOn(_ store: Store, _ start: StartingPoint, _ place: String) throws {
    try store.expectSound(place)
    let peer = try SimulatedDisk(start.peer).store(schema: notebook, options: .quiet)
    try store.add("next")
    #expect(try synchronize(store, peer).isConverged, "\(place)")
    #expect(try store.view() == peer.view(), "\(place)")
    #expect(try peer.texts().contains("next"), "\(place)")
    for one in [store, peer] { try one.expectSound(place) }
    #expect(try peer.lastRenewal() == nil, "\(place)")
  }
}
