import Foundation
import GRDB
import Tally
import TallyCRDT
import Testing

@testable import TallySync

/// Equal vectors and different sums: everything is exchanged. A store gives up its replica id only where there is
/// reason to think that somebody else writes under it.
@Suite(.timeLimit(.minutes(5))) struct RepairTests {
  private static let wrong = Fingerprint(first: 1, second: 2)

  /// Two stores with the same content, each of which has written some of it.
  private static func pair() throws -> (Store, Store) {
    let (a, b) = (try World.store(notes: 3, "a"), try World.store(notes: 2, "b"))
    try a.sync(with: b)
    return (a, b)
  }

  // MARK: Sessions

  @Test(arguments: [(true, false), (false, true), (true, true)], [false, true])
  func aSumThatWasOnlyWrongIsMendedAndNobodyTakesANewID(_ isWrong: (Bool, Bool), _ isLive: Bool) throws {
    let (one, two) = try Self.pair()
    let ids = [try one.summary().replica, try two.summary().replica]
    let (a, b) = (
      try SessionSide(one, isLive: isLive, wrongSum: isWrong.0 ? Self.wrong : nil),
      try SessionSide(two, isLive: isLive, wrongSum: isWrong.1 ? Fingerprint(first: 3, second: 4) : nil)
    )
    try SessionSide.settle(a, b)
    for side in [a, b] {
      #expect(side.session.progress.repaired)
      #expect(side.session.progress.phase == (isLive ? .live : .finished))
      #expect(side.renewals == [])
    }
    #expect(try [one.summary().replica, two.summary().replica] == ids)
    guard isLive else { return }
    // It is a session like any other now.
    try a.change(stars: 7)
    try b.change(stars: 8)
    try SessionSide.settle(a, b)
    try World.expectEqual(one, two)
    #expect(try World.count(one) == 7)
    for side in [a, b] { #expect(side.session.progress.pending == 0 && side.session.progress.phase == .live) }
  }

  /// The difference shows only after both have exchanged what the other lacked.
  @Test(arguments: [false, true]) func aSumThatTurnsOutWrongAfterAnExchangeIsMended(_ isLive: Bool) throws {
    let (one, two) = try Self.pair()
    try World.insert(1, "later a", one)
    try World.insert(1, "later b", two)
    let ids = [try one.summary().replica, try two.summary().replica]
    let (a, b) = (
      try SessionSide(one, isLive: isLive, wrongSum: Self.wrong), try SessionSide(two, isLive: isLive)
    )
    try SessionSide.settle(a, b)
    for side in [a, b] {
      #expect(side.session.progress.repaired && side.renewals == [])
      #expect(side.session.progress.phase == (isLive ? .live : .finished))
    }
    try World.expectEqual(one, two)
    #expect(try [one.summary().replica, two.summary().replica] == ids)
  }

  /// The peer refuses it because of the sum, and gets nothing from the store while that knows itself damaged.
  @Test(arguments: [false, true]) func whatAStoreOfAWrongSumIsAheadByGoesOutAfterTheRepair(_ isLive: Bool) throws {
    let folder = try SharedFolder()
    let (one, two) = (try folder.store("a"), try World.store())
    try World.insert(2, "a", one)
    try one.sync(with: two)
    try one.write { try $0.execute(sql: "UPDATE Note SET text = 'other'") }
    try folder.driftSum("a")
    let (a, b) = (try SessionSide(one, isLive: isLive), try SessionSide(two, isLive: isLive))
    try SessionSide.settle(a, b)
    for side in [a, b] {
      #expect(side.session.progress.repaired && side.session.progress.pending == 0)
      #expect(side.session.progress.phase == (isLive ? .live : .finished))
    }
    try World.expectEqual(one, two)
  }

  /// Whatever comes of the repair, trying again must not cost an id each time: a vector keeps them for ever.
  @Test func sessionsThatDoNotConvergeTakeNoNewIDs() async throws {
    let folder = try SharedFolder()
    let (a, b) = (try folder.store("a"), try World.store(notes: 2, "b"))
    try World.insert(2, "a", a)
    try await a.sync(with: b)
    try folder.breakSum("a")
    let ids = [try a.summary().replica, try b.summary().replica]
    for _ in 0..<3 {
      // It may end with notConverged: that is another matter.
      _ = try? await World.sync(a, b)
      try World.insert(1, "more a", a)
      try World.insert(1, "more b", b)
    }
    #expect(try [a.summary().replica, b.summary().replica] == ids)
    #expect(try a.vector.count == 2 && b.vector.count <= 2)
  }

  @Test func synchronizingTakesNoNewIDsForAWrongSum() throws {
    let folder = try SharedFolder()
    let (a, b) = (try folder.store("a"), try World.store(notes: 2, "b"))
    try World.insert(2, "a", a)
    try a.sync(with: b)
    try folder.breakSum("a")
    let ids = [try a.summary().replica, try b.summary().replica]
    for _ in 0..<3 { #expect(try a.sync(with: b).isConverged) }
    #expect(try a.summary().fingerprint == b.summary().fingerprint)
    #expect(try [a.summary().replica, b.summary().replica] == ids)
  }

  /// Two who have seen a copy each: neither of them is one, and neither needs another id.
  @Test func bystandersOfACopyKeepTheirIDs() async throws {
    let folder = try SharedFolder()
    let first = try folder.store("a")
    try World.insert(1, "shared", first)
    try first.close()
    try folder.copyStore("a", to: "copy")
    let (a, copy) = (try folder.store("a"), try folder.store("copy"))
    let (c, d) = (try World.store(notes: 1, "c"), try World.store(notes: 1, "d"))
    try await c.sync(with: d)
    try World.insert(1, "only a", a)
    try World.insert(1, "only copy", copy)
    _ = try await World.sync(a, c)
    _ = try await World.sync(copy, d)
    let ids = [try c.summary().replica, try d.summary().replica]
    let (outcome, _) = try await World.sync(c, d)
    #expect(outcome.repaired)
    try World.expectEqual(c, d)
    #expect(try [c.summary().replica, d.summary().replica] == ids)
    // Each copy meets what the other wrote under the id that both have, and gives it up.
    for (one, other) in [(a, c), (copy, d), (c, d), (a, d), (copy, c), (a, copy)] {
      _ = try await World.sync(one, other)
    }
    try World.insert(1, "later a", a)
    try World.insert(1, "later copy", copy)
    #expect(try a.summary().replica != copy.summary().replica)
    for (one, other) in [(a, c), (copy, d), (c, d), (a, d), (copy, c)] { _ = try await World.sync(one, other) }
    try World.expectEqual(a, copy, c, d)
    #expect(try World.count(a) == 7)
    #expect(try [c.summary().replica, d.summary().replica] == ids)
  }

  /// Neither has written, so each looks whether the other is itself; who is sure first parts, and the other is not cut
  /// off.
  @Test func twoWhoAreEqualPartInOrder() async throws {
    let (a, b) = (try World.store(notes: 0, "a"), try World.store(notes: 0, "b"))
    let origin = try World.store(notes: 1, "origin")
    for store in [a, b] { try await store.sync(with: origin) }
    for _ in 0..<40 {
      let (one, two) = try await World.sync(a, b)
      #expect(!one.repaired && !two.repaired)
    }
  }

  // MARK: Folders

  @Test func passesTakeNoNewIDsForAWrongSum() throws {
    let folder = try SharedFolder()
    let (a, b) = (try folder.store("a"), try World.store(notes: 2, "b"))
    try World.insert(2, "a", a)
    try MailboxWorld.settle([a, b], folder.mailbox)
    try folder.breakSum("a")
    let ids = [try a.summary().replica, try b.summary().replica]
    for _ in 0..<3 {
      for store in [a, b] { try store.sync(through: folder.mailbox) }
    }
    #expect(try [a.summary().replica, b.summary().replica] == ids)
    #expect(try folder.names.allSatisfy { !$0.contains(String(repeating: "0", count: 32)) })
  }
}

extension SharedFolder {
  /// Makes the sum of a store wrong, as a fault of ours or of the disk would.
  func breakSum(_ name: String) throws {
    let queue = try DatabaseQueue(path: root.appendingPathComponent(name).path)
    try queue.write { db in
      try db.execute(
        sql: """
          UPDATE tally_zone
          SET fingerprint = CAST(x'00112233445566778899AABBCCDDEEFF' || substr(fingerprint, 17) AS BLOB)
          """)
    }
    try queue.close()
  }

  /// Only the sum of the content is wrong, not that of the vector, which is kept behind it.
  func driftSum(_ name: String) throws {
    let queue = try DatabaseQueue(path: root.appendingPathComponent(name).path)
    try queue.write {
      try $0.execute(
        sql: "UPDATE tally_zone SET fingerprint = CAST(zeroblob(15) || x'01' || substr(fingerprint, 17) AS BLOB)")
    }
    try queue.close()
  }
}
