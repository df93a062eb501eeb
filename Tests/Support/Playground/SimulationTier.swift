import Foundation
import TallyCRDT
import TallyFaults
import TallyTesting

/// What is simulated, from the pure core to whole devices.
package enum SimulationTier: String, CaseIterable, Sendable {
  /// The pure core and the wire, in memory.
  case core
  /// The same, with values that change under their stamps.
  case forged
  /// The core's histories on stores.
  case store
  /// The same on three stores, of which two are copies that nobody has noticed.
  case copies
  /// Stores with default data.
  case seeds
  /// Whole devices: stores, sessions, mailboxes, disks.
  case world
  /// Whole devices, and a relay of two instances that tells them what is new.
  case relay
  /// Stores on files that apps, shells and triggers write to with any SQL.
  case rawsql
  /// Stores on files, one of which the disk damages, that sync in sessions and through a folder.
  case damage
  /// The same, where the disk has changed one value that SQLite finds nothing wrong with.
  case value
  /// Devices that empty what is deleted, beside devices that empty nothing.
  case shred
  /// Devices whose records take each other's unique values.
  case unique
  /// Devices that make one record of those that have one unique value.
  case merge
  /// Counters on stores.
  case counters
  /// Fields that keep the greatest or the least, on stores.
  case extrema
  /// Stores with lists that people order.
  case order
  /// Old and new versions of an app, where fields take the place of others.
  case lens
  /// Stores with files beside them, which travel through one place, on disks that do what they like; and old versions
  /// of an app, whose pictures in the database new ones move into files.
  case assets
  #if CloudKitStub
    /// Devices that meet in iCloud, as the tests' stub of CloudKit has it, and people who come and go.
    case cloudkit
  #endif

  /// What one seed finds, with the smallest history that shows it where histories can be made smaller; nil if all is
  /// well.
  package func report(_ seed: UInt64) -> String? {
    switch self {
    case .core, .forged: smallest(.generate(seed: seed, forges: self == .forged)) { Simulation.failure(of: $0) }
    case .store: smallest(.generate(seed: seed)) { StoreSimulation.failure(of: $0) }
    case .copies: smallest(.generate(seed: seed)) { CopySimulation.failure(of: $0) }
    case .seeds: SeedSimulation.report(.generate(seed: seed))
    case .rawsql: RawPlay.report(seed: seed)
    case .world, .relay, .damage, .value, .shred, .unique, .merge, .counters, .extrema, .order, .lens, .assets:
      failure(seed)
    #if CloudKitStub
      case .cloudkit: failure(seed)
    #endif
    }
  }

  private func smallest(_ history: History, _ failure: (History) -> Simulation.Failure?) -> String? {
    guard failure(history) != nil else { return nil }
    let smallest = Shrinker.shrink(history) { failure($0) != nil }
    return "\(failure(smallest)?.description ?? "passes when shrunk")\n\(smallest)"
  }

  /// The same for tests, which run in tasks: a live session needs their threads.
  package func reported(_ seed: UInt64) async -> String? { await RawPlay.onThread { report(seed) } }

  /// What one seed finds; nil if all is well.
  package func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    switch self {
    case .core: Simulation.failure(of: .generate(seed: seed), planted: planted)?.description
    case .forged: Simulation.failure(of: .generate(seed: seed, forges: true), planted: planted)?.description
    case .store: StoreSimulation.failure(of: .generate(seed: seed), planted: planted)?.description
    case .copies: CopySimulation.failure(of: .generate(seed: seed))?.description
    case .seeds: SeedSimulation.failure(of: .generate(seed: seed), planted: planted)?.description
    case .world: Playground.failure(seed: seed, planted: planted)?.description
    case .relay: Playground.failure(seed: seed, planted: planted, in: MemoryRelayLog(planted))?.description
    case .rawsql: RawPlay.failure(of: .generate(seed: seed), planted: planted)
    case .damage, .value:
      DamageStory.Route.allCases.lazy.compactMap {
        DamageStory.failure(seed: seed, $0, self == .value ? .value : nil, planted: planted)
      }.first
    case .extrema: ExtremumHistory.failure(seed, planted: planted)
    case .order: OrderHistory.failure(seed, planted: planted)
    case .lens: LensHistory.failure(seed, planted: planted)
    case .assets:
      seed % 2 == 0 ? AssetHistory.failure(seed, planted: planted) : BlobHistory.failure(seed, planted: planted)
    case .shred:
      [false, true].lazy.compactMap { ShredHistory.failure(seed, deleteWins: $0, planted: planted) }.first
    case .unique: UniqueHistory.failure(seed, planted: planted)
    case .merge: MergeHistory.failure(seed, planted: planted)
    case .counters:
      CounterHistory.failure(seed, planted: planted)
        ?? (seed % 8 == 0 ? Playground.countingFailure(seed: seed, planted: planted)?.description : nil)
        ?? (seed % 8 == 4 ? CrowdHistory.failure(seed, planted: planted) : nil)
    #if CloudKitStub
      case .cloudkit: CloudSimulation.failure(seed)
    #endif
    }
  }
}

