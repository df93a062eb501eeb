import Foundation
import GRDB
import Tally
import TallyCRDT
import TallySchema
import TallyStore
import TallySync
import Testing

/// Members of a relationship in an order that people give them.
@Suite(.serialized) struct OrderedRelationshipTests: OrderedSongs {
  let scratch: Scratch
  let list: RecordName<ORList>

  init() throws {
    scratch = try Scratch()
    list = try RecordName(key: "list")
  }

  // MARK: One device

  @Test func membersStandWhereTheyArePut() throws {
    let store = try filled(store())
    try store.write { db in
      for key in ["a", "b", "c"] { try ORList.songs.insert(db, try id(key), to: list) }
      try ORList.songs.insert(db, try id("d"), to: list, at: .first)
    }
    #expect(try order(store) == "dabc")
    try store.write { db in
      try ORList.songs.insert(db, try id("e"), to: list, at: .before(try id("b")))
      try ORList.songs.insert(db, try id("f"), to: list, at: .after(try id("b")))
      try ORList.songs.insert(db, try id("g"), to: list, at: .index(1))
      try ORList.songs.insert(db, try id("h"), to: list, at: .last)
      // A member moves.
      try ORList.songs.insert(db, try id("d"), to: list, at: .last)
    }
    #expect(try order(store) == "gaebfchd")
    try move("d", .first, in: store)
    try move("a", .index(99), in: store)
    #expect(try order(store) == "dgebfcha")
    #expect(try store.read { try ORList.songs.members($0, of: list) }.count == 8)
    try expectConverged(store)
  }

  @Test func plainSQLAppendsInTheOrderOfItsRows() throws {
    let store = try filled(store())
    try append("zyx", to: store)
    try append("abc", to: store)
    #expect(try order(store) == "zyxabc")
    #expect(try positions(store).values.allSatisfy { $0.count == 7 })
    try expectConverged(store)
  }

  @Test func replaceKeepsThePlace() throws {
    let store = try filled(store())
    try append("abc", to: store)
    let before = try positions(store)
    try run(store, "REPLACE INTO ORList_songs(source, target) VALUES(?, ?)", [list, try id("a")])
    #expect(try positions(store) == before)
    try run(store, "UPDATE ORList_songs SET position = x'' WHERE target = ?", [try id("b")])
    #expect(try positions(store) == before)
    try store.write { db in
      try db.execute(sql: "DELETE FROM ORList_songs WHERE target = ?", arguments: [try id("c")])
      try db.execute(sql: "INSERT INTO ORList_songs(source, target) VALUES(?, ?)", arguments: [list, try id("c")])
    }
    #expect(try positions(store) == before)
    try expectConverged(store)
  }

  @Test func aMemberThatComesBackGoesBehindAllOthers() throws {
    let store = try filled(store())
    try append("abc", to: store)
    try run(store, "DELETE FROM ORList_songs WHERE target = ?", [try id("a")])
    #expect(try order(store) == "bc")
    try append("a", to: store)
    #expect(try order(store) == "bca")
    try expectConverged(store)
  }

  @Test func sqlMovesWithTheFunctions() throws {
    let store = try filled(store())
    try append("abc", to: store)
    try run(store, "UPDATE ORList_songs SET position = tally_last(source) WHERE target = ?", [try id("a")])
    #expect(try order(store) == "bca")
    try run(
      store, "UPDATE ORList_songs SET position = tally_first(source, 'ORList_songs') WHERE target = ?", [try id("a")])
    #expect(try order(store) == "abc")
    try run(
      store,
      """
      UPDATE ORList_songs SET position = tally_between(
        (SELECT position FROM ORList_songs WHERE target = 'ORSong|~|b'),
        (SELECT position FROM ORList_songs WHERE target = 'ORSong|~|c')) WHERE target = 'ORSong|~|a'
      """)
    #expect(try order(store) == "bac")
    try expectConverged(store)
  }

  @Test func positionsOfOtherProgramsOrderAsBytes() throws {
    let store = try filled(store())
    try append("abc", to: store)
    try run(store, "UPDATE ORList_songs SET position = x'01' WHERE target = 'ORSong|~|c'")
    try run(store, "UPDATE ORList_songs SET position = x'FFFF' WHERE target = 'ORSong|~|a'")
    try append("d", to: store)
    #expect(try order(store) == "cbad")
    try expectConverged(store)
  }

