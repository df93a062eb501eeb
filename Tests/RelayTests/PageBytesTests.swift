import TallyRelayProtocol
import Testing

/// The bytes of a page are a format: what is here stays, and what is refused stays refused.
@Suite struct PageBytesTests {
  private static let chain = [UInt8](0..<16)

  private func cursor(_ position: UInt64) throws -> RelayCursor {
    try #require(RelayCursor(position: position, chain: Self.chain))
  }

  /// Every kind of frame, byte for byte.
  @Test func aPageHasTheseBytes() throws {
    let page = RelayPage(
      isListing: true, hasMore: false, cursor: try cursor(300),
      frames: [
        .init(position: 1, name: "a", change: .entry(byteCount: 2, content: [7, 8])),
        .init(position: 2, name: "b-c", change: .entry(byteCount: 70_000, content: nil)),
        .init(position: 300, name: "d", change: .removal),
      ])
    let expected: [UInt8] =
      [0x54, 0x52, 0x50, 1, 1, 0xAC, 0x02] + Self.chain + [3]
      + [2, 1, 1, 0x61, 2, 7, 8]
      + [1, 2, 3, 0x62, 0x2D, 0x63, 0xF0, 0xA2, 0x04]
      + [3, 0xAC, 0x02, 1, 0x64]
      // SipHash-2-4 of all that, under the key of all of Tally's checksums.
      + [0x43, 0x51, 0x1E, 0x27, 0x1B, 0x48, 0x6C, 0x36]
    #expect(page.bytes() == expected)
    #expect(page.bytes().count == 53)
    #expect(try RelayPage(expected) == page)
  }

