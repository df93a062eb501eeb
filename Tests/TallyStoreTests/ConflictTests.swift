import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import TallyStore
import Testing

@Suite struct ConflictTests {
  let scratch: Scratch
  let here: Store
  let there: Store
  let game = Game(name: "Chess")

  init() throws {
    scratch = try Scratch()
    here = try scratch.store("here")
    there = try scratch.store("there")
    let game = game
    try here.write { try game.insert($0) }
    try here.sync(with: there)
  }

  private func rename(_ store: Store, _ name: String) throws {
    try store.write { try $0.execute(sql: "UPDATE SBGame SET name = ?", arguments: [name]) }
  }

  @Test func bothSidesLearnWhatLost() throws {
    try rename(here, "Go")
    try rename(there, "Bridge")
    try here.sync(with: there)
    let winner = try here.read { try Game.fetchOne($0)?.name }
    for store in [here, there] {
      let conflicts = try store.conflicts()
      #expect(conflicts.count == 1)
      #expect(conflicts.first?.field == "name")
      #expect(conflicts.first?.winnerValue == Value(text: winner))
      #expect(conflicts.first?.loserValue == Value(text: winner == "Go" ? "Bridge" : "Go"))
      #expect(try store.history(of: game.id.name)?.conflicts == conflicts)
    }
  }

  @Test func whoMeetsTheLoserFirstLearnsOfIt() throws {
    let middle = try scratch.store("middle")
    try middle.sync(with: here)
    try rename(here, "Go")
    // The second is later by a millisecond at the least, so there is no tie.
    try rename(there, "Poker")
    try rename(there, "Bridge")
    try here.sync(with: middle)
    try there.sync(with: middle)
    try here.sync(with: middle)
    #expect(try middle.conflicts().count == 1)
    #expect(try there.conflicts().count == 1)
    // The winner's author may have seen "Go" in `middle` before it wrote: nothing that arrives here tells.
    #expect(try here.conflicts().isEmpty)
  }

  @Test func aTieOfTimesIsAConflictWhereverItIsMet() throws {
    let stores = try ["one", "two", "middle"].enumerated().map { number, name in
      var options = StoreOptions()
      options.now = { Date(timeIntervalSince1970: 4_000_000_000) }
      // The greater id wins a tie, so "one" is who loses and hears of it from "middle".
      options.mintReplica = { ReplicaID(high: UInt64(number + 1), low: 0) }
      return try scratch.store(name, options: options)
    }
    for store in stores { try store.sync(with: here) }
    for store in stores[0..<2] { try rename(store, "by \(store.path.last ?? "?")") }
    for store in stores[0..<2] + stores[0..<2] { try store.sync(with: stores[2]) }
    for store in stores {
      #expect(try store.conflicts().count == 1)
      #expect(try store.conflicts().first?.loser.time == store.conflicts().first?.winner.time)
    }
    try rename(stores[0], "after")
    for store in stores[0..<2] { try store.sync(with: stores[2]) }
    #expect(try stores[1].conflicts().count == 1)
  }

  @Test func aWriteThatSawTheOtherIsNoConflict() throws {
    try rename(here, "Go")
    try here.sync(with: there)
    try rename(there, "Bridge")
    try here.sync(with: there)
    #expect(try here.conflicts().isEmpty)
    #expect(try there.conflicts().isEmpty)
    #expect(try here.read { try Game.fetchOne($0)?.name } == "Bridge")
  }

  @Test func equalValuesAreNoConflictButAdoptTheWinningStamp() throws {
    try rename(here, "Go")
    try rename(there, "Go")
    try here.sync(with: there)
    #expect(try here.conflicts().isEmpty)
    #expect(try here.history(of: game.id.name)?.fields == there.history(of: game.id.name)?.fields)
    try expectConverged(here, there)
  }

  @Test func theJournalIsBounded() throws {
    var options = StoreOptions()
    options.conflictLimit = 3
    let small = try scratch.store("small", options: options)
    try here.sync(with: small)
    for round in 1...6 {
      try rename(here, "here \(round)")
      try rename(small, "small \(round)")
      try here.sync(with: small)
    }
    #expect(try small.conflicts().count == 3)
    #expect(try here.conflicts().count == 6)
  }

