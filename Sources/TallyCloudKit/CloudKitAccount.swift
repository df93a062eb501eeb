#if canImport(CloudKit)
  import CloudKit
  import Foundation
  import Synchronization
  import TallyStore
  import TallySync

  /// The person who is signed in to iCloud on this device, for an app whose data follows the account.
  ///
  /// ```swift
  /// let iCloud = CloudKitAccount(CKContainer.default())
  /// for await state in iCloud.states() {
  ///   let store = try await container.follow(state, localData: .move)
  ///   print(try store.vector.isEmpty, iCloud.mailbox(for: container.current)?.name ?? "no iCloud")
  /// }
  /// ```
  ///
  /// `Container.follow` shows the right store for each state, and ``mailbox(for:space:)`` gives the mailbox of a
  /// person. Keep one for the life of the app.
  public final class CloudKitAccount: Sendable {
    /// What iCloud says of the account on this device.
    public enum State: Sendable, Hashable {
      /// A person, by the record name that this app's container has for them. It is the same on all of their devices.
      case person(String)
      /// No person, or iCloud is switched off for the app.
      case noAccount
      /// A profile or parental controls keep the app from iCloud.
      case restricted
      /// A person who has to confirm the account in Settings.
      case temporarilyUnavailable
      /// It could not be found out: without a network, after a first launch.
      case unknown
    }

    private let container: CKContainer
    private let settings: CloudKitMailbox.Settings
    private let mailboxes = Mutex<[String: CloudKitMailbox]>([:])
    private let isRegistered = Atomic<Bool>(false)
    private let followers: Followers
    private let observer: AccountObserver

    /// Follows who is signed in. Nothing is asked until it is used.
    ///
    /// ```swift
    /// let iCloud = CloudKitAccount(CKContainer(identifier: "iCloud.com.example.scores"))
    /// ```
    /// - Parameters:
    ///   - container: the app's container.
    ///   - settings: those of the mailboxes that it gives.
    public init(_ container: CKContainer, _ settings: CloudKitMailbox.Settings = CloudKitMailbox.Settings()) {
      (self.container, self.settings) = (container, settings)
      let followers = Followers()
      self.followers = followers
      observer = AccountObserver(settings.center) { followers.tell() }
    }

    /// Those who follow the account.
    private final class Followers: Sendable {
      private struct State {
        var next = 0
        var all: [Int: AsyncStream<Void>.Continuation] = [:]
      }
      private let state = Mutex(State())

      func tell() { for follower in state.withLock({ Array($0.all.values) }) { follower.yield() } }

      func follow() -> AsyncStream<Void> {
        let (stream, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
          state.next += 1
          state.all[state.next] = feed
          return state.next
        }
        feed.onTermination = { [weak self] _ in self?.state.withLock { $0.all[id] = nil } }
        feed.yield()
        return stream
      }
    }

    /// Tells when to ask who is signed in: at once, at each change of the account, and when ``askAgain(after:)`` says
    /// so.
    func changes() -> AsyncStream<Void> { followers.follow() }

    /// Has everybody who follows the account ask again where it could not be found out: nothing is posted when the
    /// network is back.
    /// - Parameter times: how often it has been unknown in a row; the pause doubles with each, up to five minutes.
    func askAgain(after times: Int) {
      Task { [weak self] in
        guard (try? await Task.sleep(for: .seconds(min(1 << min(times - 1, 9), 300)))) != nil else { return }
        self?.followers.tell()
      }
    }

    /// Asks who is signed in now.
    ///
    /// ```swift
    /// let isSignedIn = await iCloud.state() != .noAccount
    /// ```
    ///
    /// The device answers itself, but for a person's record name after a first launch. An error is ``State/unknown``:
    /// nothing follows from it.
    public func state() async -> State {
      do {
        switch try await container.accountStatus() {
        case .available: return .person(try await container.userRecordID().recordName)
        case .noAccount: return .noAccount
        case .restricted: return .restricted
        case .temporarilyUnavailable: return .temporarilyUnavailable
        default: return .unknown
        }
      } catch {
        return .unknown
      }
    }

    /// Who is signed in: now, and after each change.
    ///
    /// ```swift
    /// for await state in iCloud.states() { print(state) }
    /// ```
    ///
    /// A state that is as before is not given again. Each call makes a sequence of its own, which ends with the task
    /// that iterates.
    public func states() -> AsyncStream<State> {
      let changes = followers.follow()
      let (stream, feed) = AsyncStream.makeStream(of: State.self)
      let task = Task {
        var (last, unknown): (State?, Int) = (nil, 0)
        for await _ in changes {
          let state = await self.state()
          unknown = state == .unknown ? unknown + 1 : 0
          if unknown > 0 { self.askAgain(after: unknown) }
          if state != last { feed.yield(state) }
          last = state
        }
        feed.finish()
      }
      feed.onTermination = { _ in task.cancel() }
      return stream
    }

    /// The mailbox of an account, always the same object; nil for that of the device.
    ///
    /// ```swift
    /// if let mailbox = iCloud.mailbox(for: container.current) { await engine.add(mailbox, named: "iCloud") }
    /// ```
    ///
    /// It refuses to work while another person is signed in. Costs nothing.
    /// - Parameters:
    ///   - account: `Container.current`, whose id is the person's record name.
    ///   - space: see ``CloudKitMailbox``.
    /// - Returns: the person's mailbox.
    public func mailbox(for account: Account, space: String = "main") -> CloudKitMailbox? {
      guard case .person(let id) = account else { return nil }
      return mailboxes.withLock { mailboxes in
        if let known = mailboxes["\(space) \(id)"] { return known }
        let mailbox = CloudKitMailbox(container, account: id, space: space, settings)
        if isRegistered.load(ordering: .relaxed) { mailbox.didRegisterForNotifications() }
        mailboxes["\(space) \(id)"] = mailbox
        return mailbox
      }
    }

    /// Says that the app is registered for remote notifications: ``CloudKitMailbox/didRegisterForNotifications()``, of
    /// each mailbox that it has given and will give.
    ///
    /// ```swift
    /// func registered(deviceToken: Data) { iCloud.didRegisterForNotifications() }
    /// ```
    public func didRegisterForNotifications() {
      isRegistered.store(true, ordering: .relaxed)
      for mailbox in mailboxes.withLock({ Array($0.values) }) { mailbox.didRegisterForNotifications() }
    }

    /// Lets the next pass of each mailbox ask iCloud, and looks whether another person is signed in: when the app comes
    /// to the front, or a person pulls to refresh.
    ///
    /// ```swift
    /// iCloud.lookAgain()
    /// await engine.syncNow()
    /// ```
    ///
    /// Costs one request of the next pass of each.
    public func lookAgain() {
      for mailbox in mailboxes.withLock({ Array($0.values) }) { mailbox.lookAgain() }
      followers.tell()
    }

    /// Takes a push notification for the mailboxes that it gave: ``CloudKitMailbox/handle(_:)``.
    ///
    /// ```swift
    /// func received(_ userInfo: [AnyHashable: Any]) async {
    ///   if iCloud.handle(userInfo) { await engine.syncOnce(within: .seconds(25)) }
    /// }
    /// ```
    /// - Returns: whether it was for one of them, or for one that it has not given yet: a notification may start the
    ///   app, and come before it is known who is signed in.
    @discardableResult
    public func handle(_ userInfo: [AnyHashable: Any]) -> Bool {
      let mailboxes = mailboxes.withLock { Array($0.values) }
      let isHeard = mailboxes.reduce(false) { $1.handle(userInfo) || $0 }
      // It may have started the app, and come before who is signed in was known.
      guard !isHeard, let id = CKNotification(fromRemoteNotificationDictionary: userInfo)?.subscriptionID else {
        return isHeard
      }
      return id.hasPrefix("Tally-") && id.hasSuffix("-changes")
    }
  }

  extension Container {
    /// Shows the store of who is signed in to iCloud. Pause the engine of the store that is shown before.
    ///
    /// ```swift
    /// await engine.pause()
    /// let store = try await container.follow(await iCloud.state(), localData: .move)
    /// ```
    ///
    /// | iCloud says | shown |
    /// | --- | --- |
    /// | a person, and nobody's data was shown | theirs, with the local data as `localData` says |
    /// | the person whose data is shown | the same store |
    /// | another person | theirs; nothing goes from one to the other, whatever `localData` says |
    /// | nobody | the device's own; the person's stays in its file, and is there when they come back |
    /// | restricted, unavailable or unknown | what was shown: nothing follows from not knowing |
    ///
    /// It deletes nothing. Cost: that of `Container.signIn`.
    /// - Parameters:
    ///   - state: what ``CloudKitAccount`` says.
    ///   - localData: what becomes of what was made while nobody was signed in.
    /// - Returns: the store to show.
    /// - Throws: what `signIn` and `signOut` throw; the account is then as before.
    public func follow(_ state: CloudKitAccount.State, localData: LocalData) async throws -> Store {
      switch (state, current) {
      case (.person(let id), .person(let shown)) where id == shown: return try store()
      case (.person(let id), .person): return try await signIn(id, localData: .keepApart)
      case (.person(let id), .local): return try await signIn(id, localData: localData)
      case (.noAccount, .person): return try await signOut()
      case (.noAccount, .local), (.restricted, _), (.temporarilyUnavailable, _), (.unknown, _): return try store()
      }
    }
  }
#endif