  /// A bit that was changed on the way is noticed, wherever it stands: of a name it would hide an entry for ever.
  @Test func everyChangedBitIsRefused() throws {
    let page = RelayPage(
      isListing: false, hasMore: false, cursor: try cursor(9),
      frames: [.init(position: 9, name: "tally1-default-a.delta", change: .entry(byteCount: 3, content: [1, 2, 3]))])
    let bytes = page.bytes()
    for bit in 0..<8 * bytes.count {
      var changed = bytes
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: RelayPage.Malformed.self, "\(bit)") { try RelayPage(changed) }
    }
  }

  /// A checksum in a page that is refused for another reason.
  private static let anyCheck = [UInt8](repeating: 0, count: 8)

  /// What a page costs beside names and contents.
  @Test func aPageCostsSoManyBytes() throws {
    let empty = RelayPage(isListing: false, hasMore: true, cursor: try cursor(0), frames: [])
    #expect(empty.bytes().count == 31)
    // The names that stores give their deltas have 65 bytes or so.
    let name = String(repeating: "n", count: 65)
    let frames = (1...1_000).map { number in
      RelayPage.Frame(position: UInt64(number), name: name, change: .entry(byteCount: 320, content: nil))
    }
    let page = RelayPage(isListing: false, hasMore: false, cursor: try cursor(1_000), frames: frames)
    // Kind, position, length of the name, the name and the size: 70 or 71 bytes each.
    #expect(page.bytes().count == 33 + 127 * 70 + 873 * 71)
  }

  @Test func everyCutIsRefused() throws {
    let page = RelayPage(
      isListing: false, hasMore: true, cursor: try cursor(9),
      frames: [
        .init(position: 3, name: "name", change: .entry(byteCount: 3, content: [1, 2, 3])),
        .init(position: 9, name: "other", change: .removal),
      ])
    let bytes = page.bytes()
    #expect(try RelayPage(bytes) == page)
    for count in bytes.indices { #expect(throws: RelayPage.Malformed.self) { try RelayPage(Array(bytes[..<count])) } }
    #expect(throws: RelayPage.Malformed.self) { try RelayPage(bytes + [0]) }
  }

  @Test(arguments: [
    ([0x54, 0x52, 0x50, 2, 0, 0], RelayPage.Malformed.magic),
    ([0x54, 0x52, 0x50, 1, 4, 0], .unknown),
    // Two bytes for a zero; more than 64 bits.
    ([0x54, 0x52, 0x50, 1, 0, 0x80, 0], .number),
    ([0x54, 0x52, 0x50, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02], .number),
  ])
  func aMalformedHeadIsRefused(_ bytes: [UInt8], _ reason: RelayPage.Malformed) {
    #expect(throws: reason) { try RelayPage(bytes + Self.chain + [0] + Self.anyCheck) }
  }

  @Test(arguments: [
    // More frames than a page may have, and no byte of them.
    ([0xE9, 0x07], RelayPage.Malformed.number),
    ([1, 9, 1, 1, 0x61, 0], .unknown),
    // A name that is empty, begins with a dot, or has a slash.
    ([1, 1, 1, 0, 0], .name), ([1, 1, 1, 1, 0x2E, 0], .name), ([1, 1, 1, 2, 0x61, 0x2F, 0], .name),
    // A content of more than 64 KiB, and an entry of more than 1 GiB.
    ([1, 2, 1, 1, 0x61, 0x81, 0x80, 0x04], .number), ([1, 1, 1, 1, 0x61, 0x81, 0x80, 0x80, 0x80, 0x04], .number),
    // Positions that do not rise, begin at 0, or go beyond the cursor's.
    ([2, 1, 2, 1, 0x61, 0, 1, 2, 1, 0x62, 0], .order), ([1, 1, 0, 1, 0x61, 0], .order),
    ([1, 1, 6, 1, 0x61, 0], .order),
  ])
  func aMalformedFrameIsRefused(_ frames: [UInt8], _ reason: RelayPage.Malformed) {
    #expect(throws: reason) { try RelayPage([0x54, 0x52, 0x50, 1, 0, 5] + Self.chain + frames + Self.anyCheck) }
  }

  @Test func cursorsAreTextAndBack() throws {
    let cursor = try cursor(42)
    #expect("\(cursor)" == "42.000102030405060708090a0b0c0d0e0f")
    #expect(RelayCursor("\(cursor)") == cursor)
    for text in [
      "", "42", ".", "042.000102030405060708090a0b0c0d0e0f", "+42.000102030405060708090a0b0c0d0e0f",
      "42.000102030405060708090A0B0C0D0E0F", "42.000102030405060708090a0b0c0d0e", "-1.000102030405060708090a0b0c0d0e0f",
      "18446744073709551616.000102030405060708090a0b0c0d0e0f", "42.000102030405060708090a0b0c0d0e0f.",
    ] { #expect(RelayCursor(text) == nil, "\(text)") }
  }

  /// Codes and their statuses are what others have written clients for.
  @Test func problemsHaveTheseStatuses() throws {
    let statuses = RelayProblem.Code.allCases.map { "\($0.rawValue) \($0.status)" }
    #expect(
      statuses == [
        "unauthenticated 401", "tokenExpired 401", "tokenRevoked 401", "forbidden 403", "noSuchSpace 404",
        "noSuchEntry 404", "noSuchUpload 404", "noSuchPath 404", "methodNotAllowed 405", "badRequest 400",
        "digestMissing 400", "digestMismatch 422", "tooLarge 413", "headersTooLarge 431", "offsetMismatch 409",
        "rangeNotSatisfiable 416", "quotaExceeded 507", "tooManyRequests 429", "tooManyWaiting 429", "busy 503",
        "storageFull 507", "storageFailed 503", "internal 500",
      ])
    let problem = RelayProblem(.noSuchSpace, "there is no such space")
    #expect(
      String(decoding: try problem.json(), as: UTF8.self)
        == #"{"code":"noSuchSpace","status":404,"title":"there is no such space"}"#)
  }

  @Test func digestsAreThoseOfTheStandard() {
    // RFC 9530, appendix B: {"hello": "world"} and a line feed.
    let field = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    let digest = RelayDigest.sha256(field)
    #expect(digest?.count == 32 && digest.map(RelayDigest.field) == field)
    #expect(RelayDigest.sha256("sha-512=:AAAA:, \(field)") == digest)
    for text in ["", "sha-256", "sha-256=RK/0", "sha-256=:AAAA:", "md5=:AAAA:"] {
      #expect(RelayDigest.sha256(text) == nil, "\(text)")
    }
  }
}