  @Test func aClockFarAheadIsOvertakenByWhoeverSawIt() throws {
    var options = StoreOptions()
    options.now = { Date(timeIntervalSince1970: 4_070_908_800) }
    let ahead = try scratch.store("ahead", options: options)
    try here.sync(with: ahead)
    try rename(ahead, "From 2099")
    try here.sync(with: ahead)
    try rename(here, "From today")
    try here.sync(with: ahead)
    #expect(try ahead.read { try Game.fetchOne($0)?.name } == "From today")
    let other = Game(name: "Untouched")
    try here.write { try other.insert($0) }
    let stamp = try #require(try here.history(of: other.id.name)?.existence)
    #expect(stamp.time.milliseconds < 4_000_000_000_000)
    try here.sync(with: ahead)
    try expectConverged(here, ahead)
  }

  /// Also on the device that wrote it, and whichever of the two gets the other's first.
  @Test(arguments: [true, false]) func anEditThatADeleteBeatsIsInTheJournal(deleterFirst: Bool) throws {
    let schema = Schema([
      EntitySchema(type: "Tag", fields: [.init("name", .text), .init("note", .text)], deleteWins: true)
    ])
    let stores = try ["deleter", "editor"].map { try scratch.store($0, schema: schema) }
    let (deleter, editor) = (stores[0], stores[1])
    try deleter.write { try $0.execute(sql: "INSERT INTO Tag(id, name, note) VALUES('Tag|~|a', 'old', 'seen')") }
    try deleter.sync(with: editor)
    try deleter.write { try $0.execute(sql: "DELETE FROM Tag") }
    try editor.write { try $0.execute(sql: "UPDATE Tag SET name = 'new'") }
    let deltas = try stores.map { try $0.delta(since: StateVector()) }
    if deleterFirst { try deleter.apply(deltas[1]) } else { try editor.apply(deltas[0]) }
    for _ in 0..<2 { try deleter.sync(with: editor) }
    for store in stores {
      #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Tag") } == 0)
      let conflicts = try store.conflicts()
      #expect(conflicts.map(\.field) == ["name"] && conflicts.first?.loserValue == .text("new"))
      #expect(conflicts.first?.kind == .deleted && conflicts.first?.winnerValue == .null)
    }
    let conflict = try #require(try deleter.conflicts().first)
    // A value that is refused brings nothing back.
    #expect(throws: StoreError.self) { try deleter.resolve(conflict, with: .integer(7)) }
    #expect(try deleter.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Tag") } == 0)
    #expect(try deleter.conflicts() == [conflict])
    #expect(try deleter.restore(conflict) != nil)
    try deleter.sync(with: editor)
    for store in stores {
      #expect(try store.read { try String.fetchOne($0, sql: "SELECT name || ' ' || note FROM Tag") } == "new seen")
    }
    try expectConverged(deleter, editor)
  }

  @Test func whatLostCanBeWrittenBackAndThenWinsEverywhere() throws {
    try rename(here, "Go")
    try rename(there, "Bridge")
    try here.sync(with: there)
    let conflict = try #require(try here.conflicts().first)
    #expect(try here.restore(conflict) != nil)
    try here.sync(with: there)
    for store in [here, there] {
      #expect(try store.read { try Game.fetchOne($0)?.name.map(Value.text) } == conflict.loserValue)
    }
    // Once the value shows again there is nothing left to decide, on either device.
    #expect(try here.conflicts().isEmpty && there.conflicts().isEmpty)
    #expect(try here.restore(conflict) == nil)
    _ = try here.write { try Game.deleteAll($0) }
    #expect(throws: StoreError.self) { try here.restore(conflict) }
    #expect(try here.read { try Game.fetchCount($0) } == 0)
  }

  @Test func aConflictIsResolvedWithAnotherValueOrDismissed() throws {
    for name in ["Go", "Hearts"] {
      try rename(here, name)
      try rename(there, name + "!")
      try here.sync(with: there)
    }
    let conflicts = try here.conflicts()
    #expect(conflicts.count == 2 && Set(conflicts.map(\.id)).count == 2)
    #expect(conflicts.allSatisfy { $0.column == "name" })
    try here.dismiss(conflicts[1])
    try here.dismiss(conflicts[1])
    #expect(try here.conflicts() == [conflicts[0]])
    #expect(throws: StoreError.self) { try here.resolve(conflicts[0], with: .integer(7)) }
    #expect(try here.conflicts() == [conflicts[0]])
    #expect(try here.resolve(conflicts[0], with: .text("Hearts or Hearts!")) != nil)
    #expect(try here.conflicts().isEmpty)
    try here.sync(with: there)
    for store in [here, there] { #expect(try store.read { try Game.fetchOne($0)?.name } == "Hearts or Hearts!") }
    try there.dismiss(there.conflicts())
    #expect(try there.conflicts().isEmpty)
    try expectConverged(here, there)
  }

  /// Journals do not replicate; records do. This is what the page on conflicts shows.
  private struct Decision: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Decision", .text("conflict", default: ""))
    var id = RecordName<Decision>()
    var conflict = ""
  }

