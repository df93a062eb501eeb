import Foundation
import GRDB
import Testing

/// Tables whose triggers another program has dropped, or which it has made again: the next command of any kind looks,
/// also one that only reads.
@Suite(.timeLimit(.minutes(30))) struct UnseenTableTests {
  private let bench: Bench
  private static let ann = "SBPerson|~|ann"
  private static let chess = "SBGame|~|chess"

  init() throws {
    bench = try Bench("a", "b")
    try bench.done("put", "a", Self.ann, "name=Ann")
    try bench.done("put", "a", Self.chess, "name=Chess")
    try bench.done("link", "a", Self.chess, "players", Self.ann)
    try bench.done("sync", "a", "b")
  }

  /// Without a store: triggers that call its functions must not fire.
  private func shell(_ statements: String...) throws {
    let plain = try DatabaseQueue(path: bench.path("a"))
    try plain.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON")
      for sql in statements { try db.execute(sql: sql) }
    }
    try plain.close()
  }

  private func dropTriggers(of table: String) throws {
    try shell(
      "DROP TRIGGER tally_\(table)_insert", "DROP TRIGGER tally_\(table)_update", "DROP TRIGGER tally_\(table)_delete")
  }

  /// As many tools change a table: create, copy, drop, rename.
  private func rebuild(_ table: String, copying rows: String) throws {
    let plain = try DatabaseQueue(path: bench.path("a"))
    let sql = try plain.read { db in
      try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = ?", arguments: [table]) ?? ""
    }
    try plain.close()
    let body = sql.firstIndex(of: "(").map { String(sql[$0...]) } ?? ""
    try shell(
      "CREATE TABLE rebuilt\(body)", "INSERT INTO rebuilt \(rows)", "DROP TABLE \(table)",
      "ALTER TABLE rebuilt RENAME TO \(table)")
  }

  private enum Change: CaseIterable {
    case withoutTriggers, whileCopying, afterCopying
  }

  private func rename(_ change: Change) throws {
    switch change {
    case .withoutTriggers:
      try dropTriggers(of: "SBPerson")
      try shell("UPDATE SBPerson SET name = 'Anna'")
    case .whileCopying:
      try rebuild(
        "SBPerson", copying: "(id, name, born, tally_clock) SELECT id, 'Anna', born, tally_clock FROM SBPerson")
    case .afterCopying:
      try rebuild("SBPerson", copying: "SELECT * FROM SBPerson")
      try shell("UPDATE SBPerson SET name = 'Anna'")
    }
  }

  @Test(arguments: zip(Change.allCases + Change.allCases, ["status", "get", "dump", "verify", "why", "delta"]))
  private func whatReadsLooksFirst(_ change: Change, _ command: String) throws {
    let before = try bench.done("dump", "a")
    try rename(change)
    var arguments = [command, "a"]
    switch command {
    case "get", "why": arguments.append(Self.ann)
    case "delta": arguments += ["-o", "delta"]
    default: break
    }
    let outcome = try bench.tally(arguments)
    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
    // The edit has a stamp of its own, the store is sound, and the other device lacks it.
    let after = try bench.done("dump", "a")
    #expect(after.contains("Anna") && after != before.replacing("Ann", with: "Anna"))
    #expect(try bench.tally("verify", "a").status == 0)
    let difference = try bench.tally("diff", "a", "b")
    #expect(difference.status == 65 && difference.output.contains("b lacks a #"), "\(difference.output)")
    try bench.done("sync", "a", "b")
    #expect(try bench.done("get", "b", Self.ann).contains("name=Anna"))
    #expect(try bench.tally("diff", "a", "b").status == 0)
  }

  /// The first command after it may be the one that compares.
  @Test(arguments: Change.allCases) private func aDifferenceIsSeenAtOnce(_ change: Change) throws {
    try rename(change)
    let difference = try bench.tally("diff", "a", "b")
    #expect(difference.status == 65 && difference.output.contains("Anna"), "\(difference.output)")
    let tool = Bench.tool
    #expect(try bench.tally("verify", "b", "--against", "'\(tool)' serve a --stdio").status != 0)
  }

  @Test(arguments: [["get", "SBPerson|~|ann"], ["status"], ["verify"], []])
  func aLinkOfARebuiltTableThatIsDeletedDoesNotReturn(_ command: [String]) throws {
    try rebuild("SBGame_players", copying: "SELECT * FROM SBGame_players")
    if let name = command.first {
      let outcome = try bench.tally([name, "a"] + command.dropFirst())
      #expect(outcome.status == 0, "\(command): \(outcome.errors)")
    }
    try shell("DELETE FROM SBGame_players")
    // Where it is the first that looks, it says so.
    #expect(try bench.tally("sync", "a", "b").status == 0)
    for store in ["a", "b"] {
      #expect(try !bench.done("get", store, Self.chess).contains(Self.ann), "\(store)")
      #expect(try bench.tally("verify", store).status == 0)
    }
    #expect(try bench.tally("diff", "a", "b").status == 0)
    // It can be made again.
    try bench.done("link", "b", Self.chess, "players", Self.ann)
    try bench.done("sync", "a", "b")
    #expect(try bench.done("get", "a", Self.chess).contains(Self.ann))
  }

  /// Where nothing can be written, reading goes on if nothing has to be captured.
  @Test func anIndexOfTheAppsIsNoReasonToWrite() throws {
    try shell("CREATE INDEX byName ON SBPerson(name)")
    try bench.done("get", "a", Self.ann)
    let noted = try bench.bytes("a")
    try bench.done("get", "a", Self.ann)
    #expect(try bench.bytes("a") == noted)
  }

  /// What a table holds that no store can use can be seen and taken elsewhere. Whatever would write, or say that two
  /// stores are equal, is refused with the reason.
  @Test func whatATableThatNoStoreCanUseHoldsCanBeRead() throws {
    try rebuild("SBPerson", copying: "SELECT * FROM SBPerson")
    try shell(
      "PRAGMA writable_schema = ON",
      "UPDATE sqlite_master SET sql = replace(sql, 'DEFAULT x', 'DEFAULT ') WHERE name = 'SBPerson'")
    let reads = [
      ["get", "a", Self.ann], ["list", "a", "SBPerson", "--json"], ["export", "a", "--as", "json", "-o", "-"],
    ]
    for command in reads {
      let outcome = try bench.tally(command)
      #expect(outcome.status == 0 && outcome.output.contains("Ann"), "\(command): \(outcome.errors)")
      #expect(outcome.errors.contains("warning: the table SBPerson"), "\(command): \(outcome.errors)")
    }
    for command in [["put", "a", Self.ann, "name=Anna"], ["sync", "a", "b"], ["status", "a"], ["diff", "a", "b"]] {
      let outcome = try bench.tally(command)
      #expect(outcome.status == 65 && outcome.errors.contains("tally_clock"), "\(command): \(outcome.errors)")
    }
  }
}
