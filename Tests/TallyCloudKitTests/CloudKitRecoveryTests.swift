import CloudKit
import Foundation
import GRDB
import Synchronization
import Tally
import TallyCloudKit
import TallyRig
import TallyStore
import TallySync
import Testing

/// What iCloud wants before it goes on: room, a zone made again, a pause.
@Suite struct CloudKitRecoveryTests {
  @Test(arguments: [false, true]) func aFullICloudTidiesUp(_ isFull: Bool) async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    var settings = MailboxSettings()
    (settings.deltaBytes, settings.minimumDeltaWeight) = (4 << 10, 1 << 10)
    var report = MailboxReport()
    for year in 0..<60 {
      try phone.write("year \(year)")
      report = try await phone.pass(settings)
      if year > 3, report.written.contains(where: { $0.hasSuffix(".snapshot") }) { break }
    }
    #expect(report.written.contains { $0.hasSuffix(".snapshot") })
    let (before, bytes) = (cloud.names(of: "ann", zone: Phone.zone).count, cloud.byteCount(of: "ann"))
    if isFull { cloud.setQuota(bytes, of: "ann") }
    try phone.write("more")
    var failures = 0
    for _ in 0..<6 {
      phone.mailbox.lookAgain()
      do { try await phone.pass(settings) } catch let error as CloudKitError {
        #expect(error.code == .full)
        failures += 1
      }
    }
    #expect(failures < 6)
    #expect(cloud.names(of: "ann", zone: Phone.zone).count < before)
  }

  /// As Apple says in "Encrypting User Data": delete the zone, make it again, upload.
  @Test func aResetZoneHasToBeDeletedFirst() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("one")
    try await CloudWorld.settle(phone, tablet)
    cloud.resetEncryptedData(of: "ann")
    for _ in 0..<3 {
      phone.mailbox.lookAgain()
      _ = try await phone.failure()
    }
    #expect(cloud.names(of: "ann", zone: Phone.zone).count == 1)
  }

  /// The same where the app is the first to make it again.
  @Test func aResetZoneCanBePutAgain() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("one")
    try await CloudWorld.settle(phone, tablet)
    cloud.resetEncryptedData(of: "ann")
    try await phone.mailbox.putAgain()
    try await CloudWorld.settle(phone, tablet)
    #expect(cloud.names(of: "ann", zone: Phone.zone).count == 1)
    try CloudWorld.expectEqual(phone, tablet)
  }

  /// Two devices find at once that the keys are gone: what the first has put again, the second leaves alone.
  @Test func aZoneThatAnotherHasMadeAgainIsNotDeleted() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("one")
    try await CloudWorld.settle(phone, tablet)
    cloud.resetEncryptedData(of: "ann")
    var database = HookedDatabase(tablet.device)
    let made = Mutex<[String]>([])
    nonisolated(unsafe) let other = phone
    database.beforeZones = {
      guard made.withLock({ $0.isEmpty }) else { return false }
      other.mailbox.lookAgain()
      let names = try await other.pass().written
      made.withLock { $0 = names }
      return false
    }
    try await tablet.store.sync(through: tablet.mailbox(database))
    let names = cloud.names(of: "ann", zone: Phone.zone)
    #expect(names.count == 1 && names == made.withLock { $0 })
    let report = try await phone.pass()
    #expect(report.written.isEmpty && report.removed.isEmpty && cloud.names(of: "ann", zone: Phone.zone) == names)
    try await CloudWorld.settle(phone, tablet)
    try CloudWorld.expectEqual(phone, tablet)
  }

  /// iCloud says that a zone is saved, and it is as before: it is deleted first then.
  @Test func aResetZoneThatOnlySeemsToBeMadeIsDeleted() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    try phone.write("one")
    try await phone.pass()
    cloud.resetEncryptedData(of: "ann")
    var database = HookedDatabase(phone.device)
    let first = Mutex(true)
    database.beforeZones = {
      first.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
    }
    try await phone.store.sync(through: phone.mailbox(database))
    #expect(cloud.names(of: "ann", zone: Phone.zone).count == 1)
  }

  @Test(arguments: [0, 1]) func thePauseOfAPartialFailure(_ kind: Int) async throws {
    let phone = try Phone(FakeCloud())
    try await phone.pass()
    let zone = CKRecordZone.ID(zoneName: Phone.zone) as AnyHashable
    let other = CKRecord.ID(recordName: "other", zoneID: CKRecordZone.ID(zoneName: Phone.zone)) as AnyHashable
    let wait = NSNumber(value: 30)
    phone.device.fail(
      .changes,
      kind == 0
        ? CKError(
          .partialFailure,
          userInfo: [CKPartialErrorsByItemIDKey: [zone: CKError(.zoneBusy) as any Error], CKErrorRetryAfterKey: wait])
        : CKError(
          .partialFailure,
          userInfo: [
            CKPartialErrorsByItemIDKey: [
              zone: CKError(.networkFailure) as any Error,
              other: CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: wait]) as any Error,
            ]
          ]))
    let error = try await phone.failure()
    #expect(error?.retryAfter == .seconds(30))
  }
}
