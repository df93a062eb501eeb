import CloudKit
import Foundation
import Synchronization
import Tally
import TallyCloudKit
import TallyRig
import TallySync
import Testing

/// Asking the other devices for what iCloud has lost, and answering, where something else goes wrong as well.
@Suite struct CloudKitAskingTests {
  /// A phone that has put a large entry, whose asset iCloud has lost then.
  private func world() async throws -> (FakeCloud, Phone, String) {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    try phone.write("large", picture: CloudWorld.noise(700_000))
    let name = try #require(try await phone.pass().written.first)
    cloud.loseAssets(of: "ann", zone: Phone.zone)
    return (cloud, phone, name)
  }

  /// What is left cannot be removed at first, so that putting it again finds it there.
  @Test func whatCouldNotBeRemovedIsNotTakenForPut() async throws {
    let (cloud, phone, _) = try await world()
    let tablet = try Phone(cloud)
    try await tablet.pass()
    phone.device.failItems(CKError(.zoneBusy))
    phone.mailbox.lookAgain()
    #expect(try await phone.pass().removed.isEmpty)
    try await CloudWorld.settle(phone, tablet)
    #expect(try tablet.texts == ["large"])
    try CloudWorld.expectEqual(phone, tablet)
  }

  /// A device that has read only how an entry begins has all of it in its spool, and iCloud has not.
  @Test func whatIsInTheSpoolIsNotInICloud() async throws {
    let cloud = FakeCloud()
    let tablet = try Phone(cloud)
    do {
      let phone = try Phone(cloud)
      try phone.write("large", picture: CloudWorld.noise(700_000))
      try await phone.pass()
      try tablet.store.apply(try phone.store.delta())
    }
    #expect(try await tablet.pass().taken.isEmpty)
    cloud.loseAssets(of: "ann", zone: Phone.zone)
    let late = try Phone(cloud)
    #expect(try await late.pass().pending.count == 1)
    try await CloudWorld.settle(tablet, late)
    #expect(try late.texts == ["large"])
    try CloudWorld.expectEqual(tablet, late)
  }

  /// Its writer is gone, and the others have forgotten it, since a snapshot holds what was in it: nobody waits for it.
  @Test func whatIsElsewhereIsNotWaitedFor() async throws {
    let cloud = FakeCloud()
    let tablet = try Phone(cloud)
    var settings = MailboxSettings()
    (settings.deltaBytes, settings.minimumDeltaWeight) = (1, 1)
    do {
      let writer = try Phone(cloud)
      try writer.write("small")
      try await writer.pass(settings)
      try writer.write("large", picture: CloudWorld.noise(700_000))
      try await writer.pass(settings)
    }
    try await tablet.pass()
    cloud.loseAssets(of: "ann", zone: Phone.zone)
    try tablet.write("more")
    #expect(try await tablet.pass(settings).written.allSatisfy { $0.hasSuffix(".snapshot") })
    tablet.mailbox.lookAgain()
    try await tablet.pass()
    let late = try Phone(cloud)
    for _ in 0..<3 {
      for one in [late, tablet] {
        one.mailbox.lookAgain()
        let report = try await one.pass()
        #expect(report.isComplete && report.removed.isEmpty)
      }
    }
    #expect(try late.texts == ["large", "more", "small"])
    try CloudWorld.expectEqual(tablet, late)
  }

  /// A record that could not be had was not written to, so that it is asked for with the next pass.
  @Test func whatCouldNotBeAskedIsAskedAgain() async throws {
    let (cloud, phone, name) = try await world()
    let tablet = try Phone(cloud)
    var database = HookedDatabase(tablet.device)
    let first = Mutex(true)
    database.onRecords = { records, keys in
      let fails =
        keys == ["asked"]
        && first.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
      return fails ? records.mapValues { _ in .failure(CKError(.zoneBusy)) } : records
    }
    let mailbox = tablet.mailbox(database)
    let failure = await #expect(throws: CloudKitError.self) { try await mailbox.ask(for: [name]) }
    #expect(failure?.code == .busy && phone.device.pendingNotifications == 0)
    try await mailbox.ask(for: [name])
    #expect(phone.device.pendingNotifications == 1)
  }

  /// One that has gone is not asked for, and keeps no other from being.
  @Test func whatHasGoneIsNotAskedFor() async throws {
    let (cloud, phone, name) = try await world()
    try await Phone(cloud).mailbox.ask(for: ["tally1-gone", name])
    #expect(phone.device.pendingNotifications == 1)
  }

  /// iCloud refuses the field for good, as it does where the schema in production lacks it: once a day is enough.
  @Test func aRefusalForGoodIsNotAskedForAgain() async throws {
    let (cloud, _, _) = try await world()
    let tablet = try Phone(cloud)
    tablet.device.failItems(CKError(.invalidArguments))
    try await tablet.pass()
    tablet.device.resetCounts()
    for _ in 0..<3 {
      tablet.mailbox.lookAgain()
      #expect(try await tablet.pass().pending.count == 1)
    }
    #expect(tablet.device.counts[.modify] == nil)
  }

  /// A device whose clock is ahead has asked: that keeps nobody from asking today.
  @Test func aDayThatIsToComeIsNoDayOfAsking() async throws {
    let (cloud, phone, name) = try await world()
    let tablet = try Phone(cloud)
    try await tablet.mailbox(HookedDatabase(tablet.device)) { settings in
      settings.date = { Date(timeIntervalSinceNow: 400 * 86_400) }
    }.ask(for: [name])
    #expect(phone.device.deliver())
    try await tablet.mailbox(HookedDatabase(tablet.device)).ask(for: [name])
    #expect(phone.device.pendingNotifications == 1)
  }

  /// A device that cannot open a file, for want of a descriptor, say, knows nothing of what iCloud has.
  @Test func aFileThatCannotBeOpenedIsNotLost() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("large", picture: CloudWorld.noise(700_000))
    try await phone.pass()
    tablet.device.fail(.records, CKError(.assetNotAvailable), CKError(.assetNotAvailable))
    try await tablet.pass()
    let loop = FileManager.default.temporaryDirectory.appendingPathComponent("loop-\(UUID().uuidString)")
    try FileManager.default.createSymbolicLink(at: loop, withDestinationURL: loop)
    defer { try? FileManager.default.removeItem(at: loop) }
    var database = HookedDatabase(phone.device)
    database.onRecords = { records, _ in
      for case .success(let record) in records.values where record["asset"] != nil {
        record["asset"] = CKAsset(fileURL: loop)
      }
      return records
    }
    let names = cloud.names(of: "ann", zone: Phone.zone)
    let report = try await phone.store.sync(through: phone.mailbox(database))
    #expect(report.removed.isEmpty && report.written.isEmpty)
    #expect(cloud.names(of: "ann", zone: Phone.zone) == names)
    try await CloudWorld.settle(phone, tablet)
    try CloudWorld.expectEqual(phone, tablet)
  }
}
