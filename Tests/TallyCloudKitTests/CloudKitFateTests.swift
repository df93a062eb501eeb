import CloudKit
import Foundation
import GRDB
import Tally
import TallyCloudKit
import TallyRig
import Testing

@testable import TallySync

/// What happens to a zone, an account's room and a phone in the course of years.
@Suite struct CloudKitFateTests {
  /// A tablet that lay in a drawer: its token has expired, and of what was there most was replaced.
  @Test func aDeviceThatIsYearsLateGetsEverything() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try tablet.write("from long ago")
    try await CloudWorld.settle(phone, tablet)
    try tablet.write("never synced")
    var settings = MailboxSettings()
    (settings.deltaBytes, settings.minimumDeltaWeight) = (4 << 10, 1 << 10)
    for year in 0..<40 {
      try phone.write("year \(year)")
      phone.mailbox.lookAgain()
      try await phone.pass(settings)
    }
    cloud.expireTokens()
    #expect(cloud.names(of: "ann", zone: Phone.zone).count < 40)
    tablet.restart()
    try await tablet.pass()
    #expect(try tablet.texts.count == 42)
    try await CloudWorld.settle(phone, tablet)
    try CloudWorld.expectEqual(phone, tablet)
  }

  /// A token that expires while everybody is there costs one listing, and puts nothing again.
  @Test func anExpiredTokenListsAgain() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    for number in 0..<5 {
      try phone.write("note \(number)")
      try await phone.pass()
    }
    try await CloudWorld.settle(phone, tablet)
    cloud.expireTokens()
    tablet.device.resetCounts()
    let report = try await {
      tablet.mailbox.lookAgain()
      return try await tablet.pass()
    }()
    #expect(report.taken.isEmpty && report.written.isEmpty)
    #expect(tablet.device.counts == [.changes: 2, .subscriptions: 2])
  }

  /// A full iCloud takes in what others put, and keeps what is new here pending.
  @Test func aFullICloudTakesInAndWaits() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("first")
    try await CloudWorld.settle(phone, tablet)
    try tablet.write("from the tablet")
    try await tablet.pass()
    cloud.setQuota(cloud.byteCount(of: "ann"), of: "ann")
    try phone.write("no room for this", picture: CloudWorld.noise(100_000))
    phone.mailbox.lookAgain()
    for _ in 0..<3 { #expect(try await phone.failure()?.code == .full) }
    #expect(try phone.texts == ["first", "from the tablet", "no room for this"])
    #expect(try await phone.store.pending(through: phone.mailbox) == 1)
    cloud.setQuota(nil, of: "ann")
    try await CloudWorld.settle(phone, tablet)
    try CloudWorld.expectEqual(phone, tablet)
  }

  /// The person deletes the app's data in Settings. No device takes that for a deletion, none puts it again unasked,
  /// and one that is asked to brings everything back.
  @Test func aZoneThatThePersonDeletedIsPutAgainOnlyWhenTheySaySo() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("one", "two")
    try await CloudWorld.settle(phone, tablet)
    cloud.deleteData(of: "ann")
    try phone.write("three")
    for one in [phone, tablet] {
      one.restart()
      for _ in 0..<2 {
        let error = try await one.failure()
        #expect(error?.code == .zoneDeleted && error?.isPermanent == true)
      }
    }
    #expect(cloud.zones(of: "ann").isEmpty)
    #expect(try phone.texts == ["one", "three", "two"] && tablet.texts == ["one", "two"])
    try await phone.mailbox.putAgain()
    try await CloudWorld.settle(phone, tablet)
    #expect(try tablet.texts == ["one", "three", "two"])
    try CloudWorld.expectEqual(phone, tablet)
    let late = try Phone(cloud)
    try await late.pass()
    try CloudWorld.expectEqual(phone, late)
  }

  /// A phone on which the zone was deleted while it only puts, so that a put is the first to hear of it.
  @Test func aDeletedZoneIsNotMadeAgainByAPut() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    phone.mailbox.didRegisterForNotifications()
    try phone.write("one")
    try await phone.pass()
    cloud.deleteData(of: "ann")
    try phone.write("two")
    #expect(try await phone.failure()?.code == .zoneDeleted)
    let results = try await phone.mailbox.put([MailboxUpload(name: "tally1-entry", bytes: [1])])
    #expect(throws: CloudKitError.self) { try results[0].get() }
    #expect(cloud.zones(of: "ann").isEmpty)
  }

  /// The keys of encrypted data were reset, or the zone is gone without a reason: every device puts what it has.
  @Test(arguments: [true, false], [true, false]) func aZoneThatNobodyDeletedIsPutAgain(
    _ isReset: Bool, _ isWrapped: Bool
  ) async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    for one in [phone, tablet] { one.device.wrapsErrors = isWrapped }
    try phone.write("one", picture: CloudWorld.noise(700_000))
    try await CloudWorld.settle(phone, tablet)
    try tablet.write("only here")
    if isReset { cloud.resetEncryptedData(of: "ann") } else { cloud.loseZones(of: "ann") }
    try await CloudWorld.settle(phone, tablet)
    try CloudWorld.expectEqual(phone, tablet)
    let late = try Phone(cloud)
    try await late.pass()
    #expect(try late.texts == ["one", "only here"])
    // Both are told of news again.
    #expect(cloud.subscriberCount(of: "ann") >= 2)
  }

  /// A phone that was set back from a backup: what it had put since comes back to it, and what it writes then is not
  /// taken for what it wrote before.
  @Test func aRestoredPhoneLosesNothing() async throws {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
    let (home, backup) = (root.appendingPathComponent("home"), root.appendingPathComponent("backup"))
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    let path = home.appendingPathComponent("notes.sqlite").path
    let cloud = FakeCloud()
    let phone = try Phone(cloud, store: try Store(path: path, schema: Schema(Note.self)))
    let tablet = try Phone(cloud)
    try phone.write("before")
    try await CloudWorld.settle(phone, tablet)
    try phone.store.close()
    try FileManager.default.copyItem(at: home, to: backup)
    phone.store = try Store(path: path, schema: Schema(Note.self))
    try phone.write("after the backup")
    try await CloudWorld.settle(phone, tablet)
    try phone.store.close()
    try FileManager.default.removeItem(at: home)
    try FileManager.default.copyItem(at: backup, to: home)
    phone.store = try Store(path: path, schema: Schema(Note.self))
    #expect(try phone.texts == ["before"])
    phone.restart()
    try phone.write("after the restore")
    try await CloudWorld.settle(phone, tablet)
    #expect(try phone.texts == ["after the backup", "after the restore", "before"])
    try CloudWorld.expectEqual(phone, tablet)
    try phone.store.close()
  }

  /// A record that was changed on its way or at rest is read twice before it counts as damaged, and then its writer, or
  /// whoever has its content, puts it again.
  @Test(arguments: [100, 700_000]) func aDamagedEntryIsPutAgain(_ size: Int) async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("one", picture: CloudWorld.noise(size))
    try await phone.pass()
    let name = try #require(cloud.names(of: "ann", zone: Phone.zone).first)
    cloud.damage(name, of: "ann", zone: Phone.zone)
    try await tablet.pass()
    try await CloudWorld.settle(phone, tablet)
    #expect(try tablet.texts == ["one"])
    try CloudWorld.expectEqual(phone, tablet)
  }

  /// Pictures are assets, and whole.
  @Test func aPictureOfManyMegabytesArrives() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    let picture = CloudWorld.noise(6 << 20)
    try phone.write("large", picture: picture)
    try await CloudWorld.settle(phone, tablet)
    #expect(try tablet.notes.first?.picture == picture)
  }

  /// Records of another program in the zone are left alone.
  @Test func recordsOfOthersAreLeftAlone() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    try phone.write("one")
    try await phone.pass()
    let zone = CKRecordZone.ID(zoneName: Phone.zone)
    let record = CKRecord(recordType: "Other", recordID: CKRecord.ID(recordName: "tally1-other", zoneID: zone))
    record["title"] = "theirs"
    _ = try await phone.device.container.privateCloudDatabase.modifyRecords(
      saving: [record], deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: false)
    phone.mailbox.lookAgain()
    let report = try await phone.pass()
    #expect(report.isComplete && report.taken.isEmpty)
    #expect(cloud.names(of: "ann", zone: Phone.zone).contains("tally1-other"))
  }

  /// Two stores of one person in one container.
  @Test func spacesAreApart() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    let settings = Phone.settings(phone.device, phone.clock)
    let other = CloudKitMailbox(phone.device.container, account: "ann", space: "archive", settings)
    try phone.write("one")
    try await phone.pass()
    let store = try Store(inMemory: Schema(Note.self))
    let report = try await store.sync(through: other)
    #expect(report.changes == 0)
    #expect(cloud.zones(of: "ann") == [other.zoneName, Phone.zone])
    #expect(other.identity != phone.mailbox.identity)
    // A notification of one is none of the other.
    #expect(!other.handle(["ck": ["sid": "\(Phone.zone)-changes"]]) && !other.handle(["aps": [:]]))
  }
}
