import CloudKit
import Foundation
import Tally
import TallyCloudKit
import TallyRig
import TallySync
import Testing

/// A subscription that cannot be saved: passes ask each time, and nothing else is different.
@Suite struct CloudKitSubscriptionTests {
  /// A phone whose every request for a subscription fails from now on, and a tablet with news.
  private func world(_ error: CKError) throws -> (FakeCloud, Phone, Phone) {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    // Silence would be believed if there were a subscription.
    phone.mailbox.didRegisterForNotifications()
    phone.device.refuseSubscriptions(error)
    return (cloud, phone, tablet)
  }

  private func pollingError(_ phone: Phone) -> CloudKitError? { phone.mailbox.pollingError as? CloudKitError }

  static let errors =
    CloudKitErrorTests.rows.map(\.error) + [CKError(.serverRejectedRequest), CKError(.serverRecordChanged)]

  /// Whatever the error, permanent or not: what is here goes out, what is there comes in, and it is tried again.
  @Test(arguments: errors) func passesGoOnWithoutOne(_ error: CKError) async throws {
    let (cloud, phone, tablet) = try world(error)
    try phone.write("mine")
    for number in 0..<3 {
      try tablet.write("theirs \(number)")
      try await tablet.pass()
      #expect(try await phone.failure() == nil)
    }
    try await CloudWorld.settle(phone, tablet)
    try CloudWorld.expectEqual(phone, tablet)
    #expect(pollingError(phone)?.cloudKitCode == error.code)
    #expect(cloud.subscriberCount(of: "ann") == 1)
    phone.device.refuseSubscriptions(nil)
    phone.clock.pass(.seconds(3_600))
    #expect(try await phone.failure() == nil)
    #expect(pollingError(phone) == nil && cloud.subscriberCount(of: "ann") == 2)
    // From now on silence is believed.
    phone.device.resetCounts()
    for _ in 0..<5 { try await phone.pass() }
    #expect(phone.device.count == 0)
  }

  /// A refusal does not say that there is one.
  @Test func aRefusalIsNotTakenForASubscription() async throws {
    let (cloud, phone, tablet) = try world(CKError(.serverRejectedRequest))
    phone.device.refuseSubscriptions(nil)
    phone.device.fail(.subscriptions, CKError(.serverRejectedRequest))
    try await phone.pass()
    #expect(cloud.subscriberCount(of: "ann") == 0)
    #expect(pollingError(phone)?.cloudKitCode == .serverRejectedRequest)
    try tablet.write("theirs")
    try await tablet.pass()
    try await phone.pass()
    #expect(try phone.texts == ["theirs"])
    phone.clock.pass(.seconds(60))
    try await phone.pass()
    #expect(cloud.subscriberCount(of: "ann") == 2 && pollingError(phone) == nil)
  }

  /// Nor does one that cannot be looked into.
  @Test func aRefusalThatCannotBeLookedIntoIsTriedAgain() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    try await phone.pass()
    phone.restart()
    // The first is taken by the save, the second by the question.
    phone.device.fail(.subscriptions, CKError(.serverRejectedRequest), CKError(.networkFailure))
    #expect(try await phone.failure() == nil)
    #expect(pollingError(phone)?.cloudKitCode == .networkFailure)
    phone.clock.pass(.seconds(60))
    #expect(try await phone.failure() == nil)
    #expect(pollingError(phone) == nil && cloud.subscriberCount(of: "ann") == 1)
  }

  /// It is tried again after one, two, four minutes, up to an hour, and at the next launch.
  @Test func thePausesGrow() async throws {
    let (_, phone, _) = try world(CKError(.permissionFailure))
    var minutes: [Int] = []
    for minute in 0..<300 {
      phone.device.resetCounts()
      try await phone.pass()
      // The first finds no zone.
      #expect(phone.device.counts[.changes] == (minute == 0 ? 2 : 1))
      if phone.device.counts[.subscriptions] != nil { minutes.append(minute) }
      phone.clock.pass(.seconds(60))
    }
    #expect(minutes == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243])
    phone.restart()
    phone.device.resetCounts()
    try await phone.pass()
    #expect(phone.device.counts[.subscriptions] == 1)
  }

  /// A pause that iCloud asks for is kept, and holds up nothing else.
  @Test func aThrottledSubscriptionHoldsUpNothing() async throws {
    let (_, phone, tablet) = try world(
      CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 1_800)]))
    try tablet.write("theirs")
    try await tablet.pass()
    try phone.write("mine")
    #expect(try await phone.failure() == nil)
    #expect(try phone.texts == ["mine", "theirs"])
    phone.device.resetCounts()
    for _ in 0..<29 {
      phone.clock.pass(.seconds(60))
      try await phone.pass()
    }
    #expect(phone.device.counts[.subscriptions] == nil)
    phone.clock.pass(.seconds(60))
    try await phone.pass()
    #expect(phone.device.counts[.subscriptions] == 1)
  }

  /// The status says so, and that all is well otherwise.
  @Test func theStatusSaysSo() async throws {
    let (_, phone, tablet) = try world(CKError(.permissionFailure))
    try tablet.write("theirs")
    try await tablet.pass()
    var settings = SyncEngine.Settings()
    settings.interval = .milliseconds(20)
    let engine = SyncEngine(phone.store, settings)
    await engine.add(phone.mailbox, named: "iCloud")
    await engine.resume()
    for await status in await engine.statusUpdates() where status.isUpToDate && status.peers.first?.phase == .idle {
      let peer = try #require(status.peers.first)
      #expect(peer.pollingErrorCode == CloudKitError.Code.misconfigured.rawValue && peer.pollingError != nil)
      #expect(peer.errorCode == nil && peer.phase == .idle)
      break
    }
    phone.device.refuseSubscriptions(nil)
    phone.clock.pass(.seconds(60))
    for await status in await engine.statusUpdates() where status.peers.first?.pollingError == nil { break }
    await engine.pause()
    #expect(try phone.texts == ["theirs"])
  }

  /// A pass that fails has looked after the subscription as well.
  @Test func theStatusOfAFailureSaysWhatIsSo() async throws {
    let (_, phone, _) = try world(CKError(.permissionFailure))
    let engine = SyncEngine(phone.store)
    await engine.add(phone.mailbox, named: "iCloud")
    await engine.resume()
    for await status in await engine.statusUpdates() where status.peers.first?.pollingError != nil { break }
    await engine.pause()
    phone.device.refuseSubscriptions(nil)
    phone.clock.pass(.seconds(3_600))
    phone.device.fail(.changes, CKError(.incompatibleVersion))
    await engine.resume()
    for await status in await engine.statusUpdates() where status.peers.first?.phase == .blocked {
      #expect(status.peers.first?.pollingErrorCode == nil && status.peers.first?.pollingError == nil)
      break
    }
    await engine.pause()
  }

  /// What was said of a zone that the person has deleted is over when there is one again, on each device.
  @Test func aZoneThatIsPutAgainIsSubscribedToAtOnce() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("one")
    try await CloudWorld.settle(phone, tablet)
    cloud.deleteData(of: "ann")
    let late = try Phone(cloud)
    for one in [phone, tablet, late] {
      one.restart()
      for _ in 0..<3 {
        one.mailbox.lookAgain()
        #expect(try await one.failure()?.code == .zoneDeleted)
      }
    }
    try await phone.mailbox.putAgain()
    for one in [phone, tablet, late] {
      one.mailbox.lookAgain()
      #expect(try await one.failure() == nil)
      #expect(pollingError(one) == nil)
    }
    #expect(cloud.subscriberCount(of: "ann") == 3)
  }
}
