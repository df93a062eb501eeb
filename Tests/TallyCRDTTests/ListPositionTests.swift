import TallyTesting
import Testing

@testable import TallyCRDT

/// Positions in ordered lists: bytes that sort as paths of runs do, and what several stores make of one list.
@Suite struct ListPositionTests {
  private static let numbers: [Int64] = [
    0, 1, 2, 63, 64, 65, 8255, 8256, 1_056_831, 1_056_832, 135_274_559, 135_274_560, 4_430_241_855,
  ]

  private func path(_ random: inout SplitMix64) -> [ListStep] {
    (0..<1 + random.below(3)).map { _ in
      let number = random.chance(50) ? Int64(random.below(5)) : random.pick(Self.numbers)
      return ListStep(run: UInt64(random.below(3)), number: random.chance(50) ? number : -1 - number)
    }
  }

  @Test func bytesOrderAsStepsDoAndReadBack() throws {
    var random = SplitMix64(seed: 1)
    func isBefore(_ left: [ListStep], _ right: [ListStep]) -> Bool {
      left.lexicographicallyPrecedes(right) { $0.run != $1.run ? $0.run < $1.run : $0.number < $1.number }
    }
    for _ in 0..<20_000 {
      let (left, right) = (path(&random), path(&random))
      let (a, b) = try (#require(ListStep.bytes(left)), #require(ListStep.bytes(right)))
      #expect(ListStep.steps(a) == left)
      #expect(a.lexicographicallyPrecedes(b) == isBefore(left, right))
      #expect((a == b) == (left == right))
    }
  }

  @Test func aStepTakesSevenBytesAndAnUnusuallyLongRunMore() {
    for (number, count) in [(0, 7), (63, 7), (64, 8), (8255, 8), (8256, 9), (-64, 7), (-65, 8)] as [(Int64, Int)] {
      #expect(ListStep.bytes([ListStep(run: 5, number: number)])?.count == count)
    }
    #expect(ListStep.bytes([ListStep(run: 5, number: 4_430_241_856)]) == nil)
  }

  @Test(arguments: [
    [0xFF], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1, 0xC0], [0, 0, 0, 0, 0, 1, 0xFF], [0, 0, 0, 0, 0, 1, 6],
  ])
  func bytesOfOtherProgramsAreNoSteps(_ bytes: [UInt8]) {
    #expect(ListStep.steps(bytes) == nil)
  }

  @Test func aPositionHasOneTo512Bytes() {
    #expect(ListPosition(bytes: []) == nil)
    #expect(ListPosition(bytes: Array(repeating: 0, count: 513)) == nil)
    #expect(ListPosition(bytes: Array(repeating: 0, count: 512)) != nil)
  }

  // MARK: One store

