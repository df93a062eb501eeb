import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import TallyStore
import TallyWire
import Testing

/// Records that come as bytes are joined without becoming states where that is simple. Whatever is done that way must
/// leave the file as the other way does.
@Suite(.timeLimit(.minutes(30))) struct PackedJoinTests {
  private static func name(_ table: String, _ number: Int) -> String {
    "\(table)|~|386c1919-5f25-4be2-975f-5b34506c51\(String(format: "%02d", number))"
  }

  private static let (p1, p2, p3) = (name("P", 1), name("P", 2), name("P", 3))
  private static let (g1, g2, f1, f2) = (name("G", 1), name("G", 2), name("F", 1), name("F", 2))

  /// A sender with values of every kind, and references of every rule.
  private static func sender(_ more: String...) throws -> Store {
    let store = try Store(inMemory: Lab.schema)
    try store.run(
      """
      INSERT INTO P(id, name, pos, icon, at, settings) VALUES
        ('\(p1)', 'one', 1, x'00ff', '2026-01-02 03:04:05.678', '{"a": [1, 2]}'),
        ('\(p2)', '', NULL, x'', NULL, NULL), ('\(p3)', '\(p1)', 3, NULL, NULL, '""'), ('P|~|text', 'by text', 4, NULL, NULL, NULL)
      """,
      """
      INSERT INTO G(id, name, rating, owner, friend) VALUES
        ('\(g1)', 'käse' || char(0) || 'x', 1.5, '\(p1)', '\(p2)'), ('\(g2)', NULL, -0.0, '\(p3)', NULL)
      """,
      "INSERT INTO F(id, name, fav, parent) VALUES('\(f1)', 'f', 1, NULL), ('\(f2)', 'g', 0, '\(f1)')",
      "INSERT INTO G_players(source, target) VALUES('\(g1)', '\(p1)')")
    for sql in more { try store.run(sql) }
    return store
  }

  /// Everything in a store's tables but what differs from store to store, and notes, which states without a delta leave
  /// out.
  private static func image(_ store: Store) throws -> [String] {
    try store.read { db in
      let tables = try String.fetchAll(
        db,
        sql: """
          SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
          AND name NOT IN ('tally_meta', 'tally_conflict', 'tally_note') ORDER BY name
          """)
      return try tables.map { table in
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").map(\.description).sorted()
        return "\(table): \(rows)"
      }
    }
  }

  /// Applies a delta to two receivers that were prepared alike: to one as bytes, to the other as states.
  private static func expectSame(
    _ delta: [UInt8], isRepair: Bool = false, schema: Schema = Lab.schema,
    at location: SourceLocation = #_sourceLocation,
    prepare: (Store) throws -> Void = { _ in }
  ) throws {
    var options = StoreOptions()
    options.now = { Date(timeIntervalSince1970: 1_800_000_000) }
    func receiver() throws -> Store {
      var options = options
      let mint = Mint()
      options.mintReplica = { mint.next() }
      let store = try Store(inMemory: schema, options: options)
      try prepare(store)
      return store
    }
    let (short, long) = (try receiver(), try receiver())
    var reader = try DeltaReader(delta)
    var blocks: [DeltaBlock] = []
    while let block = try reader.nextBlock() { blocks.append(block) }
    let first = try short.apply(delta, isRepair: isRepair)
    let second = try long.apply(reader.header, blocks, isRepair: isRepair).value
    #expect(first.changes == second.changes && first.conflicts == second.conflicts, sourceLocation: location)
    #expect(try image(short) == image(long), sourceLocation: location)
    #expect(try short.summary() == long.summary(), sourceLocation: location)
    for store in [short, long] { #expect(try store.verify().problems == [], sourceLocation: location) }
  }

  @Test func newRecords() throws { try Self.expectSame(try Self.sender().delta()) }

  /// A repair where everything is here, and a whole delta of which most is.
  @Test func knownRecords() throws {
    let sender = try Self.sender()
    let delta = try sender.delta()
    try Self.expectSame(delta, isRepair: true) { try $0.apply(delta) }
    try sender.run("INSERT INTO P(id, name) VALUES('\(Self.name("P", 7))', 'one more')")
    try Self.expectSame(try sender.delta()) { try $0.apply(delta) }
  }

  /// Some are here, some have changed here, some were deleted here.
  @Test(arguments: [true, false]) func recordsThatAreHereOtherwise(_ isRepair: Bool) throws {
    let sender = try Self.sender()
    let delta = try sender.delta()
    try sender.run(
      "INSERT INTO P(id, name) VALUES('\(Self.name("P", 4))', 'new')",
      "UPDATE P SET name = 'changed' WHERE id = '\(Self.p2)'")
    let later = try sender.delta()
    for sql in [
      "UPDATE P SET name = 'mine' WHERE id = '\(Self.p1)'", "DELETE FROM G WHERE id = '\(Self.g1)'",
      "UPDATE P SET pos = NULL WHERE id = '\(Self.p1)'", "DELETE FROM F", "UPDATE F SET fav = 0, parent = NULL",
    ] {
      try Self.expectSame(later, isRepair: isRepair) { store in
        try store.apply(delta)
        try store.run(sql)
      }
    }
  }

  /// The receiver has records of the same names from itself.
  @Test func recordsOfTheSameName() throws {
    try Self.expectSame(try Self.sender().delta()) { store in
      try store.run(
        "INSERT INTO P(id, name, pos) VALUES('\(Self.p1)', 'mine', 7), ('\(Self.p2)', NULL, 8)",
        "DELETE FROM P WHERE id = '\(Self.p2)'")
    }
  }

  @Test func deletedAndHiddenRecords() throws {
    let sender = try Self.sender("DELETE FROM P WHERE id = '\(Self.p1)'", "DELETE FROM F WHERE id = '\(Self.f1)'")
    try Self.expectSame(try sender.delta())
    let delta = try Self.sender("DELETE FROM P WHERE id = '\(Self.p3)'").delta()
    try Self.expectSame(try Self.sender().delta()) { try $0.apply(delta) }
  }

  /// A delta from the middle brings what refers to records that are not here.
  @Test func danglingReferences() throws {
    let sender = try Store(inMemory: Lab.schema)
    try sender.run("INSERT INTO P(id, name) VALUES('\(Self.p1)', 'one')")
    let base = try sender.vector
    try sender.run(
      "INSERT INTO G(id, name, owner, friend) VALUES('\(Self.g1)', 'x', '\(Self.p1)', NULL)",
      "INSERT INTO G(id, name, owner, friend) VALUES('\(Self.g2)', 'y', NULL, '\(Self.p1)')")
    var reader = try DeltaReader(try sender.delta(since: base))
    var header = reader.header
    header.base = StateVector()
    header.fingerprint = nil
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: header) { bytes += $0 }
    while let block = try reader.nextBlock() { try writer.append(block) }
    try writer.finish()
    try Self.expectSame(bytes)
  }

  /// Triggers of the app's on the receiver, which write to other rows, to the same row, and refuse.
  @Test(arguments: [
    "CREATE TRIGGER t AFTER INSERT ON P BEGIN INSERT INTO F(id, name) VALUES('F|~|x' || hex(new.name), 'by trigger'); END",
    "CREATE TRIGGER t AFTER INSERT ON P BEGIN UPDATE P SET pos = 99 WHERE id = new.id; END",
    "CREATE TRIGGER t BEFORE INSERT ON P BEGIN INSERT INTO F(id, name) VALUES('F|~|x' || hex(new.name), 'before'); END",
    "CREATE TRIGGER t BEFORE INSERT ON P WHEN new.pos = 3 BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE TRIGGER t BEFORE INSERT ON P WHEN new.pos = 3 BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TEMP TRIGGER t AFTER INSERT ON P BEGIN UPDATE P SET pos = 98 WHERE id = new.id; END",
  ])
  func triggers(_ trigger: String) throws {
    let delta = try Self.sender().delta()
    try Self.expectSame(delta) { try $0.run(trigger) }
    try Self.expectSame(delta) { store in
      try store.run(trigger)
      try store.apply(delta)
    }
  }

  /// A unique index of the receiver's refuses one of the rows.
  @Test(arguments: [
    "CREATE UNIQUE INDEX u ON P(pos)", "CREATE UNIQUE INDEX u ON P(abs(pos))",
    "CREATE UNIQUE INDEX u ON P(pos) WHERE pos > 0",
  ])
  func rowsThatSQLiteRefuses(_ index: String) throws {
    let delta = try Self.sender().delta()
    try Self.expectSame(delta) { store in
      try store.run(index, "INSERT INTO P(id, name, pos) VALUES('\(Self.name("P", 9))', 'mine', 3)")
    }
  }

  /// The receiver knows fewer fields and types, or others by the same names.
  @Test func otherSchemas() throws {
    let delta = try Self.sender().delta()
    let older = Schema([EntitySchema("P", .text("name")), EntitySchema("F", .text("name"))])
    try Self.expectSame(delta, schema: older)
    let strict = Schema([
      EntitySchema("P", .integer("name"), .text("pos"), .text("icon"), .text("at"), .json("settings")),
      EntitySchema("G", .text("name"), .real("rating"), .reference("owner", to: "F"), .reference("friend", to: "P")),
      EntitySchema("F", .text("name")),
    ])
    try Self.expectSame(delta, schema: strict)
    let defaults = Schema([
      EntitySchema("P", .text("name", default: "one"), .integer("pos", default: 3), .text("more", default: "m")),
      EntitySchema("F", .text("name", default: "f"), .bool("fav", default: true)),
    ])
    try Self.expectSame(delta, schema: defaults)
  }

  @Test func withoutHook() throws {
    let delta = try Self.sender().delta()
    var options = StoreOptions()
    options.usesHook = false
    let store = try Store(inMemory: Lab.schema, options: options)
    try store.apply(delta)
    let other = try Store(inMemory: Lab.schema)
    try other.apply(delta)
    try expectConverged(store, other)
    try store.apply(delta, isRepair: true)
    try expectConverged(store, other)
  }

  /// What the sum of a whole delta vouches for is checked on the short way too.
  @Test func aValueThatDoesNotFitTheSumIsRefused() throws {
    let sender = try Self.sender()
    var reader = try DeltaReader(try sender.delta())
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: reader.header) { bytes += $0 }
    while var block = try reader.nextBlock() {
      for group in block.records.indices where block.records[group].type == "P" {
        for item in block.records[group].items.indices {
          block.records[group].items[item].state.fields[0].value = .text("zzz")
        }
      }
      try writer.append(block)
    }
    try writer.finish()
    let receiver = try Store(inMemory: Lab.schema)
    let error = #expect(throws: StoreError.self) { try receiver.apply(bytes) }
    #expect(error?.code == .damagedSender)
    #expect(try receiver.summary().vector.isEmpty)
  }
}

/// Ids that come in the same order for each store.
private final class Mint: Sendable {
  private let last = Mutex(UInt64(100))

  func next() -> ReplicaID {
    last.withLock { last in
      last += 1
      return ReplicaID(high: last, low: last)
    }
  }
}
