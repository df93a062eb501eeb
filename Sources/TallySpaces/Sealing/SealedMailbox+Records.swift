#if Spaces
  import TallySync

  /// Records in a place.
  extension SealedMailbox {
    /// The most bytes of records that are read before they are opened, and the most rounds in which those are read
    /// again for which there was no room. The rest comes with the next page.
    private static let (batchBytes, mostRounds) = (4 << 20, 64)

    private struct FoundRecord {
      let name: SealedName
      let item: MailboxItem
    }

    /// Takes in the records among news. Those that cannot be read now come with the next listing.
    func takeInRecords(_ news: News) async throws {
      let waiting = listing.withLock { listing in
        news.isListing ? [] : listing.pendingRecords.values.map(\.item).sorted { $0.name < $1.name }
      }
      var (known, unknown, gone): ([FoundRecord], [FoundRecord], Set<SealedName>) = ([], [], [])
      let names = space.recordNames
      for item in waiting + news.items {
        guard case .record(let parsed) = SealedName.parse(item.name, tag: space.tag) else { continue }
        let found = FoundRecord(name: SealedName(key: nil, bytes: parsed.bytes), item: item)
        guard item.state != .removed else {
          gone.insert(found.name)
          continue
        }
        gone.remove(found.name)
        if names[found.name] != nil { known.append(found) } else if item.state == .available { unknown.append(found) }
      }
      var there = try await compared(known, names)
      let pending = try await takeIn(unknown.filter { !gone.contains($0.name) })
      let taken = space.recordNames
      for found in unknown where pending[found.item.name] == nil && taken[found.name] != nil {
        there[found.name] = check(found.item)
      }
      let isNew = listing.withLock { listing in
        listing.pendingRecords = pending
        let before = listing.records
        // A file that is not the record is as good as none.
        let lost = Set(known.map(\.name)).subtracting(there.keys)
        var records = (news.isListing ? [:] : before ?? [:]).merging(there) { $1 }
        for name in gone.union(lost) where there[name] == nil || gone.contains(name) { records[name] = nil }
        listing.records = records
        return records != before
      }
      if isNew { try noteRecords() }
    }

    // MARK: Records that are known

    /// The bytes by which is known that a file was compared with a record.
    private func check(_ item: MailboxItem) -> [UInt8] {
      guard let version = item.version else { return Self.unchecked }
      let digest = SpaceCrypto.digest(Array(item.name.utf8), [0], Array(version.utf8))
      return Array(digest.bytes.prefix(Self.checkBytes))
    }

    /// Of the records that this device has, those that the place has as well. A log is believed, but where an entry was
    /// asked for; a folder's file is read once in each version.
    private func compared(
      _ known: [FoundRecord], _ names: [SealedName: SpaceDigest]
    ) async throws -> [SealedName: [UInt8]] {
      let before = listing.withLock { $0.records ?? [:] }
      var there: [SealedName: [UInt8]] = [:]
      for found in known {
        guard let id = names[found.name], let count = space.sealedByteCount(id) else { continue }
        let (item, check) = (found.item, check(found.item))
        switch item.state {
        case .notAFile, .removed: continue
        case .notDownloaded:
          // Its name proves nothing.
          if let before = before[found.name], before != Self.unchecked { there[found.name] = before }
          continue
        case .available: break
        }
        guard item.byteCount ?? count == count else {
          listing.withLock { $0.refuse(item.name, SpaceError(.malformed, "a record has another size")) }
          continue
        }
        var content = item.content
        let isBelieved =
          kind == .log ? item.version == nil : check != Self.unchecked && before[found.name] == check
        if content == nil, isBelieved {
          there[found.name] = check
          continue
        }
        if content == nil {
          switch try await beginning(of: item.name, count + 1) {
          case .bytes(let bytes): content = bytes
          case .lost: continue
          case .unreadable:
            // Another time: there is no reason to believe that it is gone.
            there[found.name] = before[found.name] ?? Self.unchecked
            continue
          }
        }
        let isRight = try content == space.sealedRecord(id)
        listing.withLock { listing in
          listing.refuse(item.name, isRight ? nil : SpaceError(.malformed, "a record was changed"))
        }
        if isRight { there[found.name] = check }
      }
      return there
    }

    // MARK: Records that are not known

    /// Reads and takes in records, some megabytes at a time.
    /// - Returns: those that are to come again.
    private func takeIn(_ unknown: [FoundRecord]) async throws -> [String: SealedListing.PendingRecord] {
      var (rest, pending): ([FoundRecord], [String: SealedListing.PendingRecord]) = ([], [:])
      for found in unknown {
        guard isUnchanged(found.item) else {
          rest.append(found)
          continue
        }
        pending[found.item.name] = .init(item: found.item, progress: space.progress)
      }
      for _ in 0..<Self.mostRounds {
        let progress = space.progress
        var postponed: [FoundRecord] = []
        var (batch, bytes): ([(found: FoundRecord, content: [UInt8])], Int) = ([], 0)
        for found in rest {
          // A version that was refused is not read again.
          let refused = listing.withLock { $0.refusedRecords[found.item.name] }
          if let version = found.item.version, refused == version { continue }
          guard let content = try await content(of: found.item) else {
            pending[found.item.name] = .init(item: found.item)
            continue
          }
          bytes += content.count
          batch.append((found, content))
          // It has come, and waits for others unless it is refused.
          pending[found.item.name] = .init(item: found.item, progress: progress)
          guard bytes >= Self.batchBytes else { continue }
          postponed += try takeIn(batch)
          (batch, bytes) = ([], 0)
        }
        postponed += try takeIn(batch)
        rest = postponed
        guard !rest.isEmpty, space.progress != progress else { break }
      }
      let (taken, progress) = (space.recordNames, space.progress)
      let refused = listing.withLock { $0.refusedRecords }
      for found in unknown where taken[found.name] != nil || refused[found.item.name] != nil {
        pending[found.item.name] = nil
      }
      for name in pending.keys where pending[name]?.progress != nil { pending[name]?.progress = progress }
      return pending
    }

    /// Whether a record came too early or found no room before, and nothing has come since that could change that.
    private func isUnchanged(_ item: MailboxItem) -> Bool {
      guard kind == .log || item.version != nil, let before = listing.withLock({ $0.pendingRecords[item.name] }) else {
        return false
      }
      return before.progress == space.progress && before.item.version == item.version
    }

    private func content(of item: MailboxItem) async throws -> [UInt8]? {
      if let content = item.content { return content }
      let limit = SpaceLimits.keyRecordBytes + SpaceCrypto.tagBytes + 1
      return try await beginning(orAskingFor: item.name, limit)
    }

    /// Opens a batch. Returns those for which there was no room.
    private func takeIn(_ batch: [(found: FoundRecord, content: [UInt8])]) throws -> [FoundRecord] {
      guard !batch.isEmpty else { return [] }
      let refusals = try space.takeIn(batch.map { ($0.found.name, $0.content) })
      return listing.withLock { listing in
        batch.map(\.found).filter { found in
          let isPostponed = refusals.postponed.contains(found.name)
          let error = refusals.errors[found.name]
          listing.refuse(found.item.name, error)
          if error == nil || isPostponed {
            listing.refusedRecords.removeValue(forKey: found.item.name)
          } else {
            listing.refusedRecords.updateValue(found.item.version, forKey: found.item.name)
          }
          return isPostponed
        }
      }
    }

    // MARK: Putting

    /// The records that the place lacks, in the order of their names.
    func missingRecords() -> [(name: SealedName, id: SpaceDigest)] {
      guard let there = listing.withLock({ $0.records }) else { return [] }
      return space.recordNames.filter { there[$0.key] == nil }.map { ($0.key, $0.value) }
        .sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }

    /// Puts the records that the place lacks.
    /// - Returns: whether there were any.
    @discardableResult
    func putRecords() async throws -> Bool {
      let missing = missingRecords()
      guard !missing.isEmpty else { return false }
      for (name, id) in missing {
        guard let content = try space.sealedRecord(id) else { continue }
        _ = try await place.put(MailboxUpload(name: name.text(tag: space.tag), bytes: content))
        listing.withLock { $0.records?[name] = Self.unchecked }
      }
      try noteRecords()
      return true
    }
  }
#endif
