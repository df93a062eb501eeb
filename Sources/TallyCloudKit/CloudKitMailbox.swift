#if canImport(CloudKit)
  import CloudKit
  import Foundation
  import TallyCRDT
  import TallyStore
  import TallySync

  /// A person's private iCloud database as a mailbox: all of one person's devices sync through it, without any server
  /// of the app's.
  ///
  /// ```swift
  /// let mailbox = CloudKitMailbox(CKContainer.default(), account: "_3f2a9c")
  /// await engine.add(mailbox, named: "iCloud")
  /// ```
  ///
  /// Each entry is one record that is saved and deleted and never changed, so CloudKit has no conflict to resolve, and
  /// knows nothing of the app's types: stores merge, and what wins is the same as over any other way. The zone is
  /// `Tally-`, the space and a hash of the person's record name; the record type is `TallyFile`, which has to be in the
  /// container's production schema once (`Docs/CloudKit.md`). The contents are in encrypted fields and in assets, which
  /// iCloud encrypts itself.
  ///
  /// It syncs the devices of the one person of ``account``. While another is signed in, nothing is read or put:
  /// ``CloudKitAccount`` gives the mailbox of the one who is. Errors are ``CloudKitError``, but where `Mailbox` asks
  /// for a `MailboxError`. Keep one object for a zone: it remembers what notifications have told.
  ///
  /// This has been run against a model of iCloud, and never on a Mac or a phone.
  public final class CloudKitMailbox: Mailbox {
    /// The behavior of a mailbox in iCloud.
    public struct Settings: Sendable {
      /// For how long a pass asks nothing, once notifications are known to arrive and none has come: silence is
      /// believed to mean that nothing is new. A notification, ``CloudKitMailbox/lookAgain()`` and the next launch end
      /// it.
      public var silence: Duration = .seconds(7_200)
      /// The largest content that is a field of its record; what is larger is an asset. A record takes a megabyte.
      public var inlineBytes = 512 << 10
      /// Where changes of the account are posted.
      package var center = NotificationCenter.default
      /// The time, for tests that have their own.
      package var now: @Sendable () -> Instant = { ContinuousClock.now }
      /// The date, likewise.
      package var date: @Sendable () -> Date = { Date() }

      /// Creates the default settings, which are right for an app.
      public init() {}
    }

    package typealias Instant = ContinuousClock.Instant

    static let recordType = "TallyFile"
    /// The bytes of contents that go along with a listing: a pass keeps so much of one.
    static let bytesAlong = 4 << 20
    /// The most items of one request. The limit is 400; smaller requests fail less often.
    static let mostItems = 200

    let database: any CloudKitDatabase
    private let container: any CloudKitContainer
    let settings: Settings
    let follower = CloudKitFollower()
    let spool = CloudKitSpool()
    private let observer: AccountObserver
    /// The record name of the person whose devices sync here.
    public let account: String
    /// The name of the zone: `Tally-` and the space.
    public let zoneName: String
    private let containerName: String

    /// Creates a mailbox for a person's own database. Nothing is sent until it is used.
    ///
    /// ```swift
    /// let mailbox = CloudKitMailbox(CKContainer(identifier: "iCloud.com.example.scores"), account: "_3f2a9c")
    /// ```
    /// - Parameters:
    ///   - container: the app's container.
    ///   - account: the record name of the person whose store it is, as ``CloudKitAccount`` gives it.
    ///   - space: what tells zones of one container apart, if an app has several stores of one person; letters, digits
    ///     and hyphens.
    ///   - settings: limits and pauses; the default settings suit most apps.
    public convenience init(
      _ container: CKContainer, account: String, space: String = "main", _ settings: Settings = Settings()
    ) {
      self.init(
        container.privateCloudDatabase, container, containerName: container.containerIdentifier ?? "default",
        account: account, space: space, settings)
    }

    package init(
      _ database: any CloudKitDatabase, _ container: any CloudKitContainer, containerName: String, account: String,
      space: String, _ settings: Settings
    ) {
      (self.database, self.container, self.settings) = (database, container, settings)
      (self.account, self.containerName) = (account, containerName)
      // A request that was under way while another person signed in finds no such zone in their database.
      var hash = SipHash()
      hash.combine(text: account)
      let digits = String(hash.finalized(), radix: 16)
      zoneName = "Tally-\(space)-\(String(repeating: "0", count: 16 - digits.count))\(digits)"
      observer = AccountObserver(settings.center) { [follower] in follower.noteNews(isAccount: true) }
    }

    var zoneID: CKRecordZone.ID { CKRecordZone.ID(zoneName: zoneName, ownerName: CKCurrentUserDefaultName) }
    var subscriptionID: String { "\(zoneName)-changes" }

    /// The container and the zone, for logs and status.
    public var name: String { "iCloud \(containerName) \(zoneName)" }
    /// The container, the person and the zone: for each person a store remembers a place of its own.
    public var identity: String { "cloudkit \(containerName) \(account) \(zoneName)" }
    /// Why there is no subscription to the zone, so that passes ask iCloud each time; nil if there is one, and before
    /// the first pass. It is tried again after a minute, two, four, up to an hour, and at each launch.
    public var pollingError: (any TallyError)? { follower.subscriptionError }
    /// Always `.log`: iCloud keeps what it has accepted, and shows everybody one order.
    public var kind: MailboxKind { .log }
    /// Always false: to look for one there is to download it.
    public var carriesAssets: Bool { false }

    // MARK: What the app tells

    /// Takes a push notification. If it is this zone's, a pass that waits runs at once.
    ///
    /// ```swift
    /// func received(_ userInfo: [AnyHashable: Any]) async {
    ///   guard mailbox.handle(userInfo) else { return }
    ///   await engine.syncOnce(within: .seconds(25))
    /// }
    /// ```
    ///
    /// Call it from `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`. From the first on, the
    /// silence between notifications is believed: ``Settings/silence``. One that comes late, twice or for nothing costs
    /// one request. Costs nothing itself.
    /// - Parameter userInfo: the notification as the system gives it.
    /// - Returns: whether it was this zone's. Another's is left alone.
    @discardableResult
    public func handle(_ userInfo: [AnyHashable: Any]) -> Bool {
      guard CKNotification(fromRemoteNotificationDictionary: userInfo)?.subscriptionID == subscriptionID else {
        return false
      }
      follower.noteNews(isNotification: true)
      return true
    }

    /// Says that the app is registered for remote notifications, so that silence is believed from the start.
    ///
    /// ```swift
    /// func registered(deviceToken: Data) { mailbox.didRegisterForNotifications() }
    /// ```
    ///
    /// Call it from `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`. Without it, and before the
    /// first notification, each pass asks iCloud.
    public func didRegisterForNotifications() { follower.noteRegistered() }

    /// Lets the next pass ask iCloud, whatever notifications have told, and wakes an engine that waits: when the app
    /// comes to the front, or a person pulls to refresh.
    ///
    /// ```swift
    /// mailbox.lookAgain()
    /// await engine.syncNow()
    /// ```
    ///
    /// Costs one request of the next pass.
    public func lookAgain() { follower.noteNews() }

    /// Makes the zone again after the person has deleted it in Settings, and only then: ask them before.
    ///
    /// ```swift
    /// try await mailbox.putAgain()
    /// await engine.resume()
    /// ```
    ///
    /// Passes put everything again that any of the person's devices has. Until this is called they throw
    /// ``CloudKitError/Code/zoneDeleted`` and delete nothing, here or there. Costs one request.
    /// - Throws: ``CloudKitError``; then it is as before.
    public func putAgain() async throws {
      try await checkAccount()
      try await makeZone()
      follower.noteNews()
    }

    // MARK: Requests

    /// Makes a request, unless iCloud has asked to wait. With `pausesAll` false a pause that it asks for is the
    /// caller's to keep, for this kind of request.
    /// - Throws: ``CloudKitError``; `CancellationError`.
    func request<T>(pausesAll: Bool = true, _ body: () async throws -> T) async throws -> T {
      try await checkAccount()
      let accounts = follower.accounts
      let value = try await ask(pausesAll: pausesAll, body)
      // It may be of the other person's database.
      guard follower.accounts == accounts else {
        throw CloudKitError(.unreachable, "the account has changed while iCloud was asked")
      }
      return value
    }

    /// The same for what asks whose account it is.
    private func ask<T>(pausesAll: Bool = true, _ body: () async throws -> T) async throws -> T {
      try Task.checkCancellation()
      if let pause = follower.pause(at: settings.now()) { throw pause }
      do {
        return try await body()
      } catch {
        throw try failure(error, pausesAll: pausesAll)
      }
    }

    /// The error for what CloudKit has thrown, or says of one item.
    /// - Throws: `CancellationError`, if that is what it was.
    func failure(_ error: any Error, pausesAll: Bool = true) throws -> CloudKitError {
      guard !(error is CancellationError), (error as? CKError)?.code != .operationCancelled || !Task.isCancelled else {
        throw CancellationError()
      }
      let failure = CloudKitError(error)
      if pausesAll { follower.notePause(failure, at: settings.now()) }
      if failure.code == .notSignedIn || failure.code == .temporarilyUnavailable { follower.noteNews(isAccount: true) }
      return failure
    }

    /// Makes sure that it is the right person's iCloud. Asked once, and again after each change of the account.
    /// - Throws: ``CloudKitError``; nothing was read or put then.
    func checkAccount() async throws {
      guard !follower.isChecked else { return }
      try await askWhoIsSignedIn()
    }

    /// Asks whose iCloud it is. An account that has changed with no notification so far has changed all the same.
    /// - Throws: ``CloudKitError``.
    private func askWhoIsSignedIn() async throws {
      let accounts = follower.accounts
      let status = try await ask { try await container.accountStatus() }
      switch status {
      case .available: break
      case .noAccount: throw CloudKitError(.notSignedIn, "nobody is signed in to iCloud")
      case .restricted: throw CloudKitError(.restricted, "this device does not allow iCloud")
      case .temporarilyUnavailable:
        throw CloudKitError(.temporarilyUnavailable, "the iCloud account waits for its person")
      default: throw CloudKitError(.unreachable, "whether somebody is signed in to iCloud is not known")
      }
      let person = try await ask { try await container.userRecordID().recordName }
      guard person == account else {
        if follower.isChecked { follower.noteNews(isAccount: true) }
        throw CloudKitError(.accountChanged, "another person is signed in to iCloud")
      }
      if !follower.noteChecked(since: accounts) { try await checkAccount() }
    }

    /// Makes the zone, or finds that it is there. What is left of one whose keys are gone is deleted first.
    ///
    /// That it is not there may be because the iCloud is another person's, of which no notification has told yet. So it
    /// is asked whose it is, and once more before anything is put into what was made.
    func makeZone() async throws {
      try await askWhoIsSignedIn()
      do {
        try await saveZone()
      } catch let error as CloudKitError where error.isReset {
        try await deleteZone()
        try await saveZone()
      }
      try await askWhoIsSignedIn()
    }

    private func saveZone() async throws {
      let results = try await request {
        try await database.modifyRecordZones(saving: [CKRecordZone(zoneID: zoneID)], deleting: [])
      }
      if case .failure(let error) = results.saveResults[zoneID] { throw try failure(error) }
    }

    /// Deletes what is left of a zone whose keys are gone.
    func deleteZone() async throws {
      let results = try await request { try await database.modifyRecordZones(saving: [], deleting: [zoneID]) }
      if case .failure(let error) = results.deleteResults[zoneID] {
        let failure = try failure(error)
        guard failure.cloudKitCode == .zoneNotFound else { throw failure }
      }
    }

    /// Returns when there may be something after a cursor: a notification has come, or this mailbox has put something.
    /// - Throws: `CancellationError` soon after the task was cancelled.
    public func wait(after cursor: MailboxCursor?) async throws { try await follower.wait(after: cursor) }
  }

  /// Hears of changes of the account.
  final class AccountObserver: Sendable {
    private let center: NotificationCenter
    private nonisolated(unsafe) let token: any NSObjectProtocol

    init(_ center: NotificationCenter, _ changed: @escaping @Sendable () -> Void) {
      self.center = center
      token = center.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { _ in changed() }
    }

    deinit { center.removeObserver(token) }
  }
#endif
