import CloudKit
import Foundation
import Tally
import TallyCloudKit
import TallyRig
import TallySync
import TestEffort
import Testing

/// The table of errors in Docs/CloudKit.md, row by row: what each does to a pass, and that it takes nothing with it.
@Suite struct CloudKitErrorTests {
  struct Row: Sendable, CustomStringConvertible {
    var code: CKError.Code
    var means: CloudKitError.Code
    var isPermanent = false
    var retryAfter: Double?

    var description: String { "\(code)" }
    var error: CKError {
      CKError(code, userInfo: retryAfter.map { [CKErrorRetryAfterKey: NSNumber(value: $0)] } ?? [:])
    }
  }

  /// What ends a pass, wherever it comes.
  static let rows: [Row] = [
    Row(code: .networkUnavailable, means: .unreachable), Row(code: .networkFailure, means: .unreachable),
    Row(code: .serverResponseLost, means: .unreachable),
    Row(code: .serviceUnavailable, means: .busy, retryAfter: 7),
    Row(code: .requestRateLimited, means: .busy, retryAfter: 42),
    Row(code: .zoneBusy, means: .busy), Row(code: .quotaExceeded, means: .full),
    Row(code: .notAuthenticated, means: .notSignedIn, isPermanent: true),
    Row(code: .accountTemporarilyUnavailable, means: .temporarilyUnavailable),
    Row(code: .managedAccountRestricted, means: .restricted, isPermanent: true),
    Row(code: .userDeletedZone, means: .zoneDeleted, isPermanent: true),
    Row(code: .incompatibleVersion, means: .outdated, isPermanent: true),
    Row(code: .badContainer, means: .misconfigured, isPermanent: true),
    Row(code: .missingEntitlement, means: .misconfigured, isPermanent: true),
    Row(code: .permissionFailure, means: .misconfigured, isPermanent: true),
    Row(code: .badDatabase, means: .misconfigured, isPermanent: true),
    Row(code: .invalidArguments, means: .misconfigured, isPermanent: true),
    Row(code: .internalError, means: .failed), Row(code: .constraintViolation, means: .failed),
    Row(code: .batchRequestFailed, means: .failed), Row(code: .assetFileModified, means: .failed),
    Row(code: .operationCancelled, means: .failed), Row(code: .tooManyParticipants, means: .failed),
    Row(code: .alreadyShared, means: .failed), Row(code: .referenceViolation, means: .failed),
    Row(code: .participantMayNeedVerification, means: .failed),
  ]

  /// Those that have a rule of their own, and so a test of their own.
  static let handled: Set<CKError.Code> = [
    .partialFailure, .unknownItem, .serverRecordChanged, .serverRejectedRequest, .assetFileNotFound,
    .assetNotAvailable, .changeTokenExpired, .zoneNotFound, .limitExceeded,
  ]

  @Test func everyCodeOfApplesHasARow() {
    let all = Set(Self.rows.map(\.code)).union(Self.handled)
    #expect(all == Set(CKError.Code.allCases))
    #expect(Set(Self.rows.map(\.means)).union([.tooLarge, .accountChanged]) == Set(CloudKitError.Code.allCases))
  }

  /// Two phones that have different things, one of which has passed before.
  private func world() async throws -> (FakeCloud, Phone, Phone) {
    let cloud = FakeCloud()
    let (phone, other) = (try Phone(cloud), try Phone(cloud))
    try other.write("theirs")
    try await other.pass()
    try phone.write("mine")
    try await phone.pass()
    try other.write("theirs, too")
    try await other.pass()
    try phone.write("mine, too")
    phone.mailbox.lookAgain()
    return (cloud, phone, other)
  }