  @Test func whatIsNoPositionIsRefusedAndNothingChanges() throws {
    let store = try filled(store())
    try append("ab", to: store)
    let summary = try store.summary()
    let error = #expect(throws: StoreError.self) {
      try run(store, "UPDATE ORList_songs SET position = zeroblob(513) WHERE target = 'ORSong|~|a'")
    }
    #expect(error?.code == .typeMismatch)
    #expect(throws: (any Error).self) { try run(store, "UPDATE ORList_songs SET position = 'text'") }
    #expect(try store.summary() == summary)
    try expectConverged(store)
  }

  @Test func anOrderThatIsSetMovesAsFewAsItTakes() throws {
    let store = try filled(store())
    try append("abcde", to: store)
    let before = try positions(store)
    try store.write { db in try ORList.songs.setOrder(db, ["b", "c", "x", "d", "a", "e"].map(id), of: list) }
    #expect(try order(store) == "bcdae")
    #expect(try positions(store).filter { before[$0.key] != $0.value }.keys.sorted() == ["ORSong|~|a"])
    try expectConverged(store)
  }

  @Test func whereThereIsNoRoomTheErrorSaysSoAndAnOrderHelps() throws {
    let store = try filled(store())
    try append("ab", to: store)
    let deep = Data(repeating: 1, count: 512)
    try run(store, "UPDATE ORList_songs SET position = ? WHERE target = 'ORSong|~|a'", [deep])
    try run(store, "UPDATE ORList_songs SET position = ? WHERE target = 'ORSong|~|b'", [deep.dropLast() + [2]])
    let summary = try store.summary()
    let error = #expect(throws: StoreError.self) {
      try store.write { db in try ORList.songs.insert(db, try id("c"), to: list, at: .index(1)) }
    }
    #expect(error?.code == .positionTooDeep)
    #expect(try store.summary() == summary)
    try store.write { db in
      try ORList.songs.setOrder(db, ["b", "a"].map(id), of: list)
      try ORList.songs.insert(db, try id("c"), to: list, at: .index(1))
    }
    #expect(try order(store) == "bca")
    try expectConverged(store)
  }

  /// Positions of other programs may leave no room behind them: then the list gets others.
  @Test(arguments: CapturePath.allCases) func thereIsAlwaysAPlaceBehindAllOthers(_ path: CapturePath) throws {
    let deep = [
      Data(repeating: 1, count: 512), Data(repeating: 0xFE, count: 512), Data(repeating: 0xFF, count: 512),
      Data(repeating: 0xFF, count: 511), Data(repeating: 0xFF, count: 6) + Data(repeating: 0x80, count: 506),
      Data(repeating: 0xFF, count: 300) + Data(repeating: 0, count: 212),
    ]
    for (number, position) in deep.enumerated() {
      let options = Lab.options(path)
      let store = try filled(self.store("\(path)\(number)", options: options))
      let peer = try other(store, "\(path)\(number) peer", options: options)
      try append("ab", to: peer)
      try run(peer, "UPDATE ORList_songs SET position = ? WHERE target = 'ORSong|~|b'", [position])
      try store.sync(with: peer)
      let before = try order(store)
      try append("c", to: store)
      #expect(try order(store) == before + "c", "\(number)")
      try append("d", to: store)
      try store.write { db in try ORList.songs.insert(db, try id("e"), to: list, at: .last) }
      #expect(try order(store) == before + "cde", "\(number)")
      try store.sync(with: peer)
      #expect(try order(peer) == before + "cde", "\(number)")
      try expectConverged(store, peer)
    }
  }

  @Test func whereThereIsNoRoomAtTheEndAnOrderMakesSome() throws {
    let store = try filled(store())
    try append("ab", to: store)
    for (position, place, end) in [
      (Data(repeating: 0xFF, count: 512), ListPlace<RecordName<ORSong>>.last, "b"), (Data([0]), .first, "a"),
    ] {
      try run(store, "UPDATE ORList_songs SET position = ? WHERE target = ?", [position, try id(end)])
      let summary = try store.summary()
      let error = #expect(throws: StoreError.self) {
        try store.write { db in try ORList.songs.insert(db, try id("c"), to: list, at: place) }
      }
      #expect(error?.code == .positionTooDeep && error?.message.contains("setOrder") == true)
      #expect(try store.summary() == summary)
      try store.write { db in
        try ORList.songs.setOrder(db, ["a", "b"].map(id), of: list)
        try ORList.songs.insert(db, try id("c"), to: list, at: place)
      }
      #expect(try order(store) == (end == "b" ? "abc" : "cab"))
      try run(store, "DELETE FROM ORList_songs WHERE target = 'ORSong|~|c'")
    }
    try expectConverged(store)
  }

  @Test func aPlaceInAnUnorderedRelationshipIsRefused() throws {
    let store = try scratch.store()
    let (game, ann) = (Game(name: "Chess"), Person(name: "Ann"))
    try store.write { db in
      try ann.insert(db)
      try game.insert(db)
    }
    for body in [
      { db in try Game.players.insert(db, ann.id, to: game.id, at: .last) },
      { db in try Game.players.setOrder(db, [], of: game.id) },
    ] as [(Database) throws -> Void] {
      let error = #expect(throws: StoreError.self) { try store.write(body) }
      #expect(error?.code == .invalidSchema)
    }
    #expect(try store.read { try Game.players.ordered($0, of: game.id) } == [])
  }

  // MARK: From before the order

  @Test func membersFromBeforeTheOrderComeFirstByNameAndGetPlacesWithTheNextOne() throws {
    let old = try filled(store("a.tally", plainSongs))
    try append("cab", to: old)
    try old.close()
    let store = try store()
    #expect(try order(store) == "abc")
    #expect(try positions(store).values.allSatisfy(\.isEmpty))
    try expectConverged(store)
    try append("x", to: store)
    #expect(try order(store) == "abcx")
    #expect(try positions(store).values.allSatisfy { $0.count == 7 })
    try expectConverged(store)
  }

  @Test func anInsertBeforeMembersWithoutAPlaceStandsThere() throws {
    let old = try filled(store("a.tally", plainSongs))
    try append("cab", to: old)
    try old.close()
    let store = try store()
    try store.write { db in try ORList.songs.insert(db, try id("x"), to: list, at: .after(try id("a"))) }
    #expect(try order(store) == "axbc")
    try expectConverged(store)
  }

  @Test func anAppWithoutTheOrderKeepsAndPassesOnPlaces() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let old = try store("old.tally", plainSongs)
    try old.sync(with: here)
    try expectConverged(here, old)
    try move("a", .last, in: here)
    try old.sync(with: here)
    try run(old, "INSERT INTO ORList_songs(source, target) VALUES(?, 'ORSong|~|d')", [list])
    let there = try store("b.tally")
    try there.sync(with: old)
    try expectConverged(old, there)
    #expect(try order(there) == "dbca")
    // The old app's file, opened by a new one.
    try old.close()
    let upgraded = try store("old.tally")
    #expect(try order(upgraded) == "dbca")
    try expectConverged(upgraded, there)
    try append("e", to: upgraded)
    #expect(try order(upgraded) == "dbcae")
    try here.sync(with: upgraded)
    try expectConverged(here, upgraded)
  }

  @Test func aDeltaIsOfTheOlderVersionUntilThereIsAnOrder() throws {
    let old = try filled(store("a.tally", plainSongs))
    try append("ab", to: old)
    #expect(try old.delta(since: StateVector())[2] == 2)
    try old.close()
    let store = try store()
    #expect(try store.delta(since: StateVector())[2] == 3)
  }

  // MARK: Without Swift types

  @Test func aDynamicRecordHasItsMembersInOrder() throws {
    let store = try filled(store())
    let schema = try store.schema
    try store.write { db in
      try schema.link(db, list.name, "songs", to: id("a").name)
      try schema.link(db, list.name, "songs", to: id("b").name, at: .first)
      try schema.link(db, list.name, "songs", to: id("c").name, at: .after(id("b").name))
    }
    let record = try store.read { try schema.record($0, list.name) }
    #expect(record?.links["songs"]?.map { "\($0.key)" } == ["b", "c", "a"])
    try store.write { db in try schema.link(db, list.name, "songs", to: id("b").name, at: .last) }
    #expect(try order(store) == "cab")
  }

  @Test func anOrderedRelationshipIsInTheSchemaAndStaysOrdered() throws {
    let json = String(decoding: try orderedSongs.json(), as: UTF8.self)
    #expect(json.contains(#""songs":{"ordered":true,"to":"ORSong"}"#))
    #expect(try Schema(json: Data(json.utf8))["ORList"]?.relationships.first?.isOrdered == true)
    try filled(store()).close()
    let older = try store("a.tally", plainSongs)
    #expect(try older.schema["ORList"]?.relationships.first?.isOrdered == true)
    try append("ba", to: older)
    #expect(
      try older.read { try String.fetchAll($0, sql: "SELECT target FROM ORList_songs ORDER BY position") }
        == ["ORSong|~|b", "ORSong|~|a"])
  }

  @Test func aStoreInAnotherFormatOrMemoryOrdersToo() throws {
    let store = try filled(Store(inMemory: orderedSongs))
    try append("ba", to: store)
    try move("a", .first, in: store)
    #expect(try order(store) == "ab")
    try expectConverged(store)
  }
}
