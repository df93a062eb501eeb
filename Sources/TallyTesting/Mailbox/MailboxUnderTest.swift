import Foundation
import GRDB
import TallyCRDT
import TallyStore
import TallySync

/// A mailbox under test, with what rules need to say about it.
struct MailboxUnderTest: Sendable {
  let rule: String
  let limit: Duration
  let mailbox: any Mailbox

  func fail(_ message: String) -> ConformanceFailure { ConformanceFailure(rule, message) }

  func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw fail(message()) }
  }

  @discardableResult
  func within<T: Sendable>(
    _ limit: Duration, _ what: String, _ body: @escaping @Sendable () async throws -> T
  ) async throws -> T {
    try await ConformanceFailure.unless(endsWithin: limit, what, of: rule, body)
  }

  // MARK: Looking

  /// The news that the mailbox has after a cursor, to the end of it.
  struct News {
    var items: [MailboxItem] = []
    var cursor: MailboxCursor?
    var isListing = false
    var names: [String] { items.map(\.name) }
  }

  /// Turns pages to the last.
  func news(after cursor: MailboxCursor? = nil) async throws -> News {
    var news = News(cursor: cursor)
    for number in 0... {
      let page = try await mailbox.changes(after: news.cursor)
      if number == 0 {
        try expect(page.isListing || cursor != nil, "without a cursor the page is no listing")
        news.isListing = page.isListing
      } else {
        try expect(!page.isListing, "page \(number + 1) begins a listing anew, though nothing has changed")
      }
      try expect(page.isListing || page.cursor != nil, "a page that is no listing has no cursor")
      news.items += page.items
      guard page.hasMore else {
        news.cursor = page.cursor
        break
      }
      guard let next = page.cursor, next != news.cursor else {
        throw fail("there is more, and no cursor to go on from")
      }
      try expect(number < 10_000, "ten thousand pages do not come to an end")
      news.cursor = next
    }
    try expect(Set(news.names).count == news.items.count, "an entry is listed twice: \(news.names)")
    return news
  }

  /// The bytes of an entry, from an offset on.
  func bytes(of name: String, from offset: Int = 0) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    var pieces = try await mailbox.get(name, from: offset).makeAsyncIterator()
    while let piece = try await pieces.next() {
      try expect(piece.count <= Self.largestPiece, "a piece has \(piece.count) bytes")
      bytes += piece
    }
    return bytes
  }

  private static let largestPiece = 5 << 18

  /// That an entry is as it was put.
  func expect(_ entry: SampleEntry, is bytes: [UInt8], _ what: String) throws {
    guard bytes != entry.bytes else { return }
    throw fail(
      bytes.count == entry.bytes.count
        ? "\(what) has other bytes than were put" : "\(what) has \(bytes.count) of \(entry.bytes.count) bytes")
  }

  /// Puts an entry.
  @discardableResult
  func put(_ entry: SampleEntry, after cursor: MailboxCursor? = nil) async throws -> MailboxReceipt {
    try await mailbox.put(entry.upload(after: cursor))
  }

  /// Puts so many small entries, one after the other.
  func put(_ numbers: Range<Int>) async throws -> [SampleEntry] {
    var entries: [SampleEntry] = []
    for number in numbers {
      entries.append(try SampleEntry(number))
      try await put(entries[entries.count - 1])
    }
    return entries
  }
}

/// A delta as a store would put it.
struct SampleEntry: Sendable {
  let name: String
  let bytes: [UInt8]

  static let schema = Schema([EntitySchema("Sample", .blob("noise"))])

  /// An entry of about `size` bytes, and of one small record at least.
  init(_ number: Int, size: Int = 0) throws {
    let store = try Store(inMemory: Self.schema)
    try Self.write(number, size: size, to: store)
    let summary = try store.summary()
    bytes = try store.delta()
    name = try MailboxUpload(delta: bytes, by: summary.replica ?? ReplicaID(high: 0, low: 0)).name
  }

  /// Writes records of noise that does not compress.
  static func write(_ number: Int, size: Int = 0, to store: Store) throws {
    try store.write { db in
      for part in 0...size / partSize {
        let noise = Ends.sample(number &+ part, min(partSize, max(16, size - part * partSize)))
        try db.execute(
          sql: "INSERT INTO Sample(id, noise) VALUES(?, ?)", arguments: ["Sample|~|\(number)-\(part)", Data(noise)])
      }
    }
  }

  private static let partSize = 1 << 18

  func upload(after cursor: MailboxCursor? = nil) -> MailboxUpload {
    MailboxUpload(name: name, bytes: bytes, after: cursor)
  }
}
