#if canImport(CloudKit)
  import CloudKit
  import Foundation
  import TallySync

  extension CloudKitMailbox {
    private static let kindKey = "kind", sizeKey = "size"
    static let bodyKey = "body", assetKey = "asset"
    /// The day on which a device has asked for the content, counted from 1970.
    private static let askedKey = "asked"

    /// Returns what has come after a cursor: one request, or none while notifications arrive and tell of nothing.
    ///
    /// Small contents come along. Everything is listed without a cursor, with one that has expired, and where the zone
    /// is gone, which is made again unless the person has deleted it.
    /// - Throws: ``CloudKitError``; `CancellationError`.
    public func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
      try await checkAccount()
      let known = cursor.flatMap(CloudKitCursor.init)
      if let cursor, known != nil, follower.isCurrent(cursor, at: settings.now(), believing: settings.silence) {
        return MailboxPage(items: [], cursor: cursor, isListing: false)
      }
      try await subscribe()
      let generation = follower.generation
      guard let known else { return try await list(since: generation) }
      do {
        return try await page(after: known, given: cursor, since: generation)
      } catch let error as CloudKitError
        where error.cloudKitCode == .changeTokenExpired || error.cloudKitCode == .zoneNotFound
      {
        // With a zone its subscriptions are gone.
        follower.doubtSubscription()
        try await subscribe()
        return try await list(since: follower.generation)
      }
    }

    private func list(since generation: Int) async throws -> MailboxPage {
      follower.resetSentAlong()
      return try await inZone { try await page(after: nil, given: nil, since: generation) }
    }

    /// Does something in the zone, which is made if it is not there.
    ///
    /// A zone that is gone with nothing to say why, or with the keys of what was encrypted, takes nothing with it: the
    /// devices have it all, and put it again. One that the person has deleted is another matter.
    func inZone<T>(_ body: () async throws -> T) async throws -> T {
      do {
        return try await body()
      } catch let error as CloudKitError where error.cloudKitCode == .zoneNotFound {
        // Another device may have made it again: then there is nothing to delete any more.
        try await makeZone()
        follower.doubtSubscription()
        do {
          return try await body()
        } catch let error as CloudKitError where error.isReset {
          try await deleteZone()
          try await makeZone()
          return try await body()
        }
      }
    }

    private func page(after known: CloudKitCursor?, given cursor: MailboxCursor?, since generation: Int) async throws
      -> MailboxPage
    {
      let answer = try await request {
        try await database.recordZoneChanges(
          inZoneWith: zoneID, since: known?.token,
          desiredKeys: [Self.kindKey, Self.sizeKey, Self.bodyKey, Self.askedKey],
          resultsLimit: nil)
      }
      let own = follower.own(since: cursor)
      var found: [(date: Date, item: MailboxItem)] = []
      for (id, result) in answer.modificationResultsByID {
        let isOwn = own.contains(id.recordName)
        switch result {
        case .success(let modification):
          let record = modification.record
          // An own entry is known, unless somebody has asked for its content.
          guard record.recordType == Self.recordType, !isOwn || record[Self.askedKey] != nil else { continue }
          found.append((record.creationDate ?? .distantPast, item(record)))
        case .failure where isOwn: continue
        case .failure:
          // It is there; why it cannot be read, reading it will tell.
          found.append((.distantPast, MailboxItem(name: id.recordName)))
        }
      }
      // Within a page CloudKit keeps no order.
      found.sort { ($0.date, $0.item.name) < ($1.date, $1.item.name) }
      var items = found.map(\.item)
      if known != nil {
        let names = Set(items.map(\.name))
        items += answer.deletions.map(\.recordID.recordName).filter { !names.contains($0) }
          .map { MailboxItem(name: $0, state: .removed) }
      }
      let count = answer.modificationResultsByID.count + answer.deletions.count
      var next = cursor
      if count > 0 || answer.moreComing || next == nil {
        // It grows where there is more, also if nothing has come with this answer.
        let position = (known?.position ?? 0) + UInt64(max(count, answer.moreComing ? 1 : 0))
        next = try CloudKitCursor(position: position, token: answer.changeToken).cursor()
      }
      if !answer.moreComing, let next {
        follower.resetSentAlong()
        follower.noteEnd(next, hadNews: !items.isEmpty, at: settings.now(), since: generation)
      }
      return MailboxPage(items: items, cursor: next, isListing: known == nil, hasMore: answer.moreComing)
    }

    /// A record as an item. Its content comes along as far as a pass keeps it, and waits in the spool otherwise.
    private func item(_ record: CKRecord) -> MailboxItem {
      let name = record.recordID.recordName
      let size = (record[Self.sizeKey] as? Int64).flatMap(Int.init(exactly:)).flatMap { $0 < 0 ? nil : $0 }
      var item = MailboxItem(name: name, byteCount: size)
      item.version = (record[Self.askedKey] as? Int64).map { "asked \($0)" }
      // What is here says nothing of what iCloud has.
      if item.version != nil { spool.drop(name) }
      guard let body = record.encryptedValues[Self.bodyKey] as? Data, size == nil || body.count == size else {
        return item
      }
      if follower.sendsAlong(body.count) { item.content = [UInt8](body) } else { spool.keep(name, body) }
      return item
    }

    // MARK: Reading

    /// The bytes of an entry from an offset on. CloudKit gives a record or an asset whole: it is kept while it is read,
    /// so that going on costs nothing.
    /// - Throws: `MailboxError` of code `noSuchFile` if there is no such entry, `contentLost` if iCloud has its record
    ///   without its content; ``CloudKitError``; `CancellationError`.
    public func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      guard Self.isName(name) else { throw MailboxError(.noSuchFile, "no entry has such a name") }
      try await checkAccount()
      if let file = spool.open(name) { return CloudKitPieces(.file(file), name, offset, spool) }
      let id = CKRecord.ID(recordName: name, zoneID: zoneID)
      // All fields: an asset is only downloaded if it is asked for.
      let record: CKRecord
      do {
        let results = try await request { try await database.records(for: [id], desiredKeys: nil) }
        guard let result = results[id] else { throw CKError(.unknownItem) }
        record = try result.get()
      } catch {
        throw try unreadable(failure(error))
      }
      if let body = record.encryptedValues[Self.bodyKey] as? Data {
        spool.keep(name, body)
        return CloudKitPieces(.bytes(body), name, offset, spool)
      }
      // Opened at once: the system removes the file when it likes.
      guard let url = (record[Self.assetKey] as? CKAsset)?.fileURL else { throw Self.contentLost() }
      let file: FileHandle
      do {
        file = try FileHandle(forReadingFrom: url)
      } catch let error as CocoaError where [.fileNoSuchFile, .fileReadNoSuchFile].contains(error.code) {
        throw Self.contentLost(error)
      } catch {
        // Of this device, as for want of a descriptor, and not of what iCloud has.
        throw MailboxError(.unreadable, "the file of an asset cannot be opened", cause: error)
      }
      spool.keep(name, copyOf: url, byteCount: (record[Self.sizeKey] as? Int64).map { Int(clamping: $0) } ?? 0)
      return CloudKitPieces(.file(file), name, offset, spool)
    }

    private static func contentLost(_ cause: (any Error)? = nil) -> MailboxError {
      MailboxError(.contentLost, "iCloud has the record without its content", cause: cause)
    }

    /// What an error says of one entry.
    private func unreadable(_ error: CloudKitError) -> any Error {
      switch error.cloudKitCode {
      case .unknownItem, .zoneNotFound: MailboxError(.noSuchFile, "there is no such entry", cause: error)
      case .assetFileNotFound, .assetNotAvailable, .assetFileModified: Self.contentLost(error)
      default: error
      }
    }

    /// The contents of small entries: what has come with a listing, and the others by one request for 200.
    /// - Throws: ``CloudKitError``; `CancellationError`. Each can be asked for alone then.
    public func contents(of names: [String]) async throws -> [String: [UInt8]] {
      try await checkAccount()
      var contents: [String: [UInt8]] = [:]
      for name in names { contents[name] = spool.take(name) }
      let ids = names.filter { contents[$0] == nil && Self.isName($0) }
        .map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
      try await inParts(ids) { part in
        let results = try await request { try await database.records(for: part, desiredKeys: [Self.bodyKey]) }
        for (id, result) in results {
          // What is missing or fails, `get` says.
          guard case .success(let record) = result, let body = record.encryptedValues[Self.bodyKey] as? Data else {
            continue
          }
          contents[id.recordName] = [UInt8](body)
        }
      }
      return contents
    }

    /// Asks the person's other devices for contents that iCloud has lost, by the day in a field of each record: devices
    /// are told of that as of any change, and look into the entry themselves. Two requests, once a day for each entry.
    ///
    /// Nothing is removed for it: that this device cannot read an asset does not mean that no other can. What iCloud
    /// refuses for good, as where the schema in production lacks the field, is not tried again before the next day.
    /// - Throws: ``CloudKitError``; `CancellationError`.
    public func ask(for names: [String]) async throws {
      let names = follower.beginAsking(for: names.filter(Self.isName), at: settings.now())
      do {
        let day = Int64(settings.date().timeIntervalSince1970 / 86_400)
        try await inParts(names.map { CKRecord.ID(recordName: $0, zoneID: zoneID) }) { part in
          let found = try await request { try await database.records(for: part, desiredKeys: [Self.askedKey]) }
          let records = try found.values.compactMap(there).filter { $0[Self.askedKey] as? Int64 != day }
          guard !records.isEmpty else { return }
          for record in records { record[Self.askedKey] = day }
          if let error = try await save(records).values.compactMap(\.self).first { throw error }
        }
      } catch {
        if (error as? CloudKitError)?.isPermanent != true { follower.endAsking(for: names) }
        throw error
      }
    }

    /// A record that was asked for; nil if it has gone, of which the next page tells.
    private func there(_ result: Result<CKRecord, any Error>) throws -> CKRecord? {
      do {
        return try result.get()
      } catch {
        let failure = try failure(error)
        guard failure.cloudKitCode == .unknownItem || failure.cloudKitCode == .zoneNotFound else { throw failure }
        return nil
      }
    }

    /// Does something with some items at a time, and with half as many where iCloud finds them too many.
    func inParts<Item>(_ items: [Item], _ body: ([Item]) async throws -> Void) async throws {
      var (rest, most) = (items[...], Self.mostItems)
      while !rest.isEmpty {
        let part = Array(rest.prefix(most))
        do {
          try await body(part)
          rest = rest.dropFirst(part.count)
        } catch let error as CloudKitError where error.cloudKitCode == .limitExceeded && part.count > 1 {
          most = part.count / 2
        }
      }
    }

    /// Whether a record can have such a name.
    static func isName(_ name: String) -> Bool {
      !name.isEmpty && !name.hasPrefix("_") && name.utf8.count <= MailboxLimits.nameBytes
        && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// What sort of content a name promises, for who looks at the records: 0 a delta, 1 a snapshot, 2 a repair.
    static func kind(_ name: String) -> Int64 {
      name.hasSuffix(".snapshot") ? 1 : name.hasSuffix(".repair") ? 2 : 0
    }

    static func fill(_ record: CKRecord, _ upload: MailboxUpload) {
      record[kindKey] = kind(upload.name)
      record[sizeKey] = Int64(upload.byteCount)
    }
  }

  /// The bytes of an entry, in pieces. One that was read to its end is not kept any longer.
  private struct CloudKitPieces: AsyncSequence, AsyncIteratorProtocol {
    enum Source {
      case file(FileHandle)
      case bytes(Data)
    }

    private static let pieceBytes = 1 << 18
    private let source: Source
    private let name: String
    private let spool: CloudKitSpool
    private var offset: Int
    private var isOpen = false

    init(_ source: Source, _ name: String, _ offset: Int, _ spool: CloudKitSpool) {
      (self.source, self.name, self.offset, self.spool) = (source, name, offset, spool)
    }

    func makeAsyncIterator() -> Self { self }

    mutating func next() async throws -> [UInt8]? {
      let piece: [UInt8]
      switch source {
      case .file(let file):
        if !isOpen { try file.seek(toOffset: UInt64(offset)) }
        isOpen = true
        piece = [UInt8](try file.read(upToCount: Self.pieceBytes) ?? Data())
      case .bytes(let data):
        piece = [UInt8](data.dropFirst(offset).prefix(Self.pieceBytes))
      }
      offset += piece.count
      guard piece.isEmpty else { return piece }
      spool.drop(name)
      return nil
    }
  }
#endif
