#if canImport(CloudKit)
  import CloudKit
  import Foundation
  import TallySync

  extension CloudKitMailbox {
    /// Puts an entry, in one request: as a field of its record, or as an asset where it is large. One that is there
    /// already is left as it is, since a name stands for one content.
    /// - Throws: ``CloudKitError``, `full` if the person has no room; `MailboxError`; what reading the upload throws.
    ///   Nothing is put then, or all of it, if only the answer was lost: the next put finds it.
    public func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
      guard Self.isName(upload.name) else { throw MailboxError(.invalidName, "no record can have such a name") }
      try await checkAccount()
      do {
        try await put(upload, asAsset: upload.byteCount > settings.inlineBytes)
      } catch let error as CloudKitError where error.code == .tooLarge && upload.byteCount <= settings.inlineBytes {
        // What is too much for a record may be an asset.
        try await put(upload, asAsset: true)
      }
      return MailboxReceipt(cursor: follower.notePut(upload.name, after: upload.cursor))
    }

    private func put(_ upload: MailboxUpload, asAsset: Bool) async throws {
      let outgoing = try Outgoing(upload, asAsset, self)
      defer { outgoing.discard() }
      let results = try await inZone { try await save([outgoing.record()]) }
      if let error = results[outgoing.id] ?? nil { throw error }
    }

    /// Puts several entries, up to 200 and a mebibyte of them in one request, and half as many where iCloud finds that
    /// too much.
    /// - Throws: `CancellationError`; what was put stays.
    public func put(_ uploads: [MailboxUpload]) async throws -> [Result<MailboxReceipt, any Error>] {
      var results = [Result<MailboxReceipt, any Error>?](repeating: nil, count: uploads.count)
      func fail(_ indices: some Sequence<Int>, _ error: any Error) throws {
        guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
        for index in indices where results[index] == nil { results[index] = .failure(error) }
      }
      // One name is one record, however often it is given.
      var first: [String: Int] = [:]
      for (index, upload) in uploads.enumerated() where first[upload.name] == nil { first[upload.name] = index }
      var together: [Int] = []
      for index in first.values.sorted() {
        if uploads[index].byteCount <= settings.inlineBytes, Self.isName(uploads[index].name) {
          together.append(index)
        } else {
          do { results[index] = .success(try await put(uploads[index])) } catch { try fail([index], error) }
        }
      }
      for batch in Self.batches(together, of: uploads) {
        do {
          try await checkAccount()
          try await inParts(batch) { part in
            // Too large for a record, as it turned out: by itself it becomes an asset.
            if part.count == 1, let index = part.first {
              do { results[index] = .success(try await put(uploads[index])) } catch { try fail([index], error) }
              return
            }
            var outgoing: [(index: Int, entry: Outgoing)] = []
            for index in part {
              do { outgoing.append((index, try Outgoing(uploads[index], false, self))) } catch {
                try fail([index], error)
              }
            }
            guard !outgoing.isEmpty else { return }
            let saved = try await inZone { try await save(outgoing.map { $0.entry.record() }) }
            for (index, entry) in outgoing {
              if let error = saved[entry.id] ?? nil {
                try fail([index], error)
                continue
              }
              _ = follower.notePut(entry.id.recordName, after: nil)
              results[index] = .success(MailboxReceipt())
            }
          }
        } catch {
          try fail(batch, error)
        }
      }
      return uploads.indices.map { index in
        results[index] ?? results[first[uploads[index].name] ?? index]
          ?? .failure(MailboxError(.unwritable, "the entry was not put"))
      }
    }

    private static func batches(_ indices: [Int], of uploads: [MailboxUpload]) -> [[Int]] {
      var (batches, bytes): ([[Int]], Int) = ([], 0)
      for index in indices {
        let isNew = batches.isEmpty || batches[batches.count - 1].count >= mostItems
        if isNew || bytes + uploads[index].byteCount > 1 << 20 {
          batches.append([])
          bytes = 0
        }
        batches[batches.count - 1].append(index)
        bytes += uploads[index].byteCount
      }
      return batches
    }

    /// Saves records, each as if it were saved alone.
    /// - Returns: the error of each; nil for one that is there now.
    /// - Throws: what concerns all of them.
    func save(_ records: [CKRecord]) async throws -> [CKRecord.ID: CloudKitError?] {
      var errors: [CKRecord.ID: any Error] = [:]
      try Task.checkCancellation()
      do {
        let results = try await rawRequest {
          try await database.modifyRecords(
            saving: records, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: false)
        }
        for record in records {
          switch results.saveResults[record.recordID] {
          case .success: break
          case .failure(let error): errors[record.recordID] = error
          case nil: errors[record.recordID] = CKError(.serverResponseLost)
          }
        }
      } catch let error as CKError {
        guard error.code == .partialFailure, let items = error.partialErrorsByItemID else { throw try failure(error) }
        for record in records { errors[record.recordID] = items[record.recordID as AnyHashable] }
        // Of something else than the records, such as their zone: then it says nothing of them, least of all success.
        guard !errors.isEmpty else { throw try failure(error) }
      }
      var outcome: [CKRecord.ID: CloudKitError?] = [:]
      for record in records {
        guard let error = errors[record.recordID] else {
          outcome[record.recordID] = .some(nil)
          continue
        }
        let failure = try failure(error)
        // A name stands for one content: what is there is what was to be put.
        outcome[record.recordID] = .some(failure.cloudKitCode == .serverRecordChanged ? nil : failure)
      }
      // Where the zone is gone, all of them say so.
      if let missing = outcome.values.compactMap({ $0 }).first(where: {
        [.zoneNotFound, .userDeletedZone, .limitExceeded].contains($0.cloudKitCode)
      }) {
        throw missing
      }
      return outcome
    }

    /// Makes a request, unless iCloud has asked to wait, and passes on what CloudKit throws.
    private func rawRequest<T>(_ body: () async throws -> T) async throws -> T {
      if let pause = follower.pause(at: settings.now()) { throw pause }
      try await checkAccount()
      do { return try await body() } catch let error as CKError { throw error } catch { throw try failure(error) }
    }

    /// Removes entries, 200 by a request. One that is not there is no error, nor is a zone that is gone.
    /// - Throws: ``CloudKitError``; others may have been removed then.
    public func remove(_ names: [String]) async throws {
      let names = names.filter(Self.isName)
      guard !names.isEmpty else { return }
      try await checkAccount()
      var failed: CloudKitError?
      try await inParts(names.map { CKRecord.ID(recordName: $0, zoneID: zoneID) }) { part in
        for id in part { spool.drop(id.recordName) }
        do {
          let results = try await request {
            try await database.modifyRecords(
              saving: [], deleting: part, savePolicy: .ifServerRecordUnchanged, atomically: false)
          }
          for case .failure(let error) in results.deleteResults.values {
            let failure = try failure(error)
            if failure.cloudKitCode != .unknownItem, failure.cloudKitCode != .zoneNotFound {
              failed = failed ?? failure
            }
          }
        } catch let error as CloudKitError
          where error.cloudKitCode == .unknownItem || error.cloudKitCode == .zoneNotFound
        {
          // There is nothing to remove.
        }
      }
      if let failed { throw failed }
    }

    /// An entry on its way, with the file that its asset is read from.
    private struct Outgoing {
      let id: CKRecord.ID
      private let upload: MailboxUpload
      private let body: Data?
      private let file: URL?

      init(_ upload: MailboxUpload, _ isAsset: Bool, _ mailbox: CloudKitMailbox) throws {
        self.upload = upload
        id = CKRecord.ID(recordName: upload.name, zoneID: mailbox.zoneID)
        if isAsset {
          (body, file) = (nil, try mailbox.spool.write(upload.source(), byteCount: upload.byteCount))
        } else {
          let bytes = try upload.bytes(from: 0, count: upload.byteCount)
          guard bytes.count == upload.byteCount else {
            throw MailboxError(.malformed, "an upload is shorter than it says")
          }
          (body, file) = (Data(bytes), nil)
        }
      }

      /// A record that no server has seen, so that saving it changes none that is there.
      func record() -> CKRecord {
        let record = CKRecord(recordType: CloudKitMailbox.recordType, recordID: id)
        CloudKitMailbox.fill(record, upload)
        if let body { record.encryptedValues[CloudKitMailbox.bodyKey] = body }
        if let file { record[CloudKitMailbox.assetKey] = CKAsset(fileURL: file) }
        return record
      }

      func discard() {
        // The system removes what this cannot.
        if let file { try? FileManager.default.removeItem(at: file) }
      }
    }
  }
#endif
