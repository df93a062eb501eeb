/// A mailbox that is a set of files: a folder, a bucket, a WebDAV server. Four calls that may block; everything else
/// that a `Mailbox` does follows from them.
///
/// Not much is asked of it. Files are never changed, only put and removed. A file may show late, or for a while
/// incompletely, or not be listed though it can be read; it may come back after it was removed. Nothing is lost by
/// that, it only takes longer.
///
/// Passes make the calls on a thread of their own, in whichever order, and several passes make theirs at once. Every
/// error of `get` concerns that file alone; an error of the other calls ends the pass, and the next one does the rest.
///
/// `FolderMailbox` and `MemoryMailbox` are two of them. One for a web service takes about forty lines.
public protocol FileMailbox: Mailbox {
  /// The files whose name begins with `prefix`, in either case, in any order; at most `MailboxLimits.files`. Others
  /// cost nothing.
  func list(prefix: String) throws -> [MailboxItem]
  /// Opens a file.
  /// - Returns: what gives its next bytes, in pieces of at most about a mebibyte; nil at the end.
  func get(_ name: String) throws -> () throws -> [UInt8]?
  /// Puts a file: its name appears with all of the content or not at all. A file of that name has the same content, and
  /// is replaced in case it was damaged.
  /// - Parameters:
  ///   - name: the name under which the file is listed from then on.
  ///   - source: gives the next bytes; nil at the end.
  /// - Throws: what the source throws, and what keeps the file from being put. Nothing is put then.
  func put(_ name: String, from source: () throws -> [UInt8]?) throws
  /// Removes a file. One that is not there is no error.
  func remove(_ name: String) throws
}

extension FileMailbox {
  /// The name, unless the place has something better.
  public var identity: String { name }
  /// A set of files promises nothing.
  public var kind: MailboxKind { .folder }

  /// All files of ours, for any cursor.
  public func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
    MailboxPage(items: try list(prefix: MailboxFileName.prefix), isListing: true)
  }

  /// Reads a file from its beginning and leaves out what comes before the offset, so a download that broke off costs
  /// all of the file again. Implement it where the place can begin in the middle.
  public func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    let source = try get(name)
    var rest = offset
    return MailboxPieces {
      while let piece = try source() {
        guard rest < piece.count else {
          rest -= piece.count
          continue
        }
        defer { rest = 0 }
        return rest == 0 ? piece : Array(piece[rest...])
      }
      return nil
    }
  }

  /// Puts the upload as one file, from its beginning.
  public func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    try put(upload.name, from: upload.source())
    return MailboxReceipt()
  }

  /// Removes one file after the other; the first error is thrown when all were tried.
  public func remove(_ names: [String]) async throws {
    var failure: (any Error)?
    for name in names {
      do { try remove(name) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }
}

/// Pieces that a blocking call gives, as a sequence.
struct MailboxPieces: AsyncSequence, AsyncIteratorProtocol {
  let source: () throws -> [UInt8]?

  init(_ source: @escaping () throws -> [UInt8]?) { self.source = source }

  func makeAsyncIterator() -> Self { self }
  func next() async throws -> [UInt8]? { try source() }
}
