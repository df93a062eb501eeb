import TallyCRDT
import TallyTesting
import Testing

/// The bytes of a mergeable text: one form for each state, and nothing else is read.
@Suite struct TextCodingTests {
  private static let replicas = [ReplicaID(high: 1, low: 0), ReplicaID(high: 2, low: 0)]
  private static let limits = replicas.map { Dot(replica: $0, sequence: 3) }

  private static func stamp(_ sequence: UInt64, _ replica: Int = 0) -> Stamp {
    Stamp(time: HybridTime(milliseconds: 9), dot: Dot(replica: replicas[replica], sequence: sequence))
  }

  /// "ab" of the transactions 1 and 2, and that 3 has deleted the "b".
  private static let example: [UInt8] = [
    1, 2, 9, 0, 3, 1,  // a stamp: rank 2, time 9, replica 0, sequence 3; one run
    0, 1, 0,  // of replica 0, sequence 1, number 0
    1, 0, 2, 9,  // one piece; it stands by itself; rank 2, time 9
    0, 5, 0,  // no gap, two elements that go up by one, from the run's sequence on
    1, 1, 4, 0, 6,  // one row deleted: a gap of 1, one element, replica 0, sequence 3
    0x61,
  ]

  private static var exampleState: TextState {
    let id = TextRunID(dot: stamp(1).dot, number: TextRunID.insert)
    let origin = TextRun.Origin(stamp: stamp(1))
    var state = TextState()
    for (place, character) in ["a", "b"].enumerated() as EnumeratedSequence<[Unicode.Scalar]> {
      let written = TextDots(stamp(UInt64(place) + 1).dot)
      let stretch = TextStretch(first: UInt32(place), characters: [character], written: written)
      state.merge(TextState(latest: nil, runs: [TextRun(id: id, origin: origin, stretches: [stretch])]))
    }
    let deletion = TextStretch(first: 1, count: 1, written: nil, deleted: TextDots(stamp(3).dot))
    state.merge(TextState(latest: stamp(3), runs: [TextRun(id: id, origin: nil, stretches: [deletion])]))
    return state
  }

  @Test func anExampleHasTheBytesThatThePageSays() throws {
    #expect(Self.exampleState.encoded(replicas: Self.replicas) == Self.example)
    #expect(try TextState(Self.example, limits: Self.limits) == Self.exampleState)
    #expect(try TextState([0, 0], limits: []) == TextState())
    #expect(TextState().encoded(replicas: []) == [0, 0])
  }

  @Test func statesOfHistoriesReadBack() throws {
    for seed in 1...100 as ClosedRange<UInt64> {
      for replica in TextHistory(seed: seed).replicas {
        let state = replica.text.state
        for replicas in [state.replicas, state.replicas.reversed()] {
          let bytes = state.encoded(replicas: replicas)
          let limits = replicas.map { Dot(replica: $0, sequence: replica.vector[$0]) }
          let back = try TextState(bytes, limits: limits)
          #expect(back == state && back.brokenInvariants == [], "seed \(seed)")
          #expect(back.encoded(replicas: replicas) == bytes, "seed \(seed)")
        }
      }
    }
  }

  // MARK: What is refused

  private static func replacing(_ changes: [(Int, UInt8)]) -> [UInt8] {
    changes.reduce(into: example) { $0[$1.0] = $1.1 }
  }

  private static func numbers(_ numbers: [UInt64]) -> [UInt8] {
    numbers.flatMap { number -> [UInt8] in
      var (bytes, rest): ([UInt8], UInt64) = ([], number)
      while rest > 0x7F {
        bytes.append(UInt8(rest & 0x7F) | 0x80)
        rest >>= 7
      }
      return bytes + [UInt8(rest)]
    }
  }

