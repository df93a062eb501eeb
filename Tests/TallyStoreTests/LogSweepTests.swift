import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyTesting
import TallyWire
import TestEffort
import Testing

@testable import TallyStore

/// The change log forgets entries for later ones of the same item and replica, and no delta misses them.
@Suite struct LogSweepTests {
  // MARK: Deltas

  /// Three devices insert, edit, delete, restore and sync at random, and empty what is deleted or do not. A delta since
  /// any vector that any of them ever had holds what the whole state has beyond it, item by item.
  @Test(arguments: Effort.sample(CapturePath.allCases, 1), [false, true])
  func deltasSinceEveryVectorOfAHistoryMissNothing(_ path: CapturePath, shreds: Bool) throws {
    for seed in Effort.seeds(1) {
      let history = try History(path, seed: seed)
      for _ in 0..<150 {
        try history.step()
        if shreds { try history.shredNowAndThen() }
      }
      let stubs = try history.stores.reduce(0) { sum, store in
        try sum + store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_stub") ?? 0 }
      }
      #expect((stubs > 0) == shreds, "TALLY_SEED=\(seed)")
      for store in history.stores {
        #expect(try store.verify().problems == [], "TALLY_SEED=\(seed)")
        let whole = try Content(store, since: StateVector())
        try store.flushTail(sweeping: true)
        #expect(try store.verify().problems == [], "TALLY_SEED=\(seed)")
        // There is something that the log no longer lists by itself.
        #expect(try !whole.entries.isSubset(of: Self.entries(store)), "TALLY_SEED=\(seed)")
        for vector in history.vectors {
          let found = try Content(store, since: vector)
          #expect(found == whole.beyond(vector), "TALLY_SEED=\(seed) since \(vector)")
        }
      }
    }
  }

  /// The content of the change log without repetitions: of each entry the dot, and the record or link.
  private static func entries(_ store: Store) throws -> Set<String> { Set(try list(store)) }

  private static func listed(_ store: Store) throws -> Int { try list(store).count }

  private static func list(_ store: Store) throws -> [String] {
    try store.capturedSnapshot { reader in
      var found: [String] = []
      try reader.forEachLogEntry { entry in
        let replica = try #require(reader.catalog.replicas[entry.replica])
        let dot = Dot(replica: replica, sequence: entry.sequence)
        for item in try ChangeLog.items(entry.items, reader.catalog) {
          found.append("\(dot) \(item.name)\(item.target.map { " \($0)" } ?? "")")
        }
      }
      return found
    }
  }

