#if Spaces
  import TallySync

  /// Finding out what is there.
  extension SealedMailbox {
    /// The news of the place, to the end of them.
    struct News {
      var items: [MailboxItem] = []
      var cursor: MailboxCursor?
      var isListing = false
    }

    /// Returns everything that is new as one page. First it takes in records, and puts those that the place lacks.
    package func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
      var cursor = cursor
      // Each round begins anew because members or keys have changed, which a place cannot do for ever.
      for _ in 0..<8 {
        let before = space.view
        var news = try await gather(after: placeCursor(cursor, before))
        try await takeInRecords(news)
        // Whoever came meanwhile gets the keys from whoever passes by, also if there is nothing to put.
        try space.passOnKeys()
        if try await putRecords() {
          // So that nobody is told of them as of news.
          let more = try await gather(after: news.cursor)
          if more.isListing { news = more } else { (news.items, news.cursor) = (news.items + more.items, more.cursor) }
          try await takeInRecords(news)
        }
        let view = space.view
        guard news.isListing || view.epoch(pending: []) == before.epoch(pending: []) else {
          cursor = nil
          continue
        }
        let items = try await items(news, view)
        return MailboxPage(items: items, cursor: sealedCursor(news.cursor, view), isListing: news.isListing)
      }
      throw MailboxError(.malformed, "the members of \(place.name) change again and again")
    }

    /// Reads pages to the last one.
    private func gather(after cursor: MailboxCursor?) async throws -> News {
      var news = News(cursor: cursor)
      var contentBytes = 0
      var (pages, positions): (Int, Set<MailboxCursor>) = (0, [])
      while true {
        try Task.checkCancellation()
        let page = try await place.changes(after: news.cursor)
        if page.isListing {
          // A listing begins, also one in the midst of another: the place has just been replaced by a copy.
          pages += 1
          guard pages <= 3 else { throw MailboxError(.malformed, "a listing begins again and again") }
          (news.items, news.isListing, contentBytes, positions) = ([], true, 0, [])
        }
        for var item in page.items where item.name.utf8.count <= MailboxLimits.nameBytes {
          contentBytes += item.content?.count ?? 0
          if contentBytes > Self.mostContentBytes { item.content = nil }
          news.items.append(item)
        }
        guard news.items.count <= MailboxLimits.files + SpaceLimits.records else {
          throw MailboxError(.malformed, "\(place.name) lists more than \(MailboxLimits.files) entries")
        }
        guard page.hasMore else {
          news.cursor = page.cursor ?? (page.isListing ? nil : news.cursor)
          return news
        }
        guard let next = page.cursor, positions.insert(next).inserted else {
          throw MailboxError(.malformed, "\(place.name) has more and does not go on")
        }
        news.cursor = next
      }
    }

    private static let mostContentBytes = 4 << 20

    // MARK: Files

    /// A file that is there, with its content if it came along.
    private struct Candidate {
      let item: MailboxItem
      let file: SealedFile
    }

    /// The items that a pass is to see, in the order of the place.
    private func items(_ news: News, _ view: SealedSpace.View) async throws -> [MailboxItem] {
      var (items, candidates): ([MailboxItem], [Candidate]) = ([], [])
      let waiting = listing.withLock { listing in
        if news.isListing { listing.begin(with: Set(news.items.map(\.name))) }
        return listing.pending.values.sorted { $0.name < $1.name }
      }
      for item in Self.last(waiting + news.items) {
        switch SealedName.parse(item.name, tag: space.tag) {
        case .foreign, .record: continue
        // A pass says of it that it is of a later version.
        case .newer: items.append(item)
        case .file(let name):
          listing.withLock { $0.clear(item.name) }
          if item.state == .removed {
            if let inner = listing.withLock({ $0.remove(item.name) }), !news.isListing {
              items.append(MailboxItem(name: inner, state: .removed))
            }
          } else if let file = file(name, view) {
            candidates.append(Candidate(item: item, file: file))
          } else if view.keys.contains(where: { $0.id.bytes.starts(with: name.key ?? []) }) {
            listing.withLock { $0.refused[item.name] = SpaceError(.malformed, "a name does not open") }
          } else {
            listing.withLock { listing in
              listing.waitsForKey.insert(item.name)
              listing.pending[item.name] = item
            }
          }
        }
      }
      return items + (try await verified(candidates, view, isListing: news.isListing))
    }

    /// Each item once, as it was listed last, in the order of the first.
    private static func last(_ items: [MailboxItem]) -> [MailboxItem] {
      let last = Dictionary(items.map { ($0.name, $0) }) { $1 }
      var seen: Set<String> = []
      return items.compactMap { seen.insert($0.name).inserted ? last[$0.name] : nil }
    }

    /// Of the files that are there, those that count, each name once.
    private func verified(
      _ candidates: [Candidate], _ view: SealedSpace.View, isListing: Bool
    ) async throws -> [MailboxItem] {
      var heads = try await firstPieces(candidates.filter { needsReading($0) })
      var (items, new): ([MailboxItem], [String: SealedListing.Verified]) = ([], [:])
      for candidate in candidates {
        let (item, file) = (candidate.item, candidate.file)
        switch item.state {
        case .notAFile:
          items += given(MailboxItem(name: file.entry.name.text, state: .notAFile), item, isListing)
          continue
        case .notDownloaded:
          // Its name is all that there is, so it must be of a key that no device has which is out.
          guard file.key.id == view.keyInUse else { continue }
          items += given(MailboxItem(name: file.entry.name.text, state: .notDownloaded), item, isListing)
          continue
        case .available, .removed: break
        }
        var verified = listing.withLock { $0.verified[item.name] }
        var content: [UInt8]?
        if needsReading(candidate) {
          // A folder's file may be on its way, and a log's content may come back.
          guard let head = heads.removeValue(forKey: item.name) else {
            listing.withLock { $0.pending[item.name] = item }
            continue
          }
          do {
            let opened = try file.open(first: head, members: view.members)
            verified = SealedListing.Verified(device: opened.device, file: opened.file, version: item.version)
            if file.pieces.pieceCount == 1, opened.first.count == file.entry.byteCount { content = opened.first }
          } catch let error as SpaceError {
            listing.withLock { listing in
              listing.refused[item.name] = error
              listing.verified[item.name] = nil
            }
            continue
          }
          new[item.name] = verified
          listing.withLock { $0.verified[item.name] = verified }
        }
        guard let verified else { continue }
        guard view.membership.counts(fileOf: verified.device, verified.file) else {
          listing.withLock { _ = $0.leftBehind[verified.device, default: []].insert(item.name) }
          continue
        }
        let entry = file.entry
        items += given(
          MailboxItem(name: entry.name.text, version: item.version, byteCount: entry.byteCount, content: content),
          item, isListing)
      }
      try note(verified: new, areRecordsNew: false)
      return items
    }

    /// The item if it is the first file of its name, or one that was asked for.
    private func given(_ inner: MailboxItem, _ outer: MailboxItem, _ isListing: Bool) -> [MailboxItem] {
      listing.withLock { listing in
        let isNew = listing.outer[inner.name] == nil
        let isAgain = !isListing && listing.outer[inner.name]?.first == outer.name
        listing.map(outer.name, to: inner.name)
        return isNew || isAgain ? [inner] : []
      }
    }

    private func needsReading(_ candidate: Candidate) -> Bool {
      guard candidate.item.state == .available else { return false }
      guard let known = listing.withLock({ $0.verified[candidate.item.name] }) else { return true }
      // A log's entry stays as it is, but one that was asked for; a folder's without a version may be another one.
      return candidate.item.version == nil ? kind == .folder : known.version != candidate.item.version
    }

    /// The first pieces of files, as far as they can be read.
    private func firstPieces(_ candidates: [Candidate]) async throws -> [String: [UInt8]] {
      var (pieces, small): ([String: [UInt8]], [[Candidate]]) = ([:], [[]])
      var bytes = 0
      for candidate in candidates where candidate.item.content == nil && candidate.file.pieces.pieceCount == 1 {
        bytes += candidate.file.pieces.sealedByteCount
        if bytes > Self.batchBytes || small[small.count - 1].count == Self.batchEntries {
          small.append([])
          bytes = candidate.file.pieces.sealedByteCount
        }
        small[small.count - 1].append(candidate)
      }
      for batch in small where batch.count > 1 {
        do {
          pieces.merge(try await place.contents(of: batch.map(\.item.name))) { first, _ in first }
        } catch {
          guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
          // Each is asked for alone then, and says itself what is wrong.
        }
      }
      for candidate in candidates {
        let (item, count) = (candidate.item, candidate.file.pieces.sealedRange(ofPiece: 0).count)
        if let content = item.content ?? pieces[item.name] {
          pieces[item.name] = content.count == candidate.file.pieces.sealedByteCount ? Array(content.prefix(count)) : []
          continue
        }
        // A file of another size is not whole, and not worth reading.
        if let size = item.byteCount, size != candidate.file.pieces.sealedByteCount {
          pieces[item.name] = []
          continue
        }
        pieces[item.name] = try await beginning(of: item.name, count)
      }
      return pieces
    }

    private static let (batchBytes, batchEntries) = (1 << 20, 256)

    /// The first bytes of a file; nil if they cannot be read now.
    func beginning(of name: String, _ count: Int) async throws -> [UInt8]? {
      do {
        var bytes: [UInt8] = []
        var pieces = try await place.get(name, from: 0).makeAsyncIterator()
        while bytes.count < count, let piece = try await pieces.next() { bytes += piece }
        return Array(bytes.prefix(count))
      } catch {
        guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
        // A pass asks for what it has seen; this it cannot see.
        if (error as? MailboxError)?.code == .contentLost { try await place.ask(for: [name]) }
        return nil
      }
    }
  }
#endif
