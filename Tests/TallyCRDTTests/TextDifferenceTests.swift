import TallyTesting
import Testing

@testable import TallyCRDT

/// What a comparison of two strings finds.
@Suite struct TextDifferenceTests {
  private static func applied(_ hunks: [TextHunk], to old: String) -> String {
    var scalars = Array(old.unicodeScalars)
    for hunk in hunks.reversed() {
      scalars.replaceSubrange(hunk.offset..<hunk.offset + hunk.deleted, with: hunk.inserted)
    }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }

  private static func hunk(_ offset: Int, _ deleted: Int, _ inserted: String) -> TextHunk {
    TextHunk(offset: offset, deleted: deleted, inserted: Array(inserted.unicodeScalars))
  }

  private static func text(_ random: inout SplitMix64, of alphabet: [Unicode.Scalar], _ count: Int) -> String {
    var text = String.UnicodeScalarView()
    for _ in 0..<count { text.append(random.pick(alphabet)) }
    return String(text)
  }

  /// A and B of two bytes and Ä and the like share first bytes, or last ones.
  private static let alphabet = Array("abÄÅäЄ€₭😀😁".unicodeScalars)

  @Test func whatIsFoundMakesTheNewOfTheOld() {
    var random = SplitMix64(seed: 1)
    for round in 0..<4000 {
      let letters = Array(Self.alphabet.prefix(2 + random.below(9)))
      let old = Self.text(&random, of: letters, random.below(14))
      let new = random.chance(50) ? Self.text(&random, of: letters, random.below(14)) : Self.edited(old, &random)
      var options = TextDifference.Options()
      options.least = random.below(4)
      options.stepLimit = random.pick([0, 5, 30, 1 << 21])
      options.lineLimit = random.pick([0, 4096])
      options.place = random.chance(50) ? random.below(14) : nil
      let hunks = TextDifference.hunks(from: old, to: new, options)
      #expect(Array(Self.applied(hunks, to: old).utf8) == Array(new.utf8), "round \(round)")
      for (hunk, next) in zip(hunks, hunks.dropFirst()) { #expect(hunk.offset + hunk.deleted < next.offset) }
      #expect(hunks.allSatisfy { $0.deleted > 0 || !$0.inserted.isEmpty })
    }
  }

  private static func edited(_ text: String, _ random: inout SplitMix64) -> String {
    var scalars = Array(text.unicodeScalars)
    for _ in 0..<1 + random.below(3) {
      let at = random.below(scalars.count + 1)
      let end = min(scalars.count, at + random.below(3))
      scalars.replaceSubrange(at..<end, with: Self.text(&random, of: alphabet, random.below(3)).unicodeScalars)
    }
    var result = String.UnicodeScalarView()
    result.append(contentsOf: scalars)
    return String(result)
  }

  /// The script has as few insertions and deletions as there can be, by the table of longest common subsequences.
  @Test func aScriptIsTheShortest() throws {
    var random = SplitMix64(seed: 2)
    for round in 0..<3000 {
      let letters = Array(Self.alphabet.prefix(1 + random.below(4)))
      let x = Array(Self.text(&random, of: letters, random.below(16)).unicodeScalars)
      let y = Array(Self.text(&random, of: letters, random.below(16)).unicodeScalars)
      var table = [[Int]](repeating: [Int](repeating: 0, count: y.count + 1), count: x.count + 1)
      for i in x.indices {
        for j in y.indices {
          table[i + 1][j + 1] = x[i] == y[j] ? table[i][j] + 1 : max(table[i][j + 1], table[i + 1][j])
        }
      }
      var steps = 1 << 20
      let script = try #require(TextDifference.script(x[...], y[...], steps: &steps))
      let length = script.reduce(0) { $0 + $1.old.count + $1.new.count }
      #expect(length == x.count + y.count - 2 * table[x.count][y.count], "round \(round)")
      for (change, next) in zip(script, script.dropFirst()) {
        #expect(next.old.lowerBound - change.old.upperBound == next.new.lowerBound - change.new.upperBound)
        #expect(change.old.upperBound < next.old.lowerBound)
        #expect(x[change.old.upperBound..<next.old.lowerBound] == y[change.new.upperBound..<next.new.lowerBound])
      }
    }
  }

  @Test func commonEndsAreOfWholeScalars() {
    // Ä is C3 84, Å C3 85, ą C4 85: same first bytes, same last bytes.
    #expect(TextDifference.hunks(from: "aÄb", to: "aÅb") == [Self.hunk(1, 1, "Å")])
    #expect(TextDifference.hunks(from: "aÅb", to: "aąb") == [Self.hunk(1, 1, "ą")])
    #expect(TextDifference.hunks(from: "Ä", to: "ÄÄ") == [Self.hunk(1, 0, "Ä")])
    #expect(TextDifference.hunks(from: "", to: "").isEmpty)
    #expect(TextDifference.hunks(from: "é", to: "é").isEmpty)
    // The same to a reader, and not the same text.
    #expect(TextDifference.hunks(from: "\u{E9}", to: "e\u{301}") == [Self.hunk(0, 1, "e\u{301}")])
    let long = String(repeating: "ä😀", count: 40)
    #expect(TextDifference.hunks(from: long + "x" + long, to: long + long) == [Self.hunk(80, 1, "")])
  }

  @Test func changesWithLessThanThreeScalarsBetweenAreOne() {
    #expect(TextDifference.hunks(from: "xabx", to: "yaby") == [Self.hunk(0, 4, "yaby")])
    #expect(TextDifference.hunks(from: "xabcx", to: "yabcy") == [Self.hunk(0, 1, "y"), Self.hunk(4, 1, "y")])
    let hunks = TextDifference.hunks(from: "milk, eggs", to: "oat milk, 6 eggs")
    #expect(hunks == [Self.hunk(0, 0, "oat "), Self.hunk(5, 0, " 6")])
  }

  @Test func anInsertionSlidesToWhereTypingEnded() {
    var options = TextDifference.Options()
    #expect(TextDifference.hunks(from: "owlstart", to: "owlsstart", options) == [Self.hunk(4, 0, "s")])
    options.place = 3
    #expect(TextDifference.hunks(from: "owlstart", to: "owlsstart", options) == [Self.hunk(3, 0, "s")])
    options.place = 2
    #expect(TextDifference.hunks(from: "owlstart", to: "owlsstart", options) == [Self.hunk(4, 0, "s")])
    options.place = 2
    #expect(TextDifference.hunks(from: "xxabab-", to: "xxababab-", options) == [Self.hunk(2, 0, "ab")])
    options.place = 3
    #expect(TextDifference.hunks(from: "xxabab-", to: "xxababab-", options) == [Self.hunk(3, 0, "ba")])
    // Not over another change.
    options.place = 1
    #expect(
      TextDifference.hunks(from: "aaaaa", to: "baaaaaa", options) == TextDifference.hunks(from: "aaaaa", to: "baaaaaa"))
    options.place = 20
    #expect(TextDifference.hunks(from: "ab", to: "aab", options) == [Self.hunk(1, 0, "a")])
  }

