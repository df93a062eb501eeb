import TallyTesting
import Testing

@testable import TallyCRDT

/// Editing a mergeable text.
@Suite struct MergeableTextTests {
  /// A device with a text.
  private struct Device {
    var vector = StateVector()
    let id: ReplicaID
    var text: MergeableText
    var runs: TextRuns

    init(_ id: UInt64, _ state: TextState = TextState(), salt: UInt64 = 1) {
      self.id = ReplicaID(high: id, low: 0)
      (text, runs) = (MergeableText(state), TextRuns(salt: salt))
    }

    mutating func stamp() -> Stamp {
      let dot = Dot(replica: id, sequence: vector[id] + 1)
      vector.include(dot)
      return Stamp(time: HybridTime(milliseconds: dot.sequence), dot: dot)
    }

    mutating func type(_ typed: String, at offset: Int) throws {
      for (place, character) in typed.unicodeScalars.enumerated() {
        _ = try text.insert([character], at: offset + place, by: stamp(), in: &runs)
      }
    }

    mutating func save(_ new: String) throws {
      _ = try text.save(new, from: text.text, by: stamp(), in: &runs)
    }

    mutating func pull(_ other: Device) {
      if let delta = other.text.state.delta(since: vector) { text.merge(delta) }
      vector.merge(other.vector)
    }
  }

  // MARK: Runs

  @Test func typingGoesOnInOneRunAndOneStretch() throws {
    var device = Device(1)
    try device.type("hello world", at: 0)
    #expect(device.text.text == "hello world")
    #expect(device.text.state.runs.count == 1 && device.text.state.stretchCount == 1)
    // In the middle a run hangs between two characters, and goes on as well.
    try device.type("big ", at: 6)
    #expect(device.text.text == "hello big world")
    #expect(device.text.state.runs.count == 2 && device.text.state.stretchCount == 2)
  }

  @Test func onlyTheOpeningThatBeganARunGoesOnWithIt() throws {
    var device = Device(1)
    try device.type("one", at: 0)
    device.runs = TextRuns(salt: 2)
    try device.type(" two", at: 3)
    #expect(device.text.text == "one two" && device.text.state.runs.count == 2)
    var other = Device(2, device.text.state)
    try other.type("!", at: 7)
    #expect(other.text.state.runs.count == 3)
  }

  /// A purge elsewhere can take the end of a run away. What is typed then gets no name that was given before.
  @Test func noNameIsGivenTwice() throws {
    var device = Device(1)
    try device.type("abc", at: 0)
    let run = try #require(device.text.state.runs.first)
    let rest = TextRun(id: run.id, origin: run.origin, stretches: [run.stretches[0].part(0..<1)])
    device.text = MergeableText(TextState(latest: device.text.state.latest, runs: [rest]))
    try device.type("x", at: 1)
    #expect(device.text.text == "ax" && device.text.state.runs.count == 2)
  }

