/// A mailbox that is a set of files: a folder, a bucket, a WebDAV server. It implements four calls that may block;
/// default implementations derive the rest of `Mailbox` from them.
///
/// The requirements are low. Files are never changed, only put and removed. A file may appear late or be incomplete for
/// a while; it may be readable without being listed; it may come back after it was removed. None of this loses data; it
/// only delays it.
///
/// Passes make the calls on threads of their own, in any order, and several passes may call at once. An error of `get`
/// affects only that file; an error of another call ends the pass, and the next pass does the rest.
///
/// `FolderMailbox` and `MemoryMailbox` are two implementations. One for a web service takes about forty lines.
public protocol FileMailbox: Mailbox {
  /// Returns the files whose names begin with `prefix` in upper or lower case, in any order; at most
  /// `MailboxLimits.files`. Other files cost nothing.
  func list(prefix: String) throws -> [MailboxItem]
  /// Opens a file for reading.
  /// - Returns: a function that returns the next bytes, in pieces of at most about a mebibyte, and nil at the end.
  func get(_ name: String) throws -> () throws -> [UInt8]?
  /// Puts a file: its name appears with all of the content or not at all. An existing file of that name has the same
  /// content and is replaced, in case it was damaged.
  /// - Parameters:
  ///   - name: the name under which the file is listed from then on.
  ///   - source: returns the next bytes; nil at the end.
  /// - Throws: the source's errors, and the error that prevents the file from being put. Then nothing is put.
  func put(_ name: String, from source: () throws -> [UInt8]?) throws
  /// Removes a file. Removing a file that does not exist is not an error.
  func remove(_ name: String) throws
}

extension FileMailbox {
  /// The mailbox's name, unless the implementation provides something better.
  public var identity: String { name }
  /// Always `.folder`, which promises nothing.
  public var kind: MailboxKind { .folder }

  /// Returns a listing of all entries, whatever the cursor.
  public func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
    MailboxPage(items: try list(prefix: MailboxFileName.prefix), isListing: true)
  }

  /// Returns the bytes of a file from an offset on. It reads the file from its beginning and skips the bytes before the
  /// offset, so an interrupted download costs the whole file again. Implement it if the place can begin in the middle.
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

  /// Puts the upload as one file, from its beginning. Returns a receipt without a cursor.
  public func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    try put(upload.name, from: upload.source())
    return MailboxReceipt()
  }

  /// Removes one file after the other. Throws the first error after it has tried all of them.
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
