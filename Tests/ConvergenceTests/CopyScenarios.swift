import TallyCRDT
import TallyRig
import TallyTesting
import Testing

/// Two copies of one store that nobody has noticed write under one number. Whoever has only one of the two transactions
/// must be found out by the fingerprint.
@Suite struct CopyScenarios {
  let base = Scenarios()

  /// Both give each other all that they have, as replicas with equal vectors and different fingerprints do.
  func repair(_ one: Int, _ other: Int, _ all: inout [ModelReplica]) {
    let (first, second) = (all[one].delta(since: StateVector()), all[other].delta(since: StateVector()))
    #expect(all[one].apply(second, now: 0) == .applied && all[other].apply(first, now: 0) == .applied)
    #expect(all[one].holdsTheSame(as: all[other]))
  }

  func expectDifference(_ one: ModelReplica, _ other: ModelReplica) {
    #expect(one.vector == other.vector && one.fingerprint != other.fingerprint)
  }

  /// Three devices play this beside the specification.
  func expectNoFailure(_ steps: [History.Step]) {
    var history = History.generate(seed: 1)
    (history.ids, history.clocks, history.older, history.steps) = ([1, 2, 3], [10, 10, 10], [], steps)
    #expect(Simulation.failure(of: history)?.description == nil)
  }

  /// One copy edits a record, the other deletes it, and what somebody else did at the same time brings it back: an edit
  /// of its own, one of something that it owns, a new member.
  @Test(arguments: ["edit", "child", "member"])
  func editUnderTheNumberOfADeleteIsNotMissedWhereOnlyTheDeleteCame(revival: String) throws {
    let (item, child) = (base.item, base.child)
    var all = try base.acquainted()
    all.append(all[1])
    try all[1].transact(now: 20, [.update(item, .title, "c")])
    try all[2].transact(now: 20, [.delete(item)])
    let revivals: [String: Operation] = [
      "edit": .update(item, .note, "kept"), "child": .update(child, .title, "kept"), "member": .link(item, child),
    ]
    try all[0].transact(now: 20, [#require(revivals[revival])])
    base.sync(all[0], &all[2])
    base.sync(all[2], &all[0])
    base.sync(all[0], &all[1])
    expectDifference(all[0], all[1])
    repair(0, 1, &all)
    #expect(try all[0].view()[item]?.fields[.title] == "c")
    // The copy has never got the other transaction of that number.
    #expect(try all[2].view()[item]?.fields[.title] == "a")
    expectDifference(all[0], all[2])
    repair(0, 2, &all)
  }

  /// A register that has lost shows nowhere, but its edit is a touch: later it can be all that keeps the record.
  @Test func editsThatLostUnderASharedNumberAreNotMissed() throws {
    let (item, child) = (base.item, base.child)
    var all = try base.acquainted()
    all.append(all[1])
    try all[1].transact(now: 20, [.update(item, .title, "lost")])
    try all[2].transact(now: 20, [.update(child, .title, "lost")])
    try all[0].transact(now: 90, [.update(item, .title, "won"), .update(child, .title, "won")])
    base.sync(all[0], &all[1])
    base.sync(all[1], &all[0])
    base.sync(all[0], &all[2])
    #expect(try all[0].view() == all[2].view())
    expectDifference(all[0], all[2])
    repair(0, 2, &all)
  }

  /// Nobody sees the removed member, nor is told of the removal by a vector that covers it.
  @Test func deletesAndRemovalsUnderASharedNumberAreNotMissed() throws {
    var all = try base.acquainted()
    all.append(all[1])
    try all[1].transact(now: 20, [.unlink(base.list, base.item)])
    try all[2].transact(now: 20, [.delete(base.list)])
    try all[0].transact(now: 20, [.delete(base.list)])
    base.sync(all[0], &all[1])
    base.sync(all[1], &all[0])
    base.sync(all[0], &all[2])
    #expect(try all[0].view() == all[2].view())
    expectDifference(all[0], all[2])
    repair(0, 2, &all)
  }

  /// A removal marks tags, and the tag that the copy made under the same number is not one of them. The oracle says so,
  /// too.
  @Test func removalUnderTheNumberOfAnAddLeavesTheAdd() throws {
    let (list, item) = (base.list, base.item)
    var all = try base.acquainted()
    all.append(all[1])
    let again: [Operation] = [.unlink(list, item), .link(list, item)]
    try all[1].transact(now: 20, [.unlink(list, item)])
    try all[2].transact(now: 20, again)
    expectDifference(all[1], all[2])
    repair(1, 2, &all)
    #expect(try all[1].view()[list]?.members == [item])
    let steps: [History.Step] = [
      .transact(replica: 0, elapsed: 1, [.insert(list, [:]), .insert(item, [:]), .link(list, item)]), .sync(0, 1),
      .clone(of: 1, as: 2, isNoticed: false), .transact(replica: 1, elapsed: 1, [.unlink(list, item)]),
      .transact(replica: 2, elapsed: 1, again),
    ]
    expectNoFailure(steps)
  }

  /// One tag for both copies, so who removes the one removes the other.
  @Test func addsOfOneMemberUnderOneNumberAreOneTag() throws {
    let (list, item) = (base.list, base.item)
    let steps: [History.Step] = [
      .transact(replica: 0, elapsed: 1, [.insert(list, [:]), .insert(item, [:])]), .sync(0, 1),
      .clone(of: 1, as: 2, isNoticed: false), .transact(replica: 1, elapsed: 1, [.link(list, item)]),
      .transact(replica: 2, elapsed: 2, [.link(list, item)]), .sync(1, 0),
      .transact(replica: 0, elapsed: 1, [.unlink(list, item)]),
    ]
    expectNoFailure(steps)
  }

  /// The owner is of a number that the receiver has from its copy, so it does not come with what it owns.
  @Test func recordWhoseOwnerHasNotComeIsHidden() {
    let (list, owner) = (base.list, Model.lists[1])
    expectNoFailure([
      .clone(of: 1, as: 0, isNoticed: false), .transact(replica: 1, elapsed: 1, [.insert(list, [.title: "c"])]),
      .transact(replica: 0, elapsed: 1, [.insert(owner, [:])]),
      .transact(replica: 0, elapsed: 1, [.insert(list, [.list: owner, .title: "a"])]),
      .prepare(slot: 1, from: 0, base: .vector(of: 1)), .deliver(slot: 1, to: 1), .check(replica: 1),
    ])
  }
}
