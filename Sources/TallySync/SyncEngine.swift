import Foundation
import Logging
import TallyCRDT
import TallyStore
import TallyWire

/// Keeps one store in sync with any number of peers, each at its own pace: a peer that is away, slow or broken holds up no other.
///
/// ```swift
/// let engine = SyncEngine(store)
/// await engine.add(TCPTransport(host: "mac.local", port: 7_400))
/// await engine.resume()
/// ```
///
/// It begins paused; `resume()` and `pause()` are the switch in an app's settings. A failure is tried again after a pause that grows
/// and varies. Nothing is ever deleted because a peer, a network or an account failed.
public actor SyncEngine {
  /// How an engine behaves.
  public struct Settings: Sendable {
    /// Stay connected where the peer wants that too; otherwise sync again after changes and at intervals.
    public var isLive = true
    /// The first pause after a failure; each further one doubles it.
    public var shortestRetry: Duration = .seconds(1)
    /// The longest pause after failures.
    public var longestRetry: Duration = .seconds(300)
    /// How often to sync with a peer that does not stay connected.
    public var interval: Duration = .seconds(60)
    /// How long to wait for a peer that says nothing.
    public var timeout: Duration = .seconds(60)
    /// Where events are logged, with the fields `peer`, `phase`, `error`, `sent`, `received`.
    public var logger = Logger(label: "tally.sync")
    /// Waits, for tests that do not.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Between 0 and 1: what varies a pause.
    package var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }

    /// The usual settings.
    public init() {}
  }

  private let store: Store
  private let settings: Settings
  private var transports: [any Transport] = []
  private var tasks: [String: Task<Void, Never>] = [:]
  private var connections: [String: any SyncConnection] = [:]
  private var followers: [Int: AsyncStream<SyncStatus>.Continuation] = [:]
  private var nextFollower = 0
  /// How sync stands.
  public private(set) var status = SyncStatus()

  /// An engine that is paused and has no peers.
  public init(_ store: Store, _ settings: Settings = Settings()) {
    self.store = store
    self.settings = settings
  }

  // MARK: Peers

  /// Adds a peer; syncs with it unless the engine is paused. A second transport of one name takes the place of the first.
  public func add(_ transport: any Transport) async {
    await remove(transport.name)
    transports.append(transport)
    status.peers.append(PeerStatus(id: transport.name))
    if !status.isPaused { start(transport) }
    publish()
  }

  /// Ends what is under way with a peer and forgets it.
  public func remove(_ name: String) async {
    await stop(name)
    transports.removeAll { $0.name == name }
    status.peers.removeAll { $0.id == name }
    publish()
  }

  /// Syncs over a connection that a peer has opened, until it ends.
  /// - Throws: what `Store.sync(over:_:)` throws.
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

  /// Begins, or begins again; peers that were given up are tried again.
  public func resume() {
    status.isPaused = false
    for transport in transports where tasks[transport.name] == nil { start(transport) }
    publish()
  }

  /// Stops everything and closes all connections. Nothing is lost: the next sync does the rest.
  public func pause() async {
    status.isPaused = true
    for name in Array(tasks.keys) { await stop(name) }
    for (_, connection) in connections { await connection.close() }
    for index in status.peers.indices {
      status.peers[index].phase = .paused
      status.peers[index].fraction = nil
    }
    publish()
  }

  private func start(_ transport: any Transport) {
    tasks[transport.name] = Task { [weak self] in await self?.run(transport) }
  }

  private func stop(_ name: String) async {
    let task = tasks.removeValue(forKey: name)
    task?.cancel()
    await connections.removeValue(forKey: name)?.close()
    await task?.value
  }

  // MARK: One peer

  private func run(_ transport: any Transport) async {
    let name = transport.name
    let changes = store.changes()
    while !Task.isCancelled {
      do {
        update(name) { $0.phase = .connecting }
        let connection = try await transport.open()
        connections[name] = connection
        defer { connections[name] = nil }
        guard !Task.isCancelled else { return await connection.close() }
        let outcome = try await sync(connection, name)
        update(name) { peer in
          peer.phase = .idle
          (peer.fraction, peer.lastError, peer.failures) = (nil, nil, 0)
          peer.lastSuccess = Date()
          peer.replica = outcome.peer
        }
        try await waitForReason(changes)
      } catch {
        guard !Task.isCancelled, !(error is CancellationError) else { return }
        guard await waitAfter(error, name) else { return }
      }
    }
  }

  private func sync(_ connection: any SyncConnection, _ name: String) async throws -> SyncOutcome {
    var syncing = SyncSettings()
    syncing.isLive = settings.isLive
    syncing.timeout = settings.timeout
    let before = status.peers.first { $0.id == name } ?? PeerStatus(id: name)
    let (steps, feed) = AsyncStream.makeStream(of: SyncSession.Progress.self, bufferingPolicy: .bufferingNewest(1))
    syncing.onProgress = { feed.yield($0) }
    let following = Task { for await step in steps { self.note(step, name, before) } }
    defer {
      feed.finish()
      following.cancel()
    }
    let outcome = try await store.sync(over: connection, syncing)
    update(name) { peer in
      peer.bytesSent = before.bytesSent + outcome.bytesSent
      peer.bytesReceived = before.bytesReceived + outcome.bytesReceived
      peer.changesReceived = before.changesReceived + outcome.changes
      if peer.phase != .live { peer.pending = 0 }
    }
    settings.logger.info(
      "synced",
      metadata: ["peer": "\(name)", "sent": "\(outcome.bytesSent)", "received": "\(outcome.bytesReceived)"])
    return outcome
  }

  private func note(_ step: SyncSession.Progress, _ name: String, _ before: PeerStatus) {
    update(name) { peer in
      switch step.phase {
      case .connecting: peer.phase = .connecting
      case .syncing: peer.phase = .syncing
      case .live:
        peer.phase = .live
        (peer.lastError, peer.failures) = (nil, 0)
        if step.pending == 0 { peer.lastSuccess = Date() }
      case .finished: peer.phase = .idle
      }
      peer.fraction = step.sendTotal == 0 ? nil : Double(step.sendAcknowledged) / Double(step.sendTotal)
      peer.bytesSent = before.bytesSent + step.bytesSent
      peer.bytesReceived = before.bytesReceived + step.bytesReceived
      if step.phase != .connecting { peer.pending = step.pending }
    }
  }

  /// Waits for a change of the store or for the interval, whichever is first.
  private func waitForReason(_ changes: AsyncStream<Void>) async throws {
    let (sleep, interval) = (settings.sleep, settings.isLive ? settings.shortestRetry : settings.interval)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in changes { return } }
      group.addTask { try await sleep(interval) }
      _ = try await group.next()
      group.cancelAll()
    }
  }

  /// - Returns: whether to try again.
  private func waitAfter(_ error: any Error, _ name: String) async -> Bool {
    let code = (error as? SyncError)?.code
    let isHopeless = code == .upgradeRequired || code == .wrongZone || code == .unauthorized
    update(name) { peer in
      peer.phase = isHopeless ? .blocked : .retrying
      peer.fraction = nil
      peer.failures += 1
      peer.lastError = "\(error)"
    }
    settings.logger.warning("a sync failed", metadata: ["peer": "\(name)", "error": "\(error)"])
    guard !isHopeless else {
      tasks[name] = nil
      return false
    }
    let failures = status.peers.first { $0.id == name }?.failures ?? 1
    do {
      try await settings.sleep(pause(after: failures))
      return true
    } catch {
      return false
    }
  }

  /// Doubles with each failure up to the limit, then varies between half of it and all of it.
  private func pause(after failures: Int) -> Duration {
    var pause = settings.shortestRetry
    for _ in 1..<max(2, failures) where pause < settings.longestRetry && failures > 1 { pause *= 2 }
    pause = min(pause, settings.longestRetry)
    return pause / 2 + (pause / 2) * settings.jitter()
  }

  // MARK: Status

  /// The status now, and after each change. A slow reader gets the newest only.
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

  private func update(_ name: String, _ change: (inout PeerStatus) -> Void) {
    guard !status.isPaused, let index = status.peers.firstIndex(where: { $0.id == name }) else { return }
    let before = status.peers[index]
    change(&status.peers[index])
    if status.peers[index] != before { publish() }
  }

  private func publish() { for follower in followers.values { follower.yield(status) } }
}