  private static let refused: [(String, [UInt8], TextCodingError)] = [
    ("bytes behind the end", example + [0x61], .bytesBehind),
    ("a number that could be shorter", [0x81, 0] + example.dropFirst(), .number),
    ("a number of 65 bits", Array(repeating: 0xFF, count: 9) + [0x02], .number),
    ("a flag that means nothing", replacing([(0, 9)]), .unknownFlag),
    ("a way of a stamp that is not there", [2, 0, 1, 0], .unknownFlag),
    ("a way that is the own", [3, 2, 9, 0, 3, 0, 3, 0], .needlessVia),
    ("ways that are needed by nothing", [5] + example[1...20] + [0, 0, 0x61], .unknownFlag),
    ("the own dot as a way", [5] + example[1...20] + [1, 1, 0, 0x61], .needlessVia),
    ("the own dot of the second element as a way", [5] + example[1...20] + [1, 2, 0, 0x61], .needlessVia),
    ("a way of an unknown replica", [5] + example[1...20] + [3, 1, 0, 0x61], .unknownReplica),
    ("more runs than there are bytes", replacing([(5, 100)]), .tooMany),
    ("more pieces than there are bytes", replacing([(9, 100)]), .tooMany),
    ("more deletions than there are bytes", replacing([(16, 100)]), .tooMany),
    ("a stamp of an unknown replica", replacing([(3, 2)]), .unknownReplica),
    ("a run of an unknown replica", replacing([(6, 2)]), .unknownReplica),
    ("a deletion by an unknown replica", replacing([(19, 2)]), .unknownReplica),
    ("a stamp beyond the target", replacing([(4, 4)]), .beyondTarget),
    ("a stamp of transaction 0", replacing([(4, 0)]), .beyondTarget),
    ("a run beyond the target", replacing([(7, 4)]), .beyondTarget),
    ("a run of transaction 0", replacing([(7, 0)]), .beyondTarget),
    ("an element beyond the target", replacing([(15, 6)]), .beyondTarget),
    ("a second element beyond the target", replacing([(15, 4)]), .beyondTarget),
    ("an element of transaction 0", replacing([(15, 1)]), .beyondTarget),
    ("a deletion beyond the target", replacing([(20, 8)]), .beyondTarget),
    ("a deletion of transaction 0", replacing([(20, 0)]), .beyondTarget),
    ("a run with a negative number", replacing([(8, 1)]), .runOrder),
    ("a run with a number of 41 bits", example[..<8] + numbers([1 << 41]) + example[9...], .runOrder),
    ("a run twice", [0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0], .runOrder),
    ("a run that nothing is said of", [0, 1, 0, 1, 0, 0, 0], .unusedRun),
    ("a parent that is not in the list", replacing([(10, 2)]), .unknownParent),
    (
      "a parent's offset beyond the limit",
      numbers([
        0, 2, 0, 0, 1, 1, 0, 0, 0, 1, 2, 1 << 31, 0, 2, 0, 0, 0,
      ]) + [0x61], .range
    ),
    ("a piece without elements", replacing([(14, 0)]), .range),
    ("a piece beyond the limit", example[..<14] + numbers([1 << 31 | 2]) + example[15...], .range),
    ("a gap beyond the limit", example[..<13] + numbers([1 << 30]) + example[14...], .range),
    ("a deletion of nothing", replacing([(18, 1)]), .range),
    ("a step of one element", replacing([(14, 3)]), .notLongest),
    ("a step of one deletion", replacing([(18, 5)]), .notLongest),
    (
      "two pieces that are one",
      [
        1, 2, 9, 0, 3, 1, 0, 1, 0, 2, 0, 2, 9, 0, 0, 2, 2, 0, 2, 0, 0x61, 0x62,
      ], .notLongest
    ),
    ("two deletions that are one", [0, 1, 0, 1, 0, 0, 2, 0, 0, 4, 4, 0, 0, 4, 2], .notLongest),
    ("a rank of nine bits", numbers([1, 256]) + example[2...], .time),
    ("a time of 49 bits", numbers([1, 2, 1 << 48]) + example[3...], .time),
    ("a base with a time of 49 bits", example[..<12] + numbers([1 << 48]) + example[13...], .time),
    ("too few characters", Array(example.dropLast()), .characters),
    ("a byte that is no UTF-8", replacing([(21, 0xFF)]), .characters),
    ("half a surrogate", example.dropLast() + [0xED, 0xA0, 0x80], .characters),
    ("a character that could be shorter", example.dropLast() + [0xC1, 0xA1], .characters),
  ]

  @Test(arguments: refused.indices)
  func whatAnEncoderNeverMakesIsRefused(_ index: Int) {
    let (what, bytes, error) = Self.refused[index]
    #expect(throws: error, "\(what)") { try TextState(bytes, limits: Self.limits) }
  }

  @Test func everyErrorHasAnInputThatBringsIt() {
    let all: Set<TextCodingError> = [
      .truncated, .bytesBehind, .number, .unknownFlag, .tooMany, .unknownReplica, .beyondTarget, .runOrder, .unusedRun,
      .unknownParent, .range, .notLongest, .needlessVia, .time, .characters,
    ]
    #expect(Set(Self.refused.map(\.2)).union([.truncated]) == all)
    #expect(throws: TextCodingError.truncated) { try TextState([], limits: Self.limits) }
    #expect(throws: TextCodingError.truncated) { try TextState([1, 2, 9], limits: Self.limits) }
  }