  /// A device that comes late, with an edit of a record that was deleted long ago, gets and gives everything.
  @Test(arguments: CapturePath.allCases) func anEditThatArrivesLateMeetsASweptDelete(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for key in 1...2 { try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|\(key)', 'one', 1)") }
    try lab.sync()
    try lab.b.run("UPDATE P SET pos = 9 WHERE id = 'P|~|1'")
    for key in 1...2 { try lab.a.run("UPDATE P SET name = 'changed' WHERE id = 'P|~|\(key)'") }
    try lab.a.run("DELETE FROM P")
    try lab.a.flushTail(sweeping: true)
    #expect(try Self.listed(lab.a) == 2)
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(name || pos) FROM P") == "changed9")
    let late = try lab.reopened("late")
    try late.apply(try lab.b.delta())
    try expectConverged(lab.b, late)
  }

  @Test(arguments: CapturePath.allCases) func aRestoreAfterASweepIsCompleteEverywhere(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    try lab.sync()
    let away = try lab.b.vector
    try lab.a.run("UPDATE P SET pos = 2")
    try lab.a.run("DELETE FROM P")
    try lab.a.flushTail(sweeping: true)
    #expect(try Self.listed(lab.a) == 1)
    try lab.a.restore(AnyRecordName("P|~|1"))
    #expect(try lab.a.verify().problems == [])
    try lab.b.apply(try lab.a.delta(since: away))
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(name || pos) FROM P") == "one2")
  }

  /// Where two copies write under one number, a delete can give way to one that has seen less. What the first had seen
  /// must be found again by whoever takes the second.
  @Test(arguments: CapturePath.allCases) func aDeleteThatHasSeenLessBringsEntriesBack(_ path: CapturePath) throws {
    let lab = try Lab(path)
    var options = Lab.options(path)
    options.detectsCopies = false
    try lab.b.close()
    let first = try lab.scratch.store("b", schema: Lab.schema, options: options)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 2)")
    try first.sync(with: lab.a)
    // The number that both copies will give out again belongs to a replica that has written before.
    try first.run("UPDATE P SET pos = 5 WHERE id = 'P|~|2'")
    try first.close()
    try FileManager.default.copyItem(atPath: lab.scratch.path("b"), toPath: lab.scratch.path("copy"))
    let (original, copy) = (
      try lab.scratch.store("b", schema: Lab.schema, options: options),
      try lab.scratch.store("copy", schema: Lab.schema, options: options)
    )
    let before = try lab.a.vector
    try lab.a.run("UPDATE P SET name = 'edited' WHERE id = 'P|~|1'")
    try original.apply(try lab.a.delta(since: before))
    try original.run("DELETE FROM P WHERE id = 'P|~|1'")
    try copy.run("UPDATE P SET pos = 6 WHERE id = 'P|~|2'")
    let third = try lab.reopened("third")
    try third.apply(try copy.delta())
    try third.run("DELETE FROM P WHERE id = 'P|~|1'")
    try original.apply(try third.delta(since: try original.vector))
    #expect(try original.verify().problems == [])
    let found = try Content(original, since: before)
    #expect(found == (try Content(original, since: StateVector())).beyond(before))
    #expect(!found.records.isEmpty)
  }

  /// A was inserted here, edited there and deleted here: the edit's entry finds the record for a device that has the
  /// insert, since no delete takes an entry of another replica. (A device that has neither gets all of it.)
  @Test(arguments: CapturePath.allCases) func anEntryStaysWhenADeleteHasSeenIt(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    let base = try lab.a.vector
    try lab.sync()
    try lab.b.run("UPDATE P SET pos = 2")
    try lab.sync()
    try lab.a.run("DELETE FROM P")
    try lab.a.flushTail(sweeping: true)
    #expect(try Self.listed(lab.a) == 2)
    #expect(try Content(lab.a, since: base) == Content(lab.a, since: StateVector()).beyond(base))
  }

  // MARK: Files of format 5

