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

    /// Returns everything that is new as one page. First it takes in records, and puts those that the place lacks. One
    /// call goes after the other.
    package func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
      try await turn.run { try await news(after: cursor) }
    }

    private func news(after cursor: MailboxCursor?) async throws -> MailboxPage {
      var cursor = cursor
      // Each round begins anew because members or keys have changed, which a place cannot do for ever.
      for _ in 0..<8 {
        let before = space.view
        var news = try await gather(after: placeCursor(cursor, before))
        try await takeInRecords(news)
        // A device that came meanwhile gets the keys from every device that passes by, also if there is nothing to put.
        try space.passOnKeys()
        if try await putRecords() {
          // So that this device is not told of them as of news.
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
      var gone: [String] = []
      let waiting = listing.withLock { listing in
        if news.isListing { gone = listing.begin(with: Set(news.items.map(\.name))) }
        return listing.pending.values.sorted { $0.name < $1.name }
      }
      for item in Self.last(waiting + news.items) {
        switch SealedName.parse(item.name, tag: space.tag) {
        case .foreign, .record: continue
        // Anyone can make such a name, so it is told and not listed.
        case .newer:
          listing.withLock { listing in
            let isGone = item.state == .removed
            listing.refuse(item.name, isGone ? nil : SpaceError(.newerVersion, "a name is of a later version"))
          }
        case .file(let name):
          listing.withLock { $0.clear(item.name) }
          if item.state == .removed {
            gone.append(item.name)
            if let inner = listing.withLock({ $0.remove(item.name) }), !news.isListing {
              items.append(MailboxItem(name: inner, state: .removed))
            }
          } else if let file = file(name, view) {
            candidates.append(Candidate(item: item, file: file))
          } else if view.keys.contains(where: { $0.id.bytes.starts(with: name.key ?? []) }) {
            listing.withLock { $0.refuse(item.name, SpaceError(.malformed, "a name does not open")) }
          } else {
            listing.withLock { listing in
              listing.waitsForKey.insert(item.name)
              listing.pending[item.name] = item
            }
          }
        }
      }
      guard listing.withLock({ $0.pending.count }) <= MailboxLimits.files else {
        throw MailboxError(.malformed, "in \(place.name) more than \(MailboxLimits.files) files wait for keys")
      }
      try note(gone: gone)
      // Some at a time, so that no more than their beginnings are in memory.
      var contentBytes = 0
      for batch in Self.batches(candidates) {
        for var item in try await verified(batch, view, isListing: news.isListing) {
          contentBytes += item.content?.count ?? 0
          if contentBytes > Self.mostContentBytes { item.content = nil }
          items.append(item)
        }
      }
      return items
    }

    /// Files in their order, as many at a time as their first pieces have room.
    private static func batches(_ candidates: [Candidate]) -> [ArraySlice<Candidate>] {
      var (batches, start, bytes): ([ArraySlice<Candidate>], Int, Int) = ([], 0, 0)
      for (index, candidate) in candidates.enumerated() {
        let count = candidate.file.pieces.sealedRange(ofPiece: 0).count
        if index > start, bytes + count > batchBytes || index - start == batchEntries {
          batches.append(candidates[start..<index])
          (start, bytes) = (index, 0)
        }
        bytes += count
      }
      if start < candidates.count { batches.append(candidates[start...]) }
      return batches
    }

    /// Each item once, as it was listed last, in the order of the first.
    private static func last(_ items: [MailboxItem]) -> [MailboxItem] {
      let last = Dictionary(items.map { ($0.name, $0) }) { $1 }
      var seen: Set<String> = []
      return items.compactMap { seen.insert($0.name).inserted ? last[$0.name] : nil }
    }

    /// Of the files that are there, those that count, each name once. Nothing is listed of which no first piece was
    /// verified, now or before: a name alone can be made by each device that ever had the key.
    private func verified(
      _ candidates: ArraySlice<Candidate>, _ view: SealedSpace.View, isListing: Bool
    ) async throws -> [MailboxItem] {
      var heads = try await firstPieces(candidates.filter { needsReading($0) })
      var (items, new): ([MailboxItem], [String: SealedListing.Verified]) = ([], [:])
      for candidate in candidates {
        let (item, file) = (candidate.item, candidate.file)
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
              listing.refuse(item.name, error)
              listing.verified[item.name] = nil
            }
            continue
          }
          new[item.name] = verified
          listing.withLock { $0.verified[item.name] = verified }
        }
        guard let verified else {
          listing.withLock { $0.wait(for: item) }
          continue
        }
        guard view.membership.counts(fileOf: verified.device, verified.file) else {
          listing.withLock { _ = $0.leftBehind[verified.device, default: []].insert(item.name) }
          continue
        }
        var inner = MailboxItem(name: file.entry.name.text, state: item.state)
        if item.state == .available {
          (inner.version, inner.byteCount, inner.content) = (item.version, file.entry.byteCount, content)
        }
        items += given(inner, item, isListing)
      }
      try note(verified: new)
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
      var pieces: [String: [UInt8]] = [:]
      let small = candidates.filter { $0.item.content == nil && $0.file.pieces.pieceCount == 1 }
      if small.count > 1 {
        do {
          pieces = try await place.contents(of: small.map(\.item.name))
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
        pieces[item.name] = try await beginning(orAskingFor: item.name, count)
      }
      return pieces
    }

    private static let (batchBytes, batchEntries) = (1 << 20, 256)

    /// What came of reading the first bytes of a file.
    enum Beginning {
      case bytes([UInt8])
      /// Its content is gone.
      case lost
      /// It cannot be read now.
      case unreadable
    }

    /// The first bytes of a file.
    func beginning(of name: String, _ count: Int) async throws -> Beginning {
      do {
        var bytes: [UInt8] = []
        var pieces = try await place.get(name, from: 0).makeAsyncIterator()
        while bytes.count < count, let piece = try await pieces.next() { bytes += piece }
        return .bytes(Array(bytes.prefix(count)))
      } catch {
        guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
        return (error as? MailboxError)?.code == .contentLost ? .lost : .unreadable
      }
    }

    /// The first bytes of a file; nil if they cannot be read now. A pass asks for what it has seen; this it cannot see.
    func beginning(orAskingFor name: String, _ count: Int) async throws -> [UInt8]? {
      switch try await beginning(of: name, count) {
      case .bytes(let bytes): return bytes
      case .lost: try await place.ask(for: [name])
      case .unreadable: break
      }
      return nil
    }
  }
#endif