  @Test func everyBeginningIsRefused() {
    for seed in 1...20 as ClosedRange<UInt64> {
      let replica = TextHistory(seed: seed).replicas[0]
      let bytes = replica.text.state.encoded(replicas: replica.vector.entries.map(\.replica))
      for count in 0..<bytes.count {
        #expect(throws: TextCodingError.self) { try TextState(Array(bytes[..<count]), limits: replica.vector.entries) }
      }
    }
  }

  /// Bytes that are a little wrong are refused, or are the one form of what they say, from which a text can be opened.
  @Test func damagedBytesAreRefusedOrOfOneForm() throws {
    var (read, refused) = (0, 0)
    for seed in 1...60 as ClosedRange<UInt64> {
      let replica = TextHistory(seed: seed).replicas[0]
      let replicas = replica.vector.entries.map(\.replica)
      let bytes = replica.text.state.encoded(replicas: replicas)
      var random = SplitMix64(seed: seed)
      for _ in 0..<100 {
        var damaged = bytes
        for _ in 0..<1 + random.below(2) {
          let place = random.below(damaged.count)
          switch random.below(4) {
          case 0: damaged[place] ^= 1 << UInt8(random.below(8))
          case 1: damaged[place] = UInt8(truncatingIfNeeded: random.next())
          case 2: damaged.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
          default: if damaged.count > 1 { damaged.remove(at: place) }
          }
        }
        guard let state = try? TextState(damaged, limits: replica.vector.entries) else {
          refused += 1
          continue
        }
        read += 1
        #expect(state.encoded(replicas: replicas) == damaged, "seed \(seed)")
        #expect(state.brokenInvariants == [], "seed \(seed)")
        var text = MergeableText(state)
        let shown = text.characters
        #expect(shown.count == text.count)
        text.merge(replica.text.state)
        #expect(text.state == replica.text.state.merging(state), "seed \(seed)")
      }
    }
    #expect(read > 200 && refused > 2000)
  }

  // MARK: What is unusual and right

  @Test func anyScalarsTravel() throws {
    for text in ["\0", "\u{301}", "\u{FEFF}", "\u{10FFFF}", "e\u{301}🇦🇹👩‍👩‍👧", "\r\n", "\u{2028}"] {
      let state = TextState(inserted: Self.stamp(1), Array(text.unicodeScalars))
      let back = try TextState(state.encoded(replicas: Self.replicas), limits: Self.limits)
      #expect(back == state && Array(MergeableText(back).text.utf8) == Array(text.utf8))
    }
  }

  @Test func aDeletionOfWhatIsNowhereIsKeptUntilItComes() throws {
    let state = TextState(inserted: Self.stamp(1), Array("abc".unicodeScalars))
    var other = MergeableText(state)
    let deletion = try other.delete(1..<2, by: Self.stamp(1, 1))
    let alone = try TextState(deletion.encoded(replicas: Self.replicas), limits: Self.limits)
    #expect(MergeableText(alone).text == "" && MergeableText(alone).elements.isEmpty)
    #expect(MergeableText(alone.merging(state)).text == "ac")
  }

  @Test func aRunWhoseParentIsNotThereStandsByItself() throws {
    var runs = TextRuns(salt: 1)
    var text = MergeableText(TextState(inserted: Self.stamp(1), Array("ac".unicodeScalars)))
    let edit = try text.insert(["b"], at: 1, by: Self.stamp(1, 1), in: &runs)
    let alone = try TextState(edit.encoded(replicas: Self.replicas), limits: Self.limits)
    #expect(alone == edit && MergeableText(alone).text == "b")
    #expect(MergeableText(alone.merging(text.state)).text == "abc")
  }

  /// A few bytes can speak of a thousand million elements that are deleted. They take no memory, and no time.
  @Test func aThousandMillionDeletedElementsAreARow() throws {
    let limits = Self.replicas.map { Dot(replica: $0, sequence: 1 << 62) }
    let count = UInt64(TextStretch.limit)
    let bytes = Self.numbers([0, 1, 0, 1, 0, 1, 0, 2, 9, 0, count << 1 | 1, 0, 1, 0, count * 3 + 2, 1, 2])
    let state = try TextState(bytes, limits: limits)
    let other = try TextState(
      Self.numbers([0, 1, 0, 1, 0, 0, 1, 0, count * 3 + 1, 1, 1 << 30]), limits: limits)
    let joined = state.merging(other)
    #expect(joined == other.merging(state) && joined.stretchCount < 4)
    #expect(joined.fingerprint(name: 1, field: 2) == other.merging(state).fingerprint(name: 1, field: 2))
    #expect(MergeableText(joined).count == 0)
    #expect(try TextState(joined.encoded(replicas: Self.replicas), limits: limits) == joined)
  }
}
