import Synchronization
import TallyFaults
import TallyRelay
import TallyRelayProtocol
import TallySync
import TallyTesting

/// A relay of two instances over one log, whose pushes come late, again or never, and which is set back to older
/// states. What a device makes of a push is the client's own code; only the way between them is simulated.
package final class PushedRelay: WorldRelay {
  /// What a device follows.
  private struct Stream {
    /// Which instance writes it.
    let instance: Int
    /// How far the instance has written.
    var written: RelayCursor?
    /// What is on its way.
    var events: [RelayEvent] = []
    /// What arrived last.
    var last: RelayEvent?
    /// What the client has made of it.
    var pushes: RelayPushes
    /// With what the device waits.
    var cursor: RelayCursor?
  }

  private struct State {
    var streams: [Int: Stream] = [:]
    /// The instances that were not told of what the other one has appended.
    var uninformed: Set<Int> = []
    var opened = 0
  }

  /// Those who wait in earnest, each with a stream of their own.
  private struct Waiters {
    var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    var next = firstWaiter
  }

  /// Numbers of those who wait in earnest are beyond those of devices.
  private static let firstWaiter = 1_000

  /// What was read of an event is not what was written.
  private struct Garbled: Error { let lines: String }

  private static let instances = 2
  private let log: any RelayLog
  private let planted: PlantedFault
  private let state = Mutex(State())
  private let waiters = Mutex(Waiters())

  package init(_ log: any RelayLog, _ planted: PlantedFault = []) { (self.log, self.planted) = (log, planted) }

  package func mailbox(_ device: Int) -> any Mailbox { PushedMailbox(log.mailbox, device, self) }

  // MARK: A device

  package func wait(_ device: Int, after cursor: MailboxCursor?) throws {
    let cursor = RelayCursor(cursor)
    try state.withLock { state in
      if state.streams[device] == nil {
        state.opened += 1
        state.streams[device] = Stream(
          instance: state.opened % Self.instances, written: cursor, pushes: RelayPushes(from: cursor), cursor: cursor)
        try write(device, &state)
      }
      state.streams[device]?.cursor = cursor
    }
  }

  package func forget(_ device: Int) { state.withLock { $0.streams[device] = nil } }

  /// What has come to a device after a cursor.
  func page(_ device: Int, after cursor: RelayCursor) async throws -> RelayPage? {
    try await onOwnThread { self.taken(device, after: cursor) }
  }

  private func taken(_ device: Int, after cursor: RelayCursor) -> RelayPage? {
    state.withLock { state in
      if planted.contains(.pushTakenAnywhere), let page = state.streams[device]?.last?.page { return page }
      return state.streams[device]?.pushes.page(after: cursor)
    }
  }

  func noteAppend(by device: Int) async throws { try await onOwnThread { try self.noteAppend(device) } }

  /// A log that waits for others' threads may not take one of theirs.
  private func onOwnThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    guard log.blocks else { return try body() }
    return try await RawPlay.onThread { Result { try body() } }.get()
  }

  /// A device has put or removed something: its own instance knows, and the other one may hear of it.
  private func noteAppend(_ device: Int) throws {
    try state.withLock { state in
      let own = state.streams[device]?.instance ?? device % Self.instances
      try inform(own, &state)
      for instance in 0..<Self.instances where instance != own { state.uninformed.insert(instance) }
    }
    let isAnybodyWaiting = waiters.withLock { !$0.waiting.isEmpty }
    guard isAnybodyWaiting else { return }
    for waiter in try tellAll() { end(waiter, .success(())) }
  }

  /// Waits as a client does to whom pushes come at once: no world does, the contract of `Mailbox` asks for it.
  func waitForNews(after cursor: MailboxCursor?) async throws {
    let id = waiters.withLock { waiters in
      defer { waiters.next += 1 }
      return waiters.next
    }
    do { try await wait(inEarnest: id, after: cursor) } catch {
      try await onOwnThread { self.forget(id) }
      throw error
    }
    try await onOwnThread { self.forget(id) }
  }

  private func wait(inEarnest id: Int, after cursor: MailboxCursor?) async throws {
    try await onOwnThread { try self.wait(id, after: cursor) }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        waiters.withLock { $0.waiting[id] = continuation }
        if Task.isCancelled { end(id, .failure(CancellationError())) }
        Task {
          do { try await onOwnThread { for waiter in try self.tellAll() { self.end(waiter, .success(())) } } } catch {
            end(id, .failure(error))
          }
        }
      }
    } onCancel: {
      end(id, .failure(CancellationError()))
    }
  }

  private func end(_ waiter: Int, _ result: Result<Void, any Error>) {
    waiters.withLock { $0.waiting.removeValue(forKey: waiter) }?.resume(with: result)
  }

  // MARK: What happens

  package func happen(_ random: inout SplitMix64) throws -> Event {
    try state.withLock { state in
      let following = state.streams.keys.sorted()
      guard !following.isEmpty else { return ("nobody follows the relay", nil) }
      let device = random.pick(following)
      switch random.below(20) {
      case 0..<5:
        let instance = random.below(Self.instances)
        try inform(instance, &state)
        // It may be told of nothing, or of what it knows.
        return ("instance \(instance) of the relay hears of news", nil)
      case 5..<12: return try arrive(device, &state)
      case 12: return try arriveAgain(device, &state)
      case 13:
        state.uninformed = []
        return ("a notification between the relay's instances is lost", nil)
      case 14, 15:
        state.streams[device] = nil
        // The end of a stream is a reason to look.
        return ("the stream of replica \(device) breaks", random.chance(50) ? device : nil)
      case 16:
        log.cutDownloads(after: random.pick([nil, 1, 40, 1_000]))
        return ("downloads change", nil)
      case 17:
        try log.backUp()
        return ("the relay is backed up", nil)
      default:
        let isHot = random.chance(50)
        guard try log.restore() else { return ("the relay has no backup", nil) }
        // A standby that takes over leaves the streams as they are.
        if !isHot { state.streams = [:] }
        return ("the relay is set back to its backup\(isHot ? " while it serves" : "")", nil)
      }
    }
  }

  package func tellAll() throws -> [Int] {
    log.cutDownloads(after: nil)
    return try state.withLock { state in
      // Instances compare what they know with the log from time to time.
      for instance in 0..<Self.instances { try inform(instance, &state) }
      state.uninformed = []
      return try state.streams.keys.sorted().filter { device in
        var isTold = false
        while state.streams[device]?.events.isEmpty == false {
          if try arrive(device, &state).device != nil { isTold = true }
        }
        guard var stream = state.streams[device] else { return isTold }
        defer { state.streams[device] = stream }
        return stream.pushes.tells(stream.cursor) || isTold
      }
    }
  }

  /// An instance looks at the log and writes to whoever follows it.
  private func inform(_ instance: Int, _ state: inout State) throws {
    state.uninformed.remove(instance)
    for device in state.streams.keys.sorted() where state.streams[device]?.instance == instance {
      try write(device, &state)
    }
  }

  private func write(_ device: Int, _ state: inout State) throws {
    guard let stream = state.streams[device], let event = try log.event(after: stream.written) else { return }
    state.streams[device]?.events.append(event)
    state.streams[device]?.written = event.cursor
  }

  /// The next event comes, as the lines that an instance writes.
  private func arrive(_ device: Int, _ state: inout State) throws -> Event {
    guard var stream = state.streams[device], !stream.events.isEmpty else {
      return ("nothing is on its way to replica \(device)", nil)
    }
    let event = stream.events.removeFirst()
    stream.last = event
    state.streams[device] = stream
    return try take(event, device, &state, "comes to")
  }

  private func arriveAgain(_ device: Int, _ state: inout State) throws -> Event {
    guard let event = state.streams[device]?.last else { return ("nothing has come to replica \(device)", nil) }
    return try take(event, device, &state, "comes again to")
  }

  private func take(_ event: RelayEvent, _ device: Int, _ state: inout State, _ words: String) throws -> Event {
    var parser = EventStreamParser()
    for parsed in try parser.parse(Array(event.lines.utf8)) {
      guard let known = RelayEvent(kind: parsed.kind, id: parsed.id, data: parsed.data), known == event else {
        throw Garbled(lines: event.lines)
      }
      state.streams[device]?.pushes.take(known)
    }
    guard var stream = state.streams[device] else { return ("nobody follows the relay", nil) }
    let hasNews = stream.pushes.tells(stream.cursor)
    state.streams[device] = stream
    return (
      "a \(event.kind.rawValue) up to \(event.cursor.position) \(words) replica \(device)", hasNews ? device : nil
    )
  }
}

/// The relay as one device reaches it: it reads what was pushed to it before it asks.
private struct PushedMailbox: Mailbox {
  private let inner: any Mailbox
  private let device: Int
  private let relay: PushedRelay

  init(_ inner: any Mailbox, _ device: Int, _ relay: PushedRelay) {
    (self.inner, self.device, self.relay) = (inner, device, relay)
  }

  var name: String { inner.name }
  var identity: String { inner.identity }
  var kind: MailboxKind { inner.kind }

  func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
    if let cursor = RelayCursor(cursor), let page = try await relay.page(device, after: cursor) {
      return MailboxPage(page)
    }
    return try await inner.changes(after: cursor)
  }

  func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    try await inner.get(name, from: offset)
  }

  func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    let receipt = try await inner.put(upload)
    try await relay.noteAppend(by: device)
    return receipt
  }

  func remove(_ names: [String]) async throws {
    try await inner.remove(names)
    try await relay.noteAppend(by: device)
  }

  func wait(after cursor: MailboxCursor?) async throws { try await relay.waitForNews(after: cursor) }
}