  /// A file that a build of format 5 made, with edits of two devices, deletes that had seen them, a restore, a purge
  /// and links. Read, it is as it was; opened for writing, its log is rebuilt, since it lacks what deletes had seen.
  @Test(arguments: [false, true]) func aFileOfFormatFiveMissesNothing(isReadOnly: Bool) throws {
    let scratch = try Scratch()
    let path = scratch.path("five")
    let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: String(contentsOf: golden.appendingPathComponent("format-5.sql"), encoding: .utf8))
      #expect(try Int.fetchOne(db, sql: "PRAGMA user_version") == 5)
    }
    try queue.close()
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    let store = try Store(existing: path, options: options)
    #expect(try store.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == (isReadOnly ? 5 : 7))
    #expect(try store.verify().problems == [])
    let (whole, own) = (try Content(store, since: StateVector()), try store.vector)
    #expect(whole.records.count == 55 && whole.links.count == 3)
    // Any prefix of one replica with all of the other, which is more than any device can have had. A log of format 5
    // takes for granted that a device which has a delete has what that had seen.
    for replica in own.entries {
      for sequence in 0...replica.sequence {
        var base = own
        base[replica.replica] = sequence
        if isReadOnly, whole.beyond(base).records.values.contains(where: { !$0.state.deletes.isEmpty }) { continue }
        #expect(try Content(store, since: base) == whole.beyond(base), "since \(base)")
      }
    }
  }

  // MARK: Size

  /// Records that were inserted and deleted one at a time, a few at once, and all at once: by itself the log is at most
  /// twice what it must be, and what has come since.
  @Test(arguments: Effort.sample([1, 25, 2_500], 1)) func theLogOfDeletedRecordsIsThatOfTheirDeletes(_ size: Int) throws
  {
    let lab = try Lab(.hook)
    let count = size == 1 ? 500 : Effort.isLong ? 10_000 : 2_500
    func transactions(_ body: (Database, Int) throws -> Void) throws {
      for start in stride(from: 0, to: count, by: size) {
        try lab.a.write { db in for number in start..<start + size { try body(db, number) } }
      }
    }
    for _ in 0..<2 {
      try transactions { try $0.execute(sql: "INSERT INTO F(id, name) VALUES('F|~|' || ?, 'name')", arguments: [$1]) }
      try transactions { try $0.execute(sql: "DELETE FROM F WHERE id = 'F|~|' || ?", arguments: [$1]) }
    }
    #expect(try count...2 * count + 200 + size ~= Self.listed(lab.a))
    #expect(try lab.a.verify().problems == [])
    try lab.a.flushTail(sweeping: true)
    // A long row stays as it is unless an eighth of it can go.
    #expect(try count...count * 8 / 7 ~= Self.listed(lab.a))
    #expect(try lab.a.verify().problems == [])
    // Rebuilding the log lists the same.
    _ = try lab.a.rebuild()
    #expect(try Self.listed(lab.a) == count)
    #expect(try lab.a.verify().problems == [])
    try lab.b.apply(try lab.a.delta())
    // What comes for the first time is listed under each of its transactions until the next sweep.
    #expect(try count...2 * count ~= Self.listed(lab.b))
    try lab.expectEqual()
  }

  /// More items than are remembered at once, in slices between which others write.
  @Test func aSweepInPartsLeavesOneEntryOfEach() throws {
    let lab = try Lab(.hook)
    let names = (0..<300).map { "('P|~|\($0)', 'n')" }.joined(separator: ", ")
    try lab.a.run("INSERT INTO P(id, name) VALUES \(names)")
    for round in 0..<4 {
      for number in 0..<300 where number % 2 == 0 {
        try lab.a.run("UPDATE P SET pos = \(round) WHERE id = 'P|~|\(number)'")
      }
    }
    try lab.a.flushTail()
    try lab.a.write { _ in }
    _ = try lab.a.replicate { transaction in
      var sweep = LogSweep(mostSeen: 40)
      try sweep.finish(transaction.reader)
    }
    #expect(try Self.listed(lab.a) == 300)
    #expect(try lab.a.verify().problems == [])
  }

  /// Two stores of one file, each of which sweeps, and rebuilds now and then.
  @Test func twoStoresOfOneFileSweepInTurns() throws {
    let lab = try Lab(.hook)
    let other = try lab.reopened("a")
    let base = try lab.a.vector
    for number in 0..<600 {
      let store = number % 3 == 0 ? other : lab.a
      try store.run(
        "INSERT INTO P(id, name) VALUES('P|~|\(number % 70)', 'n') ON CONFLICT DO UPDATE SET pos = \(number)")
      if number == 300 { _ = try other.rebuild() }
      if number % 200 == 199 { #expect(try lab.a.verify().problems == []) }
    }
    #expect(try Content(other, since: base) == Content(other, since: StateVector()).beyond(base))
    #expect(try Self.listed(lab.a) < 400)
  }
}

/// The states that a store hands out, by name.
private struct Content: Equatable {
  var records: [AnyRecordName: NamedState] = [:]
  var links: [String: ORSetElement] = [:]

  /// A state whose fields go by their names.
  struct NamedState: Equatable {
    var state: RecordState
    var fields: [String]
  }

  init(_ store: Store, since base: StateVector) throws {
    var blocks: [DeltaBlock] = []
    var reader = try DeltaReader(try store.delta(since: base))
    while let block = try reader.nextBlock() { blocks.append(block) }
    for block in blocks {
      for group in block.records {
        for item in group.items { add(item.name, item.state, group.fields) }
      }
      for group in block.links {
        for item in group.items {
          links["\(item.source) \(item.target)", default: ORSetElement()].merge(item.element)
        }
      }
    }
  }

