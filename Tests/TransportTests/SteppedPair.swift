import Foundation
import Tally
import TallyCRDT
import TallySync
import TallyTesting
import Testing

/// Two stores in memory and a sync of them that has not begun, as it ships: a seed chooses each step, and time passes
/// only when a test lets it.
final class SteppedPair {
  let stores: [Store]
  let time = StepTime()
  private(set) var link: StepLink
  private(set) var random: SplitMix64
  private(set) var trace: [StepLink.Step] = []
  private let settings: SyncSettings
  private let capacity: Int

  /// A store for each number of notes. `capacity` is the number of messages that may be on their way before a sender
  /// waits.
  init(
    seed: UInt64, notes: [Int] = [3, 2], capacity: Int = .max, live: Bool = false,
    _ change: (inout SyncSettings) -> Void = { _ in }
  ) throws {
    var random = SplitMix64(seed: seed)
    stores = try notes.enumerated().map { index, count in
      var options = StoreOptions()
      let replica = ReplicaID(high: random.next(), low: random.next())
      options.mintReplica = { replica }
      options.now = { Date(timeIntervalSince1970: 1_800_000_000) }
      let store = try Store(inMemory: Schema(Note.self), options: options)
      try store.write { db in
        for number in 0..<count {
          let key = "\(index)-\(number)"
          try db.execute(
            sql: "INSERT INTO Note(id, text, stars) VALUES(?, ?, 1)", arguments: ["Note|~|\(key)", "note \(key)"])
        }
      }
      return store
    }
    var settings = SyncSettings()
    settings.isLive = live
    change(&settings)
    (self.random, self.settings, self.capacity) = (random, settings, capacity)
    link = Self.connect(stores, settings, capacity, time)
  }

  private static func connect(
    _ stores: [Store], _ settings: SyncSettings, _ capacity: Int, _ time: StepTime
  ) -> StepLink {
    let ends = stores.map { StepEnd(StoreWork($0), time, StepConnection(capacity: capacity), settings) }
    return StepLink(ends[0], ends[1], time)
  }

  /// Another connection of the two.
  func reconnect() { link = Self.connect(stores, settings, capacity, time) }

  var one: StepEnd { link.one }
  var other: StepEnd { link.other }
  var ends: [StepEnd] { [one, other] }

  /// Makes so many steps, or as many as there are, of those that may be made.
  /// - Returns: how many.
  @discardableResult
  func run(steps: Int = .max, if mayBe: (StepLink.Step) -> Bool = { _ in true }) -> Int {
    var count = 0
    while count < steps {
      let possible = link.steps.filter(mayBe)
      guard !possible.isEmpty else { break }
      let step = random.pick(possible)
      trace.append(step)
      link.make(step)
      count += 1
    }
    return count
  }

  /// Lets so many seconds pass, and after each all that can happen.
  func pass(seconds: Int, if mayBe: (StepLink.Step) -> Bool = { _ in true }) {
    for _ in 0..<seconds {
      time.pass(.seconds(1))
      run(if: mayBe)
    }
  }

  /// Lets both end, however long that takes in their time.
  func end() {
    run()
    while !(one.isOver && other.isOver), let next = time.next {
      time.pass(until: next)
      run()
    }
  }

  func error(_ end: StepEnd) -> (any Error)? {
    guard case .failure(let error)? = end.result else { return nil }
    return error
  }

  func code(_ end: StepEnd) -> SyncError.Code? { (error(end) as? SyncError)?.code }

  /// Both are sound and hold the same, byte for byte.
  func expectEqual(at location: SourceLocation = #_sourceLocation) throws {
    let dumps = try stores.map { store in
      var text = ""
      try store.dump(.canonical) { text += $0 }
      #expect(try store.verify().problems == [], sourceLocation: location)
      return text
    }
    #expect(dumps[0] == dumps[1], sourceLocation: location)
  }

  /// A sync that nothing disturbs brings both to the same state.
  func expectTheNextSyncConverges(at location: SourceLocation = #_sourceLocation) throws {
    reconnect()
    run()
    for end in ends { #expect(error(end) == nil && end.isOver, sourceLocation: location) }
    try expectEqual(at: location)
  }
}
