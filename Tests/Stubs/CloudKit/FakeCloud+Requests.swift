import Foundation

/// What the servers do.
extension FakeCloud {
  typealias Page = (
    modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
    deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
  )

  /// Returns a zone, or says why there is none.
  private static func zone(_ name: String, of person: String, in state: State) throws -> Zone {
    let account = state.accounts[person] ?? Account()
    if let zone = account.zones[name] { return zone }
    if account.deletedByPerson.contains(name) { throw CKError(.userDeletedZone) }
    guard account.reset.contains(name) else { throw CKError(.zoneNotFound) }
    throw CKError(.zoneNotFound, userInfo: [CKErrorUserDidResetEncryptedDataKey: NSNumber(value: true)])
  }

  // MARK: Reading

  func changes(
    of person: String, _ zoneID: CKRecordZone.ID, _ token: CKServerChangeToken?, _ keys: [String]?, _ limit: Int?,
    for device: FakeDevice
  ) throws -> Page {
    try state.withLock { state in
      let zone = try Self.zone(zoneID.zoneName, of: person, in: state)
      if let token {
        let isKnown =
          token.zone == "\(person)/\(zoneID.zoneName)" && token.making == zone.making
          && token.given >= zone.oldestToken && token.sequence <= zone.sequence
          && zone.sequence - token.given <= state.limits.tokenReach ?? .max
        guard isKnown else { throw CKError(.changeTokenExpired) }
      }
      let start = token?.sequence ?? 0
      // Who begins is told of no record that is gone.
      let all = zone.changes.filter { $0.value.sequence > start && (token != nil || $0.value.record != nil) }
        .sorted { $0.value.sequence < $1.value.sequence }
      var (modified, deleted): ([CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>], [_]) =
        ([:], [CKDatabase.RecordZoneChange.Deletion]())
      var (bytes, count, end) = (0, 0, start)
      for (name, change) in all {
        let id = CKRecord.ID(recordName: name, zoneID: zoneID)
        if let stored = change.record {
          let record = device.record(stored, id, keys)
          bytes += record.byteCount
          guard count == 0 || bytes <= state.limits.pageBytes else { break }
          modified[id] = .success(CKDatabase.RecordZoneChange.Modification(record: record))
        } else {
          deleted.append(CKDatabase.RecordZoneChange.Deletion(recordID: id, recordType: change.type))
        }
        (count, end) = (count + 1, change.sequence)
        guard count < min(state.limits.pageItems, limit ?? .max) else { break }
      }
      let hasMore = count < all.count
      let next = CKServerChangeToken(
        zone: "\(person)/\(zoneID.zoneName)", making: zone.making, sequence: hasMore ? end : zone.sequence,
        given: zone.sequence)
      return (modified, deleted, next, hasMore)
    }
  }

  func records(of person: String, _ ids: [CKRecord.ID], _ keys: [String]?, for device: FakeDevice) throws
    -> [CKRecord.ID: Result<CKRecord, any Error>]
  {
    try state.withLock { state in
      guard ids.count <= state.limits.items else { throw CKError(.limitExceeded) }
      var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
      for id in ids {
        results[id] = Result {
          let zone = try Self.zone(id.zoneID.zoneName, of: person, in: state)
          guard let stored = zone.changes[id.recordName]?.record else { throw CKError(.unknownItem) }
          if let code = stored.lost, keys == nil { throw CKError(code) }
          return device.record(stored, id, keys)
        }
      }
      return results
    }
  }

  // MARK: Writing

  func modify(of person: String, _ records: [CKRecord], _ ids: [CKRecord.ID], by device: FakeDevice) throws -> (
    saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
  ) {
    let (results, told) = try state.withLock { state in
      let limits = state.limits
      guard records.count + ids.count <= limits.items, records.allSatisfy({ $0.byteCount <= limits.recordBytes }),
        records.reduce(0, { $0 + $1.byteCount }) <= limits.requestBytes
      else { throw CKError(.limitExceeded) }
      var (saved, deleted): ([CKRecord.ID: Result<CKRecord, any Error>], [CKRecord.ID: Result<Void, any Error>]) =
        ([:], [:])
      var touched: Set<String> = []
      for record in records {
        saved[record.recordID] = Result {
          if let error = device.partialFailure() { throw error }
          try Self.save(record, of: person, in: &state)
          touched.insert(record.recordID.zoneID.zoneName)
          return record
        }
      }
      for id in ids {
        deleted[id] = Result {
          if let error = device.partialFailure() { throw error }
          try Self.delete(id, of: person, in: &state)
          touched.insert(id.zoneID.zoneName)
        }
      }
      let told = (state.accounts[person]?.subscriptions ?? []).filter { touched.contains($0.zone) }
      return ((saveResults: saved, deleteResults: deleted), told)
    }
    // A device is not told of what it has done itself.
    for subscription in told where subscription.device.device !== device {
      subscription.device.device?.notify(subscription.id, of: person)
    }
    return results
  }

