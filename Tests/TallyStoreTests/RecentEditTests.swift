import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyTesting
import TallyWire
import Testing

@testable import TallyStore

/// A delta that takes recent edits from memory has the same bytes as one that is read from the file.
///
/// In builds for tests a store compares each edit that it takes from there with the record's state, and ends the
/// process if they differ.
@Suite struct RecentEditTests {
  let scratch: Scratch
  let store: Store
  let peer: Store
  /// The same file through a store that only reads, and so has nothing in memory.
  let witness: Store
  /// Before any edit.
  let base: StateVector

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("a")
    peer = try scratch.store("b")
    try store.write { db in
      for number in 1...Self.count {
        try Game(id: RecordName(key: Self.key(number)), name: "Chess", rating: 1).insert(db)
      }
      try db.execute(sql: "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|1', 'Ann')")
    }
    try peer.apply(try store.delta())
    var options = StoreOptions()
    options.isReadOnly = true
    witness = try Store(existing: store.path, options: options)
    base = try store.vector
  }

  /// More than a `DeltaBuffer` keeps.
  private static let count = 40
  private static func key(_ number: Int) -> String { String(format: "00000000-0000-4000-8000-%012d", number) }

  private func change(_ sql: String...) throws {
    try store.write { db in for statement in sql { try db.execute(sql: statement) } }
  }

  /// Expects that a delta takes so many records from memory; none where triggers capture, which is the long way.
  private func expectKept(
    _ count: Int, since base: StateVector, of other: Store? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let expected = store.options.usesHook && ChangeRecorder.isAvailable ? count : 0
    #expect(try kept(since: base, of: other ?? store) == expected, sourceLocation: sourceLocation)
  }

  private func kept(since base: StateVector, of store: Store) throws -> Int {
    try store.snapshot { reader in
      let kind = try #require(reader.catalog.kind(of: "SBGame"))
      guard let log = store.edits(reader, try reader.vector(), try reader.fingerprint()) else { return 0 }
      return try (1...Self.count).count { number in
        guard case .uuid(let high, let low) = RecordKey(try AnyRecordName("SBGame|~|\(Self.key(number))")) else {
          return false
        }
        return log.edit(high, low, kind, beyond: base) != nil
      }
    }
  }

  private func expectAsInFile(since bases: StateVector..., sourceLocation: SourceLocation = #_sourceLocation) throws {
    for base in bases {
      #expect(try store.delta(since: base) == witness.delta(since: base), sourceLocation: sourceLocation)
    }
    try peer.apply(try store.delta(since: base))
    #expect(try peer.summary().fingerprint == store.summary().fingerprint, sourceLocation: sourceLocation)
  }

  @Test func editsOfSeveralTransactionsAreKept() throws {
    try change("UPDATE SBGame SET rating = 2 WHERE rowid <= 20")
    let between = try store.vector
    try change("UPDATE SBGame SET name = 'Go', isTeam = 1, icon = x'00' WHERE rowid > 20 AND rowid <= 35")
    try change("UPDATE SBGame SET name = NULL, rating = -0.0 WHERE rowid > 35")
    try expectKept(Self.count, since: base)
    try expectKept(20, since: between)
    try expectKept(0, since: store.vector)
    try expectAsInFile(since: base, between, StateVector())
  }

  /// The rest of a record is of transactions that not everybody has.
  @Test func whoeverLacksMoreOfARecordGetsItFromTheFile() throws {
    try change("UPDATE SBGame SET rating = 2")
    try expectKept(0, since: StateVector())
    let between = try store.vector
    try change("UPDATE SBGame SET name = 'Go' WHERE rowid <= 20")
    try expectKept(20, since: base)
    try expectKept(20, since: between)
    // The same field once more replaces the first edit, of which a touch stays or nothing.
    try change("UPDATE SBGame SET rating = 3")
    try expectAsInFile(since: base, between, StateVector())
  }

  @Test(arguments: [
    "DELETE FROM SBGame WHERE rowid <= 5", "REPLACE INTO SBGame(id, name) SELECT id, 'x' FROM SBGame WHERE rowid <= 5",
    "UPDATE SBGame SET author = 'SBPerson|~|1' WHERE rowid <= 5",
    "UPDATE SBGame SET id = 'SBGame|~|other ' || rowid WHERE rowid <= 5",
  ])
  func anotherChangeOfARecordIsNoticed(sql: String) throws {
    try change("UPDATE SBGame SET rating = 2")
    let between = try store.vector
    try expectKept(Self.count, since: base)
    try change(sql)
    try expectKept(Self.count - 5, since: base)
    try expectAsInFile(since: base, between)
  }

  /// Within one transaction, and where the store itself writes amid it.
  @Test func theLastChangeOfATransactionCounts() throws {
    try change("UPDATE SBGame SET rating = 2", "UPDATE SBGame SET rating = 3", "DELETE FROM SBGame WHERE rowid <= 3")
    try expectKept(Self.count - 3, since: base)
    try expectAsInFile(since: base)
    try store.write { db in
      try db.execute(sql: "UPDATE SBGame SET rating = 4")
      try store.dismiss(db, store.conflicts(db))
      try db.execute(sql: "UPDATE SBGame SET name = 'Go' WHERE rowid <= 10")
    }
    try expectAsInFile(since: base)
  }

  @Test func whatAPeerHasChangedIsNoticed() throws {
    try change("UPDATE SBGame SET rating = 2")
    try peer.write { try $0.execute(sql: "UPDATE SBGame SET rating = 7, name = 'Go' WHERE rowid <= 5") }
    try peer.write { try $0.execute(sql: "DELETE FROM SBGame WHERE rowid BETWEEN 6 AND 8") }
    try store.apply(try peer.delta(since: base))
    try expectKept(Self.count - 8, since: base)
    try expectAsInFile(since: base, peer.vector)
  }

  /// After edits of received records, a delta for a peer that lacks those records is read from the file.
  @Test func editsOfReceivedRecords() throws {
    try change("UPDATE SBGame SET rating = 2")
    try peer.apply(try store.delta(since: base))
    try peer.write { try $0.execute(sql: "UPDATE SBGame SET name = 'Go'") }
    try expectKept(0, since: base, of: peer)
    try expectKept(Self.count, since: store.vector, of: peer)
    try store.apply(try peer.delta(since: store.vector))
    #expect(try peer.summary().fingerprint == store.summary().fingerprint)
  }

  /// A failed transaction adds nothing to a delta, and the edits recorded before it stay available.
  @Test func aTransactionThatFails() throws {
    try change("UPDATE SBGame SET rating = 2")
    #expect(throws: DatabaseError.self) { try change("UPDATE SBGame SET name = 'Lost' WHERE rowid < 9", "not SQL") }
    #expect(throws: StoreError.self) { try change("UPDATE SBGame SET rating = 9, author = 'SBPerson|~|none'") }
    #expect(throws: DatabaseError.self) { try change("DELETE FROM SBGame", "not SQL") }
    try expectAsInFile(since: base)
    try change("UPDATE SBGame SET name = 'Go' WHERE rowid = 1")
    try expectKept(Self.count - 1, since: base)
    try expectAsInFile(since: base)
  }

  /// Other programs and other stores write to the file; then nothing is known any more.
  @Test func whatOthersWriteIsNoticed() throws {
    let (other, plain) = (try scratch.store("a"), try DatabaseQueue(path: store.path))
    let writes: [() throws -> Void] = [
      { try other.write { try $0.execute(sql: "UPDATE SBGame SET rating = rating + 1 WHERE rowid = 1") } },
      { try plain.write { try $0.execute(sql: "UPDATE SBGame SET rating = rating + 1 WHERE rowid = 1") } },
      { try store.writeWithoutTransaction { try $0.execute(sql: "UPDATE SBGame SET rating = 8 WHERE rowid = 1") } },
      { try other.apply(try peer.delta(), isRepair: true) },
    ]
    for (number, write) in writes.enumerated() {
      let before = try store.vector
      try change("UPDATE SBGame SET name = 'Go \(number)'")
      try expectKept(Self.count, since: before)
      try write()
      try expectAsInFile(since: base, before)
      try change("UPDATE SBGame SET isTeam = NOT coalesce(isTeam, 0) WHERE rowid <= 3")
      try expectAsInFile(since: base, before)
    }
  }

  /// A record that hides since its owner was deleted goes into a block as the file has it, also where blocks end by
  /// their size.
  @Test func aRecordThatHidesIsReadFromTheFile() throws {
    let schema = Schema([
      EntitySchema(type: "P", fields: [.init("name", .text)], deleteWins: true),
      EntitySchema("G", .text("name"), .reference("owner", to: "P", onDelete: .cascade)),
    ])
    let (store, peer) = (try scratch.store("g", schema: schema), try scratch.store("h", schema: schema))
    try store.write { try $0.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|1', 'Ann')") }
    try peer.apply(try store.delta())
    let count = 3400
    try store.write { db in
      for number in 0..<count {
        let id = "G|~|" + String(format: "00000000-0000-4000-8000-%012d", number)
        try db.execute(sql: "INSERT INTO G(id, name, owner) VALUES(?, 'n', 'P|~|1')", arguments: [id])
      }
    }
    let base = try store.vector
    try store.write { db in
      try db.execute(sql: "UPDATE G SET name = ?", arguments: [String(repeating: "x", count: 300)])
    }
    try peer.write { try $0.execute(sql: "DELETE FROM P") }
    try store.apply(try peer.delta())
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM G") } == 0)
    var options = StoreOptions()
    options.isReadOnly = true
    let witness = try Store(existing: store.path, options: options)
    #expect(try store.delta(since: base) == witness.delta(since: base))
  }

  /// A column that is new to the schema changes the order on the wire.
  @Test func aNewSchemaForgets() throws {
    try change("UPDATE SBGame SET rating = 2")
    try store.write { try $0.execute(sql: "CREATE INDEX byRating ON SBGame(rating)") }
    try expectKept(0, since: base)
    try expectAsInFile(since: base)
  }

  // MARK: Limits

  /// A record whose rest is of many transactions would need much room, and is read.
  @Test func aRecordOfManyTransactionsIsReadFromTheFile() throws {
    let names = (0..<12).map { "f\($0)" }
    let schema = Schema([EntitySchema(type: "W", fields: names.map { .init($0, .integer) })])
    let store = try scratch.store("w", schema: schema)
    let key = "00000000-0000-4000-8000-000000000001"
    try store.write { try $0.execute(sql: "INSERT INTO W(id) VALUES('W|~|\(key)')") }
    for (number, name) in names.enumerated() {
      let base = try store.vector
      try store.write { try $0.execute(sql: "UPDATE W SET \(name) = 1") }
      let isKept = try store.snapshot { reader in
        let kind = try #require(reader.catalog.kind(of: "W"))
        guard case .uuid(let high, let low) = RecordKey(try AnyRecordName("W|~|\(key)")) else { return false }
        let log = store.edits(reader, try reader.vector(), try reader.fingerprint())
        return log?.edit(high, low, kind, beyond: base) != nil
      }
      #expect(isKept == (number < 8 && store.options.usesHook), "\(number)")
    }
  }

  /// An edit of large values is read from the file.
  @Test func largeEditsAreNotKept() throws {
    let long = String(repeating: "x", count: 2000)
    try change("UPDATE SBGame SET name = '\(long)' WHERE rowid = 1", "UPDATE SBGame SET rating = 2 WHERE rowid > 1")
    try expectKept(Self.count - 1, since: base)
    try expectAsInFile(since: base)
  }

  /// Without anybody who asks, memory is bounded, and nothing is kept any more. With the next delta it begins again.
  @Test func whoeverGivesNothingAwayKeepsNothing() throws {
    let (kind, version) = try store.snapshot { reader in
      (try #require(reader.catalog.kind(of: "SBGame")), reader.catalog.version)
    }
    let replica = ReplicaID(high: 1, low: 1)
    let stamp = Stamp(time: HybridTime(milliseconds: 1), dot: Dot(replica: replica, sequence: 1))
    let place = try #require(kind.columns.firstIndex { $0.name == "rating" })
    let (edits, content) = (RecentEdits(), EditLog.Content(vector: StateVector(), fingerprint: Fingerprint()))
    var sequence: UInt64 = 1
    func note(_ keys: some Sequence<UInt64>) throws -> Stamp {
      edits.begin(content, version)
      sequence += 1
      let new = Stamp(
        time: HybridTime(milliseconds: sequence), dot: Dot(replica: replica, sequence: sequence))
      var state = StampedState(inserted: stamp, StateSum())
      state.set(kind.columns[place].field, to: new, over: stamp)
      for key in keys {
        edits.note(.uuid(high: key, low: 1), kind, new, [RowChange(place: place, old: .null, new: .integer(2))], state)
      }
      edits.commit(content, version)
      return new
    }
    var given = StateVector()
    given.include(stamp.dot)
    func isKept(_ key: UInt64) -> Bool { edits.edits(of: content, version)?.edit(key, 1, kind, beyond: given) != nil }

    // One record again and again needs little room.
    for _ in 0..<40 { _ = try note(Array(repeating: 7, count: 1000)) }
    #expect(isKept(7))
    // What was given away goes first.
    let last = try note(0..<6000)
    #expect(isKept(5999))
    var told = StateVector()
    told.include(last.dot)
    edits.noteTold(told)
    _ = try note(10_000..<16_000)
    _ = try note(20_000..<28_000)
    #expect(isKept(10_000) && isKept(27_999) && !isKept(5999))
    _ = try note(30_000..<50_000)
    #expect(!isKept(0) && !isKept(10_000) && !isKept(49_999))
    _ = try note(60_000..<60_010)
    #expect(!isKept(60_000))
    edits.noteTold(told)
    _ = try note(60_000..<60_010)
    #expect(isKept(60_000) && !isKept(49_999))
    // More at once than there is room for.
    _ = try note(100_000..<140_000)
    #expect(!isKept(60_000) && !isKept(139_999))
  }
}
