import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyStore
import TallyTesting
import Testing

/// Why a counter takes the place of no field, and what counts instead: a counter beside it, and the sum of both.
@Suite struct LensCounterTests {
  private static let old = Schema([EntitySchema("Player", .text("name"), .integer("points", default: 0))])
  private static let new = Schema([
    EntitySchema("Player", .text("name"), .integer("points", default: 0), .counter("score"))
  ])
  private let scratch: Scratch
  private let clock = ShredStage.Clock(1_000_000)

  init() throws { scratch = try Scratch() }

  /// A device's file. The clock is that of all devices.
  private func open(_ device: Int, _ schema: Schema) throws -> Store {
    var options = StoreOptions()
    options.now = { [clock] in Date(timeIntervalSince1970: Double(clock.value) / 1000) }
    options.mintReplica = { ReplicaID(high: UInt64(device + 1), low: 7) }
    return try scratch.store("\(device)", schema: schema, options: options)
  }

  private func run(_ store: Store, _ sql: String) throws {
    clock.value += 1000
    try store.write { try $0.execute(sql: sql) }
  }

  private func number(_ store: Store, _ expression: String) throws -> Int? {
    try store.read { try Int.fetchOne($0, sql: "SELECT \(expression) FROM Player") }
  }

  private func pull(_ store: Store, _ other: Store) throws { try store.apply(other.delta(since: store.vector)) }

  // MARK: What is refused

  private func refusal(_ field: FieldSchema) throws -> StoreError? {
    do {
      try Schema([EntitySchema(type: "Player", fields: [field])]).validate()
      return nil
    } catch { return error }
  }

  @Test(arguments: [
    FieldSource.lens("points", .integer, default: 0, .scale(1)), .lens("points", .integer, .scale(1)),
    .lens("points", .real, default: 0, .scale(100), keepsOldApps: false), .lens("points", .text, .digits),
    .lens("points", .bool, default: false, .map([false: 0, true: 1])), .lens("points", .counter, default: 0, .scale(1)),
  ])
  func aCounterTakesThePlaceOfNoField(_ source: FieldSource) throws {
    let error = try #require(try refusal(FieldSchema("score", .counter, default: 0, from: source)))
    #expect(error.code == .invalidSchema)
    #expect("\(error)".contains("Player.score, from 'points': a counter takes the place of no field"))
    #expect("\(error)".contains("show the sum of both"))
  }

  @Test(arguments: [Lens.scale(1), .digits, .map([1: 2])])
  func noFieldTakesThePlaceOfACounter(_ lens: Lens) throws {
    for kind in [FieldKind.integer, .text] {
      let field = FieldSchema("rank", kind, from: .lens("score", .counter, default: 0, lens))
      #expect(try refusal(field)?.code == .invalidSchema)
    }
  }

