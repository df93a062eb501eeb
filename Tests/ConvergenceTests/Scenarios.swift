import TallyCRDT
import TallyRig
import TallyTesting
import Testing

/// Interleavings that broke obvious alternatives, one test each.
@Suite struct Scenarios {
  let list = "List|~|a"
  let item = "Item|~|p"
  let child = "Item|~|q"

  func replicas(_ count: Int) -> [ModelReplica] {
    (1...count).map { ModelReplica(id: ReplicaID(high: UInt64($0), low: 0)) }
  }

  /// `to` gets everything that `from` has.
  func sync(_ from: ModelReplica, _ to: inout ModelReplica) {
    #expect(to.apply(from.delta(since: to.vector), now: 0) == .applied)
  }

  /// Everybody gets everything; all must be equal then.
  func settle(_ replicas: inout [ModelReplica]) throws {
    for _ in 0..<2 {
      for to in replicas.indices {
        for from in replicas.indices where from != to { sync(replicas[from], &replicas[to]) }
      }
    }
    let bytes = try WireImage.bytes(of: replicas[0])
    for replica in replicas {
      #expect(try WireImage.bytes(of: replica) == bytes)
      #expect(replica.fingerprint == replica.recomputedFingerprint())
    }
  }

  /// Two replicas that both have a list with a member, owned by the list, that owns a child.
  func acquainted() throws -> [ModelReplica] {
    var all = replicas(2)
    let family: [Operation] = [
      .insert(list, [.title: "a"]), .insert(item, [.title: "a", .note: "b", .list: list]),
      .insert(child, [.title: "c", .parent: item]), .link(list, item),
    ]
    try all[0].transact(now: 10, family)
    sync(all[0], &all[1])
    return all
  }

  @Test func addWinsOverConcurrentRemove() throws {
    var all = try acquainted()
    try all[0].transact(now: 11, [.unlink(list, item)])
    try all[1].transact(now: 5, [.unlink(list, item)])
    try all[1].transact(now: 5, [.link(list, item)])
    try settle(&all)
    #expect(try all[0].view()[list]?.members == [item])
  }

  @Test func concurrentEditRevivesDeletedRecordWhole() throws {
    var all = try acquainted()
    try all[0].transact(now: 99, [.delete(item)])
    #expect(try all[0].view()[child] == nil)
    try all[1].transact(now: 1, [.update(item, .title, "edited")])
    try settle(&all)
    #expect(try all[0].view()[item]?.fields == [.title: "edited", .note: "b", .list: list])
    #expect(try all[0].view()[child] != nil)
  }

  @Test func editOfGrandchildRevivesOwnersUpToTheTop() throws {
    var all = try acquainted()
    try all[0].transact(now: 99, [.delete(list)])
    #expect(try all[0].view().isEmpty)
    try all[1].transact(now: 1, [.update(child, .title, "edited")])
    try settle(&all)
    #expect(try Set(all[0].view().keys) == [list, item, child])
    #expect(try all[0].view()[list]?.members == [item])
  }

  @Test func deleteThatSawTheEditStands() throws {
    var all = try acquainted()
    try all[1].transact(now: 50, [.update(item, .title, "edited")])
    sync(all[1], &all[0])
    try all[0].transact(now: 20, [.delete(list)])
    try settle(&all)
    #expect(try all[1].view().isEmpty)
  }

  @Test func insertAfterDeleteIsNewLife() throws {
    var all = try acquainted()
    try all[0].transact(now: 20, [.delete(item)])
    try all[0].transact(now: 21, [.insert(item, [.title: "new"])])
    try settle(&all)
    #expect(try all[1].view()[item] == ModelRow(fields: [.title: "new"]))
    #expect(try all[1].view()[list]?.members == [])
  }

  @Test func restoredRecordIsComplete() throws {
    var all = try acquainted()
    let before = try all[0].view()
    try all[0].transact(now: 20, [.delete(list)])
    try all[0].transact(now: 21, [.restore(list)])
    try settle(&all)
    #expect(try all[1].view() == before)
  }

  @Test func clockFarAheadCanBeOverwrittenByWhoeverSawIt() throws {
    var all = try acquainted()
    try all[0].transact(now: 4_070_908_800_000, [.update(item, .title, "from 2099")])
    sync(all[0], &all[1])
    try all[1].transact(now: 12, [.update(item, .title, "today")])
    try settle(&all)
    #expect(try all[0].view()[item]?.fields[.title] == "today")
    #expect(try all[0].view()[item]?.fields[.note] == "b")
  }

  @Test func refusedDeltaChangesNothing() throws {
    var all = try acquainted() + replicas(1)
    all[2] = ModelReplica(id: ReplicaID(high: 3, low: 0))
    try all[0].transact(now: 20, [.update(item, .title, "b")])
    let late = all[0].delta(since: all[1].vector)
    let before = try WireImage.bytes(of: all[2])
    #expect(all[2].apply(late, now: 0) == .refused)
    #expect(try WireImage.bytes(of: all[2]) == before)
    sync(all[0], &all[2])
    #expect(all[2].apply(late, now: 0) == .applied)
    try settle(&all)
  }

  @Test func interruptedDeltaLosesNothing() throws {
    var all = try acquainted() + replicas(1)
    all[2] = ModelReplica(id: ReplicaID(high: 3, low: 0))
    let chunks = all[0].delta(since: StateVector()).chunks(2)
    #expect(all[2].receive(chunks[0], 0, of: 2, transfer: 1, now: 0) == .waiting)
    #expect(all[2].vector.isEmpty)
    sync(all[1], &all[2])
    try settle(&all)
    #expect(all[2].receive(chunks[1], 1, of: 2, transfer: 1, now: 0) == .applied)
    try settle(&all)
  }

  @Test func thirdReplicaLearnsOfBothConcurrentDeletes() throws {
    var all = try acquainted() + replicas(1)
    all[2] = ModelReplica(id: ReplicaID(high: 3, low: 0))
    sync(all[0], &all[2])
    try all[0].transact(now: 20, [.delete(child)])
    try all[1].transact(now: 21, [.delete(child)])
    // The third has one of the deletes when it hears from somebody who has joined both.
    sync(all[1], &all[2])
    sync(all[1], &all[0])
    sync(all[0], &all[2])
    #expect(try all[2].view()[child] == nil)
    try settle(&all)
  }

  @Test func editThatLostItsRegisterStillRevives() throws {
    var all = try acquainted() + replicas(1)
    all[2] = ModelReplica(id: ReplicaID(high: 3, low: 0))
    sync(all[0], &all[2])
    try all[0].transact(now: 20, [.update(child, .title, "loses")])
    try all[1].transact(now: 30, [.update(child, .title, "wins")])
    // The delete has seen the winner and not the loser.
    sync(all[1], &all[2])
    try all[2].transact(now: 40, [.delete(child)])
    sync(all[1], &all[0])
    try settle(&all)
    #expect(try all[1].view()[child]?.fields[.title] == "wins")
  }

  @Test func equalValueMakesNoTransaction() throws {
    var all = try acquainted()
    let before = all[1].vector
    try all[1].transact(now: 50, [.update(item, .title, "a"), .link(list, item), .delete(Model.items[3])])
    #expect(all[1].vector == before)
  }

  @Test func transactionsFieldsMayMixByField() throws {
    var all = try acquainted()
    try all[0].transact(now: 20, [.update(item, .title, "x"), .update(item, .note, "x")])
    try all[1].transact(now: 30, [.update(item, .title, "y")])
    try settle(&all)
    #expect(try all[0].view()[item]?.fields == [.title: "y", .note: "x", .list: list])
  }
}