  /// Whatever an answer is: what is here and there stays, the error says what it means, and afterwards all goes on.
  @Test(arguments: Effort.sample(rows, 5), FakeDevice.Call.allCases) func anErrorTakesNothingWithIt(
    _ row: Row, _ call: FakeDevice.Call
  )
    async throws
  {
    let (cloud, phone, other) = try await world()
    if call == .subscriptions { phone.restart() }
    if call == .zones { cloud.loseZones(of: "ann") }
    if call == .records {
      try other.write("large", picture: CloudWorld.noise(700_000))
      try await other.pass()
    }
    let (before, names) = (try phone.texts, cloud.names(of: "ann", zone: Phone.zone))
    phone.device.fail(call, row.error)
    let error = try await phone.failure()
    #expect(phone.device.plannedCount == 0)
    if call == .records {
      // It concerns one entry, which waits; the rest of the pass goes on, unless iCloud asks for a pause.
      #expect(error?.code == (row.retryAfter == nil ? nil : .busy))
    } else if call == .subscriptions {
      // Passes ask each time then, and all else is as always: `CloudKitSubscriptionTests`.
      #expect(error == nil)
      #expect((phone.mailbox.pollingError as? CloudKitError)?.cloudKitCode == row.code)
    } else {
      #expect(error?.code == row.means && error?.isPermanent == row.isPermanent, "\(error as Any)")
      #expect(error?.cloudKitCode == row.code && error?.message.isEmpty == false)
      if let seconds = row.retryAfter { #expect(error?.retryAfter == .seconds(seconds)) }
    }
    #expect(Set(before).isSubset(of: try phone.texts))
    #expect(Set(names).isSubset(of: cloud.names(of: "ann", zone: Phone.zone)))
    phone.clock.pass(.seconds(60))
    if row.code == .userDeletedZone, call == .changes || call == .modify { try await phone.mailbox.putAgain() }
    try await CloudWorld.settle(phone, other)
    try CloudWorld.expectEqual(phone, other)
    #expect(Set(try phone.texts).isSuperset(of: ["mine", "mine, too", "theirs", "theirs, too"]))
  }

  /// The same of one item, and with the error of the operation beneath around it.
  @Test(arguments: Effort.sample(rows, 10), [false, true]) func anErrorOfAnItemTakesNothingWithIt(
    _ row: Row, _ isWrapped: Bool
  )
    async throws
  {
    let (cloud, phone, other) = try await world()
    phone.device.wrapsErrors = isWrapped
    phone.device.failItems(row.error)
    let error = try await phone.failure()
    #expect(error?.code == row.means && error?.cloudKitCode == row.code, "\(error as Any)")
    #expect(try phone.texts == ["mine", "mine, too", "theirs", "theirs, too"])
    phone.clock.pass(.seconds(60))
    try await CloudWorld.settle(phone, other)
    try CloudWorld.expectEqual(phone, other)
    #expect(cloud.names(of: "ann", zone: Phone.zone).count == 4)
  }

  // MARK: Rows with rules of their own

  @Test func nothingIsSentBeforeTheTimeThatICloudAsksFor() async throws {
    let (_, phone, _) = try await world()
    phone.device.fail(.changes, CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 30)]))
    #expect(try await phone.failure()?.retryAfter == .seconds(30))
    let count = phone.device.count
    phone.clock.pass(.seconds(10))
    let error = try await phone.failure()
    #expect(error?.code == .busy && error?.retryAfter == .seconds(20))
    #expect(phone.device.count == count)
    phone.clock.pass(.seconds(20))
    #expect(try await phone.failure() == nil)
    #expect(try phone.texts.count == 4)
  }

  /// `serverRecordChanged`: a record of the name is there, so the entry is.
  @Test func whatIsThereAlreadyCountsAsPut() async throws {
    let (cloud, phone, other) = try await world()
    // Done, and the answer is lost.
    phone.device.faults.lostAnswers = 100
    phone.mailbox.didRegisterForNotifications()
    #expect(try await phone.failure()?.code == .unreachable)
    phone.device.faults = FakeDevice.Faults()
    let upload = MailboxUpload(name: "tally1-entry", bytes: [1, 2, 3])
    phone.device.faults.lostAnswers = 100
    await #expect(throws: CloudKitError.self) { try await phone.mailbox.put(upload) }
    phone.device.faults = FakeDevice.Faults()
    #expect(cloud.names(of: "ann", zone: Phone.zone).contains("tally1-entry"))
    _ = try await phone.mailbox.put(upload)
    #expect(cloud.names(of: "ann", zone: Phone.zone).filter { $0 == "tally1-entry" }.count == 1)
    try await CloudWorld.settle(phone, other)
    try CloudWorld.expectEqual(phone, other)
  }

  /// `unknownItem`, `assetFileNotFound`, `assetNotAvailable`: that entry waits, and holds up no other.
  @Test(arguments: [CKError.Code.unknownItem, .assetFileNotFound, .assetNotAvailable])
  func anEntryWithoutItsContentWaits(_ code: CKError.Code) async throws {
    let cloud = FakeCloud()
    let (phone, tablet) = (try Phone(cloud), try Phone(cloud))
    try phone.write("large", picture: CloudWorld.noise(700_000))
    try await phone.pass()
    try phone.write("small")
    try await phone.pass()
    tablet.device.fail(.records, CKError(code))
    let report = try await tablet.pass()
    #expect(report.pending.contains { $0.reason == .unreadable || $0.reason == .waitsForOthers })
    #expect(!report.isComplete)
    try await CloudWorld.settle(tablet)
    #expect(try tablet.texts == ["large", "small"])
  }

  /// `partialFailure` with the error of a zone and none of the records: they count for nothing but failed.
  @Test(arguments: [CKError.Code.networkFailure, .zoneBusy]) func aPartialFailureOfSomethingElseIsNoSuccess(
    _ code: CKError.Code
  ) async throws {
    let (cloud, phone, other) = try await world()
    let zone = CKRecordZone.ID(zoneName: Phone.zone) as AnyHashable
    let names = cloud.names(of: "ann", zone: Phone.zone)
    phone.device.fail(
      .modify, CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [zone: CKError(code) as any Error]]))
    #expect(try await phone.failure()?.cloudKitCode == code)
    #expect(cloud.names(of: "ann", zone: Phone.zone) == names)
    try await CloudWorld.settle(phone, other)
    try CloudWorld.expectEqual(phone, other)
    #expect(try other.texts.count == 4)
  }

  @Test func aRefusalOfAnItemIsTriedAgain() async throws {
    let (_, phone, other) = try await world()
    phone.device.failItems(CKError(.serverRejectedRequest))
    #expect(try await phone.failure()?.code == .failed)
    try await CloudWorld.settle(phone, other)
    try CloudWorld.expectEqual(phone, other)
  }

  /// `limitExceeded`, of one record: what is too large for a field becomes an asset.
  @Test func whatIsTooLargeForARecordBecomesAnAsset() async throws {
    let (_, phone, other) = try await world()
    phone.device.fail(.modify, CKError(.limitExceeded))
    #expect(try await phone.failure() == nil)
    #expect(phone.device.counts[.modify] == 3)
    phone.device.fail(.modify, CKError(.limitExceeded), CKError(.limitExceeded))
    try phone.write("more")
    #expect(try await phone.failure()?.code == .tooLarge)
    try await CloudWorld.settle(phone, other)
    try CloudWorld.expectEqual(phone, other)
  }

  /// An engine says in its status what the table says.
  @Test(arguments: rows) func anEngineSaysSo(_ row: Row) async throws {
    let (_, phone, other) = try await world()
    phone.restart()
    phone.device.fail(.changes, row.error)
    var settings = SyncEngine.Settings()
    settings.sleep = { _ in try await Task.sleep(for: .seconds(3_600)) }
    let engine = SyncEngine(phone.store, settings)
    await engine.add(phone.mailbox, named: "iCloud")
    await engine.resume()
    for await status in await engine.statusUpdates() {
      guard let peer = status.peers.first, peer.failures > 0, peer.pending != nil else { continue }
      #expect(peer.errorCode == row.means.rawValue)
      #expect(peer.phase == (row.isPermanent ? .blocked : .retrying))
      #expect(peer.pending == 1)
      break
    }
    phone.clock.pass(.seconds(60))
    // Given up until the app says otherwise; then it goes on.
    await engine.pause()
    await engine.resume()
    for await status in await engine.statusUpdates() where status.isUpToDate { break }
    await engine.pause()
    try await CloudWorld.settle(phone, other)
    try CloudWorld.expectEqual(phone, other)
  }
}
