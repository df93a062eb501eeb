#if Spaces
  import Synchronization
  import TallyCRDT
  import TallyStore
  import TallySync

  /// A place of a space, sealed: a mailbox around a mailbox, of the same kind. A pass sees the names and contents that
  /// it would see without; the place sees names that say nothing and contents that do not open.
  ///
  /// - A listing first takes in the records in the place. Records that it lacks are put before anything else.
  /// - Nothing is listed before its first piece was opened and its signature checked, and nothing of a device that is
  ///   out, but for files that its removal keeps.
  /// - A cursor counts for the members and keys under which it was given. After a change the next page is a listing, so
  ///   what counts no more counts as gone, and a device that has it puts it again.
  /// - What cannot be opened changes nothing: ``status`` tells.
  ///
  /// Errors of the place pass through; those of the space are ``SpaceError``.
  package final class SealedMailbox: Mailbox {
    package let space: SealedSpace
    let place: any Mailbox
    let memory: any SpaceMemory
    /// Eight digits that tell what is noted of this place from what is noted of others.
    let placeTag: String
    let listing = Mutex(SealedListing())
    /// Held while news are taken in and records are put. Files go besides.
    let turn = SealedTurn()
    /// Downloads that broke off, so that the whole content is checked when they go on.
    let downloads = Mutex<[SealedDownload.Key: SealedDownload.Resumed]>([:])

    /// Seals a place.
    /// - Parameters:
    ///   - place: the mailbox that carries what is sealed.
    ///   - space: the space, as this device has it.
    ///   - memory: where is kept what was verified, so that no process reads it again.
    /// - Throws: errors of the memory.
    package init(_ place: any Mailbox, of space: SealedSpace, memory: any SpaceMemory) throws {
      (self.place, self.space, self.memory) = (place, space, memory)
      placeTag = Hexadecimal.text(SpaceCrypto.digest(Array(place.identity.utf8)).bytes.prefix(4))
      let remembered = try remembered()
      listing.withLock { $0 = remembered }
    }

    package var name: String { place.name }
    package var identity: String { "sealed \(space.id) \(place.identity)" }
    package var kind: MailboxKind { place.kind }
    /// Always false: files of assets are not sealed.
    package var carriesAssets: Bool { false }
    package var pollingError: (any TallyError)? { place.pollingError }

    /// What the last listing has found besides files to take in.
    package struct Status: Sendable, Equatable {
      /// The number of files that are sealed with a key that has not come.
      package var waitsForKey = 0
      /// The number of files that are not on this device and of which nothing was verified before.
      package var notDownloaded = 0
      /// The number of files of each device that is out that count for nothing.
      package var leftBehind: [MemberID: Int] = [:]
      /// What is refused, by names in the place.
      package var refused: [String: SpaceError.Code] = [:]
    }

    package var status: Status {
      listing.withLock { listing in
        Status(
          waitsForKey: listing.waitsForKey.count, notDownloaded: listing.notDownloaded.count,
          leftBehind: listing.leftBehind.mapValues(\.count).filter { $0.value > 0 },
          refused: listing.refused.mapValues(\.code))
      }
    }

    // MARK: Cursors

    /// The cursor of the place; nil if it was given under other members or keys, so that everything is listed.
    func placeCursor(_ cursor: MailboxCursor?, _ view: SealedSpace.View) -> MailboxCursor? {
      guard let cursor, let mark = cursor.entry.lastIndex(of: "~"),
        cursor.entry[cursor.entry.index(after: mark)...] == epoch(view)
      else { return nil }
      return MailboxCursor(position: cursor.position, entry: String(cursor.entry[..<mark]))
    }

    func sealedCursor(_ cursor: MailboxCursor?, _ view: SealedSpace.View) -> MailboxCursor? {
      cursor.map { MailboxCursor(position: $0.position, entry: "\($0.entry)~\(epoch(view))") }
    }

    /// The files that wait belong to it: another process, which does not know of them, lists everything.
    private func epoch(_ view: SealedSpace.View) -> String {
      Hexadecimal.text(view.epoch(pending: listing.withLock { $0.unseen }))
    }

    // MARK: As a mailbox

    package func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      var failure: (any Error)?
      for outer in try await places(of: name) {
        do {
          return try await download(outer, from: offset)
        } catch let error as MailboxError where error.code == .noSuchFile {
          failure = error
        }
      }
      throw failure ?? MailboxError(.noSuchFile, "there is no such file")
    }

    package func contents(of names: [String]) async throws -> [String: [UInt8]] {
      let view = space.view
      var files: [String: (inner: String, file: SealedFile)] = [:]
      for name in names {
        guard let outer = listing.withLock({ $0.outer[name]?.first }), let file = file(outer, view),
          file.pieces.pieceCount == 1
        else { continue }
        files[outer] = (name, file)
      }
      guard !files.isEmpty else { return [:] }
      var contents: [String: [UInt8]] = [:]
      for (outer, bytes) in try await place.contents(of: files.keys.sorted()) {
        guard let (inner, file) = files[outer], let opened = try? file.open(first: bytes, members: view.members),
          view.membership.counts(fileOf: opened.device, opened.file)
        else { continue }
        contents[inner] = opened.first
      }
      return contents
    }

    package func ask(for names: [String]) async throws {
      let outer = listing.withLock { listing in names.flatMap { listing.outer[$0] ?? [] } }
      if !outer.isEmpty { try await place.ask(for: outer) }
    }

    package func remove(_ names: [String]) async throws {
      var outer: [String] = []
      for name in names { outer += try await places(of: name) }
      guard !outer.isEmpty else { return }
      try await place.remove(outer)
      listing.withLock { listing in for name in outer { _ = listing.remove(name) } }
      try note(gone: outer)
    }

    package func wait(after cursor: MailboxCursor?) async throws {
      guard let cursor else { return try await place.wait(after: nil) }
      // Members or keys have changed: there is something to list.
      guard let cursor = placeCursor(cursor, space.view) else { return try Task.checkCancellation() }
      try await place.wait(after: cursor)
    }

    // MARK: Names

    /// The names in the place of a file that a pass sees. A process that has not listed the place does so.
    func places(of name: String) async throws -> [String] {
      let (known, isComplete) = listing.withLock { ($0.outer[name] ?? [], $0.isComplete) }
      guard known.isEmpty, !isComplete else { return known }
      _ = try await changes(after: nil)
      return listing.withLock { $0.outer[name] ?? [] }
    }

    /// The file of a name in the place; nil if no key that is here opens the name.
    func file(_ outer: String, _ view: SealedSpace.View) -> SealedFile? {
      guard case .file(let name) = SealedName.parse(outer, tag: space.tag) else { return nil }
      return file(name, view)
    }

    func file(_ name: SealedName, _ view: SealedSpace.View) -> SealedFile? {
      for key in view.keys where key.id.bytes.starts(with: name.key ?? []) {
        if let file = SealedFile(name, key) { return file }
      }
      return nil
    }
  }
#endif
