import CloudKit
import Tally
import TallyCloudKit
import TallyRig
import TallySync
import TallyTesting
import Testing

/// iCloud keeps the contract of `Mailbox`, as a log.
@Suite struct CloudKitConformanceTests {
  @Test(arguments: MailboxConformance.rules) func conforms(_ rule: MailboxConformance.Rule) async throws {
    try await rule.check { try Phone(FakeCloud()).mailbox }
  }

  /// Where silence is believed, and most passes ask nothing.
  @Test(arguments: MailboxConformance.rules) func conformsWithNotifications(_ rule: MailboxConformance.Rule)
    async throws
  {
    try await rule.check {
      let phone = try Phone(FakeCloud())
      phone.device.deliversAtOnce = true
      phone.mailbox.didRegisterForNotifications()
      return phone.mailbox
    }
  }

  /// Where a page has one record, requests take two items, every content is an asset, and errors come wrapped.
  @Test(arguments: MailboxConformance.rules) func conformsInNarrowPlaces(_ rule: MailboxConformance.Rule) async throws {
    try await rule.check {
      let cloud = FakeCloud()
      (cloud.limits.pageItems, cloud.limits.items) = (1, 2)
      let device = FakeDevice(cloud, person: "ann")
      device.wrapsErrors = true
      var settings = Phone.settings(device, TestClock())
      settings.inlineBytes = 0
      return CloudKitMailbox(device.container, account: "ann", settings)
    }
  }

  /// Where a record takes no more than 40 KB: what is larger becomes an asset though it was to be a field.
  @Test(arguments: MailboxConformance.rules) func conformsWhereRecordsAreSmall(_ rule: MailboxConformance.Rule)
    async throws
  {
    try await rule.check {
      let cloud = FakeCloud()
      (cloud.limits.recordBytes, cloud.limits.requestBytes) = (40_000, 60_000)
      return try Phone(cloud).mailbox
    }
  }
}
