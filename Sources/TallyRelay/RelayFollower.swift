import TallyRelayProtocol

/// Follows a space for those who wait for news of it: over one stream of events, which stays open from wait to wait,
/// and by long polling where something on the way keeps events back.
actor RelayFollower {
  private struct Waiter {
    let cursor: RelayCursor?
    let continuation: CheckedContinuation<Void, any Error>
  }

  /// A stream has said nothing for too long.
  private struct Silence: Error {}

  private static let silentStreamsBeforePolling = 2
  private static let pollingTime: Duration = .seconds(3_600)

  private let client: RelayClient
  private let space: String
  private var stream: Task<Void, Never>?
  /// Counts streams, so that one that ends late changes nothing.
  private var number = 0
  private var pushes = RelayPushes(from: nil)
  private var waiters: [Int: Waiter] = [:]
  private var nextWaiter = 0
  private var lingering: Task<Void, Never>?
  /// The number of times that something has come over the stream that is open.
  private var words = 0
  private var silentStreams = 0
  private var pollingUntil: Duration?

  init(_ client: RelayClient, _ space: String) { (self.client, self.space) = (client, space) }

  deinit {
    stream?.cancel()
    lingering?.cancel()
  }

  /// Whether a stream is open.
  var isFollowing: Bool { stream != nil }

  /// Returns the page that has come over the stream after a cursor, if it is all that has come.
  func page(after cursor: RelayCursor) -> RelayPage? { pushes.page(after: cursor) }

  /// Returns when there may be something after a cursor.
  /// - Returns: false if the stream is of no use and the caller should ask by itself.
  func wait(after cursor: RelayCursor?) async throws -> Bool {
    guard !polls else { return false }
    lingering?.cancel()
    if stream == nil { follow(from: cursor) }
    if pushes.tells(cursor) { return true }
    let id = nextWaiter
    nextWaiter += 1
    defer { linger() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        waiters[id] = Waiter(cursor: cursor, continuation: continuation)
      }
    } onCancel: {
      Task { await self.cancel(id) }
    }
    return !polls
  }

  private var polls: Bool {
    if client.settings.usesLongPolling { return true }
    guard let end = pollingUntil else { return false }
    if end > client.settings.time() { return true }
    (pollingUntil, silentStreams) = (nil, 0)
    return false
  }

  private func cancel(_ id: Int) { waiters.removeValue(forKey: id)?.continuation.resume(throwing: CancellationError()) }

  // MARK: The stream

  private func follow(from cursor: RelayCursor?) {
    number += 1
    (pushes, words) = (RelayPushes(from: cursor), 0)
    let number = number
    let onWord: @Sendable () async -> Void = { [weak self] in await self?.hear(number) }
    let onEvent: @Sendable (RelayEvent) async -> Void = { [weak self] in await self?.take($0, number) }
    let wordsSince: @Sendable (Int) async -> Int? = { [weak self] in await self?.words(since: $0, number) }
    stream = Task { [weak self, client, space] in
      let result = await Self.run(client, space, cursor, onWord: onWord, onEvent: onEvent, wordsSince: wordsSince)
      await self?.end(number, result)
    }
  }

  /// Reads the stream to its end, or until it is silent for too long.
  private static func run(
    _ client: RelayClient, _ space: String, _ cursor: RelayCursor?, onWord: @escaping @Sendable () async -> Void,
    onEvent: @escaping @Sendable (RelayEvent) async -> Void, wordsSince: @escaping @Sendable (Int) async -> Int?
  ) async -> Result<Void, any Error> {
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await client.events(
            of: space, cursor.map { "?after=\($0)" } ?? "", onWord: onWord, onEvent: onEvent)
        }
        group.addTask {
          var words = 0
          while true {
            try await client.settings.sleep(client.settings.longestSilence)
            guard let next = await wordsSince(words) else { throw Silence() }
            words = next
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
      // One that ends its streams at once would be asked without a pause.
      try await client.settings.sleep(client.settings.pause)
      return .success(())
    } catch {
      return .failure(error)
    }
  }

  private func hear(_ number: Int) {
    guard number == self.number else { return }
    words += 1
    silentStreams = 0
  }

  /// - Returns: how often something has come; nil if that is no more than before.
  private func words(since words: Int, _ number: Int) -> Int? {
    guard number == self.number, self.words > words else { return nil }
    return self.words
  }

  private func take(_ event: RelayEvent, _ number: Int) {
    guard number == self.number else { return }
    pushes.take(event)
    wakeWhoHasNews()
  }

  private func wakeWhoHasNews() {
    let awake = waiters.filter { pushes.hasNews(after: $0.value.cursor) }
    guard let first = awake.values.first else { return }
    pushes.note(first.cursor)
    for (id, waiter) in awake {
      waiters[id] = nil
      waiter.continuation.resume()
    }
  }

  /// The end of a stream is itself a reason to look: something may have come meanwhile.
  private func end(_ number: Int, _ result: Result<Void, any Error>) {
    guard number == self.number else { return }
    stream = nil
    var result = result
    if case .failure(let error) = result {
      if words == 0 { count(error) }
      if silentStreams >= Self.silentStreamsBeforePolling {
        pollingUntil = client.settings.time() + Self.pollingTime
        result = .success(())
      } else if error is Silence {
        result = .failure(RelayError(.unreachable, "the relay has stopped responding"))
      }
    }
    for waiter in waiters.values { waiter.continuation.resume(with: result) }
    waiters = [:]
  }

  /// Counts a stream that has said nothing at all, unless the relay could not be reached or has said why.
  private func count(_ error: any Error) {
    switch error {
    case is Silence: silentStreams += 1
    // A relay that has no events, or something on the way that lets nothing through but what it knows.
    case let error as RelayError where error.code == .notARelay: silentStreams += Self.silentStreamsBeforePolling
    default: break
    }
  }

  // MARK: Nobody waits

  private func linger() {
    guard waiters.isEmpty, stream != nil else { return }
    lingering?.cancel()
    lingering = Task { [weak self, client] in
      // Cancelled: a call waits again.
      guard (try? await client.settings.sleep(client.settings.linger)) != nil else { return }
      await self?.endIdle()
    }
  }

  private func endIdle() {
    guard waiters.isEmpty, !Task.isCancelled else { return }
    number += 1
    stream?.cancel()
    stream = nil
    pushes = RelayPushes(from: nil)
  }
}
