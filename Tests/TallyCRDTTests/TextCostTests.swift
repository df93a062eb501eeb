import TallyTesting
import Testing

@testable import TallyCRDT

/// What joining and reading texts may cost, counted: never by a clock.
@Suite struct TextCostTests {
  private static let replicas = (0..<2).map { ReplicaID(high: UInt64($0), low: 0) }
  private static let limits = replicas.map { Dot(replica: $0, sequence: 1 << 40) }

  private static func run(_ sequence: Int) -> TextRun {
    let dot = Dot(replica: replicas[0], sequence: UInt64(sequence) + 1)
    return TextRun(
      id: TextRunID(dot: dot, number: 1), origin: .init(stamp: nil),
      stretches: [TextStretch(first: 0, characters: ["x"], written: TextDots(dot))])
  }

  /// However many runs come and wherever they go, each that is here moves at most once.
  @Test(arguments: [1, 2, 7, 100, 1000, 4000])
  func aJoinMovesEachRunOnce(_ count: Int) {
    var random = SplitMix64(seed: UInt64(count))
    for isEven in [true, false] {
      let mine = (0..<4000).map { Self.run($0 * 10) }
      // New runs among these, or before all of them, and some that are here.
      var places = Set<Int>()
      while places.count < count {
        places.insert(isEven ? random.below(40_000) : random.chance(10) ? random.below(4000) * 10 : random.below(9) + 1)
        if !isEven, count > 100 { places.insert(random.below(40_000)) }
      }
      let theirs = TextState(latest: nil, runs: places.sorted().map(Self.run))
      var state = TextState(latest: nil, runs: mine)
      let expected = Set(mine.map(\.id)).union(theirs.runs.map(\.id)).sorted()
      let moved = state.join(theirs)
      #expect(moved <= mine.count && state.runs.map(\.id) == expected && state.brokenInvariants == [])
    }
    // What is known already moves nothing, and what comes behind all neither.
    var state = TextState(latest: nil, runs: (0..<4000).map { Self.run($0) })
    #expect(state.join(TextState(latest: nil, runs: (0..<count).map { Self.run($0) })) == 0)
    #expect(state.join(TextState(latest: nil, runs: (0..<count).map { Self.run(4000 + $0) })) == 0)
    #expect(state.runs.count == 4000 + count)
  }

  private static func repeated(_ count: Int, _ bytes: UInt8...) -> [UInt8] {
    Array((0..<count).map { _ in bytes }.joined())
  }

  private static func varint(_ number: Int) -> [UInt8] {
    var (bytes, rest): ([UInt8], Int) = ([], number)
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  /// The shortest bytes for as much as they can say: many runs, many rows, many characters each by itself.
  private static func dense(_ count: Int) -> [(String, [UInt8])] {
    let (zeros, ones, twos) = (repeated(count, 0), repeated(count, 1), repeated(count, 2))
    let names = [0] + varint(count) + zeros + ones
    let first = [2] + zeros.dropLast()
    let letters = [UInt8](repeating: 0x61, count: count)
    let one: [UInt8] = [0, 1, 0, 1, 2]
    let deletions = repeated(count, 4) + repeated(count / 2, 0, 1) + first
    return [
      ("runs of a deletion", names + zeros + zeros + ones + zeros + repeated(count, 4) + zeros + first),
      ("runs of a character", names + first + ones + zeros + zeros + twos + zeros + zeros + letters),
      (
        "runs that hang",
        names + first + ones + [0] + twos.dropLast() + ones.dropLast() + zeros + twos + zeros + zeros + letters
      ),
      ("characters with gaps", one + varint(count) + [0] + ones + twos + zeros + [0] + letters),
      ("deletions", one + [0] + varint(count) + zeros + deletions),
      (
        "deletions between characters",
        one + [1, 0, 0] + varint(4 * count) + [0] + varint(count) + ones + deletions + letters
      ),
    ]
  }

  /// For each byte that is read at most 30 are kept in memory: nothing is there twice, no list has room to spare, and
  /// characters stand together.
  @Test func memoryOfWhatIsReadIsASmallMultipleOfItsBytes() throws {
    for (what, bytes) in Self.dense(20_000) {
      let state = try TextState(bytes, limits: Self.limits)
      #expect(state.encoded(replicas: Self.replicas) == bytes, "\(what)")
      // A list begins with 32 bytes, and the allocator rounds up to 16.
      var memory = state.runs.capacity * MemoryLayout<TextRun>.stride
      var characters = 0
      var next: UnsafePointer<Unicode.Scalar>?
      for run in state.runs {
        memory += 32 + run.stretches.capacity * MemoryLayout<TextStretch>.stride
        for stretch in run.stretches where stretch.isLive {
          characters += Int(stretch.count)
          stretch.characters.withUnsafeBufferPointer { buffer in
            #expect(next == nil || buffer.baseAddress == next, "\(what)")
            next = buffer.baseAddress.map { $0 + buffer.count }
          }
        }
      }
      memory += 4 * characters
      #expect(memory < 30 * bytes.count, "\(what): \(memory) bytes of \(bytes.count)")
      #expect(state.stretchCount >= 20_000)
    }
    #expect(MemoryLayout<TextStretch>.stride <= 64 && MemoryLayout<TextRun>.stride <= 88)
  }

  /// Where texts share characters, they part when one of them is written: and a small part keeps no large text.
  @Test func partsOfATextDoNotKeepAllOfIt() throws {
    let dot = Self.limits[0]
    let letters = (0..<1000).compactMap { Unicode.Scalar(UInt32(0x4e00 + $0)) }
    let whole = TextStretch(first: 0, characters: letters, written: TextDots(dot))
    let small = whole.part(500..<600)
    #expect(small.characters.startIndex == 0 && Array(small.characters) == Array(letters[500..<600]))
    let large = whole.part(400..<1000)
    #expect(Array(large.characters) == Array(letters[400...]))
    for part in [whole, small, large] {
      var longer = part
      let next = TextStretch(first: part.end, characters: ["!"], written: TextDots(dot))
      #expect(longer.append(next) && Array(longer.characters) == Array(part.characters) + ["!"])
      #expect(longer.characters.startIndex == 0 && part.count + 1 == longer.count)
    }
    #expect(Array(whole.characters) == letters)
  }
}
