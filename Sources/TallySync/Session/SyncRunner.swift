import TallyCRDT
import TallyStore
import TallyWire

/// Performs what a session decides, on one store and one connection.
///
/// It takes the time and the queue for what blocks from its maker, and starts no task that is not a child of the one
/// that runs it. So a test that gives that task an executor of its own, and lets time pass itself, decides of each step
/// when it happens.
package actor SyncRunner {
  private enum Input: Sendable {
    case event(SyncSession.Event)
    case applied(AppliedDelta)
    case bytes([UInt8])
    /// The peer has closed the connection, and nothing that came before is under way any more.
    case end
    case tick
    case looked(StoreSummary)
    case failed(any Error)
  }

  private let connection: any SyncConnection
  private let settings: SyncSettings
  private var session: SyncSession
  private var outcome = SyncOutcome()
  private var metrics: SyncMetrics
  private let (inputs, feed) = AsyncStream.makeStream(of: Input.self)
  private let (outputs, outbox) = AsyncStream.makeStream(of: [UInt8].self)
  private let work: any SyncWork
  /// Store and spools are used here, one job after the other, off the cooperative threads.
  private let queue: any WorkQueue
  /// Files are used here.
  private let fileQueue: SystemQueue?
  private var pace = FilePace()
  /// A piece of a file that is read once what was said before is on its way.
  private var heldRead: (number: UInt64, offset: UInt64, count: Int)?
  private let time: any SyncTime
  private let teller: SessionTeller
  private let readyToRead = Gate()
  private let drained = Latch()
  private let heardAll = Latch()
  private let ended = Latch()
  /// The most messages that wait to be sent before no further one is read: what a peer asks for and does not take must
  /// not pile up.
  package static let unsentLimit = 256
  private var unsent = 0
  private var owesReading = false
  private var isLooking = false
  private var lastHeard: Duration
  private var lastSaid: Duration
  private var lastTaken: Duration
  private var remembered: (device: SyncDevice?, acknowledged: StateVector)?
  /// What the store was last told that the peer has acknowledged, in memory or in the file.
  private var lastNoted: StateVector?
  private var lastRemembered: Duration?

  package init(
    _ work: any SyncWork, on queue: any WorkQueue, _ time: any SyncTime, _ connection: any SyncConnection,
    _ settings: SyncSettings
  ) {
    (self.work, self.queue, self.time, self.connection, self.settings) = (work, queue, time, connection, settings)
    session = SyncSession(mode: settings.mode, device: settings.device, carriesFiles: work.files != nil)
    fileQueue = work.files == nil ? nil : SystemQueue()
    teller = SessionTeller(time, settings.onProgress)
    let now = time.now
    (lastHeard, lastSaid, lastTaken) = (now, now, now)
    metrics = SyncMetrics(through: "connection", settings.metrics)
  }

  init(_ store: Store, _ connection: any SyncConnection, _ settings: SyncSettings) {
    let work = StoreWork(store, isIntroducing: settings.device != nil)
    self.init(work, on: SystemQueue(), RealTime(), connection, settings)
  }

  package func run() async throws -> SyncOutcome {
    let result = await withTaskCancellationHandler {
      await runToTheEnd()
    } onCancel: {
      work.cancel()
    }
    remember(isLast: true)
    if session.isFinished, result.failure == nil { outcome.newerChanges = await newerChanges() }
    await end(isKept: keepsParts(result))
    metrics.countEnd(result.failure)
    try result.get()
    return outcome
  }

  /// Returns the number of changes that were written since both sides were equal. Nothing waits for it: if the store
  /// cannot tell, there is none.
  private func newerChanges() async -> UInt64? {
    let standing = session.standing
    return await withCheckedContinuation { continuation in
      queue.add { [work] in
        continuation.resume(returning: (try? work.look())?.vector.distance(beyond: standing))
      }
    }
  }

  /// Remembers the peer if it has introduced itself or acknowledged something since it was remembered last; at the end
  /// in any case, since it was there until now.
  private func remember(isLast: Bool = false) {
    let progress = session.progress
    let news = (progress.device, progress.acknowledged)
    guard progress.phase != .connecting, isLast || remembered.map({ $0 != news }) ?? true else { return }
    (remembered, lastNoted, lastRemembered) = (news, progress.acknowledged, time.now)
    let ago = time.now - lastHeard
    perform { [settings] work in
      // A peer that has never written has no id, and holds what it has taken all the same.
      if settings.device != nil, let peer = progress.peer {
        try work.remember(peer, progress.device, acknowledged: progress.acknowledged, heard: ago)
      }
      try work.noteShared(progress.acknowledged)
      return nil
    }
  }

  /// Lets the list of devices say what has arrived by now, without a write for each change.
  private func noteLive() {
    let progress = session.progress
    guard settings.device != nil, let peer = progress.peer, progress.phase == .live else { return }
    // The introduction may come after the first acknowledgement, and nothing for hours after it.
    guard let remembered, remembered.device == progress.device else { return remember() }
    lastNoted = progress.acknowledged
    work.noteLive(peer, acknowledged: progress.acknowledged)
  }

  /// Waits for the job under way, then for the spools to be removed or put away.
  private func end(isKept: Bool) async {
    await withCheckedContinuation { continuation in
      queue.add { [work] in
        work.end(isKept: isKept)
        continuation.resume()
      }
    }
    guard let files = work.files, let fileQueue else { return }
    files.cancel()
    await withCheckedContinuation { continuation in
      fileQueue.add {
        files.end()
        continuation.resume()
      }
    }
  }

  /// A broken connection is no reason to start over. A peer that does not keep to the protocol is, and so is a
  /// repair, whose bytes are of no use to another session.
  private func keepsParts(_ result: Result<Void, any Error>) -> Bool {
    guard !session.isRepairing else { return false }
    guard let error = result.failure else { return true }
    guard let error = error as? SyncError else { return !(error is WireError) }
    return ![.protocolViolation, .limitExceeded, .wrongZone, .upgradeRequired, .notConverged].contains(error.code)
  }

  private func runToTheEnd() async -> Result<Void, any Error> {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.receiveAll() }
      group.addTask { await self.sendAll() }
      group.addTask { await self.tickAll() }
      if settings.isLive {
        group.addTask { await self.followChanges() }
        if let files = work.files {
          group.addTask { for await _ in files.wishing { self.feed.yield(.event(.filesWanted)) } }
          group.addTask { for await _ in files.arrivals { await self.perform { $0.lookForRefused() } } }
        }
      }
      perform { .event(try $0.start()) }
      let result: Result<Void, any Error>
      do {
        try await loop()
        result = .success(())
      } catch {
        sayFailure(error)
        result = .failure(error)
      }
      // What was said last must be on its way before the connection closes; a peer that does not listen is not waited
      // for.
      outbox.finish()
      await drained.wait(atMost: result.failure == nil ? settings.timeout : settings.patience, time)
      await connection.close()
      readyToRead.remove()
      feed.finish()
      ended.open()
      group.cancelAll()
      return result
    }
  }

  private func sayFailure(_ error: any Error) {
    guard !(error is CancellationError) else { return }
    var code = (error as? SyncError)?.code ?? (error is WireError ? .protocolViolation : .peerFailed)
    guard code != .disconnected else { return }
    var text = (error as? SyncError)?.message ?? (error as? WireError)?.message ?? "the store cannot go on"
    if let error = error as? StoreError, error.code == .damaged {
      (code, text) = (.damaged, "what the other side holds is damaged")
    }
    say(.failure(code: code.rawValue, message: text))
  }

  // MARK: The loop

  private func loop() async throws {
    for await input in inputs {
      try Task.checkCancellation()
      switch input {
      case .event(let event): try handle(event)
      case .applied(let applied):
        outcome.changes += applied.result.changes
        outcome.conflicts += applied.result.conflicts
        outcome.isHealed = outcome.isHealed || applied.result.isHealed
        outcome.inDoubt += applied.result.inDoubt
        try handle(
          applied.isRefused
            ? .refused(applied.summary)
            : .applied(applied.summary, target: applied.target, changes: applied.result.changes))
      case .bytes(let bytes):
        (lastHeard, owesReading) = (time.now, true)
        outcome.messageBytes += UInt64(bytes.count)
        try handle(.message(SyncMessage(bytes)))
      case .end:
        guard session.isFinished || session.progress.phase == .live else {
          throw SyncError(.disconnected, "the connection ended before the sync was done")
        }
        return
      case .tick: try beat()
      case .looked(let summary):
        isLooking = false
        if summary != session.own { try handle(.changed(summary)) }
      case .failed(let error): throw error
      }
      if session.isFinished { return }
      readOn()
    }
    throw CancellationError()
  }

  /// Reads the next message once the last is dealt with and the answers are not stuck: a peer that floods waits.
  private func readOn() {
    guard owesReading, session.waiting.isEmpty, unsent < Self.unsentLimit else { return }
    (lastHeard, owesReading) = (time.now, false)
    readyToRead.open()
  }

  private func handle(_ event: SyncSession.Event) throws {
    if case .filesListed = event { pace.endsListing(time.now) }
    for action in try session.handle(event) { perform(action) }
    outcome.bytesSent = session.progress.bytesSent
    outcome.bytesReceived = session.progress.bytesReceived
    outcome.repaired = session.progress.repaired
    outcome.peer = session.peerReplica
    outcome.device = session.progress.device
    outcome.comparison = session.comparison
    outcome.assets = session.progress.assets
    metrics.count(outcome)
    checkFileTime()
    if session.progress.acknowledged != lastNoted || session.progress.device != remembered?.device { noteLive() }
    teller.follow(session.progress)
  }

  private func beat() throws {
    let now = time.now
    // What this side does not read because it is busy, the peer may well have said.
    if !owesReading, now - lastHeard > settings.timeout {
      throw SyncError(.timedOut, "the peer has sent nothing for too long")
    }
    if unsent >= Self.unsentLimit, now - lastTaken > settings.timeout {
      throw SyncError(.timedOut, "the peer sends requests and does not read the answers")
    }
    if now - lastSaid >= settings.heartbeat { say(.ping) }
    lookAfterFiles()
    guard session.progress.phase == .live, !isLooking else { return }
    // Not for each change: an app may die, and what was acknowledged meanwhile is asked for again.
    if lastRemembered.map({ now - $0 >= settings.heartbeat }) ?? true { remember() }
    noteLive()
    isLooking = true
    // Another process that uses Tally has captured its writes itself: nothing tells of them but the vector.
    perform { .looked(try $0.look()) }
  }

  private func say(_ message: SyncMessage) {
    let bytes = message.encoded()
    outcome.messageBytes += UInt64(bytes.count)
    lastSaid = time.now
    unsent += 1
    outbox.yield(bytes)
  }

  // MARK: Performing

  private func perform(_ action: SyncSession.Action) {
    switch action {
    case .send(let message): say(message)
    case .prepare(let transfer, let base, let parts):
      perform { [teller] in .event(try $0.prepare(transfer, since: base, peerHas: parts, tell: teller.follow)) }
    case .read(let transfer, let offset, let count): perform { .event(try $0.read(transfer, offset, count)) }
    case .discard:
      perform { work in
        work.discardOutgoing()
        return nil
      }
    case .resume(let byteCount):
      perform { work in
        try work.resume(byteCount)
        return nil
      }
    case .keep(let bytes):
      perform { work in
        try work.keep(bytes)
        return nil
      }
    case .apply(let isRepair):
      perform { [teller] in .applied(try $0.apply(isRepair: isRepair, tell: teller.follow)) }
    case .look: perform { .event(.changed(try $0.look())) }
    case .collect(let base): collect(since: base)
    case .applyLive(let header, let block): perform { .applied(try $0.applyLive(header, block)) }
    case .leaveMark(let mark):
      perform { work in
        try work.leaveMark(mark)
        return .event(.marked)
      }
    case .lookForMark(let mark): perform { .event(.recognized(try $0.hasMark(mark))) }
    case .renewReplica(let reason): perform { .event(.renewed(try $0.renewReplica(because: reason))) }
    case .listFiles: listFiles()
    case .beginFile(let name): perform { $0.begin(name) }
    case .keepFile(let bytes): perform { $0.keep(bytes) }
    case .finishFile: perform { $0.finish() }
    case .dropFile:
      perform { files in
        files.drop()
        return nil
      }
    case .openFile(let number, let name): perform { $0.open(number, name) }
    case .readFile(let number, let offset, let count):
      heldRead = (number, offset, count)
      readFile()
    case .closeFile:
      perform { files in
        files.close()
        return nil
      }
    case .finish: break
    }
  }

  private func listFiles() {
    guard pace.beginsListing(isLive: session.isLive, time.now) else { return }
    let peer = session.peerReplica
    perform { $0.list(from: peer) }
  }

  /// Reads a piece of a file unless others still wait to be sent: a live change does not wait for a megabyte.
  private func readFile() {
    guard let (number, offset, count) = heldRead, unsent < 4 else { return }
    heldRead = nil
    perform { $0.read(number, offset, count) }
  }

  /// Does for files what time brings: another listing, another attempt, the end of a wait.
  private func lookAfterFiles() {
    guard session.exchangesFiles else { return }
    if pace.owesListing { listFiles() }
    if session.isLive {
      // Also what another process has brought, which tells this one nothing.
      perform { $0.lookForRefused() }
      if pace.retries(after: settings.timeout, time.now) {
        feed.yield(.event(.filesDue))
        perform { $0.lookForWishes() }
      }
    }
    if let number = pace.stalled(session.files.asking, after: settings.timeout, time.now) {
      feed.yield(.event(.fileStalled(number)))
    }
  }

  /// Ends the exchange of files in a session that is not live once it has taken the time that it may.
  private func checkFileTime() {
    guard let limit = settings.fileTime, session.exchangesFiles, !session.isLive else { return }
    if pace.ends(session.files.asking, after: limit, time.now) { feed.yield(.event(.filesOver)) }
  }

  private func perform(_ job: @escaping @Sendable (FileWork) -> SyncSession.Event?) {
    guard let files = work.files, let fileQueue else { return }
    fileQueue.add { [feed] in
      if let event = job(files) { feed.yield(.event(event)) }
    }
  }

  /// Collects what is new. The last change is in memory, and to give it to the queue and wait for it would take longer
  /// than to collect it.
  private func collect(since base: StateVector) {
    do {
      if let (header, blocks) = try work.collectAtOnce(since: base) {
        feed.yield(.event(.collected(header, blocks)))
      } else {
        perform { work in
          let (header, blocks) = try work.collect(since: base)
          return .event(.collected(header, blocks))
        }
      }
    } catch {
      feed.yield(.failed(error))
    }
  }

  private func perform(_ job: @escaping @Sendable (any SyncWork) throws -> Input?) {
    queue.add { [work, feed] in
      do {
        if let input = try job(work) { feed.yield(input) }
      } catch {
        feed.yield(.failed(error))
      }
    }
  }

  // MARK: Tasks

  private func receiveAll() async {
    defer { heardAll.open() }
    do {
      while let bytes = try await connection.receive() {
        guard bytes.count <= SyncLimits.messageBytes else {
          throw SyncError(.limitExceeded, "a message has \(bytes.count) bytes")
        }
        feed.yield(.bytes(bytes))
        await readyToRead.wait()
      }
      // A job that is under way may be all that is still to be done.
      perform { _ in .end }
    } catch {
      perform { _ in .failed(error) }
    }
  }

  private func sendAll() async {
    defer { drained.open() }
    do {
      for await bytes in outputs {
        try await connection.send(bytes)
        (unsent, lastTaken) = (unsent - 1, time.now)
        readFile()
        readOn()
      }
    } catch {
      // A peer that gave up said why before it closed; that is worth more than that the connection is gone.
      if !Task.isCancelled { await heardAll.wait(atMost: settings.patience, time) }
      perform { _ in .failed(error) }
    }
  }

  private func tickAll() async {
    let pause = min(settings.heartbeat, settings.timeout, settings.isLive ? settings.outsideInterval : settings.timeout)
    while await !ended.wait(atMost: pause, time) { feed.yield(.tick) }
  }

  private func followChanges() async {
    for await _ in work.changes { feed.yield(.event(.noticed)) }
  }
}

extension Result {
  var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}
