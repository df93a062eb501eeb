import CloudKit
import Foundation
import GRDB
import Synchronization
import Tally
import TallyCloudKit
import TallyStore
import TallySync
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

  @Test(arguments: 1...30) func noHistoryMixesTwoPeople(_ seed: Int) async throws {
    var dice = Dice(word: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1)
    let cloud = FakeCloud()
    if dice.next(2) == 0 { cloud.limits.pageItems = 3 }
    let (phone, ann, bob) = (
      try Phone(cloud, "ann", seed: UInt64(seed)), try Phone(cloud, "ann"), try Phone(cloud, "bob")
    )
    @Sendable func arm(_ device: FakeDevice, _ count: Int, _ person: String?) {
      device.meanwhile { if count == 0 { device.signIn(person) } else { arm(device, count - 1, person) } }
    }
    var number = 0
    for _ in 0..<14 {
      switch dice.next(9) {
      case 0: try ann.write("ann \(number)")
      case 1: try bob.write("bob \(number)")
      case 2, 3: try phone.write("ann here \(number)")
      case 4: cloud.loseZones(of: dice.next(2) == 0 ? "ann" : "bob")
      case 5: cloud.expireTokens()
      case 6: phone.restart()
      case 7: phone.device.faults.failures = dice.next(2) * 20
      default: phone.device.signIn(["ann", "bob", nil][dice.next(3)])
      }
      number += 1
      for one in [ann, bob] where dice.next(2) == 0 {
        one.mailbox.lookAgain()
        _ = try? await one.pass()
      }
      if dice.next(3) > 0 { phone.device.signIn("ann") }
      if dice.next(2) == 0 { phone.mailbox.lookAgain() }
      arm(phone.device, dice.next(4), ["ann", "bob", "bob", nil][dice.next(4)])
      _ = try? await phone.pass()
      phone.device.meanwhile {}
    }
    phone.device.faults.failures = 0
    phone.device.signIn("ann")
    phone.clock.pass(.seconds(4_000))
    try await CloudWorld.settle(phone, ann)
    try await CloudWorld.settle(bob)
    try CloudWorld.expectEqual(phone, ann)
    #expect(try ann.texts.allSatisfy { $0.hasPrefix("ann") })
    #expect(try bob.texts.allSatisfy { $0.hasPrefix("bob") })
  }
}

/// Numbers from a seed.
struct Dice {
  var word: UInt64
  mutating func next(_ count: Int) -> Int {
    word ^= word << 13
    word ^= word >> 7
    word ^= word << 17
    return Int(word % UInt64(count))
  }
}
