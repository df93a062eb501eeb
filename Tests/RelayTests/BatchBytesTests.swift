import TallyRelayProtocol
import Testing

/// The bytes of requests and answers about several entries are a format: `Tests/Stranger/relay.py` makes and reads the
/// same by itself.
@Suite struct BatchBytesTests {
  /// SipHash-2-4 of what stands before, as the program beside says it.
  private static let resultsCheck: [UInt8] = [0x31, 0x93, 0x0F, 0x59, 0xAC, 0xF7, 0x1F, 0x05]
  private static let contentsCheck: [UInt8] = [0x68, 0x28, 0x94, 0x2A, 0x90, 0x2D, 0x58, 0x90]

  private static let writes: [UInt8] =
    [0x54, 0x52, 0x57, 1, 3]
    + [2, 1, 0x61, 2, 7, 8]
    + [3, 3, 0x62, 0x2D, 0x63]
    + [2, 1, 0x64, 0]

  @Test func writesHaveTheseBytes() throws {
    let writes = RelayWrites([
      .put(name: "a", content: [7, 8]), .removal(name: "b-c"), .put(name: "d", content: []),
    ])
    #expect(writes.bytes() == Self.writes)
    #expect(try RelayWrites(Self.writes) == writes)
  }

  @Test func resultsHaveTheseBytes() throws {
    let results = RelayResults([
      .put(position: 300), .known(position: 2), .removed, .refused(.busy, retryAfter: 5),
      .refused(.noSuchEntry, retryAfter: nil),
    ])
    let expected: [UInt8] =
      [0x54, 0x52, 0x52, 1, 5] + [1, 0xAC, 0x02] + [2, 2] + [3] + [4, 4] + Array("busy".utf8) + [5]
      + [4, 11] + Array("noSuchEntry".utf8) + [0] + Self.resultsCheck
    #expect(results.bytes() == expected)
    #expect(try RelayResults(expected) == results)
  }

  @Test func namesAndContentsHaveTheseBytes() throws {
    let wanted: [UInt8] = [0x54, 0x52, 0x4E, 1, 2, 1, 0x61, 3, 0x62, 0x2D, 0x63]
    #expect(RelayWanted(["a", "b-c"]).bytes() == wanted)
    #expect(try RelayWanted(wanted).names == ["a", "b-c"])
    let contents = RelayContents([.whole([7, 8]), .elsewhere(byteCount: 70_000), .missing])
    let expected: [UInt8] =
      [0x54, 0x52, 0x43, 1, 3] + [2, 2, 7, 8] + [1, 0xF0, 0xA2, 0x04] + [3] + Self.contentsCheck
    #expect(contents.bytes() == expected)
    #expect(try RelayContents(expected) == contents)
  }

  @Test func everyCutIsRefused() throws {
    let results = RelayResults([.put(position: 1), .refused(.busy, retryAfter: 1)]).bytes()
    let contents = RelayContents([.whole([1, 2, 3]), .missing]).bytes()
    let wanted = RelayWanted(["a", "b"]).bytes()
    for count in Self.writes.indices {
      #expect(throws: RelayPage.Malformed.self) { try RelayWrites(Array(Self.writes[..<count])) }
    }
    for count in results.indices {
      #expect(throws: RelayPage.Malformed.self) { try RelayResults(Array(results[..<count])) }
    }
    for count in contents.indices {
      #expect(throws: RelayPage.Malformed.self) { try RelayContents(Array(contents[..<count])) }
    }
    for count in wanted.indices {
      #expect(throws: RelayPage.Malformed.self) { try RelayWanted(Array(wanted[..<count])) }
    }
    #expect(throws: RelayPage.Malformed.length) { try RelayWrites(Self.writes + [0]) }
    #expect(throws: RelayPage.Malformed.length) { try RelayWanted(wanted + [0]) }
  }

  /// A bit that was changed on the way would let an entry count as put that was refused, or the other way round.
  @Test func everyChangedBitOfAnAnswerIsRefused() throws {
    let results = RelayResults([.put(position: 1), .refused(.quotaExceeded, retryAfter: nil)]).bytes()
    let contents = RelayContents([.whole([1, 2, 3]), .missing]).bytes()
    for (bytes, decode) in [
      (results, { (bytes: [UInt8]) throws in _ = try RelayResults(bytes) }),
      (contents, { (bytes: [UInt8]) throws in _ = try RelayContents(bytes) }),
    ] {
      for bit in 0..<8 * bytes.count {
        var changed = bytes
        changed[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(throws: RelayPage.Malformed.self, "\(bit)") { try decode(changed) }
      }
    }
  }

  @Test(arguments: [
    ([0x54, 0x52, 0x57, 2, 1], RelayPage.Malformed.magic), ([0x54, 0x52, 0x52, 1, 1], .magic),
    // None, more than 256, a number in two bytes.
    ([0x54, 0x52, 0x57, 1, 0], .number), ([0x54, 0x52, 0x57, 1, 0x81, 2], .number),
    ([0x54, 0x52, 0x57, 1, 0x81, 0], .number),
    ([0x54, 0x52, 0x57, 1, 1, 1, 1, 0x61, 0], .unknown), ([0x54, 0x52, 0x57, 1, 1, 2, 1, 0x2E, 0], .name),
    ([0x54, 0x52, 0x57, 1, 1, 3, 0], .name),
    // A content that is said to have more than 4 MiB, or more than comes.
    ([0x54, 0x52, 0x57, 1, 1, 2, 1, 0x61, 0x81, 0x80, 0x80, 2], .number),
    ([0x54, 0x52, 0x57, 1, 1, 2, 1, 0x61, 3, 1, 2], .length),
  ])
  func malformedWritesAreRefused(_ bytes: [UInt8], _ reason: RelayPage.Malformed) {
    #expect(throws: reason) { try RelayWrites(bytes) }
  }

  /// What is reserved for an answer before it is made is enough.
  @Test func theLimitsHold() {
    let name = String(repeating: "n", count: RelayLimits.nameBytes)
    let count = RelayLimits.batchEntries
    #expect(RelayWanted(Array(repeating: name, count: count)).bytes().count <= RelayWanted.mostBytes)
    for code in RelayProblem.Code.allCases {
      let results = RelayResults(Array(repeating: .refused(code, retryAfter: Int(Int32.max)), count: count))
      #expect(results.bytes().count <= RelayResults.mostBytes(for: count))
    }
    let largest = RelayResults(Array(repeating: .put(position: .max), count: count))
    #expect(largest.bytes().count <= RelayResults.mostBytes(for: count))
    let one = RelayWrites([.put(name: name, content: [UInt8](repeating: 1, count: 1 << 20))])
    #expect(one.bytes().count <= RelayWrites.headBytes + RelayWrites.overhead + 1 << 20)
  }
}
