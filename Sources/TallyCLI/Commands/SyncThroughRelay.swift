import Foundation
import Tally
import TallyCRDT
import TallyRelay
import TallySync

/// `tally sync STORE --via https://HOST/s/ID`.
struct SyncThroughRelay {
  private let address: RelaySpaceAddress
  private let tokenFile: String
  private let isWatching: Bool

  /// Pauses after a failure that passes: the first, and the longest, even if a proxy asks for more.
  private static let pauses: (Duration, Duration) = (.seconds(1), .seconds(60))
  /// The interval at which to look whether another program has written into the store.
  private static let interval: Duration = .seconds(1)

  /// Whether `--via` names a relay.
  static func isRelay(_ place: String) -> Bool { place.hasPrefix("http://") || place.hasPrefix("https://") }

  init(_ place: String, tokenFile: String?, isWatching: Bool) throws {
    guard let address = RelaySpaceAddress(place) else {
      throw Failure(
        .usage, "invalid relay address \(shown(place)); expected https://HOST/s/ID, as tally relay token prints it")
    }
    guard let tokenFile else { throw Failure(.usage, "a relay needs --token-file") }
    (self.address, self.tokenFile, self.isWatching) = (address, tokenFile, isWatching)
  }

  func run(_ path: String, _ waiting: WaitingOptions, _ progress: ProgressOptions) throws -> MailboxReport {
    let mailbox = try RelayMailbox("\(address)", token: try SecretFile.token(in: tokenFile))
    if address.isExposed {
      complain("warning: over plain http anyone on the path can read the token and all data")
    }
    return try OpenStore.writing(path, waiting.timeout) { store in
      let bar = PassProgress(progress)
      defer { bar.end() }
      let report = try Waiting.run {
        isWatching ? try await watch(store, mailbox, bar) : try await Self.pass(store, mailbox, bar)
      }
      bar.end()
      Self.noteLimit(of: mailbox)
      try MailboxLines.print(report)
      return report
    }
  }

  private static func pass(_ store: Store, _ mailbox: RelayMailbox, _ bar: PassProgress) async throws
    -> MailboxReport
  {
    do {
      return try await store.sync(through: mailbox, bar.settings)
    } catch let error as MailboxError {
      throw Failure(.protocolViolated, "\(mailbox.name): \(error.message)")
    }
  }

  /// Says that a proxy makes uploads slower than they need be.
  private static func noteLimit(of mailbox: RelayMailbox) {
    guard let limit = mailbox.bodyLimit else { return }
    complain(
      "note: a proxy before the relay takes at most \(limit) bytes in a request, so uploads are made in smaller pieces; "
        + "its limit for bodies should be 4 MiB (nginx: client_max_body_size 4m)")
  }

  /// Stays in sync until the tool is asked to end. A relay that was reached once is tried again; one that never was is
  /// an error.
  private func watch(_ store: Store, _ mailbox: RelayMailbox, _ bar: PassProgress) async throws -> MailboxReport {
    var total = MailboxReport()
    var (hasSynced, pause) = (false, Self.pauses.0)
    while !Task.isCancelled {
      // What is written during a pass counts as well.
      let changes = store.changes()
      do {
        let vector = try store.vector
        let report = try await Self.pass(store, mailbox, bar)
        bar.end()
        total.add(report)
        (hasSynced, pause) = (true, Self.pauses.0)
        try await Self.waitForReason(store, vector, changes, mailbox, report.cursor)
      } catch is CancellationError {
        break
      } catch let error as RelayError where error.isOfPutting || error.isPassing && hasSynced {
        if Task.isCancelled { break }
        let rest = min(error.retryAfter ?? pause, Self.pauses.1)
        complain("\(error.message); trying again in \(rest.components.seconds) s")
        try? await Task.sleep(for: rest)
        pause = min(pause * 2, Self.pauses.1)
      }
    }
    return total
  }

  /// Waits for a change of the store, or for news. `vector` is what the store covered before the last pass: other
  /// programs' writes show there alone.
  private static func waitForReason(
    _ store: Store, _ vector: StateVector, _ changes: AsyncStream<Void>, _ mailbox: RelayMailbox,
    _ cursor: MailboxCursor?
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in changes { break } }
      group.addTask { try await mailbox.wait(after: cursor) }
      group.addTask {
        repeat {
          try await Task.sleep(for: interval)
          try store.captureChanges()
        } while try store.vector == vector
      }
      defer { group.cancelAll() }
      try await group.next()
    }
    try Task.checkCancellation()
  }
}

extension RelayError {
  /// Whether only putting is refused: what others have put was taken in before, and is the next time.
  fileprivate var isOfPutting: Bool { [.quotaExceeded, .forbidden, .tooLarge].contains(code) }

  /// Whether trying again may help. Something else answers in a relay's place where a network asks people to sign in.
  fileprivate var isPassing: Bool {
    [.unreachable, .busy, .notARelay, .damaged].contains(code) || problem == .storageFailed
  }
}

extension MailboxReport {
  /// Adds what a further pass did. What is pending or refused is that of the last.
  fileprivate mutating func add(_ next: MailboxReport) {
    taken += next.taken
    written += next.written
    removed += next.removed
    changes += next.changes
    conflicts += next.conflicts
    bytesRead += next.bytesRead
    bytesWritten += next.bytesWritten
    repaired = repaired || next.repaired
    (pending, refused, cursor) = (next.pending, next.refused, next.cursor)
  }
}