  // MARK: Large texts

  private static func lines(_ count: Int, _ random: inout SplitMix64) -> [String] {
    (0..<count).map { "line \($0): " + text(&random, of: Array("abcdefgh ".unicodeScalars), 30) + "\n" }
  }

  @Test func aLargeTextIsComparedByLinesAndThenWithinThem() {
    var random = SplitMix64(seed: 3)
    var lines = Self.lines(600, &random)
    let old = lines.joined()
    lines[40] = lines[40].replacingFirst("line", with: "row")
    lines.remove(at: 300)
    lines.insert("new\n", at: 500)
    let new = lines.joined()
    let hunks = TextDifference.hunks(from: old, to: new)
    #expect(Self.applied(hunks, to: old) == new)
    let changed = hunks.reduce(0) { $0 + $1.deleted + $1.inserted.count }
    #expect(hunks.count <= 5 && changed < 60, "\(hunks.count) hunks, \(changed) scalars")
  }

  /// However little two texts have in common, the work has an end, and it is the same everywhere.
  @Test func workIsLimitedByStepsAndWhatIsBetweenIsReplaced() {
    var random = SplitMix64(seed: 4)
    let letters = Array("abcdefghijklmnopqrstuvwxyz".unicodeScalars)
    let (old, new) = (Self.text(&random, of: letters, 3000), Self.text(&random, of: letters, 3000))
    var options = TextDifference.Options()
    options.stepLimit = 20_000
    let hunks = TextDifference.hunks(from: "<" + old + ">", to: "<" + new + ">", options)
    #expect(hunks == TextDifference.hunks(from: "<" + old + ">", to: "<" + new + ">", options))
    #expect(hunks.count == 1 && hunks[0].offset <= 4 && hunks[0].deleted > 2900)
    #expect(Self.applied(hunks, to: "<" + old + ">") == "<" + new + ">")
    var steps = 20_000
    #expect(TextDifference.script(Array(old.utf8)[...], Array(new.utf8)[...], steps: &steps) == nil)
    #expect(steps < 0 && steps > -3001)
  }

  /// One that is used up within one line leaves none for the next; what was found before stays.
  @Test func stepsAreOneSupplyForAllLines() {
    var random = SplitMix64(seed: 5)
    let letters = Array("abcdefghijklmnopqrstuvwxyz".unicodeScalars)
    func line() -> String { Self.text(&random, of: letters, 2500) + "\n" }
    let (first, second, same) = (line(), line(), Self.lines(50, &random).joined())
    let old = "a small line\n" + same + first + same + "b"
    let new = "a smaller line\n" + same + second + same + "c"
    var options = TextDifference.Options()
    options.stepLimit = 50_000
    let hunks = TextDifference.hunks(from: old, to: new, options)
    #expect(Self.applied(hunks, to: old) == new)
    #expect(hunks.first == Self.hunk(7, 0, "er"))
    #expect(hunks.count == 3)
  }
}

extension String {
  fileprivate func replacingFirst(_ part: String, with other: String) -> String {
    hasPrefix(part) ? other + dropFirst(part.count) : self
  }
}