  @Test func aFileThatHasTheNumberStaysAsItWas() throws {
    let store = try open(0, Self.old)
    try run(store, "INSERT INTO Player(id, points) VALUES('Player|~|a', 3)")
    let before = try store.summary()
    try store.close()
    let json = #"{"kind":"counter","from":{"field":"points","kind":"integer","default":0,"lens":{"scale":1}}}"#
    #expect(throws: StoreError.self) {
      try Schema(json: Data(#"{"entities":[{"type":"Player","fields":{"score":\#(json)}}]}"#.utf8))
    }
    let field = FieldSchema("score", .counter, default: 0, from: .lens("points", .integer, default: 0, .scale(1)))
    #expect(throws: StoreError.self) { try open(0, Schema([EntitySchema(type: "Player", fields: [field])])) }
    let again = try open(0, Self.old)
    #expect(try again.summary() == before)
    #expect(try number(again, "points") == 3)
    try expectConverged(again)
  }

  // MARK: Why

  /// Where a new version writes each addition to the number as well, an older one replaces 3 by 10. It has seen the
  /// addition or not, and so 10 or 13 would be right. The state is the same.
  @Test func anOlderVersionsNumberDoesNotSayWhichAdditionsItContains() throws {
    func states(sees: Bool) throws -> [StoreSummary] {
      let other = try LensCounterTests()
      let (new, old, third) = (try other.open(0, Self.new), try other.open(1, Self.old), try other.open(2, Self.new))
      try other.run(new, "INSERT INTO Player(id) VALUES('Player|~|a')")
      try other.pull(old, new)
      try other.run(new, "UPDATE Player SET points = points + 3, score = score + 3")
      if sees { try other.pull(old, new) }
      #expect(try other.number(old, "points") == (sees ? 3 : 0))
      try other.run(old, "UPDATE Player SET points = 10")
      if !sees { try other.pull(old, new) }
      try other.pull(third, old)
      #expect(try other.number(third, "points") == 10)
      #expect(try other.number(third, "score") == 3)
      try expectConverged(old, third)
      return [try old.summary(), try third.summary()]
    }
    #expect(try states(sees: true) == states(sees: false))
  }

  /// Two new versions add one each, and write the number that they show. Neither of these is the sum, and an older
  /// version can see no other.
  @Test func anOlderVersionSeesNoSumThatNoDeviceHasWritten() throws {
    let (one, other, old) = (try open(0, Self.new), try open(1, Self.new), try open(2, Self.old))
    try run(one, "INSERT INTO Player(id) VALUES('Player|~|a')")
    for store in [other, old] { try pull(store, one) }
    for store in [one, other] { try run(store, "UPDATE Player SET points = points + 1, score = score + 1") }
    for store in [one, other] { try pull(old, store) }
    for store in [one, other] { try pull(store, old) }
    #expect(try number(old, "points") == 1)
    for store in [one, other] { #expect(try number(store, "score") == 2) }
    try expectConverged(one, other, old)
  }

  // MARK: A counter beside the number

  private static func orders(of devices: [Int]) -> [[Int]] {
    guard !devices.isEmpty else { return [[]] }
    return devices.flatMap { first in orders(of: devices.filter { $0 != first }).map { [first] + $0 } }
  }

  /// Between two updates of the app every device writes: an old version a number of its own, a new one an addition.
  @Test(arguments: orders(of: [0, 1, 2, 3]))
  func theSumHoldsEveryAdditionOnceInEveryOrderOfUpdates(_ order: [Int]) throws {
    var random = SplitMix64(seed: order.reduce(0) { $0 * 4 + UInt64($1) })
    var stores = try (0..<4).map { try open($0, Self.old) }
    try run(stores[0], "INSERT INTO Player(id) VALUES('Player|~|a')")
    for store in stores.dropFirst() { try pull(store, stores[0]) }
    var (points, added, updated) = (0, 0, Set<Int>())
    for next in order + [nil] {
      for (device, store) in stores.enumerated() {
        if updated.contains(device) {
          added += device + 1
          try run(store, "UPDATE Player SET score = score + \(device + 1)")
        } else {
          points += 10
          try run(store, "UPDATE Player SET points = \(points)")
        }
        let other = random.below(4)
        if other != device { try pull(store, stores[other]) }
      }
      if updated.count == 2 || next == nil {
        for _ in 0..<2 { for store in stores { for other in stores where other !== store { try pull(store, other) } } }
        try expectConverged(stores[0], stores[1], stores[2], stores[3])
        for (device, store) in stores.enumerated() {
          #expect(try number(store, "points") == points)
          guard updated.contains(device) else { continue }
          #expect(try number(store, "points + score") == points + added)
        }
      }
      guard let next else { continue }
      try stores[next].close()
      stores[next] = try open(next, Self.new)
      updated.insert(next)
    }
  }

  @Test func bothStartAgainTogetherAndAConcurrentAdditionCounts() throws {
    let (one, other, old) = (try open(0, Self.new), try open(1, Self.new), try open(2, Self.old))
    try run(old, "INSERT INTO Player(id, points) VALUES('Player|~|a', 5)")
    for store in [one, other] {
      try pull(store, old)
      try run(store, "UPDATE Player SET score = score + 2")
    }
    clock.value += 1000
    try one.write { db in
      try db.execute(sql: "UPDATE Player SET points = 0")
      try Self.new.set(db, try AnyRecordName("Player|~|a"), "score", to: 0)
    }
    #expect(try number(one, "points + score") == 0)
    let all = [one, other, old]
    for _ in 0..<2 { for store in all { for peer in all where peer !== store { try pull(store, peer) } } }
    for store in [one, other] { #expect(try number(store, "points + score") == 2) }
    #expect(try number(old, "points") == 0)
    try expectConverged(one, other, old)
  }
}
