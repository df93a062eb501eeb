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
