import Foundation
import Logging
import TallyCRDT
import TallyStore
import TallyWire

/// Keeps one store in sync with any number of peers and mailboxes, each at its own pace: one that is absent, slow or
/// broken does not delay the others.
///
/// ```swift
/// let engine = SyncEngine(store)
/// await engine.add(TCPTransport(host: "mac.local", port: 7_400, security: .secret(secret)))
/// await engine.add(FolderMailbox(driveURL), named: "drive")
/// await engine.resume()
/// ```
///
/// An engine begins paused; ``resume()`` and ``pause()`` implement the switch in an app's settings. After a failure the
/// engine retries, with pauses that grow and vary. Nothing is ever deleted because a peer, a network or an account
/// failed. ``status`` and ``SyncMonitor`` report the state of sync. No call of an engine throws because a peer failed,
/// except ``accept(_:from:)``.
public actor SyncEngine {
  let store: Store
  let settings: Settings
  private(set) var peers: [SyncPeer] = []
  private var tasks: [String: Task<Void, Never>] = [:]
  /// Those that were stopped and may not have ended yet.
  private var ending: [String: Task<Void, Never>] = [:]
  private var connections: [String: any SyncConnection] = [:]
  /// Ends the wait of each peer that waits.
  private(set) var wakers: [String: AsyncStream<Void>.Continuation] = [:]
  /// The number of rounds with each peer that have ended, well or not.
  private(set) var rounds: [String: Int] = [:]
  /// What each peer or mailbox is known to have, as of its last session or pass.
  var acknowledged: [String: StateVector] = [:]
  /// Looks for what other programs write.
  var looking: Task<Void, Never>?
  /// Counts what waits for peers that are away.
  var counting: Task<Void, Never>?
  /// Follows what the app adds to the files of assets, and asks for.
  var watching: Task<Void, Never>?
  private var followers: [Int: AsyncStream<SyncStatus>.Continuation] = [:]
  private var nextFollower = 0
  /// The current state of sync. ``statusUpdates()`` returns it again after each change.
  public private(set) var status = SyncStatus()

  /// Creates an engine that is paused and has no peers. Create one for each store, and keep it for as long as the store
  /// is open.
  ///
  /// ```swift
  /// var settings = SyncEngine.Settings()
  /// settings.interval = .seconds(15)
  /// let engine = SyncEngine(store, settings)
  /// ```
  public init(_ store: Store, _ settings: Settings = Settings()) {
    self.store = store
    self.settings = settings
  }

  // MARK: Peers

  /// Adds a peer that is reached through a transport, and syncs with it unless the engine is paused.
  ///
  /// ```swift
  /// await engine.add(ProcessTransport(command: "ssh home.example tally serve scores.tally --stdio", name: "home"))
  /// ```
  ///
  /// The transport's name is the peer's name. A second transport of the same name replaces the first one, once any sync
  /// under way over the first has ended. Errors do not remove the peer: they are in its status, and the engine retries.
  public func add(_ transport: any Transport) async { await add(.transport(transport)) }

  /// Adds a mailbox, and passes through it unless the engine is paused: now, after changes of the store, when the
  /// mailbox announces new entries, and at intervals.
  ///
  /// ```swift
  /// await engine.add(FolderMailbox(driveURL), named: "drive")
  /// ```
  ///
  /// A folder cannot announce new entries, so the engine checks it every `Settings.interval`. A second mailbox of the
  /// same name replaces the first one.
  public func add(_ mailbox: any Mailbox, named name: String) async { await add(.mailbox(mailbox, name)) }

  private func add(_ peer: SyncPeer) async {
    repeat { await remove(peer.name) } while peers.contains { $0.name == peer.name }
    peers.append(peer)
    status.peers.append(PeerStatus(id: peer.name))
    if !status.isPaused { start(peer) }
    publish()
  }

  /// Ends the sync with a peer or mailbox and removes it from the engine's list. Returns when the sync has ended.
  ///
  /// ```swift
  /// await engine.remove("drive")
  /// ```
  ///
  /// Data that came from the peer stays, and so do the entries of a mailbox. An interrupted transfer continues where it
  /// broke off if the peer is added again. To forget what the store knows of a device, call `Store.forget(device:)`. An
  /// unknown name is ignored.
  public func remove(_ name: String) async {
    peers.removeAll { $0.name == name }
    status.peers.removeAll { $0.id == name }
    acknowledged[name] = nil
    await stop([name])
    publish()
  }

  /// Syncs over a connection that a peer has opened until the sync ends, and then closes the connection.
  ///
  /// ```swift
  /// try await engine.accept(StreamConnection.standardStreams(), from: "laptop")
  /// ```
  ///
  /// The peer is listed in the status for as long as it is connected, under this name, or with a number if the name is
  /// taken. While the engine is paused, connections are closed at once.
  /// - Returns: the outcome of the sync, once the peer has closed the connection.
  /// - Throws: the errors of `Store.sync(over:_:)`; `SyncError` of code `disconnected` if the engine is paused.
  @discardableResult
  public func accept(_ connection: any SyncConnection, from name: String) async throws -> SyncOutcome {
    guard !status.isPaused else {
      await connection.close()
      throw SyncError(.disconnected, "sync is paused")
    }
    let id = unused(name)
    status.peers.append(PeerStatus(id: id))
    connections[id] = connection
    defer {
      connections[id] = nil
      status.peers.removeAll { $0.id == id }
      publish()
    }
    return try await sync(connection, id)
  }

  private func unused(_ name: String) -> String {
    guard status.peers.contains(where: { $0.id == name }) else { return name }
    let number = (2...).first { number in !status.peers.contains { $0.id == "\(name) (\(number))" } } ?? 2
    return "\(name) (\(number))"
  }

  // MARK: The switch

  /// Begins to sync with all peers and mailboxes. Returns at once: the status shows the result.
  ///
  /// A running engine continues, and retries peers that it had given up (``PeerStatus/Phase/blocked``).
  public func resume() {
    status.isPaused = false
    lookOutside()
    countPending()
    watchAssets()
    for peer in peers where tasks[peer.name] == nil { start(peer) }
    publish()
  }

  /// Stops all syncs and closes all connections. Returns when all of them have ended.
  ///
  /// Nothing is lost: each delta was applied whole or not at all, and the next sync does the rest. The store keeps
  /// working, and new writes wait for the next sync. Pause the engine before you close the store.
  public func pause() async {
    status.isPaused = true
    looking?.cancel()
    counting?.cancel()
    watching?.cancel()
    (looking, counting, watching) = (nil, nil, nil)
    await stop(Array(tasks.keys))
    for (_, connection) in connections { await connection.close() }
    // The app may have used the switch again meanwhile.
    guard status.isPaused else { return }
    for index in status.peers.indices {
      status.peers[index].phase = .paused
      (status.peers[index].fraction, status.peers[index].transfer) = (nil, nil)
      status.peers[index].nextRetry = nil
    }
    publish()
  }

  /// Ends all waits, and tries peers again that were given up.
  func wakeAll() {
    guard !status.isPaused else { return }
    for waker in wakers.values { waker.yield() }
    for peer in peers where tasks[peer.name] == nil { start(peer) }
  }

  /// Returns a stream that signals when the app wants a sync with a peer now.
  private func wake(_ name: String) -> AsyncStream<Void> {
    let (stream, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    wakers[name] = feed
    return stream
  }

  private func start(_ peer: SyncPeer) {
    let before = ending.removeValue(forKey: peer.name)
    tasks[peer.name] = Task { [weak self] in
      await before?.value
      await self?.run(peer)
    }
  }

  /// Everything is asked to end before anything is waited for: while this waits, others may start peers again.
  private func stop(_ names: [String]) async {
    let stopping = names.compactMap { name in tasks.removeValue(forKey: name).map { (name, $0) } }
    for (name, task) in stopping {
      ending[name] = task
      task.cancel()
    }
    for name in names { await connections.removeValue(forKey: name)?.close() }
    for (name, task) in stopping {
      await task.value
      if ending[name] == task { ending[name] = nil }
    }
  }

  // MARK: One peer

  private func run(_ peer: SyncPeer) async {
    let name = peer.name
    var news = News()
    while !Task.isCancelled {
      // What is written during a sync counts as well. A stream serves once: it ends with the task that waited for it.
      let changes = store.changes()
      let start = ContinuousClock.now
      let wake = wake(name)
      do {
        switch peer {
        case .transport(let transport): try await sync(transport)
        case .mailbox(let mailbox, let name): news.follow(try await sync(mailbox, name))
        }
        rounds[name, default: 0] += 1
        update(name) { peer in
          peer.phase = .idle
          (peer.fraction, peer.transfer) = (nil, nil)
          (peer.lastError, peer.errorCode, peer.failures) = (nil, nil, 0)
          peer.lastSuccess = Date()
        }
        let reason = try await waitForReason(changes, wake, peer, news)
        news.isAwaited = reason == .news
        if reason == .change, !peer.isConnected { try await gather(since: start) }
      } catch {
        guard !Task.isCancelled, !(error is CancellationError) else { return }
        guard await waitAfter(error, wake, peer) else { return }
      }
    }
  }

  private func sync(_ transport: any Transport) async throws {
    let name = transport.name
    update(name) { $0.phase = .connecting }
    let connection = try await transport.open()
    guard !Task.isCancelled else {
      await connection.close()
      throw CancellationError()
    }
    connections[name] = connection
    defer { connections[name] = nil }
    let outcome = try await sync(connection, name)
    update(name) { $0.replica = outcome.peer }
  }

  /// - Returns: how far the mailbox was read.
  private func sync(_ mailbox: any Mailbox, _ name: String) async throws -> MailboxCursor? {
    update(name) { $0.phase = .syncing }
    var passing = MailboxSettings()
    (passing.metrics, passing.remembersDevices) = (settings.metrics, settings.device != nil)
    let before = status.peers.first { $0.id == name } ?? PeerStatus(id: name)
    let vector = try store.vector
    let report = try await following(MailboxProgress.self) { feed in
      passing.onProgress = feed
      return try await store.sync(through: mailbox, passing)
    } note: {
      $0.note($1, name, before)
    }
    update(name) { peer in
      peer.bytesSent = before.bytesSent + UInt64(report.bytesWritten)
      peer.bytesReceived = before.bytesReceived + UInt64(report.bytesRead)
      peer.changesReceived = before.changesReceived + report.changes
      (peer.pending, peer.waitingFiles) = (0, report.pending.count + report.refused.count)
      peer.missing = report.isComplete ? 0 : nil
      (peer.assets, peer.keepsAssets) = (report.assets, mailbox.carriesAssets)
      peer.note(pollingErrorOf: mailbox)
    }
    if report.assets.isUnfinished { wakers[name]?.yield() }
    await countAssets()
    acknowledged[name] = vector
    log(name, UInt64(report.bytesWritten), UInt64(report.bytesRead))
    return report.cursor
  }

  private func sync(_ connection: any SyncConnection, _ name: String) async throws -> SyncOutcome {
    var syncing = SyncSettings()
    (syncing.isLive, syncing.device) = (settings.isLive, settings.device)
    syncing.timeout = settings.timeout
    syncing.metrics = settings.metrics
    syncing.fileTime = Self.fileTime
    let before = status.peers.first { $0.id == name } ?? PeerStatus(id: name)
    let vector = try store.vector
    let outcome = try await following(SyncSession.Progress.self) { feed in
      syncing.onProgress = feed
      return try await store.sync(over: connection, syncing)
    } note: {
      $0.note($1, name, before)
    }
    update(name) { peer in
      peer.bytesSent = before.bytesSent + outcome.bytesSent
      peer.bytesReceived = before.bytesReceived + outcome.bytesReceived
      peer.changesReceived = before.changesReceived + outcome.changes
      if peer.phase != .live { (peer.pending, peer.missing) = (0, 0) }
      peer.hasFilesUnderWay = false
    }
    if outcome.assets?.isUnfinished == true { wakers[name]?.yield() }
    // Two that are equal at once tell each other no vectors.
    acknowledged[name, default: StateVector()].merge(vector)
    log(name, outcome.bytesSent, outcome.bytesReceived)
    return outcome
  }

  private func note(_ step: MailboxProgress, _ name: String, _ before: PeerStatus) {
    update(name) { peer in
      (peer.fraction, peer.transfer) = (step.fraction, step.transfer)
      peer.bytesSent = before.bytesSent + UInt64(step.bytesWritten)
      peer.bytesReceived = before.bytesReceived + UInt64(step.bytesRead)
      peer.changesReceived = before.changesReceived + step.changes
    }
  }

  private func log(_ name: String, _ sent: UInt64, _ received: UInt64) {
    // A pass that finds nothing new is the rule.
    settings.logger.log(
      level: sent == 0 && received == 0 ? .debug : .info, "synced",
      metadata: ["peer": "\(name)", "sent": "\(sent)", "received": "\(received)"])
  }

  private func note(_ step: SyncSession.Progress, _ name: String, _ before: PeerStatus) {
    update(name) { peer in
      (peer.assets, peer.hasFilesUnderWay) = (step.assets ?? peer.assets, step.hasFilesUnderWay)
      switch step.phase {
      case .connecting: peer.phase = .connecting
      case .syncing: peer.phase = .syncing
      case .live:
        peer.phase = .live
        (peer.lastError, peer.errorCode, peer.failures) = (nil, nil, 0)
        if step.pending == 0 { peer.lastSuccess = Date() }
      case .finished: peer.phase = .idle
      }
      (peer.fraction, peer.transfer) = (step.fraction, step.transfer)
      peer.bytesSent = before.bytesSent + step.bytesSent
      peer.bytesReceived = before.bytesReceived + step.bytesReceived
      peer.changesReceived = before.changesReceived + step.changesReceived
      peer.replica = step.peer ?? peer.replica
      peer.device = step.device ?? peer.device
      peer.protocolVersions = step.peerVersions ?? peer.protocolVersions
      if step.phase != .connecting { (peer.pending, peer.missing) = (step.pending, step.missing) }
    }
    if step.phase != .connecting { acknowledged[name] = step.acknowledged }
  }

  /// Why to sync again.
  private enum Reason { case change, interval, news, wish }

  /// The answer of a mailbox to the question for news, and whether there were any.
  private struct News {
    var cursor: MailboxCursor?
    /// Whether the mailbox said that there was something new.
    var isAwaited = false
    /// Whether it has said so for nothing. Then it is asked again after a pause, so that one that does so all the time
    /// costs little.
    var isEmpty = false

    mutating func follow(_ cursor: MailboxCursor?) {
      isEmpty = isAwaited && cursor == self.cursor
      self.cursor = cursor
    }
  }

  /// Waits for a change of the store, for news of a mailbox, for a call that wants it now, or for the interval,
  /// whichever is first.
  private func waitForReason(
    _ changes: AsyncStream<Void>, _ wake: AsyncStream<Void>, _ peer: SyncPeer, _ news: News
  ) async throws -> Reason {
    // A live session that has ended was meant to go on.
    let isLive = settings.isLive && peer.isConnected
    let (sleep, interval) = (settings.sleep, isLive ? settings.shortestRetry : settings.interval)
    let pause = news.isEmpty ? settings.shortestRetry : nil
    return try await withThrowingTaskGroup(of: Reason.self) { group in
      group.addTask {
        for await _ in changes { break }
        return .change
      }
      group.addTask {
        for await _ in wake { break }
        return .wish
      }
      group.addTask {
        try await sleep(interval)
        return .interval
      }
      if case .mailbox(let mailbox, _) = peer {
        group.addTask {
          if let pause { try await sleep(pause) }
          try await mailbox.wait(after: news.cursor)
          return .news
        }
      }
      defer { group.cancelAll() }
      return try await group.next() ?? .interval
    }
  }

  /// Waits until a while after the last pass has passed: what is written meanwhile goes with the same one.
  private func gather(since start: ContinuousClock.Instant) async throws {
    // A pause ends the wait for changes, too.
    try Task.checkCancellation()
    let rest = settings.debounceInterval - (ContinuousClock.now - start)
    if rest > .zero { try await settings.sleep(rest) }
  }

  /// - Returns: whether to try again.
  private func waitAfter(_ error: any Error, _ wake: AsyncStream<Void>, _ peer: SyncPeer) async -> Bool {
    let name = peer.name
    let failure = error as? any TallyError
    // What the store itself refuses, such as a row that cannot be captured, may pass with the app's next write.
    let isPermanent =
      (error as? StoreError).map { [.closed, .readOnly].contains($0.code) } ?? failure?.isPermanent ?? false
    let pending = await pending(peer)
    rounds[name, default: 0] += 1
    let failures = (status.peers.first { $0.id == name }?.failures ?? 0) + 1
    let pause = max(settings.pause(after: failures), failure?.retryAfter ?? .zero)
    if case .mailbox(let mailbox, _) = peer { update(name) { $0.note(pollingErrorOf: mailbox) } }
    // Before the status says so: the app may answer that at once by wanting a sync.
    if isPermanent { tasks[name] = nil }
    update(name) { peer in
      if let pending { peer.pending = pending }
      peer.phase = isPermanent ? .blocked : .retrying
      (peer.fraction, peer.transfer) = (nil, nil)
      peer.failures = failures
      peer.nextRetry = isPermanent ? nil : Date() + pause / .seconds(1)
      peer.lastError = "\(error)"
      peer.errorCode = failure?.code.rawValue
    }
    settings.logger.warning("a sync failed", metadata: ["peer": "\(name)", "error": "\(error)"])
    // Something may have been written while that was found out.
    await count(peer)
    guard !isPermanent else { return false }
    do {
      try await sleep(pause, orUntil: wake)
      SyncMetrics(through: peer.isConnected ? "connection" : "mailbox", settings.metrics).countRetry()
      return true
    } catch {
      return false
    }
  }

  private func sleep(_ pause: Duration, orUntil wake: AsyncStream<Void>) async throws {
    try await withThrowingTaskGroup(of: Void.self) { [settings] group in
      group.addTask { try await settings.sleep(pause) }
      group.addTask { for await _ in wake { break } }
      defer { group.cancelAll() }
      try await group.next()
      try Task.checkCancellation()
    }
  }

  // MARK: Status

  /// Returns the current status, and the new one after each change.
  ///
  /// ```swift
  /// for await status in await engine.statusUpdates() {
  ///   print(status.isPaused ? "paused" : status.isUpToDate ? "up to date" : "not up to date")
  /// }
  /// ```
  ///
  /// A slow reader gets only the newest status. Each call returns a sequence of its own, which ends with the task that
  /// iterates over it.
  public func statusUpdates() -> AsyncStream<SyncStatus> {
    let (stream, continuation) = AsyncStream.makeStream(of: SyncStatus.self, bufferingPolicy: .bufferingNewest(1))
    let id = nextFollower
    nextFollower += 1
    followers[id] = continuation
    continuation.onTermination = { [weak self] _ in Task { await self?.forget(id) } }
    continuation.yield(status)
    return stream
  }

  private func forget(_ follower: Int) { followers[follower] = nil }

  func setUnsentAssets(_ count: Int?) {
    guard status.unsentAssets != count else { return }
    status.unsentAssets = count
    publish()
  }

  func update(_ name: String, _ change: (inout PeerStatus) -> Void) {
    guard !status.isPaused, let index = status.peers.firstIndex(where: { $0.id == name }) else { return }
    let before = status.peers[index]
    change(&status.peers[index])
    if status.peers[index].phase != .retrying { status.peers[index].nextRetry = nil }
    if status.peers[index] != before { publish() }
  }

  private func publish() { for follower in followers.values { follower.yield(status) } }
}
