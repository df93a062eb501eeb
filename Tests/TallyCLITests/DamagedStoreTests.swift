import Foundation
import GRDB
import TallyStore
import TestEffort
import Testing

/// What the tool says of a store that the disk has damaged.
@Suite(.timeLimit(.minutes(30))) struct DamagedStoreTests {
  /// Two stores that hold the same, and then one shows another value under the same stamp.
  private func bench() throws -> Bench {
    let bench = try Bench("a", "b")
    for name in ["ann", "bob"] { try bench.done("put", "a", "SBPerson|~|\(name)", "name=\(name)") }
    try bench.done("sync", "a", "b")
    try tamper(bench, "b", "UPDATE SBPerson SET name = 'zzz' WHERE id = 'SBPerson|~|ann'")
    return bench
  }

  /// Writes as a disk does: nobody notices.
  private func tamper(_ bench: Bench, _ store: String, _ sql: String) throws {
    let queue = try DatabaseQueue(path: bench.path(store))
    try queue.writeWithoutTransaction { db in
      let triggers = try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
      for trigger in triggers { try db.execute(sql: "DROP TRIGGER \"\(trigger["name"] as String)\"") }
      try db.execute(sql: sql)
      for trigger in triggers { try db.execute(sql: trigger["sql"]) }
    }
    try queue.close()
  }

  @Test func aDamagedStoreGivesANewDeviceNothing() throws {
    let bench = try bench()
    try bench.done("new", "c", "--schema", "schema.json")
    let outcome = try bench.tally("sync", "c", "b")
    #expect(outcome.status == 65 && outcome.errors.contains("does not match its checksum"), "\(outcome.errors)")
    #expect(try bench.done("list", "c", "SBPerson").isEmpty)
    #expect(try bench.tally("delta", "b", "-o", "d").status == 65)
    #expect(try !bench.contents().contains("d"))
    #expect(try bench.done("status", "b").contains("in doubt"))
  }

  @Test func aDamagedStoreHealsAtTheNextSync() throws {
    let bench = try bench()
    #expect(try bench.tally("verify", "b").status == 65)
    #expect(try bench.tally("delta", "b", "-o", "d").status == 65)
    let output = try bench.tally("sync", "a", "b").output
    #expect(output.contains("b was damaged or in doubt") && output.contains("converged"))
    #expect(try bench.done("dump", "a") == bench.done("dump", "b"))
    #expect(try bench.done("get", "b", "SBPerson|~|ann").contains("name=ann"))
    for store in ["a", "b"] { #expect(try bench.done("verify", store).hasPrefix("ok ")) }
    #expect(try !bench.done("status", "b").contains("in doubt"))
  }

  @Test func aPeerOverAConnectionHealsItToo() throws {
    let bench = try bench()
    #expect(try bench.tally("delta", "b", "-o", "d").status == 65)
    #expect(try bench.tally("put", "b", "SBPerson|~|cid", "name=Cid").status == 0)
    let outcome = try bench.tally("sync", "b", "--via", "\(Bench.tool) serve a --stdio 2>/dev/null")
    #expect(outcome.status == 0 && outcome.output.contains("converged"), "\(outcome.errors)")
    #expect(try bench.done("dump", "a") == bench.done("dump", "b"))
    #expect(try bench.done("get", "a", "SBPerson|~|cid").contains("Cid"))
    #expect(try bench.done("get", "b", "SBPerson|~|ann").contains("name=ann"))
    #expect(try bench.done("verify", "b").hasPrefix("ok "))
  }

  /// Taken as it is, it still gives way to whoever is intact, and spreads to nobody who has something else.
  @Test func aRebuiltStoreGivesWayToAnIntactOne() throws {
    let bench = try bench()
    #expect(try bench.tally("verify", "b", "--repair").output.contains("stays in doubt"))
    let output = try bench.tally("sync", "a", "b").output
    #expect(output.contains("converged"))
    #expect(try bench.done("get", "a", "SBPerson|~|ann").contains("name=ann"))
    #expect(try bench.done("get", "b", "SBPerson|~|ann").contains("name=ann"))
    for store in ["a", "b"] { #expect(try bench.done("verify", store).hasPrefix("ok ")) }
  }

  @Test func lostTablesAreNoticedAndRebuilt() throws {
    for table in Effort.sample(["tally_wait", "tally_log", "tally_kind", "tally_field", "tally_replica"], 2) {
      let bench = try Bench("a", "b")
      try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
      try bench.done("put", "a", "SBGame|~|go", "name=Go", "owner=SBPerson|~|ann", "author=SBPerson|~|ann")
      try bench.done("delete", "a", "SBPerson|~|ann")
      try bench.done("sync", "a", "b")
      let b = try Store(existing: bench.path("b"))
      try b.flushTail()
      try b.close()
      try tamper(bench, "b", "DELETE FROM \(table)")
      #expect(try bench.tally("verify", "b").status != 0, "\(table)")
      _ = try bench.tally("verify", "b", "--repair")
      #expect(try bench.tally("sync", "a", "b").status == 0, "\(table)")
      #expect(try bench.done("verify", "b").hasPrefix("ok "), "\(table)")
      #expect(try bench.done("dump", "a") == bench.done("dump", "b"), "\(table)")
    }
  }

  /// A row that is lost leaves nothing that could be compared: what vouches is the sum of what had been seen.
  @Test func aLostRowOfAThirdDeviceIsAskedForAgain() throws {
    let bench = try Bench("a", "b", "c")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    for other in ["b", "c"] { try bench.done("sync", "a", other) }
    try bench.done("put", "c", "SBPerson|~|cid", "name=Cid")
    try bench.done("sync", "c", "b")
    try tamper(bench, "b", "DELETE FROM SBPerson WHERE id = 'SBPerson|~|cid'")
    #expect(try bench.tally("verify", "b").status == 65)
    for (one, other) in [("b", "a"), ("b", "c"), ("a", "c")] {
      #expect(try bench.tally("sync", one, other).status == 0, "\(one) \(other)")
    }
    for store in ["a", "b", "c"] {
      #expect(try bench.done("get", store, "SBPerson|~|cid").contains("name=Cid"), "\(store)")
      #expect(try bench.done("verify", store).hasPrefix("ok "), "\(store)")
    }
  }

  /// Nobody vouches for what was taken as it was found: of that only what is new counts.
  @Test func aRebuiltStoreChangesNothingThatIsHere() throws {
    let bench = try bench()
    _ = try bench.tally("verify", "b", "--repair")
    try bench.done("put", "b", "SBPerson|~|cid", "name=Cid")
    try bench.done("delta", "b", "-o", "d")
    try bench.done("apply", "a", "d")
    #expect(try bench.done("get", "a", "SBPerson|~|ann").contains("name=ann"))
    #expect(try bench.done("get", "a", "SBPerson|~|cid").contains("name=Cid"))
  }

  /// The numbers of replicas whose ids are lost are given to nobody else, whose writes theirs would become.
  @Test(arguments: ["DELETE FROM tally_replica", "DROP TABLE tally_replica"])
  func lostIdsDoNotBringBackWhatWasDeleted(_ damage: String) throws {
    let bench = try Bench("a", "b")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    try bench.done("sync", "a", "b")
    try bench.done("delete", "a", "SBPerson|~|ann")
    try tamper(bench, "b", damage)
    _ = try bench.tally("put", "b", "SBPerson|~|bob", "name=Bob")
    #expect(try bench.tally("sync", "a", "b").status == 0)
    #expect(try bench.tally("sync", "a", "b").status == 0)
    for store in ["a", "b"] {
      #expect(try bench.tally("get", store, "SBPerson|~|ann").status == 66, "\(store)")
      #expect(try bench.done("verify", store).hasPrefix("ok "), "\(store)")
    }
  }

  @Test(arguments: ["tally_zone", "tally_meta"]) func aStoreWithoutItsFirstTablesHeals(_ table: String) throws {
    let bench = try bench()
    try tamper(bench, "b", "DROP TABLE \(table)")
    let outcome = try bench.tally("sync", "a", "b")
    #expect([0, 65].contains(outcome.status), "\(outcome.errors)")
    #expect(!outcome.errors.contains("no such table"), "\(outcome.errors)")
    #expect(try bench.done("get", "a", "SBPerson|~|ann").contains("name=ann"))
  }

  /// Neither the sum nor the vector tells that anything is missing: the claim to have written it is lost as well.
  @Test func whatADeviceAloneHadOutlivesTheLossOfItsReplicaIDs() throws {
    let bench = try Bench("a", "b")
    try bench.done("put", "a", "SBPerson|~|ann", "name=ann")
    try bench.done("sync", "a", "b")
    try bench.done("put", "b", "SBPerson|~|own", "name=mine")
    try bench.done("put", "b", "SBPerson|~|ann", "name=edited")
    try tamper(bench, "b", "DELETE FROM tally_replica")
    let outcome = try bench.tally("sync", "a", "b")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let said = outcome.output + outcome.errors
    #expect(said.contains("SBPerson|~|own") && said.contains("SBPerson|~|ann"), "\(said)")
    _ = try bench.tally("sync", "a", "b")
    for store in ["a", "b"] {
      #expect(try bench.done("get", store, "SBPerson|~|own").contains("name=mine"))
      #expect(try bench.tally("verify", store).status == 0)
    }
    #expect(try bench.done("dump", "a", "--view") == bench.done("dump", "b", "--view"))
  }

  /// Taken for an empty one, it would hide all records, and the other store's state would take the place of what only
  /// this one has.
  @Test func aLostSchemaIsPutBackAndNothingIsLost() throws {
    let bench = try Bench("a", "b")
    try bench.done("put", "a", "SBPerson|~|ann", "name=ann")
    try bench.done("sync", "a", "b")
    try bench.done("put", "b", "SBPerson|~|own", "name=mine")
    try tamper(bench, "b", "DELETE FROM tally_meta WHERE key = 'schema'")
    for command in [["sync", "a", "b"], ["list", "b", "SBPerson"], ["put", "b", "SBPerson|~|other", "name=x"]] {
      try bench.refused(65, command, saying: "the schema is lost")
    }
    try bench.done("schema", "upgrade", "b", "schema.json")
    // The triggers had to be looked after again.
    #expect(try bench.tally("verify", "b").output.hasPrefix("ok "))
    #expect(try bench.tally("sync", "a", "b").status == 0)
    #expect(try bench.done("get", "a", "SBPerson|~|own").contains("name=mine"))
    #expect(try bench.done("dump", "a") == bench.done("dump", "b"))
  }

  /// One that cannot note its damage would look at itself for ever.
  @Test func aStoreThatCannotNoteItsDamageIsAnErrorAndNoLoop() throws {
    let bench = try bench()
    try bench.done("new", "c", "--schema", "schema.json")
    try bench.done("put", "c", "SBPerson|~|cid", "name=Cid")
    let queue = try DatabaseQueue(path: bench.path("b"))
    try queue.write {
      try $0.execute(
        sql:
          "CREATE TRIGGER full BEFORE INSERT ON tally_meta WHEN NEW.key = 'doubt' BEGIN SELECT RAISE(ABORT, 'full'); END"
      )
    }
    try queue.close()
    #expect(try bench.tally("sync", "c", "b").status == 65)
    #expect(try bench.tally("get", "c", "SBPerson|~|ann").status == 66)
  }

  /// What another program wrote and what cannot be replicated is its own.
  @Test func healingLeavesWhatOtherProgramsWrote() throws {
    let bench = try bench()
    let queue = try DatabaseQueue(path: bench.path("b"))
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
      try db.execute(sql: "INSERT INTO SBPerson(id, name) VALUES('no name of ours', 'kept')")
    }
    try queue.close()
    _ = try bench.tally("status", "b")
    _ = try bench.tally("verify", "b")
    _ = try bench.tally("sync", "a", "b")
    #expect(try bench.done("get", "b", "SBPerson|~|ann").contains("name=ann"))
    let reader = try DatabaseQueue(path: bench.path("b"))
    #expect(try reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM SBPerson WHERE name = 'kept'") } == 1)
    try reader.close()
  }

  @Test func recoverMakesANewStoreOfWhatCanBeRead() throws {
    let bench = try Bench("a", "b")
    let lines = (0..<2000).map {
      "{\"name\":\"SBPerson|~|p\($0)\",\"fields\":{\"name\":\"a name of some length \($0)\"}}"
    }
    try bench.write(lines.joined(separator: "\n"), to: "many.jsonl")
    try bench.done("import", "a", "many.jsonl")
    try bench.done("sync", "a", "b")
    let root = try DatabaseQueue(path: bench.path("b")).read { db in
      try Int.fetchOne(
        db, sql: "SELECT pageno FROM dbstat WHERE name = 'SBPerson' AND pagetype = 'leaf' LIMIT 1 OFFSET 3")
    }
    var bytes = try bench.bytes("b")
    let page = try #require(root)
    for place in (page - 1) * 4096..<page * 4096 { bytes[place] = 0x5A }
    try bench.write(bytes, to: "broken")
    let outcome = try bench.tally("recover", "broken", "-o", "rescued")
    #expect(
      outcome.status == 65 && outcome.output.contains("lost: 'SBPerson|~|p"), "\(outcome.output) \(outcome.errors)")
    #expect(try bench.bytes("broken") == bytes)
    let names = try bench.done("list", "rescued", "SBPerson").split(separator: "\n").count
    #expect(names > 1800 && names < 2000)
    #expect(try bench.done("verify", "rescued").hasPrefix("ok "))
    #expect(try bench.tally("sync", "a", "rescued").status == 0)
    #expect(try bench.done("dump", "a") == bench.done("dump", "rescued"))
    #expect(try bench.done("verify", "rescued").hasPrefix("ok "))
    try bench.refused(73, ["recover", "broken", "-o", "a"])
    #expect(try bench.contents().allSatisfy { !$0.contains("damaged") && !$0.hasSuffix(".tmp") })
  }
}
