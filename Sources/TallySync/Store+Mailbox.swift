import Dispatch
import Synchronization
import TallyStore

extension Store {
  /// Syncs with everybody who uses a mailbox, in one pass: takes in what others have put, then puts what it lacks.
  ///
  /// ```swift
  /// let folder = FolderMailbox(driveURL)
  /// let report = try await store.sync(through: folder)
  /// ```
  ///
  /// Call it when the app starts, after changes, and when the mailbox may have changed; a pass that finds nothing new
  /// costs one listing. The others need not be there at the time. What cannot be read yet is reported as pending and
  /// does not hold up the rest.
  ///
  /// Each file is applied whole or not at all. An error, a cancelled task or a crash leaves store and mailbox sound.
  /// - Throws: `MailboxError` if the mailbox is not there or cannot be written; what the store throws;
  ///   `CancellationError`.
  @discardableResult
  public func sync(through mailbox: any Mailbox, _ settings: MailboxSettings = MailboxSettings()) async throws
    -> MailboxReport
  {
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "tally.mailbox").async {
          continuation.resume(
            with: Result {
              try self.pass(through: mailbox, settings, cancellation.check)
            })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Syncs with everybody who uses a mailbox, and blocks the calling thread meanwhile. See the asynchronous
  /// `sync(through:)`.
  @discardableResult
  public func sync(through mailbox: any Mailbox, _ settings: MailboxSettings = MailboxSettings()) throws
    -> MailboxReport
  {
    try pass(through: mailbox, settings) {}
  }

  private func pass(
    through mailbox: any Mailbox, _ settings: MailboxSettings, _ checkCancellation: @escaping () throws -> Void
  ) throws -> MailboxReport {
    var metrics = SyncMetrics(through: "mailbox", settings.metrics)
    do {
      let report = try pass(through: mailbox, settings, checkCancellation, mayRetry: true)
      metrics.count(SyncOutcome(report))
      metrics.countEnd(nil)
      return report
    } catch {
      metrics.countEnd(error)
      throw error
    }
  }
}

extension Store {
  /// - Parameter mayRetry: whether a store that finds its own damage meanwhile, and gives nothing from then on, begins
  ///   again.
  private func pass(
    through mailbox: any Mailbox, _ settings: MailboxSettings, _ checkCancellation: @escaping () throws -> Void,
    mayRetry: Bool
  ) throws -> MailboxReport {
    let knewOfDamage = try isDamaged
    do {
      var pass = try MailboxPass(self, mailbox, settings, checkCancellation)
      return try pass.run()
    } catch let error as StoreError where error.code == .damaged && mayRetry && !knewOfDamage {
      return try pass(through: mailbox, settings, checkCancellation, mayRetry: false)
    }
  }
}

extension SyncOutcome {
  /// What a pass did, in the words of a session.
  init(_ report: MailboxReport) {
    self.init()
    (changes, conflicts, repaired) = (report.changes, report.conflicts, report.repaired)
    (bytesSent, bytesReceived) = (UInt64(report.bytesWritten), UInt64(report.bytesRead))
  }
}

/// Carries a task's cancellation to a thread that is not the task's.
private final class Cancellation: Sendable {
  private let isCancelled = Atomic<Bool>(false)

  func cancel() { isCancelled.store(true, ordering: .relaxed) }

  @Sendable func check() throws {
    if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
  }
}
