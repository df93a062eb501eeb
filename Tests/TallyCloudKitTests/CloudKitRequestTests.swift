import CloudKit
import Foundation
import GRDB
import Tally
import TallyCloudKit
import TallyRig
import TallySync
import TestEffort
import Testing

/// How many requests it takes, counted by what answers them.
@Suite struct CloudKitRequestTests {
  /// Records of a kilobyte that came in many passes; in a long run 10,000 in a hundred.
  @Test func aFirstSyncOfManyEntriesTakesTheRequestsThatItsBytesNeed() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    var settings = MailboxSettings()
    settings.deltaBytes = 1 << 30
    let passes = Effort.isLong ? 100 : 30
    for pass in 0..<passes {
      try phone.insert(
        (0..<100).map { number in
          Note(
            text: "note \(number)", stars: pass, picture: CloudWorld.noise(1_000, UInt64(pass * 100 + number + 1)))
        })
      try await phone.pass(settings)
    }
    let bytes = cloud.byteCount(of: "ann")
    #expect(bytes > 100_000 * passes && cloud.names(of: "ann", zone: Phone.zone).count == passes)
    try await tablet.pass(settings)
    try CloudWorld.expectEqual(phone, tablet)
    let needed = (bytes + cloud.limits.pageBytes - 1) / cloud.limits.pageBytes
    let reading = tablet.device.counts[.changes, default: 0] + tablet.device.counts[.records, default: 0]
    #expect(Double(reading) <= 1.2 * Double(needed), "\(reading) requests for \(needed)")
    #expect(tablet.device.counts[.subscriptions] == 1 && tablet.device.counts[.modify] == nil)
  }

  /// The same records in one pass: a snapshot, which is an asset.
  @Test func aFirstSyncOfASnapshotIsAListAndAnAsset() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.insert(
      (0..<(Effort.isLong ? 10_000 : 6_000)).map {
        Note(text: "note \($0)", picture: CloudWorld.noise(200, UInt64($0 + 1)))
      })
    try await phone.pass()
    // Nothing was there: the subscription finds no zone, which is made; then everything is one request.
    #expect(phone.device.counts == [.subscriptions: 2, .zones: 1, .changes: 1, .modify: 1])
    try await tablet.pass()
    try CloudWorld.expectEqual(phone, tablet)
    #expect(tablet.device.counts == [.subscriptions: 1, .changes: 1, .records: 1])
  }

  @Test func oneChangeIsOneRequestOnEitherSide() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    for one in [phone, tablet] {
      one.device.deliversAtOnce = true
      one.mailbox.didRegisterForNotifications()
    }
    try phone.write("first")
    try await CloudWorld.settle(phone, tablet)
    for number in 0..<20 {
      phone.device.resetCounts()
      tablet.device.resetCounts()
      try phone.write("change \(number)")
      try await phone.pass()
      #expect(phone.device.counts == [.modify: 1])
      try await tablet.pass()
      #expect(tablet.device.counts == [.changes: 1])
    }
    #expect(try tablet.texts.count == 21)
  }

  @Test func aQuietHourAsksNothing() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    try phone.write("first")
    phone.mailbox.didRegisterForNotifications()
    try await phone.pass()
    phone.device.resetCounts()
    for _ in 0..<60 {
      phone.clock.pass(.seconds(60))
      try await phone.pass()
    }
    #expect(phone.device.count == 0)
    // Silence is not believed for ever.
    phone.clock.pass(.seconds(3_600))
    try await phone.pass()
    #expect(phone.device.counts == [.changes: 1])
  }

  /// Without notifications, as in an app that lacks the entitlement, silence means nothing.
  @Test func whoIsNotNotifiedAsksEachTime() async throws {
    let phone = try Phone(FakeCloud())
    try await phone.pass()
    phone.device.resetCounts()
    for _ in 0..<60 { try await phone.pass() }
    #expect(phone.device.counts == [.changes: 60])
  }

  @Test func aNotificationThatIsLostCostsTimeAndNothingElse() async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    tablet.mailbox.didRegisterForNotifications()
    try phone.write("first")
    try await CloudWorld.settle(phone, tablet)
    try phone.write("second")
    try await phone.pass()
    tablet.device.loseNotifications()
    try await tablet.pass()
    #expect(try tablet.texts == ["first"])
    tablet.clock.pass(.seconds(7_200))
    try await tablet.pass()
    #expect(try tablet.texts == ["first", "second"])
  }

  /// What came while the answer was on its way may not be in it.
  @Test func aNotificationDuringARequestIsNotLost() async throws {
    let phone = try Phone(FakeCloud())
    phone.mailbox.didRegisterForNotifications()
    try await phone.pass()
    phone.device.resetCounts()
    phone.mailbox.lookAgain()
    phone.device.meanwhile { [mailbox = phone.mailbox] in mailbox.handle(["ck": ["sid": "\(Phone.zone)-changes"]]) }
    for _ in 0..<3 { try await phone.pass() }
    #expect(phone.device.counts == [.changes: 2])
  }

  @Test func lookingAgainAsksOnce() async throws {
    let phone = try Phone(FakeCloud())
    phone.mailbox.didRegisterForNotifications()
    try await phone.pass()
    phone.device.resetCounts()
    phone.mailbox.lookAgain()
    for _ in 0..<3 { try await phone.pass() }
    #expect(phone.device.counts == [.changes: 1])
  }

  /// After a launch iCloud is asked, whatever an earlier process knew.
  @Test func aNewProcessAsksOnceAndReadsNothingTwice() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    try phone.write("first", picture: CloudWorld.noise(900_000))
    try await phone.pass()
    phone.restart()
    phone.device.resetCounts()
    phone.mailbox.didRegisterForNotifications()
    for _ in 0..<3 { try await phone.pass() }
    // The first answer after its own entry brings that entry's record, and not its asset.
    // That there is a subscription already is refused, and then asked.
    #expect(phone.device.counts == [.subscriptions: 2, .changes: 1])
  }

  /// 300 entries in one call, as when entries are carried from one place to another.
  @Test func manyEntriesGoTogether() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud)
    _ = try await phone.mailbox.changes(after: nil)
    phone.device.resetCounts()
    let uploads = (0..<300).map { number in
      MailboxUpload(name: "tally1-entry-\(number)", bytes: [UInt8](CloudWorld.noise(1_000, UInt64(number + 1))))
    }
    for result in try await phone.mailbox.put(uploads) { _ = try result.get() }
    #expect(phone.device.counts == [.modify: 2])
    #expect(cloud.names(of: "ann", zone: Phone.zone).count == 300)
    phone.device.resetCounts()
    try await phone.mailbox.remove(uploads.map(\.name))
    #expect(phone.device.counts == [.modify: 2])
    #expect(cloud.names(of: "ann", zone: Phone.zone).isEmpty)
  }

  /// iCloud's own limit of items may be lower than what it says.
  @Test func requestsAreHalvedUntilTheyAreTaken() async throws {
    let cloud = FakeCloud()
    cloud.limits.items = 30
    let phone = try Phone(cloud)
    let uploads = (0..<70).map { MailboxUpload(name: "tally1-entry-\($0)", bytes: [UInt8](repeating: 7, count: 100)) }
    for result in try await phone.mailbox.put(uploads) { _ = try result.get() }
    #expect(cloud.names(of: "ann", zone: Phone.zone).count == 70)
    let contents = try await phone.mailbox.contents(of: uploads.map(\.name))
    #expect(contents.count == 70)
    try await phone.mailbox.remove(uploads.map(\.name))
    #expect(cloud.names(of: "ann", zone: Phone.zone).isEmpty)
  }
}
