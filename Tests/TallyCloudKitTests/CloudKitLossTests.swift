import CloudKit
import Foundation
import Tally
import TallyCloudKit
import TallyRig
import TallySync
import Testing

/// Records whose contents iCloud has lost: whoever has them puts them again, as over a folder.
@Suite struct CloudKitLossTests {
  /// What is said of a record without its asset: nothing, or one of Apple's errors.
  static let ways: [CKError.Code?] = [nil, .assetFileNotFound, .assetNotAvailable]

  @Test(arguments: ways, [false, true]) func aLostAssetIsPutAgainByItsWriter(_ way: CKError.Code?, _ isSilent: Bool)
    async throws
  {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    if isSilent { for one in [phone, tablet] { one.mailbox.didRegisterForNotifications() } }
    try phone.write("large", picture: CloudWorld.noise(700_000))
    try await phone.pass()
    cloud.loseAssets(of: "ann", zone: Phone.zone, way)
    #expect(try await tablet.pass().pending.count == 1)
    // The tablet has asked, which the phone is told as it is of any change.
    #expect(phone.device.pendingNotifications == 1)
    phone.device.deliver()
    let report = try await phone.pass()
    #expect(report.removed.count == 1 && report.written.count == 1)
    tablet.device.deliver()
    try await CloudWorld.settle(phone, tablet)
    #expect(try tablet.texts == ["large"])
    try CloudWorld.expectEqual(phone, tablet)
    let late = try Phone(cloud)
    #expect(try await late.pass().isComplete)
    try CloudWorld.expectEqual(phone, late)
  }

  /// The writer is gone; another device had read it.
  @Test(arguments: ways) func aLostAssetIsPutAgainByWhoeverHasIt(_ way: CKError.Code?) async throws {
    let cloud = FakeCloud()
    let other = try Phone(cloud)
    do {
      let writer = try Phone(cloud)
      try writer.write("large", picture: CloudWorld.noise(700_000))
      try await CloudWorld.settle(writer, other)
    }
    try other.write("small")
    try await other.pass()
    cloud.loseAssets(of: "ann", zone: Phone.zone, way)
    other.restart()
    let late = try Phone(cloud)
    try await CloudWorld.settle(late, other)
    #expect(try late.texts == ["large", "small"])
    try CloudWorld.expectEqual(other, late)
    for one in [other, late] { #expect(try await one.pass().isComplete) }
  }

  /// What was in it is in a snapshot as well: what is left of it goes, and nothing is put again. Also where its writer
  /// has forgotten it, since it is replaced and could not be removed.
  @Test(arguments: [false, true]) func aLostAssetThatASnapshotHoldsIsRemoved(_ isForgotten: Bool) async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    var settings = MailboxSettings()
    (settings.deltaBytes, settings.minimumDeltaWeight) = (1, 1)
    try phone.write("small")
    try await phone.pass(settings)
    try phone.write("large", picture: CloudWorld.noise(700_000))
    let lost = try #require(try await phone.pass(settings).written.first)
    cloud.loseAssets(of: "ann", zone: Phone.zone)
    try phone.write("more")
    #expect(try await phone.pass(settings).written.allSatisfy { $0.hasSuffix(".snapshot") })
    if isForgotten {
      phone.device.fail(.modify, CKError(.zoneBusy))
      phone.mailbox.lookAgain()
      #expect(try await phone.pass().removed.isEmpty)
    }
    // The tablet has asked for it, and waits for nothing.
    #expect(try await tablet.pass().isComplete && phone.device.pendingNotifications == 1)
    #expect(try tablet.texts == ["large", "more", "small"])
    phone.mailbox.lookAgain()
    let report = try await phone.pass()
    #expect(report.removed.contains(lost) && report.written.isEmpty)
    for one in [phone, tablet] {
      one.mailbox.lookAgain()
      #expect(try await one.pass().isComplete)
    }
    try CloudWorld.expectEqual(phone, tablet)
  }

  /// Nobody has it: it is pending, nothing is removed for it, and the rest goes on. It is asked for once a day.
  @Test(arguments: ways) func whatNobodyHasIsPendingAndRemovesNothing(_ way: CKError.Code?) async throws {
    let cloud = FakeCloud()
    do {
      let writer = try Phone(cloud)
      try writer.write("large", picture: CloudWorld.noise(700_000))
      try await writer.pass()
    }
    let names = cloud.names(of: "ann", zone: Phone.zone)
    cloud.loseAssets(of: "ann", zone: Phone.zone, way)
    let (tablet, watch) = (try Phone(cloud), try Phone(cloud))
    for pass in 0..<4 {
      for one in [tablet, watch] {
        one.device.resetCounts()
        try one.write("note \(pass)")
        one.mailbox.lookAgain()
        let report = try await one.pass()
        #expect(report.pending.count == 1 && report.removed.isEmpty)
        // One that asks, and the one that is put.
        #expect(one.device.counts[.modify, default: 0] <= (pass == 0 ? 2 : 1))
      }
    }
    #expect(Set(names).isSubset(of: cloud.names(of: "ann", zone: Phone.zone)))
    #expect(try watch.texts.count >= 7)
  }

  /// One device cannot read an asset for a while, and everybody else can: they look, and nothing is put or removed.
  @Test func whatOneDeviceCannotReadIsNotRemoved() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("large", picture: CloudWorld.noise(700_000))
    try await phone.pass()
    let names = cloud.names(of: "ann", zone: Phone.zone)
    // Once for the header, and once to make sure.
    tablet.device.fail(.records, CKError(.assetNotAvailable), CKError(.assetNotAvailable))
    #expect(try await tablet.pass().pending.count == 1)
    phone.device.resetCounts()
    phone.mailbox.lookAgain()
    let report = try await phone.pass()
    #expect(report.removed.isEmpty && report.written.isEmpty && report.isComplete)
    #expect(phone.device.counts == [.changes: 1, .records: 1])
    try await CloudWorld.settle(phone, tablet)
    #expect(cloud.names(of: "ann", zone: Phone.zone) == names)
    try CloudWorld.expectEqual(phone, tablet)
    // Looked at once, and not with every pass.
    phone.device.resetCounts()
    for _ in 0..<3 {
      phone.mailbox.lookAgain()
      try await phone.pass()
    }
    #expect(phone.device.counts == [.changes: 3])
  }

  /// The phone is asked while it has no network for the asset: what it knows stays, and it looks again.
  @Test func whoCannotLookLooksAgain() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("large", picture: CloudWorld.noise(700_000))
    try await phone.pass()
    cloud.loseAssets(of: "ann", zone: Phone.zone)
    try await tablet.pass()
    phone.device.fail(.records, CKError(.networkFailure))
    phone.mailbox.lookAgain()
    #expect(try await phone.pass().written.isEmpty)
    phone.restart()
    #expect(try await phone.pass().written.count == 1)
    try await CloudWorld.settle(phone, tablet)
    try CloudWorld.expectEqual(phone, tablet)
  }
}
