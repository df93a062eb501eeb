import Foundation
import GRDB
import Tally
import TallyCRDT
import TallySchema
import TallyStore
import TallySync
import Testing

/// Members in an order on several devices, and what other programs and the disk do to it.
@Suite(.serialized) struct OrderedSyncTests: OrderedSongs {
  let scratch: Scratch
  let list: RecordName<ORList>

  init() throws {
    scratch = try Scratch()
    list = try RecordName(key: "list")
  }

  // MARK: Several devices

  @Test func whatTwoDevicesInsertAtOnePlaceStaysTogether() throws {
    let here = try filled(store())
    try append("az", to: here)
    let there = try other(here)
    try here.write { db in
      for (key, before) in zip(["b", "c", "d"], ["a", "b", "c"]) {
        try ORList.songs.insert(db, try id(key), to: list, at: .after(try id(before)))
      }
    }
    for (key, next) in zip(["n", "m", "l"], ["z", "n", "m"]) {
      try there.write { db in try ORList.songs.insert(db, try id(key), to: list, at: .before(try id(next))) }
    }
    try here.sync(with: there)
    try expectConverged(here, there)
    #expect(try ["abcdlmnz", "almnbcdz"].contains(order(here)))
    #expect(try order(there) == order(here))
  }

  @Test func aMemberThatTwoDevicesMoveIsThereOnce() throws {
    let here = try filled(store())
    try append("abcd", to: here)
    let there = try other(here)
    try move("a", .last, in: here)
    try move("a", .after(try id("b")), in: there)
    try here.sync(with: there)
    try expectConverged(here, there)
    #expect(try ["bcda", "bacd"].contains(order(here)))
    #expect(try order(there) == order(here))
  }

