import CloudKit
import Foundation
import GRDB
import Synchronization
import Tally
import TallyCloudKit
import TallyRig
import TallyStore
import TallySync
import TestEffort
import Testing

/// The account of a device changes at any moment, also while an answer is on its way: what is one person's gets to no
/// other, in neither direction.
@Suite struct CloudKitMixTests {
  @Test func whatIsReadIsOneOfOnePerson() async throws {
    let cloud = FakeCloud()
    let (phone, bobs) = (try Phone(cloud, "ann"), try Phone(cloud, "bob"))
    try bobs.write("bob's secret")
    try await bobs.pass()
    // While the answer of ann's first request is on its way; the notification comes at once.
    phone.device.meanwhile { [device = phone.device] in device.signIn("bob") }
    _ = try await phone.failure()
    #expect(try phone.texts == [])
    phone.device.signIn("ann")
    try await phone.pass()
    let other = try Phone(cloud, "ann")
    try await other.pass()
    #expect(try other.texts == [], "and on ann's other device")
  }

  @Test(arguments: [1, 2, 3]) func noAnswerBringsTheDataOfAnother(_ after: Int) async throws {
    let cloud = FakeCloud()
    let (phone, bobs) = (try Phone(cloud, "ann"), try Phone(cloud, "bob"))
    for one in [phone, bobs] {
      try one.write("\(one.account)'s")
      try await one.pass()
    }
    phone.restart()
    @Sendable func arm(_ device: FakeDevice, _ count: Int) {
      device.meanwhile { if count == 1 { device.signIn("bob") } else { arm(device, count - 1) } }
    }
    arm(phone.device, after)
    _ = try await phone.failure()
    let mixed = try phone.texts
    #expect(mixed == ["ann's"])
  }

  /// The notification of the change comes late, or not at all: no zone of ann's is made in bob's iCloud.
  @Test func aLateNotificationLetsNothingOut() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud, "ann")
    let mailbox = phone.mailbox(HookedDatabase(phone.device)) { $0.center = NotificationCenter() }
    try phone.write("ann's secret")
    try await phone.store.sync(through: mailbox)
    phone.device.signIn("bob")
    try phone.write("another")
    for _ in 0..<2 {
      let failure = await #expect(throws: CloudKitError.self) { try await phone.store.sync(through: mailbox) }
      #expect(failure?.code == .accountChanged)
    }
    #expect(await #expect(throws: CloudKitError.self) { try await mailbox.putAgain() }?.code == .accountChanged)
    #expect(cloud.zones(of: "bob").isEmpty)
    phone.device.signIn("ann")
    #expect(try await phone.store.sync(through: mailbox).written.count == 1)
  }

  /// The account changes between the question who it is and the zone that is made: nothing is put there.
  @Test func aZoneThatIsMadeInTheLastMomentStaysEmpty() async throws {
    let cloud = FakeCloud()
    let phone = try Phone(cloud, "ann")
    var database = HookedDatabase(phone.device)
    database.beforeZones = { [device = phone.device] in
      device.signIn("bob")
      return false
    }
    let mailbox = phone.mailbox(database) { $0.center = NotificationCenter() }
    try phone.write("ann's secret")
    for _ in 0..<2 {
      let failure = await #expect(throws: CloudKitError.self) { try await phone.store.sync(through: mailbox) }
      #expect(failure?.code == .accountChanged)
    }
    #expect(cloud.names(of: "bob", zone: mailbox.zoneName).isEmpty)
  }

  @Test func aZoneThatIsMadeAgainIsThatOfThePerson() async throws {
    let cloud = FakeCloud()
    let (phone, bobs) = (try Phone(cloud, "ann"), try Phone(cloud, "bob"))
    try bobs.write("bob's")
    try await bobs.pass()
    phone.mailbox.didRegisterForNotifications()
    try await phone.pass()
    cloud.loseZones(of: "ann")
    try phone.write("ann's secret")
    phone.device.meanwhile { [device = phone.device] in device.signIn("bob") }
    _ = try await phone.failure()
    bobs.mailbox.lookAgain()
    try await bobs.pass()
    #expect(try bobs.texts == ["bob's"])
  }

  @Test func partsOfACallGoToOnePerson() async throws {
    let cloud = FakeCloud()
    cloud.limits.items = 30
    let phone = try Phone(cloud, "ann")
    try await phone.pass()
    let uploads = (0..<70).map { MailboxUpload(name: "tally1-entry-\($0)", bytes: [UInt8](repeating: 7, count: 100)) }
    phone.device.meanwhile { [device = phone.device] in device.signIn("bob") }
    _ = try await phone.mailbox.put(uploads)
    for person in ["ann", "bob"] { #expect(cloud.names(of: "bob", zone: Phone.zone(of: person)).isEmpty) }
  }

  @Test(arguments: Effort.seeds(30)) func noHistoryMixesTwoPeople(_ seed: UInt64) async throws {
    if let failure = try await CloudPeople.failure(seed) { Issue.record("TALLY_SEED=\(seed): \(failure)") }
  }
}
