import GRDB
import Tally
import TallyRig
import TallyTesting
import Testing

/// What simulated worlds have found in live sessions, one test each.
@Suite struct LiveScenarios {
  let schema = Schema([EntitySchema("Note", .text("text"))])
  let note = "Note|~|a"

  func world() throws -> World { try World(schema, replicas: 2, seed: 1) }

  func insert(_ name: String, _ replica: SimulatedReplica) throws {
    try replica.write { try $0.execute(sql: "INSERT INTO Note(id, text) VALUES(?, 'new')", arguments: [name]) }
  }

  /// The delete names its author's whole past; the replica of the other side came over before the session went live.
  @Test func deleteOfWhatCameWithTheSameSession() throws {
    let world = try world()
    try insert(note, world.replica(1))
    let live = try world.connect(0, 1)
    try live.runToRest()
    try world.replica(0).write { try $0.execute(sql: "DELETE FROM Note") }
    try live.runToRest()
    try expectConverged(world)
    #expect(try world.replica(1).read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Note") } == 0)
  }

  /// What was written while the two were about to agree goes out at once, not with the next change or the next
  /// heartbeat.
  @Test func writeWhileTheSessionGoesLive() throws {
    for steps in 0..<12 {
      let world = try world()
      let live = try world.connect(0, 1)
      try live.run(steps: steps)
      try insert(note, world.replica(0))
      try live.runToRest()
      #expect(try world.replica(1).store.vector == world.replica(0).store.vector, "after \(steps) steps")
    }
  }

  /// Two live changes arrive back to back, and a local write comes in between: it must not be taken for known to the
  /// peer.
  @Test func writeBetweenTwoChangesOfThePeer() throws {
    let world = try world()
    let live = try world.connect(0, 1)
    try live.runToRest()
    for name in ["b", "c"] {
      try insert("Note|~|\(name)", world.replica(1))
      try live.work(1)
    }
    try live.deliver(from: 1)
    try insert(note, world.replica(0))
    try live.runToRest()
    #expect(try world.replica(1).store.vector == world.replica(0).store.vector)
    try expectConverged(world)
  }

  /// The loser's author is the first to hold both writes, and the only one who ever holds both cells.
  @Test func writeThatLosesToALiveChangeIsJournalled() throws {
    let world = try world()
    try insert(note, world.replica(0))
    let live = try world.connect(0, 1)
    try live.runToRest()
    try insert("Note|~|b", world.replica(1))
    try live.work(1)
    world.replica(1).clock.advance(milliseconds: 1_000_000)
    try world.replica(1).write {
      try $0.execute(sql: "UPDATE Note SET text = 'winner' WHERE id = ?", arguments: [note])
    }
    try live.work(1)
    try live.deliver(from: 1)
    try world.replica(0).write { try $0.execute(sql: "UPDATE Note SET text = 'loser' WHERE id = ?", arguments: [note]) }
    try live.runToRest()
    let journals = try [0, 1].flatMap { try world.replica($0).store.conflicts() }
    #expect(journals.map(\.loserValue) == [.text("loser")])
    try expectConverged(world)
  }

  /// A change that crosses one of this side's has not seen it, and the connection may break before it ever does.
  @Test func aWriteThatCrossesALiveChangeAndNeverArrivesIsJournalled() throws {
    let world = try world()
    try insert(note, world.replica(0))
    let live = try world.connect(0, 1)
    try live.runToRest()
    world.replica(1).clock.advance(milliseconds: 1_000_000)
    for (index, text) in ["loser", "winner"].enumerated() {
      try world.replica(index).write {
        try $0.execute(sql: "UPDATE Note SET text = ? WHERE id = ?", arguments: [text, note])
      }
      try live.work(index)
    }
    try live.deliver(from: 1)
    try live.work(0)
    world.cut(live)
    try world.sync()
    let journals = try [0, 1].flatMap { try world.replica($0).store.conflicts() }
    #expect(journals.map(\.loserValue) == [.text("loser")])
    try expectConverged(world)
  }

  /// The same with a purge: it had not seen the edit, which therefore outlives it.
  @Test func anEditThatCrossesALivePurgeAndNeverArrivesOutlivesIt() throws {
    let world = try world()
    try insert(note, world.replica(0))
    let live = try world.connect(0, 1)
    try live.runToRest()
    try world.replica(0).write {
      try $0.execute(sql: "UPDATE Note SET text = 'edited' WHERE id = ?", arguments: [note])
    }
    try live.work(0)
    try world.replica(1).write { try $0.execute(sql: "DELETE FROM Note WHERE id = ?", arguments: [note]) }
    try live.work(1)
    try world.replica(1).purge(AnyRecordName(note))
    try live.work(1)
    try live.deliver(from: 1)
    try live.work(0)
    world.cut(live)
    try world.sync()
    for index in [0, 1] {
      let texts = try world.replica(index).read { try String.fetchAll($0, sql: "SELECT text FROM Note") }
      #expect(texts == ["edited"])
      #expect(try world.replica(index).store.verify().isSound)
    }
    let summaries = try [0, 1].map { try world.replica($0).store.summary() }
    #expect(summaries[0].vector == summaries[1].vector && summaries[0].fingerprint == summaries[1].fingerprint)
  }
}