  @Test func aMoveIsNoEditAndRevivesNothing() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let there = try other(here)
    // The member, the song and the list.
    try run(here, "DELETE FROM ORList_songs WHERE target = 'ORSong|~|a'")
    try run(here, "DELETE FROM ORSong WHERE id = 'ORSong|~|b'")
    for key in ["a", "b"] { try move(key, .last, in: there) }
    try here.sync(with: there)
    try expectConverged(here, there)
    #expect(try order(here) == "c")
    #expect(try here.read { try ORSong.fetchCount($0) } == 25)
    try run(here, "DELETE FROM ORList")
    try move("c", .first, in: there)
    try here.sync(with: there)
    try expectConverged(here, there)
    #expect(try there.read { try ORList.fetchCount($0) } == 0)
    #expect(try (here.conflicts() + there.conflicts()).isEmpty)
  }

  @Test func aPlaceOutlastsTheRecordsAtBothEnds() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let there = try other(here)
    try move("a", .last, in: here)
    try here.sync(with: there)
    try run(here, "DELETE FROM ORSong WHERE id = 'ORSong|~|a'")
    try here.sync(with: there)
    #expect(try order(there) == "bc")
    try there.restore(try id("a").name)
    try there.sync(with: here)
    try expectConverged(here, there)
    #expect(try order(here) == "bca")
  }

  @Test func aMoveOfWhatIsHiddenElsewhereShowsWhenItComesBack() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let there = try other(here)
    try run(here, "DELETE FROM ORSong WHERE id = 'ORSong|~|a'")
    try move("a", .last, in: there)
    try run(there, "UPDATE ORSong SET title = 'again' WHERE id = 'ORSong|~|a'")
    try here.sync(with: there)
    try expectConverged(here, there)
    #expect(try order(here) == "bca")
    #expect(try order(there) == "bca")
  }

  @Test func aMoveThatArrivesMovesTheRow() throws {
    let here = try filled(store())
    try append("abcd", to: here)
    let there = try other(here)
    for key in ["a", "c", "b"] {
      try move(key, .first, in: here)
      try there.apply(here.delta(since: there.vector))
      #expect(try order(there) == order(here))
      try expectConverged(here, there)
    }
    // A delta of everything, of places that are older than their tags and later.
    try append("e", to: there)
    let newcomer = try store("c.tally")
    try newcomer.apply(there.delta(since: StateVector()))
    #expect(try order(newcomer) == "bcade")
    try expectConverged(there, newcomer)
  }

  @Test func anAddAndAMoveFromElsewhereJoin() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let there = try other(here)
    try run(here, "DELETE FROM ORList_songs WHERE target = 'ORSong|~|a'")
    try run(here, "INSERT INTO ORList_songs(source, target, position) VALUES(?, 'ORSong|~|a', x'01')", [list])
    try move("a", .last, in: there)
    try here.sync(with: there)
    try expectConverged(here, there)
    #expect(try order(here) == order(there))
    #expect(try order(here).count == 3)
  }

  // MARK: Other connections and triggers

  @Test func whatAnotherProgramWritesIsCaptured() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let there = try other(here)
    let file = try DatabaseQueue(path: scratch.path("a.tally"))
    try file.write { db in
      try db.execute(sql: "INSERT INTO ORList_songs(source, target) VALUES('ORList|~|list', 'ORSong|~|x')")
      try db.execute(sql: "UPDATE ORList_songs SET position = x'01' WHERE target = 'ORSong|~|c'")
      try db.execute(sql: "DELETE FROM ORList_songs WHERE target = 'ORSong|~|b'")
    }
    try here.sync(with: there)
    #expect(try order(there) == "cax")
    try file.write { db in
      try db.execute(sql: "UPDATE ORList_songs SET position = zeroblob(600) WHERE target = 'ORSong|~|c'")
      try db.execute(sql: "REPLACE INTO ORList_songs(source, target) VALUES('ORList|~|list', 'ORSong|~|a')")
    }
    try here.sync(with: there)
    #expect(try order(there) == "cax")
    #expect(try order(here) == "cax")
    try expectConverged(here, there)
  }

  @Test func triggersCaptureAsTheHookDoes() throws {
    var options = StoreOptions()
    options.usesHook = false
    let here = try filled(store(options: options))
    try append("abcd", to: here)
    try move("a", .last, in: here)
    try run(here, "REPLACE INTO ORList_songs(source, target) VALUES(?, 'ORSong|~|b')", [list])
    try run(here, "DELETE FROM ORList_songs WHERE target = 'ORSong|~|c'")
    #expect(try order(here) == "bda")
    let there = try other(here, options: options)
    try move("d", .first, in: there)
    try here.sync(with: there)
    #expect(try order(here) == "dba")
    try expectConverged(here, there)
  }

  @Test func aTriggerOfTheAppsMovesMembersToo() throws {
    let here = try filled(store())
    try append("ab", to: here)
    try run(
      here,
      """
      CREATE TRIGGER front AFTER UPDATE OF title ON ORSong BEGIN
        UPDATE ORList_songs SET position = tally_first(source) WHERE target = NEW.id;
      END
      """)
    try run(here, "UPDATE ORSong SET title = 'now' WHERE id = 'ORSong|~|b'")
    #expect(try order(here) == "ba")
    try expectConverged(here)
  }

  @Test func aMoveThatSQLiteRefusesIsSetAsideAndComesLater() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let there = try other(here)
    try run(
      there,
      """
      CREATE TRIGGER fixed BEFORE UPDATE OF position ON ORList_songs BEGIN SELECT RAISE(ABORT, 'fixed'); END
      """)
    try move("a", .last, in: here)
    try there.sync(with: here)
    #expect(try order(there) == "abc")
    #expect(try there.status().setAside.count == 1)
    #expect(try here.summary().fingerprint == there.summary().fingerprint)
    try run(there, "DROP TRIGGER fixed")
    try run(there, "UPDATE ORSong SET title = 'x' WHERE id = 'ORSong|~|z'")
    #expect(try order(there) == "bca")
    #expect(try there.status().setAside.isEmpty)
    try here.sync(with: there)
    try expectConverged(here, there)
  }

  @Test func aRolledBackSavepointMovesNothing() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let before = try here.summary()
    try here.write { db in
      try db.inSavepoint {
        try ORList.songs.move(db, try id("a"), of: list, to: .last)
        return .rollback
      }
    }
    #expect(try order(here) == "abc")
    #expect(try here.summary() == before)
  }

  // MARK: Damage

  @Test func aPositionThatTheDiskHasChangedIsNoticedAndHeals() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let there = try other(here)
    try move("b", .last, in: here)
    try here.sync(with: there)
    try there.close()
    let file = try DatabaseQueue(path: scratch.path("b.tally"))
    try file.writeWithoutTransaction { db in
      try db.execute(sql: "UPDATE tally_zone SET hooked = 1")
      try db.execute(sql: "UPDATE ORList_songs SET position = x'05' WHERE target = 'ORSong|~|a'")
      try db.execute(sql: "UPDATE tally_zone SET hooked = 0")
    }
    try file.close()
    let damaged = try store("b.tally")
    #expect(try damaged.verify().problems != [])
    try damaged.sync(with: here)
    try expectConverged(here, damaged)
    #expect(try order(damaged) == "acb")
  }

  @Test func aRebuiltTableKeepsItsOrderAndAChangeOfItIsAMove() throws {
    let here = try filled(store())
    try append("abc", to: here)
    let there = try other(here)
    try here.close()
    let file = try DatabaseQueue(path: scratch.path("a.tally"))
    try file.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA foreign_keys = OFF;
          BEGIN;
          CREATE TABLE new(
            source TEXT NOT NULL REFERENCES ORList(id) DEFERRABLE INITIALLY DEFERRED,
            target TEXT NOT NULL REFERENCES ORSong(id) DEFERRABLE INITIALLY DEFERRED,
            position BLOB NOT NULL DEFAULT x'', tally_clock BLOB NOT NULL DEFAULT x'000000000000000000000000000000',
            PRIMARY KEY(source, target)) STRICT;
          INSERT INTO new SELECT source, target, CASE target WHEN 'ORSong|~|c' THEN x'01' ELSE position END, tally_clock
            FROM ORList_songs;
          DROP TABLE ORList_songs;
          ALTER TABLE new RENAME TO ORList_songs;
          COMMIT;
          """)
    }
    try file.close()
    let store = try store()
    #expect(try order(store) == "cab")
    try store.sync(with: there)
    #expect(try order(there) == "cab")
    try expectConverged(store, there)
  }

  @Test func aTableWithoutPositionsIsRefused() throws {
    try filled(store()).close()
    let file = try DatabaseQueue(path: scratch.path("a.tally"))
    try file.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA foreign_keys = OFF;
          DROP TABLE ORList_songs;
          CREATE TABLE ORList_songs(source TEXT NOT NULL, target TEXT NOT NULL,
            tally_clock BLOB NOT NULL DEFAULT x'000000000000000000000000000000', PRIMARY KEY(source, target));
          """)
    }
    try file.close()
    let error = #expect(throws: StoreError.self) { try store() }
    #expect(error?.code == .incompatibleTable)
    #expect(error?.message.contains("position") == true)
  }

  // MARK: Bytes

  /// The bytes of the blocks of what a store has done since, without the header, which lists replicas.
  private func size(of store: Store, since base: StateVector) throws -> Int {
    let (header, blocks) = try store.blocks(since: base)
    return blocks.map { $0.encoded(replicas: header.target.entries.map(\.replica)).count }.reduce(0, +)
  }

  /// A move takes 80 bytes, an appended member 12 beside its name, of which a UUID's 16 bytes are not said twice.
  @Test func aMoveAndAppendedMembersAreSmall() throws {
    let store = try store()
    let (list, songs) = (RecordName<ORList>(), (0..<1000).map { _ in RecordName<ORSong>() })
    try store.write { db in
      try ORList(id: list, title: "List").insert(db)
      for song in songs { try ORSong(id: song, title: "song").insert(db) }
    }
    var base = try store.vector
    try store.write { db in
      for song in songs { try ORList.songs.insert(db, song, to: list) }
    }
    #expect(try size(of: store, since: base) <= songs.count * (12 + 16))
    base = try store.vector
    try store.write { db in try ORList.songs.move(db, songs[500], of: list, to: .first) }
    #expect(try size(of: store, since: base) <= 80)
  }
}
