import Foundation
import TallyCRDT
import TallyRelayProtocol

@testable import TallyRelay

extension FuzzTarget {
  static let relay = [relayPage, relayEvents, relayWords]

  /// What a client reads of a log: the bytes before the checksum, which is put behind them.
  private static let relayPage = FuzzTarget(
    "relay-page", seeds: RelaySamples.pages.map { Array($0.bytes().dropLast(8)) }
  ) { bytes in
    _ = try accepted(RelayPage.Malformed.self) { try RelayPage(bytes) }
    var hash = SipHash()
    bytes.withUnsafeBytes { hash.combine(bytes: $0) }
    let check = hash.finalized()
    let sealed = bytes + (0..<8).map { UInt8(truncatingIfNeeded: check >> (56 - 8 * UInt64($0))) }
    guard let page = try accepted(RelayPage.Malformed.self, { try RelayPage(sealed) }) else { return }
    try claim(page.bytes() == sealed, "there is one way to write a page")
    let event = RelayEvent(page)
    try claim(event.kind == .news || event.page == page, "an event has the whole page or none of it")
  }

  /// A stream of events, in pieces as long as its first byte says.
  private static let relayEvents = FuzzTarget(
    "relay-events", seeds: RelaySamples.pages.map { [3] + Array((":\n\n" + RelayEvent($0).lines).utf8) }
  ) { bytes in
    guard let size = bytes.first.map({ max(1, Int($0)) }) else { return }
    let whole = try events([Array(bytes.dropFirst())])
    let pieces = stride(from: 1, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    try claim(try events(pieces) == whole, "events do not depend on the pieces they come in")
    for event in whole ?? [] {
      guard let read = RelayEvent(kind: event.kind, id: event.id, data: event.data) else { continue }
      let again = try events([Array(read.lines.utf8)])?.first
      try claim(
        again.flatMap { RelayEvent(kind: $0.kind, id: $0.id, data: $0.data) } == read, "an event reads back as it was")
    }
  }

  private static func events(_ pieces: [[UInt8]]) throws -> [EventStreamParser.Event]? {
    try accepted(RelayError.self) {
      var parser = EventStreamParser()
      return try pieces.flatMap { try parser.parse($0) }
    }
  }

  /// Texts of a relay: cursors, addresses, digests, and the problem that an answer may be.
  private static let relayWords = FuzzTarget(
    "relay-words", maximumLength: 200, seeds: RelaySamples.words.map { Array($0.utf8) }
  ) { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    if let cursor = RelayCursor(text) { try claim(cursor.description == text, "there is one way to write a cursor") }
    if let address = RelaySpaceAddress(text) {
      try claim(RelaySpaceAddress("\(address)") == address, "an address reads back as it was")
    }
    if let digest = RelayDigest.sha256(text) {
      try claim(RelayDigest.sha256(RelayDigest.field(digest)) == digest, "a digest reads back as it was")
    }
    if RelayNames.isToken(text) { try claim(text.utf8.count == 50, "a token has fifty characters") }
    // What a relay says of itself is read as JSON; anything else is refused.
    guard let status = try? JSONDecoder().decode(RelaySpaceStatus.self, from: Data(bytes)) else { return }
    let again = try JSONDecoder().decode(RelaySpaceStatus.self, from: try JSONEncoder().encode(status))
    try claim(again == status, "a status reads back as it was")
  }
}

private enum RelaySamples {
  private static let cursor = RelayCursor(position: 300, chain: Array(repeating: 7, count: RelayCursor.chainBytes))

  static var pages: [RelayPage] {
    guard let cursor else { return [] }
    let frames = [
      RelayPage.Frame(position: 298, name: "a", change: .entry(byteCount: 3, content: [1, 2, 3])),
      RelayPage.Frame(position: 299, name: "b.c", change: .entry(byteCount: 1 << 20, content: nil)),
      RelayPage.Frame(position: 300, name: "d", change: .removal),
    ]
    return [
      RelayPage(isListing: false, hasMore: false, cursor: cursor, frames: frames),
      RelayPage(isListing: true, hasMore: true, cursor: cursor, frames: [frames[0]]),
    ]
  }

  static var words: [String] {
    [
      cursor?.description ?? "", "https://relay.example/s/3f2a", "http://[::1]:8480/path/s/A_-9",
      RelayDigest.field(Array(repeating: 9, count: 32)), "tally1_" + String(repeating: "A", count: 43),
      #"{"space":"a","head":"0.07","entries":1,"bytes":2,"quota":3,"role":"writer"}"#,
    ]
  }
}