  private static func save(_ record: CKRecord, of person: String, in state: inout State) throws {
    let name = record.recordID.zoneID.zoneName
    var zone = try zone(name, of: person, in: state)
    if let there = zone.changes[record.recordID.recordName]?.record, there.tag != record.changeTag {
      throw CKError(.serverRecordChanged)
    }
    var stored = try Stored(record, at: Date(timeIntervalSince1970: Double(state.ticks) / 1_000), tag: state.ticks)
    // Of a record that is there, only what was changed is sent: fields that were not asked for stay as they are.
    if let there = zone.changes[record.recordID.recordName]?.record { stored = there.changed(by: stored) }
    let account = state.accounts[person] ?? Account()
    let before = zone.changes[record.recordID.recordName]?.record.map { $0.byteCount + $0.assetBytes } ?? 0
    if let quota = account.quota, account.byteCount - before + stored.byteCount + stored.assetBytes > quota {
      throw CKError(.quotaExceeded)
    }
    state.ticks += 1
    zone.sequence += 1
    zone.changes[record.recordID.recordName] = Change(
      sequence: zone.sequence, record: stored, type: record.recordType)
    state.accounts[person]?.zones[name] = zone
  }

  private static func delete(_ id: CKRecord.ID, of person: String, in state: inout State) throws {
    let name = id.zoneID.zoneName
    var zone = try zone(name, of: person, in: state)
    guard let change = zone.changes[id.recordName], change.record != nil else { throw CKError(.unknownItem) }
    zone.sequence += 1
    zone.changes[id.recordName] = Change(sequence: zone.sequence, record: nil, type: change.type)
    state.accounts[person]?.zones[name] = zone
  }

  /// Whether the keys of a zone were reset: then it has to be deleted before it is made again.
  /// https://developer.apple.com/documentation/cloudkit/encrypting-user-data
  func mustBeDeletedFirst(_ name: String, of person: String) -> Bool {
    state.withLock { $0.accounts[person]?.reset.contains(name) == true }
  }

  func modifyZones(of person: String, _ zones: [CKRecordZone], _ ids: [CKRecordZone.ID]) {
    state.withLock { state in
      for id in ids {
        state.accounts[person]?.zones[id.zoneName] = nil
        state.accounts[person]?.reset.remove(id.zoneName)
      }
      for zone in zones {
        let name = zone.zoneID.zoneName
        var account = state.accounts[person] ?? Account()
        if account.zones[name] == nil {
          state.makings += 1
          account.zones[name] = Zone(making: state.makings)
        }
        account.deletedByPerson.remove(name)
        account.reset.remove(name)
        state.accounts[person] = account
      }
    }
  }

  func subscribe(of person: String, _ subscription: CKSubscription, by device: FakeDevice) throws {
    guard let subscription = subscription as? CKRecordZoneSubscription,
      subscription.notificationInfo?.shouldSendContentAvailable == true
    else { throw CKError(.invalidArguments) }
    try state.withLock { state in
      let zone = subscription.zoneID.zoneName
      _ = try Self.zone(zone, of: person, in: state)
      let isThere = state.accounts[person]?.subscriptions.contains {
        $0.device.device === device && $0.id == subscription.subscriptionID
      }
      // As reported of the real one, of a subscription that is there already.
      guard isThere != true else { throw CKError(.serverRejectedRequest) }
      state.accounts[person]?.subscriptions.append(
        Subscription(id: subscription.subscriptionID, zone: zone, device: Weak(device: device)))
    }
  }

  func subscription(of person: String, _ id: CKSubscription.ID, on device: FakeDevice) throws -> CKSubscription {
    let found = state.withLock { state in
      state.accounts[person]?.subscriptions.first { $0.device.device === device && $0.id == id }
    }
    guard let found else { throw CKError(.unknownItem) }
    return CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: found.zone), subscriptionID: id)
  }
}

extension FakeCloud.Stored {
  /// What becomes of it when some of its fields are saved.
  func changed(by new: Self) -> Self {
    var changed = self
    changed.values.merge(new.values) { $1 }
    changed.encrypted.merge(new.encrypted) { $1 }
    changed.assets.merge(new.assets) { $1 }
    changed.tag = new.tag
    return changed
  }

  /// What is kept of a record: the bytes of an asset's file are read now.
  init(_ record: CKRecord, at date: Date, tag: Int) throws {
    var (values, assets): ([String: any CKRecordValueProtocol], [String: Data]) = ([:], [:])
    for (key, value) in record.values {
      if let asset = value as? CKAsset {
        guard let url = asset.fileURL, let data = FileManager.default.contents(atPath: url.path) else {
          throw CKError(.assetFileNotFound)
        }
        assets[key] = data
      } else {
        values[key] = value
      }
    }
    self.init(
      type: record.recordType, values: values, encrypted: record.encrypted.values, assets: assets, created: date,
      tag: tag)
  }
}

extension CKRecord {
  /// The bytes of its fields, without assets.
  var byteCount: Int {
    (Array(values.values) + Array(encrypted.values.values)).reduce(0) { $0 + (($1 as? Data)?.count ?? 8) }
  }
}
