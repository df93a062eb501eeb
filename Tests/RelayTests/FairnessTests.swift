#if Relay
  import Synchronization
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallyTesting
  import Testing

  /// One token or space that wants much keeps others waiting for one of its own, and not for all.
  @Suite(.timeLimit(.minutes(5))) struct FairnessTests {
    @Test func aLineGoesRound() {
      var line = FairLine<Int, String>()
      for word in ["a1", "a2", "a3"] { line.append(word, of: 1) }
      for word in ["b1", "b2"] { line.append(word, of: 2) }
      #expect(line.first == "a1" && line.removeFirst() == "a1")
      line.append("c1", of: 3)
      #expect(line.remove(of: 2) { $0 == "b1" } == "b1" && line.remove(of: 2) { $0 == "b1" } == nil)
      var rest: [String] = []
      while let next = line.removeFirst() { rest.append(next) }
      #expect(rest == ["b2", "a2", "c1", "a3"] && line.isEmpty && line.first == nil)
    }

    /// Beside a line that is searched each time: the next is of the owner that has waited longest since its last turn.
    @Test func aLineIsAsItsModelSays() {
      var random = SplitMix64(seed: 11)
      var line = FairLine<Int, Int>()
      var model: [(owner: Int, element: Int)] = []
      // When each owner came into the line, or had its turn.
      var since: [Int: Int] = [:]
      var taken = 0
      for step in 0..<20_000 {
        switch random.next() % 5 {
        case 0, 1:
          let owner = Int(random.next() % 7)
          if !model.contains(where: { $0.owner == owner }) { since[owner] = step }
          line.append(step, of: owner)
          model.append((owner, step))
        case 2 where !model.isEmpty:
          let gone = model.remove(at: Int(random.next() % UInt64(model.count)))
          #expect(line.remove(of: gone.owner) { $0 == gone.element } == gone.element)
        default:
          let owner = Set(model.map(\.owner)).min { since[$0, default: 0] < since[$1, default: 0] }
          let index = model.firstIndex { $0.owner == owner }
          #expect(line.first == index.map { model[$0].element })
          #expect(line.removeFirst() == index.map { model[$0].element })
          guard let index, let owner else { continue }
          model.remove(at: index)
          since[owner] = step
          taken += 1
        }
        #expect(line.count == model.count)
      }
      #expect(taken > 1_000)
    }

    private final class Order: Sendable {
      private let state = Mutex<[UInt8]>([])

      var all: [UInt8] { state.withLock { $0 } }
      func note(_ token: UInt8) { state.withLock { $0.append(token) } }
    }

    /// A token that asks for a hundred pages at once keeps another's first waiting for one.
    @Test func tokensTakeTurns() async throws {
      let (turns, order) = (Turns(1), Order())
      var waiting: [Task<Void, any Error>] = []
      try await turns.run(of: [0]) {
        for (number, token) in (Array(repeating: UInt8(1), count: 100) + [2]).enumerated() {
          waiting.append(Task { try await turns.run(of: [token]) { order.note(token) } })
          try await Looking.until("it waits", within: .seconds(60)) { turns.waiting == number + 1 }
        }
      }
      for task in waiting { try await task.value }
      #expect(order.all.firstIndex(of: 2) == 1 && order.all.count == 101)
    }

    private struct Write: GroupedWrite {
      let space: Int64
      let number: Int
      let byteCount: Int
      let count = 1
      let onFailure: @Sendable (any Error) -> Void

      func fail(_ error: any Error) { onFailure(error) }
    }

    /// The groups that are committed, each when a test says so.
    private final class Groups: Sendable {
      typealias End = @Sendable (Result<GroupCommit<Write>.Telling, any Error>) -> Void

      private let state = Mutex<(groups: [[Write]], end: End?, failed: [any Error])>(([], nil, []))

      var all: [[Write]] { state.withLock { $0.groups } }
      var failed: [any Error] { state.withLock { $0.failed } }

      func commit(_ group: [Write], _ end: @escaping End) {
        state.withLock {
          $0.groups.append(group)
          $0.end = end
        }
      }

      func fail(_ error: any Error) { state.withLock { $0.failed.append(error) } }
      func endCommit() { state.withLock { $0.end.take() }?(.success({})) }
    }

    /// A space that puts megabytes keeps another's small put waiting for one group, and its own order.
    @Test func spacesTakeTurnsInGroups() {
      let groups = Groups()
      let commits = GroupCommit<Write> { group, end in groups.commit(group, end) }
      func add(_ space: Int64, _ number: Int, _ bytes: Int) {
        commits.add(Write(space: space, number: number, byteCount: bytes) { groups.fail($0) })
      }
      add(1, 0, 10)
      for number in 1...20 { add(1, number, 1 << 20) }
      for number in 0..<3 { add(2, number, 200) }
      for _ in 0..<10 { groups.endCommit() }
      #expect(groups.failed.isEmpty)
      let (first, second) = (groups.all[0], groups.all[1])
      #expect(first.map(\.number) == [0] && second.filter { $0.space == 2 }.map(\.number) == [0, 1, 2])
      #expect(groups.all.joined().filter { $0.space == 1 }.map(\.number) == Array(0...20))
      #expect(groups.all.dropFirst().allSatisfy { $0.reduce(0) { $0 + $1.byteCount } <= GroupLimits.groupBytes })
    }

    /// What one space has waiting leaves room for others, who are not told to come back.
    @Test func aSpaceLeavesRoomForOthers() {
      let groups = Groups()
      let commits = GroupCommit<Write> { group, end in groups.commit(group, end) }
      func isTaken(_ space: Int64) -> Bool {
        let before = groups.failed.count
        commits.add(Write(space: space, number: 0, byteCount: 1 << 20) { groups.fail($0) })
        return groups.failed.count == before
      }
      var taken = 0
      while taken < 1_000, isTaken(1) { taken += 1 }
      // The one that is being committed waits no more.
      #expect(taken == 1 + (GroupLimits.waitingBytes / 2) >> 20)
      #expect((groups.failed.last as? RelayProblem)?.code == .busy)
      #expect(isTaken(2) && isTaken(3))
      // When all is committed, there is as much room as before.
      for _ in 0..<1_000 { groups.endCommit() }
      taken = 0
      while taken < 1_000, isTaken(1) { taken += 1 }
      #expect(taken == 1 + (GroupLimits.waitingBytes / 2) >> 20)
    }
  }
#endif
