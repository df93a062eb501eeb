#if Spaces
  import TallySync

  /// Records in a place.
  extension SealedMailbox {
    /// Takes in the records among news. Those that cannot be read now come with the next listing.
    func takeInRecords(_ news: News) async throws {
      let known = space.recordNames
      var (there, unknown): (Set<SealedName>, [(name: SealedName, item: MailboxItem)]) = ([], [])
      var gone: Set<SealedName> = []
      let waiting = listing.withLock { listing in
        defer { listing.pendingRecords = [:] }
        return news.isListing ? [] : listing.pendingRecords.values.sorted { $0.name < $1.name }
      }
      for item in waiting + news.items {
        guard case .record(let name) = SealedName.parse(item.name, tag: space.tag) else { continue }
        let plain = SealedName(key: nil, bytes: name.bytes)
        guard item.state != .removed else {
          gone.insert(plain)
          continue
        }
        gone.remove(plain)
        if known[plain] != nil {
          there.insert(plain)
        } else if item.state == .available {
          unknown.append((plain, item))
        }
      }
      var contents: [(name: SealedName, content: [UInt8])] = []
      for (name, item) in unknown {
        // A version that was refused is not read again.
        if let version = item.version, listing.withLock({ $0.refusedRecords[item.name] }) == version { continue }
        let limit = SpaceLimits.keyRecordBytes + SpaceCrypto.tagBytes + 1
        if let content = item.content {
          contents.append((name, content))
        } else if let content = try await beginning(of: item.name, limit) {
          contents.append((name, content))
        } else {
          // So that the next page is a listing, in which it comes again.
          listing.withLock { $0.pendingRecords[item.name] = item }
        }
      }
      let refused = try space.takeIn(contents)
      let (read, taken) = (Set(contents.map(\.name)), space.recordNames)
      let areRecordsNew = listing.withLock { listing in
        for (name, item) in unknown where read.contains(name) {
          listing.refused[item.name] = refused[name]
          listing.refusedRecords[item.name] = refused[name].map { _ in item.version }
          // What came before what it names comes again, and so does what this version cannot read.
          let isWaiting = taken[name] == nil && refused[name] == nil || refused[name]?.code == .newerVersion
          if isWaiting { listing.pendingRecords[item.name] = item }
        }
        there.formUnion(contents.map(\.name).filter { refused[$0] == nil })
        let before = listing.records
        listing.records = (news.isListing ? there : (before ?? []).union(there)).subtracting(gone)
        return listing.records != before
      }
      if areRecordsNew { try note(verified: [:], areRecordsNew: true) }
    }

    /// Puts the records that the place lacks, in the order of their names.
    /// - Returns: whether there were any.
    @discardableResult
    func putRecords() async throws -> Bool {
      guard let there = listing.withLock({ $0.records }) else { return false }
      let missing = space.recordNames.filter { !there.contains($0.key) }
      guard !missing.isEmpty else { return false }
      for (name, id) in missing.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
        guard let content = try space.sealedRecord(id) else { continue }
        _ = try await place.put(MailboxUpload(name: name.text(tag: space.tag), bytes: content))
        listing.withLock { _ = $0.records?.insert(name) }
      }
      try note(verified: [:], areRecordsNew: true)
      return true
    }
  }
#endif