  @Test func whatIsInsertedAtAPlaceStandsThere() throws {
    for seed in 1...40 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      var runs = [ListRuns(), ListRuns()]
      var list: [ListPosition] = []
      for _ in 0..<120 {
        let place = random.below(list.count + 1)
        let position = try runs[random.below(2)].between(
          place == 0 ? nil : list[place - 1], place == list.count ? nil : list[place], using: &random)
        list.insert(position, at: place)
      }
      #expect(list == list.sorted())
      #expect(Set(list).count == list.count)
    }
  }

  @Test func aListThatGrowsByOneElementAtEachOpeningStaysShortOfDepth() throws {
    for place in ["end", "beginning", "behind the first"] {
      var random = SplitMix64(seed: 7)
      var list: [ListPosition] = []
      for _ in 0..<2000 {
        var runs = ListRuns()
        let index = place == "end" ? list.count : place == "beginning" ? 0 : min(1, list.count)
        let left = index == 0 ? nil : list[index - 1]
        list.insert(try runs.between(left, index == list.count ? nil : list[index], using: &random), at: index)
      }
      #expect(list.allSatisfy { $0.bytes.count <= 14 }, "\(place)")
    }
  }

  @Test func appendingInOneGoTakesSevenBytesAndThenEight() throws {
    var random = SplitMix64(seed: 3)
    var (runs, last): (ListRuns, ListPosition?) = (ListRuns(), nil)
    for count in 1...1000 {
      last = try runs.between(last, nil, using: &random)
      #expect(last?.bytes.count == (count <= 32 ? 7 : 8))
    }
  }

  /// Each element between the two before it: the deepest that there is.
  @Test func whereThereIsNoRoomNothingIsMadeAndTheErrorSaysSo() throws {
    var random = SplitMix64(seed: 5)
    var runs = ListRuns()
    var left = try runs.between(nil, nil, using: &random)
    var right = try runs.between(left, nil, using: &random)
    var count = 0
    let error = #expect(throws: ListPositionError.self) {
      while count < 2000 {
        var other = ListRuns()
        let middle =
          try count % 3 == 0 ? runs.between(left, right, using: &random) : other.between(left, right, using: &random)
        #expect(left < middle && middle < right)
        if count % 2 == 0 { left = middle } else { right = middle }
        count += 1
      }
    }
    #expect(error == .tooDeep)
    #expect(count > 60)
  }

  @Test func equalOrTurnedPositionsHaveNoPlaceBetweenThem() throws {
    var random = SplitMix64(seed: 5)
    var runs = ListRuns()
    let first = try runs.between(nil, nil, using: &random)
    let last = try runs.between(first, nil, using: &random)
    #expect(throws: ListPositionError.noPlace) { try runs.between(first, first, using: &random) }
    #expect(throws: ListPositionError.noPlace) { try runs.between(last, first, using: &random) }
  }

  @Test func positionsOfOtherProgramsAreNeighborsLikeAnyOther() throws {
    var random = SplitMix64(seed: 11)
    var refused = 0
    for _ in 0..<5000 {
      func bytes() -> ListPosition? {
        ListPosition(bytes: (0..<1 + random.below(9)).map { _ in random.chance(40) ? 0 : UInt8(random.below(256)) })
      }
      var runs = ListRuns()
      let ours = random.chance(30) ? try runs.between(nil, nil, using: &random) : nil
      let pair = [ours ?? bytes(), bytes()].compactMap { $0 }.sorted()
      guard pair[0] < pair[1] else { continue }
      do throws(ListPositionError) {
        let middle = try runs.between(pair[0], pair[1], using: &random)
        #expect(pair[0] < middle && middle < pair[1])
        let next = try runs.between(middle, pair[1], using: &random)
        #expect(middle < next && next < pair[1])
        // The run goes on, unless it has grown at its front.
        #expect(next.bytes.count == middle.bytes.count || ours == pair[1])
      } catch {
        // Nothing is between bytes and the same with zeros behind them.
        #expect(error == .noPlace)
        #expect(
          pair[1].bytes.starts(with: pair[0].bytes) && pair[1].bytes[pair[0].bytes.count...].allSatisfy { $0 == 0 })
        refused += 1
      }
    }
    #expect(refused > 0)
  }

  // MARK: Several stores

  /// A store that inserts bursts into the list as it knows it.
  private struct Writer {
    var runs = ListRuns()
    var list: [ListPosition] = []
    /// The bursts that it has seen, by number.
    var seen = Set<Int>()
  }

  /// No two bursts that had not heard of each other are mixed, forwards or backwards, whatever lies around them.
  @Test func whatTwoStoresInsertAtOneTimeIsNeverMixed() throws {
    var compared = 0
    for seed in 1...150 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      var writers = [Writer(), Writer(), Writer()]
      var bursts: [(positions: [ListPosition], seen: Set<Int>)] = []
      for _ in 0..<40 {
        let index = random.below(writers.count)
        switch random.below(10) {
        case 0..<2:
          let other = writers[random.below(writers.count)]
          writers[index].list = Set(writers[index].list + other.list).sorted()
          writers[index].seen.formUnion(other.seen)
        case 2: writers[index].runs = ListRuns()
        case 3 where !writers[index].list.isEmpty:
          writers[index].list.remove(at: random.below(writers[index].list.count))
        default:
          let seen = writers[index].seen
          let positions = try burst(&writers[index], &random)
          writers[index].seen.insert(bursts.count)
          bursts.append((positions, seen))
        }
      }
      for (number, burst) in bursts.enumerated() {
        #expect(burst.positions == burst.positions.sorted())
        for (other, earlier) in bursts[..<number].enumerated()
        where !burst.seen.contains(other) && !earlier.seen.contains(number) {
          compared += 1
          let (a, b) = (burst.positions, earlier.positions)
          #expect(a[a.count - 1] < b[0] || b[b.count - 1] < a[0], "seed \(seed): bursts \(other) and \(number)")
        }
      }
      let all = bursts.flatMap(\.positions)
      #expect(Set(all).count == all.count)
    }
    #expect(compared > 10_000)
  }

  private func burst(_ writer: inout Writer, _ random: inout SplitMix64) throws -> [ListPosition] {
    let (start, count, isBackwards) = (random.below(writer.list.count + 1), 1 + random.below(4), random.chance(40))
    for step in 0..<count {
      let place = isBackwards ? start : start + step
      let position = try writer.runs.between(
        place == 0 ? nil : writer.list[place - 1], place == writer.list.count ? nil : writer.list[place], using: &random
      )
      writer.list.insert(position, at: place)
    }
    return Array(writer.list[start..<start + count])
  }

  // MARK: Least moves

  @Test func asFewElementsMoveAsCan() throws {
    var random = SplitMix64(seed: 13)
    for _ in 0..<2000 {
      let count = random.below(8)
      let positions = (0..<count).map { _ in random.chance(15) ? nil : ListPosition(bytes: [UInt8(1 + random.below(6))])
      }
      let staying = ListMoves.staying(positions)
      let kept = zip(positions, staying).filter { $0.1 }.map { $0.0 }
      #expect(
        zip(kept, kept.dropFirst()).allSatisfy { pair in
          pair.0.map { left in pair.1.map { left < $0 } ?? false } ?? false
        })
      #expect(!kept.contains(nil))
      // Every choice of elements, the largest that ascends.
      var best = 0
      for choice in 0..<1 << count {
        let chosen = positions.indices.filter { choice >> $0 & 1 == 1 }.map { positions[$0] }
        let ascends =
          !chosen.contains(nil)
          && zip(chosen.compactMap { $0 }, chosen.compactMap { $0 }.dropFirst()).allSatisfy { $0 < $1 }
        if ascends { best = max(best, chosen.count) }
      }
      #expect(kept.count == best)
    }
  }
}