  private mutating func add(_ name: AnyRecordName, _ state: RecordState, _ names: [String]) {
    let all = ["name", "rating", "pos", "icon", "at", "settings", "owner&", "friend&", "fav", "parent&"]
    var state = state
    state.renumberFields { field in
      let name = names[Int(field.rawValue)]
      return FieldID(
        rawValue: UInt32(all.firstIndex(of: name) ?? 99), isPresence: FieldKey.isPresence(name))
    }
    records[name] = NamedState(state: records[name]?.state.merging(state) ?? state, fields: [])
  }

  /// The part that `vector` does not cover.
  func beyond(_ vector: StateVector) -> Content {
    var result = self
    result.records = records.compactMapValues { named in
      named.state.delta(since: vector).map { NamedState(state: $0, fields: []) }
    }
    result.links = links.compactMapValues { $0.delta(since: vector) }
    return result
  }

  /// The content of a log that forgets nothing.
  var entries: Set<String> {
    let records = records.flatMap { name, named in named.state.dots.map { "\($0) \(name)" } }
    return Set(records + links.flatMap { ends, element in element.dots.map { "\($0) \(ends)" } })
  }
}

/// Three devices at random.
private final class History {
  let stores: [Store]
  private(set) var vectors = [StateVector()]
  private let scratch: Scratch
  private var random: SplitMix64

  init(_ path: CapturePath, seed: UInt64) throws {
    let scratch = try Scratch()
    self.scratch = scratch
    random = SplitMix64(seed: seed)
    stores = try ["a", "b", "c"].map {
      try scratch.store($0, schema: Lab.schema, options: Lab.options(path))
    }
  }

  private func key() -> Int { random.below(12) }

  /// Empties all that is deleted on some device.
  func shredNowAndThen() throws {
    guard random.chance(8) else { return }
    let store = stores[random.below(stores.count)]
    try store.empty(ripe: nil)
    vectors.append(try store.vector)
  }

  func step() throws {
    let store = stores[random.below(stores.count)]
    switch random.below(10) {
    case 0, 1:
      let numbers = (0...random.below(3)).map { _ in key() }
      try store.write { db in
        for number in numbers {
          try db.execute(sql: "INSERT OR IGNORE INTO P(id, name) VALUES('P|~|\(number)', 'new')")
          try db.execute(
            sql: """
              INSERT OR IGNORE INTO G(id, name, owner) SELECT 'G|~|\(number)', 'owned', id FROM P
              WHERE id = 'P|~|\(number)'
              """)
        }
      }
    case 2, 3: try store.run("UPDATE P SET pos = \(random.below(99)) WHERE id = 'P|~|\(key())'")
    case 4: try store.run("UPDATE G SET rating = \(random.below(99)) WHERE id = 'G|~|\(key())'")
    case 5: try store.run("DELETE FROM P WHERE id IN ('P|~|\(key())', 'P|~|\(key())')")
    case 6: try store.run("DELETE FROM G WHERE id = 'G|~|\(key())'")
    case 7:
      let (source, target) = (key(), key())
      try store.run(
        """
        INSERT OR IGNORE INTO G_players(source, target) SELECT G.id, P.id FROM G, P
        WHERE G.id = 'G|~|\(source)' AND P.id = 'P|~|\(target)'
        """)
    case 8:
      let name = try AnyRecordName("P|~|\(key())")
      let isHidden = try store.capturedSnapshot { reader in
        try reader.catalog.kind(of: "P").flatMap { try reader.record(hidden: name, $0) } != nil
      }
      guard isHidden else { break }
      do {
        try store.restore(name)
      } catch let error as StoreError where error.code == .purged {}
    default:
      let other = stores[random.below(stores.count)]
      if other !== store { try store.apply(try other.delta(since: try store.vector)) }
    }
    let vector = try store.vector
    if vectors.last != vector { vectors.append(vector) }
  }
}