/// A fault that tests put in, and where it must be noticed.
package struct PlantedBug: Sendable {
  package var name: String
  package var fault: PlantedFault
  /// The tiers that notice it, of those that this build can put it into: stores have faults only with the trait
  /// `PlantedFaults`. The core is a model, and so is the relay.
  package var tiers: [SimulationTier]

  /// How many seeds a fault may hide from.
  package static let patience: UInt64 = 2_000

  private init(_ name: String, _ fault: PlantedFault, _ tiers: SimulationTier...) {
    (self.name, self.fault) = (name, fault)
    #if PlantedFaults
      self.tiers = tiers
    #else
      self.tiers = tiers.filter { [.core, .forged, .relay].contains($0) }
    #endif
  }

  /// All of them. What each does is said in `PlantedFault`.
  package static let all: [PlantedBug] = [
    .init("vectorPerChunk", .vectorPerChunk, .core),
    .init("touchesOfLiveCellsOnly", .touchesOfLiveCellsOnly, .core, .store),
    .init("concurrentDeletesMerged", .concurrentDeletesMerged, .core, .store),
    .init("tombstoneDropsCells", .tombstoneDropsCells, .core, .store),
    .init("receiverClampsStamps", .receiverClampsStamps, .core, .store),
    .init("timestampedSet", .timestampedSet, .core, .store),
    .init("vectorOutsideSnapshot", .vectorOutsideSnapshot, .core),
    .init("equalStampKeepsLocal", .equalStampKeepsLocal, .forged),
    .init("seedUpgradeIsTouch", .seedUpgradeIsTouch, .seeds),
    .init("seedCellsAreOrdinary", .seedCellsAreOrdinary, .seeds),
    .init("publishedBeforeDurable", .publishedBeforeDurable, .core, .world),
    .init("restoredIDReused", .restoredIDReused, .core, .world),
    .init("cloneKeepsID", .cloneKeepsID, .core, .world),
    .init("supersededTouchLost", .supersededTouchLost, .core, .store),
    .init("equalTimesKeepLocal", .equalTimesKeepLocal, .core, .store),
    .init("equalValueKeepsLocalStamp", .equalValueKeepsLocalStamp, .core, .store),
    .init("removeWins", .removeWins, .core, .store),
    .init("tombstoneDroppedEarly", .tombstoneDroppedEarly, .core, .world),
    .init("vectorEndOffByOne", .vectorEndOffByOne, .core, .world),
    .init("groupSplitAcrossBatches", .groupSplitAcrossBatches, .core, .world),
    .init("partialBatch", .partialBatch, .core, .world),
    .init("baseNotChecked", .baseNotChecked, .core, .world),
    .init("duplicateCountedTwice", .duplicateCountedTwice, .core, .world),
    .init("hiddenLeftOutForNewcomers", .hiddenLeftOutForNewcomers, .core, .world),
    .init("referenceToAbsentDropped", .referenceToAbsentDropped, .core, .world),
    .init("clockMayGoBack", .clockMayGoBack, .core, .world),
    .init("newLifeKeepsOld", .newLifeKeepsOld, .core, .world),
    .init("cascadeWritesDeletes", .cascadeWritesDeletes, .core, .world),
    .init("counterReused", .counterReused, .core, .world),
    .init("fingerprintForgetsRemovals", .fingerprintForgetsRemovals, .core, .world),
    .init("losersNotJournalled", .losersNotJournalled, .world),
    .init("editsDoNotRevive", .editsDoNotRevive, .core, .world),
    .init("liveChangeClaimsReceiver", .liveChangeClaimsReceiver, .world),
    .init("sentCountsAsReceived", .sentCountsAsReceived, .world),
    .init("vectorSavedBeforeCells", .vectorSavedBeforeCells, .core),
    .init("lateListingSkipped", .lateListingSkipped, .world),
    .init("seedOverwritesEdits", .seedOverwritesEdits, .seeds),
    .init("seedsOfOwnReplica", .seedsOfOwnReplica, .seeds),
    .init("seedDuplicatesKept", .seedDuplicatesKept, .seeds),
    .init("deletedSeedReturns", .deletedSeedReturns, .seeds),
    .init("hookMissesReplaced", .hookMissesReplaced, .rawsql),
    .init("mergeEchoDropped", .mergeEchoDropped, .rawsql),
    .init("refusedRowDropped", .refusedRowDropped, .rawsql),
    .init("setAsideForGood", .setAsideForGood, .rawsql),
    .init("youngerClaimShows", .youngerClaimShows, .rawsql),
    .init("lostRowsUnnoticed", .lostRowsUnnoticed, .rawsql),
    .init("lostTriggersUnnoticed", .lostTriggersUnnoticed, .rawsql),
    .init("logPrunedTooFar", .logPrunedTooFar, .rawsql),
    .init("anyTextIsADate", .anyTextIsADate, .rawsql),
    .init("anyTextIsJSON", .anyTextIsJSON, .rawsql),
    .init("climbsOneLevel", .climbsOneLevel, .store),
    .init("denyNotChecked", .denyNotChecked, .rawsql),
    .init("returnedRowIsNew", .returnedRowIsNew, .rawsql),
    .init("packedRowUnlisted", .packedRowUnlisted, .rawsql),
    .init("deleteHidesUnseen", .deleteHidesUnseen, .rawsql),
    .init("statesGivenUnchecked", .statesGivenUnchecked, .value),
    .init("pushTakenAnywhere", .pushTakenAnywhere, .relay),
    .init("cursorIsPosition", .cursorIsPosition, .relay),
    .init("noLiftSeen", .noLiftSeen, .shred, .world),
    .init("noLiftUnsent", .noLiftUnsent, .shred, .world),
    .init("noLiftNews", .noLiftNews, .shred, .world),
    .init("liftKeepsVia", .liftKeepsVia, .shred, .world),
    .init("restoreBare", .restoreBare, .world),
    .init("insertBare", .insertBare, .world),
    .init("lastHolds", .lastHolds, .unique),
    .init("suffixByPlace", .suffixByPlace, .unique),
    .init("claimOfColumns", .claimOfColumns, .unique),
    .init("restoreTakes", .restoreTakes, .unique),
    .init("mergeByClaim", .mergeByClaim, .merge),
    .init("forwardedOnce", .forwardedOnce, .merge),
    .init("strandedStay", .strandedStay, .merge),
    .init("setIsRegister", .setIsRegister, .counters),
    .init("totalsDropped", .totalsDropped, .counters),
    .init("totalsSummed", .totalsSummed, .counters),
    .init("addIsNoTouch", .addIsNoTouch, .counters),
    .init("raiseIsRegister", .raiseIsRegister, .extrema),
    .init("laterBeatsGreater", .laterBeatsGreater, .extrema),
    .init("moveIsTouch", .moveIsTouch, .order),
    .init("moveIsRemoveAdd", .moveIsRemoveAdd, .order),
    .init("fraction", .fraction, .order),
    .init("gapIsElement", .gapIsElement, .order),
    .init("bareStay", .bareStay, .order),
    .init("positionPurged", .positionPurged, .order),
    .init("lensNotFollowed", .lensNotFollowed, .lens),
    .init("oldColumnUnstamped", .oldColumnUnstamped, .lens),
    .init("lensNotShown", .lensNotShown, .lens),
    .init("hashUnchecked", .hashUnchecked, .assets),
    .init("onlyCopyEvicted", .onlyCopyEvicted, .assets),
    .init("lengthUnchecked", .lengthUnchecked, .assets),
    .init("moveIsNow", .moveIsNow, .assets),
  ]

  /// How many seeds a tier needs to notice the fault; nil if it does not within its patience.
  package func seedsNeeded(_ tier: SimulationTier) -> UInt64? {
    (1...Self.patience).first { tier.failure($0, planted: fault) != nil && tier.failure($0) == nil }
  }
}
