import TallyCRDT
import TallyWire

/// An entry on its way into a mailbox.
public struct MailboxUpload: Sendable {
  /// The name under which the entry is put.
  public let name: String
  /// The number of bytes of the entry.
  public let byteCount: Int
  /// The cursor up to which the sender has read the mailbox; nil if it has not read it, or if the mailbox has no
  /// cursors.
  public let cursor: MailboxCursor?
  /// The most bytes that may have to be sent again when the process is killed; nil if larger pieces are as good.
  package var largestPiece: Int?
  private let read: @Sendable (_ offset: Int, _ count: Int) throws -> [UInt8]

  static let pieceSize = 1 << 18

  /// Creates an upload whose bytes are read on demand.
  /// - Parameters:
  ///   - name: the name under which the entry is put.
  ///   - byteCount: the number of bytes of the entry.
  ///   - cursor: the cursor up to which the sender has read the mailbox; nil if it has not read it, or if the mailbox
  ///     has no cursors.
  ///   - read: returns `count` bytes from `offset` on, fewer only at the end. It may be called from any thread, for any
  ///     part, repeatedly.
  public init(
    name: String, byteCount: Int, after cursor: MailboxCursor? = nil,
    read: @escaping @Sendable (_ offset: Int, _ count: Int) throws -> [UInt8]
  ) {
    (self.name, self.byteCount, self.cursor, self.read) = (name, byteCount, cursor, read)
  }

  /// Creates an upload of bytes in memory.
  public init(name: String, bytes: [UInt8], after cursor: MailboxCursor? = nil) {
    self.init(name: name, byteCount: bytes.count, after: cursor) { offset, count in
      let start = min(max(offset, 0), bytes.count)
      return Array(bytes[start..<min(start + count, bytes.count)])
    }
  }

  /// Returns the bytes from an offset on, fewer than `count` only at the end.
  /// - Throws: the error of the sender's read function.
  public func bytes(from offset: Int, count: Int) throws -> [UInt8] { try read(offset, count) }

  /// Returns a source of all bytes, in pieces, for calls that take one.
  public func source() -> () throws -> [UInt8]? {
    var offset = 0
    return {
      let piece = try read(offset, min(Self.pieceSize, byteCount - offset))
      offset += piece.count
      return piece.isEmpty ? nil : piece
    }
  }
}

extension MailboxUpload {
  /// An upload of a whole delta, which `replica` writes, under the name that it has in a mailbox.
  /// - Throws: `WireError` if the bytes are no delta.
  package init(delta bytes: [UInt8], by replica: ReplicaID, after cursor: MailboxCursor? = nil) throws {
    let header = try DeltaReader(bytes).header
    let name = MailboxFileName(
      replica: replica, sequence: header.target[replica], check: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) },
      kind: header.base.isEmpty ? .snapshot : .delta)
    self.init(name: name.text, bytes: bytes, after: cursor)
  }
}