  private func decide(_ conflict: Conflict, with text: String, in store: Store) throws {
    try store.write { db in
      try store.resolve(db, conflict, with: .text(text))
      try Decision(conflict: "\(conflict.id)").insert(db)
    }
  }

  private func dropDecided(in store: Store) throws {
    try store.write { db in
      let decided = try String.fetchSet(db, Decision.select(Column("conflict")))
      try store.dismiss(db, store.conflicts(db, limit: .max).filter { decided.contains("\($0.id)") })
    }
  }

  @Test func aDecisionThatIsARecordSettlesTheEntryOfOtherDevices() throws {
    let schema = Schema(Person.self, Game.self, Match.self, Score.self, Decision.self)
    let stores = try ["phone", "tablet"].map { try scratch.store($0, schema: schema) }
    let (phone, tablet) = (stores[0], stores[1])
    for store in stores { try store.sync(with: here) }
    for name in ["Go", "Hearts"] {
      try rename(phone, name)
      try rename(tablet, name + "!")
      try phone.sync(with: tablet)
    }
    let conflicts = try phone.conflicts()
    #expect(try conflicts.count == 2 && Set(tablet.conflicts().map(\.id)) == Set(conflicts.map(\.id)))
    try decide(conflicts[0], with: "Whist", in: phone)
    try phone.sync(with: tablet)
    // A third value by itself settles nothing: whoever wrote it need not have seen what was lost.
    #expect(try tablet.conflicts().count == 2)
    try dropDecided(in: tablet)
    #expect(try tablet.conflicts().map(\.id) == [conflicts[1].id] && phone.conflicts() == [conflicts[1]])
    try expectConverged(phone, tablet)
  }

  @Test func aLongTextIsMergedLineByLine() throws {
    func merged(_ winner: String, _ loser: String) throws -> String? {
      var conflict = try #require(try here.conflicts().first)
      (conflict.winnerValue, conflict.loserValue) = (.text(winner), .text(loser))
      return conflict.merged()
    }
    try rename(here, "Go")
    try rename(there, "Bridge")
    try here.sync(with: there)
    #expect(try merged("a\nb\nc", "a\nb\nc") == "a\nb\nc")
    #expect(try merged("a\nmine\nc", "a\ntheirs\nc") == "a\nmine\ntheirs\nc")
    #expect(try merged("a\nb\nc\n", "a\nc\nd\n") == "a\nb\nc\nd\n")
    #expect(try merged("", "x") == "\nx")
    #expect(try merged("x\na", "a\ny") == "x\na\ny")
    var conflict = try #require(try here.conflicts().first)
    conflict.winnerValue = .null
    #expect(conflict.merged() == nil)
  }

  @Test func theJournalForgetsWhatIsTooOld() throws {
    var options = StoreOptions()
    options.conflictAge = 60
    let clock = Mutex(Date(timeIntervalSince1970: 2_000_000_000))
    options.now = { clock.withLock { $0 } }
    let store = try scratch.store("aging", options: options)
    try store.sync(with: here)
    for (seconds, name) in [(0, "Go"), (59, "Chess"), (61, "Bridge")] {
      clock.withLock { $0 = Date(timeIntervalSince1970: 2_000_000_000 + Double(seconds)) }
      try rename(store, name)
      try rename(here, "other \(name)")
      try store.sync(with: here)
    }
    #expect(try store.read { try ConflictRow.fetchCount($0) } == 2)
  }

  /// Times have 48 bits. A clock beyond them must not use them up, or nobody could write after it.
  @Test func aClockBeyondTheEndOfTimeIsOvertakenByWhoeverSawIt() throws {
    for seconds in [1e12, Double.infinity] {
      var options = StoreOptions()
      options.now = { Date(timeIntervalSince1970: seconds) }
      let broken = try scratch.store("broken \(seconds)", options: options)
      try here.sync(with: broken)
      for round in 1...4 {
        try rename(broken, "broken \(round)")
        try here.sync(with: broken)
        #expect(try here.read { try Game.fetchOne($0)?.name } == "broken \(round)")
        try rename(here, "here \(round)")
        try here.sync(with: broken)
        #expect(try broken.read { try Game.fetchOne($0)?.name } == "here \(round)")
      }
      try expectConverged(here, broken)
    }
  }
}
