import Tally
import TallyCRDT
import TallyRig
import TestEffort
import Testing

@testable import TallyStore

/// For how long a deleted record can be restored, by clocks of all kinds.
@Suite struct RestoreWindowTests {
  private static let day: Int64 = 86_400_000
  private static let year = 365 * day
  private static let window = RestoreWindow.days(30)

  private final class World {
    let z: ShredStage
    init(skewOfA: Int64 = 0, _ prepare: (inout StoreOptions) -> Void = { _ in }) throws {
      z = try ShredStage(skewOfA: skewOfA, prepare)
      z.time.value = 1_800_000_000_000
    }

    func days(_ count: Int64) { z.time.value += count * RestoreWindowTests.day }

    /// `device` takes in what `source` has, and both note what they share.
    func pull(_ device: ShredStage.Device, from source: ShredStage.Device) throws {
      let shared = try source.store.vector
      try z.pull(device, from: source)
      for each in [device, source] { try each.store.noteShared(shared) }
    }

    func sync(_ one: ShredStage.Device, _ other: ShredStage.Device) throws {
      try pull(one, from: other)
      try pull(other, from: one)
    }

    /// A's delete of p has been with B for 40 days, but p shows: B had kept it at the same time.
    func showsThrough(_ keep: () throws -> Void) throws {
      try z.start()
      try z.insert(z.a, "c", x: 3)
      try sync(z.a, z.b)
      try keep()
      try z.delete(z.a, "p")
      try sync(z.a, z.b)
      days(40)
      try sync(z.a, z.b)
      #expect(try z.see(z.a, "p") != nil)
    }

    func compacted(_ device: ShredStage.Device, _ key: String = "p") throws -> Bool {
      try device.store.compact(restoreWindow: RestoreWindowTests.window)
      return try z.held(device, key) == 0
    }
  }

  @Test func itBeginsWithTheFirstExchange() throws {
    let w = try World()
    try w.z.start()
    try w.pull(w.z.b, from: w.z.a)
    try w.z.delete(w.z.a, "p")
    w.days(40)
    #expect(try !w.compacted(w.z.a))
    try w.pull(w.z.b, from: w.z.a)
    w.days(20)
    #expect(try !w.compacted(w.z.a))
    w.days(11)
    #expect(try w.compacted(w.z.a))
  }

  /// Used and synced every day, by who deleted it and by the other, whatever the window; and by a longer window than
  /// the store's own, a sixteenth later at most.
  @Test(arguments: Effort.sample([(1, 1), (63, 63), (90, 90), (90, 30), (150, 30)], 1)) func itEndsAlsoInDailyUse(
    _ days: Int, usual: Int
  )
    throws
  {
    let w = try World { $0.compaction = .manual(restoreWindow: .days(usual)) }
    try w.z.start()
    try w.sync(w.z.a, w.z.b)
    try w.z.delete(w.z.a, "p")
    let devices = [w.z.a, w.z.b]
    var (ended, rows): ([Int?], Int) = ([nil, nil], 0)
    for day in 0...days * 17 / 16 + SharedDays.grace + 2 {
      try w.sync(w.z.a, w.z.b)
      for (index, device) in devices.enumerated() where ended[index] == nil {
        let rehearsed = try device.store.compact(restoreWindow: .days(days), isDryRun: true).emptied
        #expect(try device.store.compact(restoreWindow: .days(days)).emptied == rehearsed)
        if try w.z.held(device, "p") == 0 { ended[index] = day }
      }
      rows = max(rows, try w.z.a.store.notes(SharedDays.scope).values.count)
      w.days(1)
    }
    let first = try #require(ended[0])
    #expect(days <= usual ? first == days + 1 : (days + 1...days * 17 / 16 + 1).contains(first))
    #expect(ended[1] != nil)
    #expect(rows <= usual + 100)
  }

  /// Others may exchange deltas in files only: what a sender has is in its delta.
  @Test func itBeginsWithADeltaThatTells() throws {
    let w = try World()
    try w.z.start()
    try w.sync(w.z.a, w.z.b)
    try w.z.delete(w.z.a, "p")
    w.days(40)
    #expect(try !w.compacted(w.z.a))
    try w.z.b.store.apply(try w.z.a.store.delta(since: try w.z.b.store.vector))
    try w.z.a.store.apply(try w.z.b.store.delta(since: try w.z.a.store.vector))
    w.days(20)
    #expect(try !w.compacted(w.z.a))
    w.days(11)
    #expect(try w.compacted(w.z.a))
  }

  @Test func itIsWhole() throws {
    let w = try World()
    try w.z.start()
    try w.pull(w.z.b, from: w.z.a)
    w.z.time.value += Self.day - w.z.time.value % Self.day - 3_600_000
    try w.z.delete(w.z.a, "p")
    try w.pull(w.z.b, from: w.z.a)
    w.days(29)
    w.z.time.value += 4 * 3_600_000
    #expect(try !w.compacted(w.z.a))
    w.days(1)
    #expect(try w.compacted(w.z.a))
  }