  /// Two copies of one store type under one id; a repair joins both states whole.
  private func copies(_ change: (inout TextRuns) -> Void = { _ in }) throws -> Int {
    let words = "the quick brown fox jumps over a lazy dog while seven wise owls watch from tall old trees"
    let all = words.split(separator: " ").map(String.init)
    var whole = 0
    for seed in 1...80 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      var origin = Device(1, salt: 1)
      try origin.save("start ")
      let at = random.below(7)
      var copies: [Device] = []
      for word in [random.pick(all), random.pick(all)] {
        var copy = origin
        copy.runs = TextRuns(using: &random)
        change(&copy.runs)
        for place in 1...word.count {
          let text = Array("start ")
          try copy.save(String(text[..<at] + Array(word)[..<place] + text[at...]))
        }
        copies.append(copy)
      }
      let (a, b) = (copies[0].text.state, copies[1].text.state)
      #expect(a.merging(b) == b.merging(a), "seed \(seed)")
      let joined = MergeableText(a.merging(b)).text
      let typed = copies.map { $0.text.text.dropFirst(at).dropLast(6 - at) }
      if typed.allSatisfy({ joined.contains($0) }) { whole += 1 }
    }
    return whole
  }

  @Test func wordsThatTwoCopiesOfAStoreTypeUnderOneIDStayWhole() throws {
    #expect(try copies() == 80)
    #if PlantedFaults
      #expect(try copies { $0.fault = .runsWithoutSalt } < 60)
      #expect(try copies { $0.fault = .noSlide } < 80)
    #endif
  }

  // MARK: Saving whole strings

  @Test func ofTwoConcurrentSavesWithSeveralChangesBothStay() throws {
    var a = Device(1)
    try a.save("one two three four five six seven eight")
    var b = Device(2)
    b.pull(a)
    try a.save("ONE two three four five six SEVEN eight")
    try b.save("one two three 4 five six seven eight nine")
    (a, b) = (a, b)
    let before = a
    a.pull(b)
    b.pull(before)
    #expect(a.text.text == "ONE two three 4 five six SEVEN eight nine" && b.text.text == a.text.text)
    #if PlantedFaults
      var other = Device(1)
      other.runs.fault = .endsOnly
      try other.save("one two three four")
      try other.save("ONE two three FOUR")
      #expect(other.text.state.runs.count == 2)
    #endif
  }

  @Test func aSaveThatTypesGoesOnInItsRun() throws {
    var device = Device(1)
    try device.save("owl start")
    // The second "s" could as well be what "start" begins with.
    for text in ["owl wstart", "owl wsstart", "owl wsostart"] { try device.save(text) }
    #expect(device.text.text == "owl wsostart" && device.text.state.runs.count == 2)
    #expect(device.text.state.stretchCount == 2)
  }

  // MARK: Deleting

  @Test func deletedCharactersAreGoneAndTheirPlacesStay() throws {
    var device = Device(1)
    try device.save("keep SECRET keep")
    var other = Device(2)
    other.pull(device)
    try other.type("!", at: 11)
    try device.save("keep  keep")
    let bytes = device.text.state.encoded(replicas: [device.id])
    #expect(!bytes.contains(UInt8(ascii: "S")) && !bytes.contains(UInt8(ascii: "T")))
    #expect(device.text.elements.count == 16)
    device.pull(other)
    #expect(device.text.text == "keep ! keep")
    let whole = device.text.state.encoded(replicas: [device.id, other.id])
    #expect(!whole.contains(UInt8(ascii: "S")))
  }

  @Test func ofTwoDeletionsTheLesserDotStaysWhereverTheyMeet() throws {
    var a = Device(1)
    try a.save("abcdef")
    var b = Device(2)
    b.pull(a)
    try a.save("abf")
    try b.save("aef")
    let joined = a.text.state.merging(b.text.state)
    #expect(joined == b.text.state.merging(a.text.state) && MergeableText(joined).text == "af")
    let deleted = joined.runs[0].stretches.compactMap(\.deleted).map(\.replica)
    #expect(deleted == [b.id, a.id])
  }

  // MARK: Cells and bases

  @Test func aTextThatNobodyHasEditedIsACell() throws {
    var device = Device(1)
    let stamp = device.stamp()
    let state = TextState(inserted: stamp, Array("abc".unicodeScalars))
    #expect(state.cell?.stamp == stamp && state.cell?.characters == Array("abc".unicodeScalars))
    #expect(TextState(inserted: stamp, []).isEmpty && TextState().cell == nil)
    for edit in 0..<3 {
      device.text = MergeableText(state)
      switch edit {
      case 0: try device.type("d", at: 3)
      case 1: _ = try device.text.delete(0..<1, by: device.stamp())
      default: device.text.merge(state.travelling(by: device.stamp().dot))
      }
      #expect(device.text.state.cell == nil)
      #expect(MergeableText(state.merging(device.text.state)).state == device.text.state)
    }
    // Of two that write the record anew neither loses: both become runs.
    var other = Device(2)
    let theirs = TextState(inserted: other.stamp(), Array("xyz".unicodeScalars))
    #expect(state.merging(theirs).cell == nil && MergeableText(state.merging(theirs)).text == "abcxyz")
  }

  private static func base(_ time: UInt64) -> Stamp {
    let dot = Dot(replica: ReplicaID(high: 9, low: time), sequence: 1)
    return Stamp(rank: .seed, time: HybridTime(milliseconds: time), dot: dot)
  }

  @Test func whatTwoTakeInFromElsewhereIsThereOnce() throws {
    var (a, b) = (Device(1), Device(2))
    let characters = Array("seed".unicodeScalars)
    let edit = a.text.takeIn(characters, of: Self.base(1), by: a.stamp())
    _ = b.text.takeIn(characters, of: Self.base(1), by: b.stamp())
    // Who has heard of the seed lacks the run all the same: it travels by who took it in.
    var heard = StateVector()
    heard.include(Self.base(1).dot)
    #expect(edit.delta(since: heard) == edit)
    let again = a.text.takeIn(characters, of: Self.base(1), by: a.stamp())
    #expect(again.isEmpty)
    try a.type("A", at: 4)
    try b.type("B", at: 0)
    let before = a
    a.pull(b)
    b.pull(before)
    #expect(a.text.text == "BseedA" && b.text.text == "BseedA" && a.text.state == b.text.state)
  }

  @Test func ofSeveralBasesTheLatestShowsAndEditsInsideOthersStay() throws {
    var (a, b, c) = (Device(1), Device(2), Device(3))
    _ = a.text.takeIn(Array("first".unicodeScalars), of: Self.base(1), by: a.stamp())
    try a.type("A", at: 2)
    _ = b.text.takeIn(Array("second".unicodeScalars), of: Self.base(2), by: b.stamp())
    try b.type("B", at: 6)
    _ = c.text.takeIn([], of: Self.base(3), by: c.stamp())
    let two = MergeableText(a.text.state.merging(b.text.state))
    #expect(two.text == "AsecondB" && two.state.shownBase?.dot == Self.base(2).dot)
    let three = MergeableText(two.state.merging(c.text.state))
    #expect(three.text == "AB" && three.state.shownBase?.dot == Self.base(3).dot)
    // What is shown is deleted by who takes in another one.
    var both = Device(1, two.state)
    _ = both.text.takeIn(Array("third".unicodeScalars), of: Self.base(3), by: both.stamp())
    #expect(both.text.text == "third")
  }

  // MARK: Bad input, and limits

  @Test func whatIsOutOfRangeChangesNothing() throws {
    var device = Device(1)
    try device.save("abc")
    let (state, stamp) = (device.text.state, device.stamp())
    #expect(throws: TextError.outOfRange) { try device.text.insert(["x"], at: 4, by: stamp, in: &device.runs) }
    #expect(throws: TextError.outOfRange) { try device.text.insert(["x"], at: -1, by: stamp, in: &device.runs) }
    #expect(throws: TextError.outOfRange) { try device.text.delete(2..<4, by: stamp) }
    #expect(throws: TextError.outOfRange) { try device.text.delete(-1..<1, by: stamp) }
    #expect(throws: TextError.notShown) { try device.text.save("x", from: "abcd", by: stamp, in: &device.runs) }
    let overlapping = [TextHunk(offset: 0, deleted: 2, inserted: []), TextHunk(offset: 1, deleted: 1, inserted: [])]
    #expect(throws: TextError.outOfRange) { try device.text.edit(overlapping, by: stamp, in: &device.runs) }
    #expect(device.text.state == state && device.text.text == "abc")
    #expect(try device.text.insert([], at: 1, by: stamp, in: &device.runs).isEmpty)
    #expect(try device.text.delete(1..<1, by: stamp).isEmpty)
    #expect(try device.text.save("abc", from: "abc", by: stamp, in: &device.runs).isEmpty)
  }

  @Test func aTextHasAtMostOneMebibyteByWrites() throws {
    var device = Device(1)
    let limit = MergeableText.byteLimit
    try device.save(String(repeating: "ä", count: limit / 2))
    let state = device.text.state
    #expect(throws: TextError.tooLarge) { try device.type("x", at: 0) }
    #expect(device.text.state == state && device.text.byteCount == limit)
    // As long as before is not longer, and deleting is always possible.
    try device.save("ab" + String(repeating: "ä", count: limit / 2 - 1))
    _ = try device.text.delete(0..<1, by: device.stamp())
    try device.type("x", at: 0)
    #expect(device.text.byteCount == limit)
  }

  /// However many stretches peers bring, a text can be edited: each character here has a gap beside it, as of a part.
  @Test func aTextOfManyStretchesIsEdited() throws {
    var device = Device(1)
    let count = 100_000
    let dot = Dot(replica: device.id, sequence: 1)
    let run = TextRunID(dot: dot, number: 1)
    let stretches = (0..<count).map { index in
      TextStretch(first: UInt32(index * 2), characters: ["x"], written: TextDots(dot))
    }
    device.vector.include(dot)
    device.text.merge(TextState(latest: nil, runs: [TextRun(id: run, origin: .init(stamp: nil), stretches: stretches)]))
    #expect(device.text.state.stretchCount == count && device.text.count == count)
    try device.type("ab", at: 5)
    try device.type("c", at: 20)
    _ = try device.text.delete(21..<23, by: device.stamp())
    #expect(device.text.text.prefix(24) == "xxxxxabxxxxxxxxxxxxxcxxx" && device.text.count == count + 1)
    #expect(device.text.state.stretchCount == count + 2)
  }

  /// One transaction that changes very many places writes each of them, and what it adds is what the state has more.
  @Test func aTransactionMayChangeThousandsOfPlaces() throws {
    var device = Device(1)
    try device.save(String(repeating: "one a two ", count: 3000))
    let before = device.text.state
    let hunks = (0..<3000).map { TextHunk(offset: $0 * 10 + 4, deleted: 1, inserted: ["b"]) }
    let edit = try device.text.edit(hunks, by: device.stamp(), in: &device.runs)
    let new = String(repeating: "one b two ", count: 3000)
    #expect(device.text.text == new && before.merging(edit) == device.text.state)
    #expect(edit.brokenInvariants == [] && edit.runs.count == 3001)
    #expect(MergeableText(device.text.state).text == new)
  }

  @Test func oneTransactionBeginsAtMost65536Runs() throws {
    var device = Device(1)
    device.text = MergeableText(TextState(inserted: device.stamp(), Array(repeating: "x", count: 10)))
    let stamp = device.stamp()
    for _ in 0..<1 << 16 { _ = device.runs.begin(stamp.dot) }
    #expect(throws: TextError.tooLarge) { try device.text.insert(["y"], at: 5, by: stamp, in: &device.runs) }
    _ = try device.text.insert(["y"], at: 5, by: device.stamp(), in: &device.runs)
    #expect(device.text.count == 11)
  }

  // MARK: Cost

  @Test func aKeystrokeTravelsInFewBytes() throws {
    var device = Device(1)
    try device.save(String(repeating: "some words. ", count: 500))
    try device.type("x", at: 3000)
    let edit = try device.text.insert(["y"], at: 3001, by: device.stamp(), in: &device.runs)
    #expect(edit.encoded(replicas: [device.id]).count < 50)
  }

  /// A keystroke in a text of a hundred thousand characters and thousands of runs costs little more than in a small
  /// one: no way goes through the text, the runs or the spans, of which there are 64 times as many.
  @Test func aKeystrokeCostsTheSameInALargeText() throws {
    func cost(runs: Int) throws -> Duration {
      var random = SplitMix64(seed: 1)
      var device = Device(1)
      device.text = MergeableText(
        TextState(inserted: device.stamp(), Array(repeating: "x", count: max(100, runs * 8))))
      for _ in 0..<runs { try device.type("ab", at: random.below(device.text.count)) }
      var least = Duration.seconds(100)
      for _ in 0..<12 {
        let start = ContinuousClock.now
        for _ in 0..<100 {
          try device.type("y", at: random.below(device.text.count))
          _ = try device.text.delete(5..<6, by: device.stamp())
        }
        least = min(least, ContinuousClock.now - start)
      }
      return least
    }
    let (small, large) = (try cost(runs: 200), try cost(runs: 12_800))
    #expect(large < small * 32, "\(small) and \(large) for 100 keystrokes")
  }
}
