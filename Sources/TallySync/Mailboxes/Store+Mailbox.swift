import TallyAssets
import TallyCRDT
import TallyStore

extension Store {
  /// Syncs with everybody who uses a mailbox, in one pass: takes in what others have put, then puts what the mailbox
  /// lacks.
  ///
  /// ```swift
  /// let folder = FolderMailbox(driveURL)
  /// let report = try await store.sync(through: folder)
  /// ```
  ///
  /// Call it when the app starts, after changes, and when the mailbox may have changed; a pass that finds nothing new
  /// costs one listing. An engine does all of that. The other devices need not be online at the time. Files that cannot
  /// be read yet are reported as pending and do not delay the rest.
  ///
  /// The store records what it has read in the transaction that applies it, so no pass reads it a second time, not even
  /// in another process. Each file is applied whole or not at all. An error, a cancelled task or a crash leaves store
  /// and mailbox intact.
  /// - Returns: a report of the files that were taken in and put, and of those that were not, with the reasons.
  /// - Throws: `MailboxError` if the mailbox does not exist or cannot be written; the store's errors;
  ///   `CancellationError`.
  @discardableResult
  public func sync(through mailbox: any Mailbox, _ settings: MailboxSettings = MailboxSettings()) async throws
    -> MailboxReport
  {
    try await withTaskExecutorPreference(QueueExecutor("tally.mailbox")) {
      try await self.countedPass(through: mailbox, settings)
    }
  }

  /// Syncs with everybody who uses a set of files, and blocks the calling thread meanwhile. See the asynchronous
  /// `sync(through:)`, which the compiler chooses in asynchronous code.
  ///
  /// ```swift
  /// let report = try store.sync(through: FolderMailbox(driveURL))
  /// ```
  /// - Returns: a report of the files that were taken in and put, and of those that were not, with the reasons.
  /// - Throws: the errors of the asynchronous version.
  @discardableResult
  public func sync(through mailbox: any FileMailbox, _ settings: MailboxSettings = MailboxSettings()) throws
    -> MailboxReport
  {
    try blockingSync(through: mailbox, settings)
  }

  /// A pass in the calling thread. The mailbox must not wait for anything that another of Swift's threads does.
  @discardableResult
  package func blockingSync(through mailbox: any Mailbox, _ settings: MailboxSettings = MailboxSettings()) throws
    -> MailboxReport
  {
    try CallerExecutor.run { try await self.countedPass(through: mailbox, settings) }
  }

  private func countedPass(through mailbox: any Mailbox, _ settings: MailboxSettings) async throws -> MailboxReport {
    var metrics = SyncMetrics(through: "mailbox", settings.metrics)
    do {
      let report = try await pass(through: mailbox, settings, mayRetry: true)
      metrics.count(SyncOutcome(report))
      metrics.countEnd(nil)
      return report
    } catch {
      metrics.countEnd(error)
      throw error
    }
  }

  /// Makes one pass. If `mayRetry`, a store that finds its own damage meanwhile, and gives nothing from then on, begins
  /// again.
  private func pass(through mailbox: any Mailbox, _ settings: MailboxSettings, mayRetry: Bool) async throws
    -> MailboxReport
  {
    try Task.checkCancellation()
    assets.finishRemovals()
    let knewOfDamage = try isDamaged
    do {
      var pass = try MailboxPass(self, mailbox, settings)
      var report = try await pass.run()
      guard settings.carriesAssets else { return report }
      do {
        var assets = try AssetPass(self, mailbox, lasting: settings.assetTime)
        try await assets?.run(into: &report)
      } catch let error where !(error is CancellationError) {
        // The records have travelled, and the next pass goes on.
        report.assets.failure = "\(error)"
      }
      return report
    } catch let error as StoreError where error.code == .damaged && mayRetry && !knewOfDamage {
      return try await pass(through: mailbox, settings, mayRetry: false)
    }
  }
}

extension Store {
  /// Returns the number of transactions of this store that a mailbox is not known to have: what the store covers,
  /// without what one that has nothing gets from the remembered entries, and without what the last pass has put, which
  /// no device has read there yet. Computed each time, so nothing can be lost from it; reads nothing in the mailbox.
  func pending(through mailbox: any Mailbox, put: StateVector = StateVector()) async throws -> UInt64 {
    try await withTaskExecutorPreference(QueueExecutor("tally.mailbox")) {
      let reach = try MailboxMemory(of: mailbox, in: self).reach(in: mailbox.kind)
      return try self.vector.distance(beyond: reach.merging(put))
    }
  }
}

extension SyncOutcome {
  /// Creates the outcome of a session from the report of a pass.
  init(_ report: MailboxReport) {
    self.init()
    (changes, conflicts, repaired) = (report.changes, report.conflicts, report.repaired)
    (bytesSent, bytesReceived) = (UInt64(report.bytesWritten), UInt64(report.bytesRead))
  }
}
