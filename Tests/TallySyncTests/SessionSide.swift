import Tally
import TallyCRDT
import TallyStore

@testable import TallySync

/// One side, whose performer does everything at once but what it is told to hold back.
final class SessionSide {
  let store: Store
  private let work: StoreWork
  private(set) var session: SyncSession
  private(set) var said: [SyncMessage] = []
  private var held: [SyncSession.Action] = []
  var holdsPreparing = false
  /// A sum that is not that of the content, which the store believes until a repair makes it add up again.
  var wrongSum: Fingerprint?
  /// Why the session wanted new replica ids.
  private(set) var renewals: [String] = []

  init(_ store: Store, isLive: Bool = false, wrongSum: Fingerprint? = nil) throws {
    self.store = store
    self.wrongSum = wrongSum
    session = SyncSession(mode: isLive ? .live : .once)
    work = StoreWork(store)
    guard case .started(_, let parts) = try work.start() else { return }
    try handle(.started(try summary(), parts: parts))
  }

  func handle(_ event: SyncSession.Event) throws {
    for action in try session.handle(event) { try perform(action) }
  }

  /// Writes, and tells the session.
  @discardableResult
  func change(stars: Int) throws -> Dot? {
    let commit = try store.commit { try Note(text: "new", stars: stars).insert($0) }
    try handle(.noticed)
    return commit.dot
  }

  func release() throws {
    holdsPreparing = false
    let actions = held
    held = []
    for action in actions { try perform(action) }
  }

  /// Hands over what was said.
  func speak(to other: SessionSide) throws -> Bool {
    let messages = said
    said = []
    for message in messages { try other.handle(.message(message)) }
    return !messages.isEmpty
  }

  private func summary() throws -> StoreSummary {
    var summary = try store.summary()
    if let wrongSum { summary.fingerprint = wrongSum }
    return summary
  }

  private func perform(_ action: SyncSession.Action) throws {
    switch action {
    case .send(let message): said.append(message)
    case .prepare(let transfer, let base, let parts):
      if holdsPreparing { return held.append(action) }
      try handle(try work.prepare(transfer, since: base, peerHas: parts) { _ in })
    case .read(let transfer, let offset, let count): try handle(try work.read(transfer, offset, count))
    case .discard: work.discardOutgoing()
    case .resume(let count): try work.resume(count)
    case .keep(let bytes): try work.keep(bytes)
    case .apply(let isRepair):
      let applied = try work.apply(isRepair: isRepair) { _ in }
      if isRepair { wrongSum = nil }
      try handle(applied.isRefused ? .refused(try summary()) : .applied(try summary(), target: applied.target))
    case .leaveMark(let mark):
      try work.leaveMark(mark)
      try handle(.marked)
    case .lookForMark(let mark): try handle(.recognized(try work.hasMark(mark)))
    case .renewReplica(let reason):
      renewals.append(reason)
      try store.renewReplica(because: reason)
      try handle(.renewed(try summary()))
    case .look: try handle(.changed(try summary()))
    case .collect(let base):
      let (header, blocks) = try store.blocks(since: base)
      try handle(.collected(header, blocks))
    case .applyLive(let header, let block):
      _ = try store.apply(header, block.map { [$0] } ?? [])
      try handle(.applied(try summary(), target: header.target))
    // It offers none.
    case .listFiles, .beginFile, .keepFile, .finishFile, .dropFile, .openFile, .readFile, .closeFile: break
    case .finish: break
    }
  }

  /// Lets both speak until neither has anything to say.
  static func settle(_ a: SessionSide, _ b: SessionSide) throws {
    while try a.speak(to: b) || b.speak(to: a) {}
  }
}