  @Test func aClockThatStartsIn1970EndsNothingAtOnce() throws {
    let w = try World(skewOfA: -56 * Self.year)
    try w.z.start()
    try w.pull(w.z.b, from: w.z.a)
    try w.z.delete(w.z.a, "p")
    try w.pull(w.z.b, from: w.z.a)
    w.z.a.clock.value = 0
    #expect(try !w.compacted(w.z.a))
  }

  @Test func aClockIn2200CountsDaysLikeAnyOther() throws {
    let w = try World(skewOfA: 173 * Self.year)
    try w.z.start()
    try w.pull(w.z.b, from: w.z.a)
    try w.z.delete(w.z.a, "p")
    try w.pull(w.z.b, from: w.z.a)
    w.days(29)
    #expect(try !w.compacted(w.z.a))
    w.days(2)
    #expect(try w.compacted(w.z.a))
  }

  @Test func itBeginsAnewWithTheFirstPeer() throws {
    let w = try World()
    try w.z.insert(w.z.a, "p", x: 1)
    try w.z.delete(w.z.a, "p")
    #expect(try !w.compacted(w.z.a))
    w.days(20)
    try w.pull(w.z.b, from: w.z.a)
    w.days(11)
    #expect(try !w.compacted(w.z.a))
    w.days(20)
    #expect(try w.compacted(w.z.a))
  }

  /// A store alone counts from its own compactions.
  @Test func aStoreWithoutPeersCompactsToo() throws {
    let w = try World()
    try w.z.insert(w.z.a, "p", x: 1)
    try w.z.delete(w.z.a, "p")
    #expect(try !w.compacted(w.z.a))
    w.days(31)
    let dry = try w.z.a.store.compact(restoreWindow: Self.window, isDryRun: true)
    #expect(dry.emptied == 1 && dry.byteCount > 0)
    #expect(try w.z.held(w.z.a, "p") == 1)
    #expect(try w.compacted(w.z.a))
    #expect(try w.z.a.store.compact(restoreWindow: Self.window) == CompactionReport())
  }

  /// Who did not delete the record leaves a week to who did.
  @Test func theAuthorGoesFirst() throws {
    let w = try World()
    try w.z.start()
    try w.pull(w.z.b, from: w.z.a)
    try w.z.delete(w.z.a, "p")
    w.days(40)
    try w.pull(w.z.b, from: w.z.a)
    #expect(try !w.compacted(w.z.b))
    w.days(31)
    #expect(try w.z.b.store.compact(restoreWindow: Self.window).waiting == 1)
    w.days(7)
    #expect(try w.compacted(w.z.b))
  }

  /// p, deleted by A, shows for 40 days through c, which B had moved there: it has a window of its own when c goes.
  @Test func itWaitsForADeleteBelow() throws {
    let w = try World()
    try w.showsThrough { try w.z.move(w.z.b, "c", to: "p") }
    try w.z.delete(w.z.b, "c")
    try w.sync(w.z.a, w.z.b)
    #expect(try !w.compacted(w.z.a))
    w.days(31)
    #expect(try w.compacted(w.z.a))
  }

  /// The same with a member.
  @Test func itWaitsForARemoval() throws {
    let w = try World()
    try w.showsThrough { try w.z.put(w.z.b, "c", into: "p") }
    try w.z.take(w.z.b, "c", from: "p")
    try w.sync(w.z.a, w.z.b)
    #expect(try !w.compacted(w.z.a))
    w.days(31)
    #expect(try w.compacted(w.z.a))
  }

  #if PlantedFaults
    /// Without that rule what showed until today goes at once.
    @Test func withoutItsRuleItWaitsForNothingBelow() throws {
      let w = try World { $0.planted = .windowIgnoresBelow }
      try w.showsThrough { try w.z.move(w.z.b, "c", to: "p") }
      try w.z.delete(w.z.b, "c")
      try w.sync(w.z.a, w.z.b)
      #expect(try w.compacted(w.z.a))
    }
  #endif

  /// What goes on in an owner that lives on delays nothing.
  @Test func itGoesOnBesideOthers() throws {
    let w = try World()
    try w.z.start(w.z.b, owner: true)
    try w.sync(w.z.a, w.z.b)
    try w.z.delete(w.z.a, "c")
    for day in 0..<32 {
      try w.z.insert(w.z.a, "d\(day)", x: 1, owner: "p")
      try w.z.edit(w.z.a, "p", "x", day + 1)
      try w.z.delete(w.z.a, "d\(day)")
      try w.sync(w.z.a, w.z.b)
      w.days(1)
    }
    #expect(try w.compacted(w.z.a, "c"))
  }
}
