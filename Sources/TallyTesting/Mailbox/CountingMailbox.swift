import Synchronization
import TallySync

/// A mailbox around another that counts what is read.
package final class CountingMailbox: Mailbox {
  private let inner: any Mailbox
  private let reads = Mutex<[String: Int]>([:])

  package init(_ inner: any Mailbox) { self.inner = inner }

  package var name: String { inner.name }
  package var identity: String { inner.identity }
  package var kind: MailboxKind { inner.kind }
  /// The number of bytes of each entry that were read since the last reset, those sent along with listings not
  /// counted.
  package var bytesReadByName: [String: Int] { reads.withLock { $0 } }
  /// The number of bytes that were read since the last reset.
  package var bytesRead: Int { bytesReadByName.values.reduce(0, +) }
  package func reset() { reads.withLock { $0 = [:] } }

  package func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
    try await inner.changes(after: cursor)
  }

  package func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    CountedPieces(pieces: try await inner.get(name, from: offset)) { count in
      self.reads.withLock { $0[name, default: 0] += count }
    }
  }

  package func put(_ upload: MailboxUpload) async throws -> MailboxReceipt { try await inner.put(upload) }
  package func put(_ uploads: [MailboxUpload]) async throws -> [Result<MailboxReceipt, any Error>] {
    try await inner.put(uploads)
  }

  package func contents(of names: [String]) async throws -> [String: [UInt8]] {
    let contents = try await inner.contents(of: names)
    reads.withLock { reads in for (name, bytes) in contents { reads[name, default: 0] += bytes.count } }
    return contents
  }

  package func remove(_ names: [String]) async throws { try await inner.remove(names) }
  package func wait(after cursor: MailboxCursor?) async throws { try await inner.wait(after: cursor) }
}

private struct CountedPieces: AsyncSequence {
  let pieces: any AsyncSequence<[UInt8], any Error>
  let note: (Int) -> Void

  struct AsyncIterator: AsyncIteratorProtocol {
    var pieces: any AsyncIteratorProtocol<[UInt8], any Error>
    let note: (Int) -> Void

    mutating func next() async throws -> [UInt8]? {
      let piece = try await pieces.next()
      note(piece?.count ?? 0)
      return piece
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces: pieces.makeAsyncIterator(), note: note) }
}
