#if Spaces
  import TallySync

  /// The content of a sealed file, piece by piece, each opened before it is given. The last one is given only if the
  /// digest of the whole content is what the sealer has signed: an older key alone is not enough to change a piece.
  struct SealedDownload: AsyncSequence, AsyncIteratorProtocol {
    /// A download of a file by one task, which may go on where it broke off. Pieces that another task has read are
    /// another matter: a host may give each of them something else.
    struct Key: Hashable, Sendable {
      var outer: String
      var task: Int?

      init(_ outer: String) {
        self.outer = outer
        task = withUnsafeCurrentTask { $0?.hashValue }
      }
    }

    /// Where a download broke off.
    struct Resumed: Sendable {
      var piece: Int
      var digest: SpaceCrypto.RunningDigest
      var whole: SpaceDigest
    }

    private let mailbox: SealedMailbox
    private let outer: String
    private let file: SealedFile
    private let members: SealedSpace.View
    private let offset: Int
    private var piece = 0
    private var digest = SpaceCrypto.RunningDigest()
    private var whole: SpaceDigest?
    private var source: (any AsyncIteratorProtocol<[UInt8], any Error>)?
    private var buffer: [UInt8] = []
    private var isOver = false

    /// Begins at an offset of the content. The pieces before it are read as well, unless the last download ended there.
    init(_ outer: String, _ file: SealedFile, from offset: Int, _ mailbox: SealedMailbox, _ view: SealedSpace.View) {
      (self.outer, self.file, self.offset, self.mailbox, members) = (outer, file, offset, mailbox, view)
      guard offset > 0, let resumed = mailbox.downloads.withLock({ $0[Key(outer)] }),
        file.content(ofPiece: resumed.piece).lowerBound == offset
      else { return }
      (piece, digest, whole) = (resumed.piece, resumed.digest, resumed.whole)
    }

    func makeAsyncIterator() -> Self { self }

    mutating func next() async throws -> [UInt8]? {
      while !isOver, offset < file.entry.byteCount || offset == 0 {
        let bytes = try await nextPiece()
        let range = file.content(ofPiece: piece)
        digest.add(bytes)
        if piece == file.lastContentPiece {
          isOver = true
          mailbox.downloads.withLock { $0[Key(outer)] = nil }
          guard digest.digest == whole else {
            throw MailboxError(.unreadable, "the content of a file is not what was signed")
          }
        } else {
          remember()
        }
        piece += 1
        // What was asked for, of what this piece holds.
        let rest =
          range.upperBound > offset ? Array(bytes.suffix(range.upperBound - Swift.max(offset, range.lowerBound))) : []
        if !rest.isEmpty { return rest }
      }
      return nil
    }

    private func remember() {
      guard let whole else { return }
      let resumed = Resumed(piece: piece + 1, digest: digest, whole: whole)
      mailbox.downloads.withLock { downloads in
        // Without a note a download begins anew.
        if downloads.count >= Self.mostNotes, downloads[Key(outer)] == nil { downloads = [:] }
        downloads[Key(outer)] = resumed
      }
    }

    private static let mostNotes = 64

    /// Asks the place for the file.
    fileprivate mutating func open() async throws {
      let start = file.pieces.sealedRange(ofPiece: piece).lowerBound
      source = try await mailbox.place.get(outer, from: start).makeAsyncIterator()
    }

    private mutating func nextPiece() async throws -> [UInt8] {
      let range = file.pieces.sealedRange(ofPiece: piece)
      while buffer.count < range.count {
        guard let more = try await source?.next() else {
          throw MailboxError(.unreadable, "a sealed file ends before its end")
        }
        buffer += more
      }
      let sealed = Array(buffer.prefix(range.count))
      buffer.removeFirst(range.count)
      do {
        guard piece == 0 else { return try file.open(sealed, piece: piece) }
        let opened = try file.open(first: sealed, members: members.members)
        guard members.membership.counts(fileOf: opened.device, opened.file) else {
          throw SpaceError(.sealerNotPresent, "the device that has sealed a file is out")
        }
        whole = opened.whole
        return opened.first
      } catch let error as SpaceError {
        throw MailboxError(.unreadable, error.message, cause: error)
      }
    }
  }

  extension SealedMailbox {
    /// The content of a file in the place, from an offset on.
    func download(_ outer: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      let view = space.view
      guard let file = file(outer, view) else { throw MailboxError(.noSuchFile, "there is no such file") }
      var download = SealedDownload(outer, file, from: offset, self, view)
      // A file that is not there is an error at once.
      try await download.open()
      return download
    }
  }
#endif
