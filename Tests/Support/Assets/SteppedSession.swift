import TallyCRDT
import TallyStore
import TallySync
import TallyTesting

/// A session of two stores in one thread: a message is delivered at a time, in an order that the random numbers give,
/// and may be changed on its way, or be the last.
struct SteppedSession {
  /// What has been delivered, and whether both sides have ended.
  struct Outcome {
    var messages = 0
    var isFinished = false
    var assets: [AssetTransfers?] = []
  }

  private final class End {
    let work: StoreWork
    var session: SyncSession
    var said: [SyncMessage] = []

    init(_ store: Store) throws {
      work = StoreWork(store)
      session = SyncSession(carriesFiles: work.files != nil)
      try handle(try work.start())
    }

    func handle(_ event: SyncSession.Event) throws {
      for action in try session.handle(event) {
        if let event = try answer(action) { try handle(event) }
      }
    }

    private func answer(_ action: SyncSession.Action) throws -> SyncSession.Event? {
      switch action {
      case .send(let message): said.append(message)
      case .prepare(let transfer, let base, let parts):
        return try work.prepare(transfer, since: base, peerHas: parts) { _ in }
      case .read(let transfer, let offset, let count): return try work.read(transfer, offset, count)
      case .discard: work.discardOutgoing()
      case .resume(let count): try work.resume(count)
      case .keep(let bytes): try work.keep(bytes)
      case .apply(let isRepair):
        let applied = try work.apply(isRepair: isRepair) { _ in }
        return applied.isRefused ? .refused(applied.summary) : .applied(applied.summary, target: applied.target)
      case .look: return .changed(try work.look())
      case .collect(let base):
        let (header, blocks) = try work.collect(since: base)
        return .collected(header, blocks)
      case .applyLive(let header, let block):
        let applied = try work.applyLive(header, block)
        return .applied(applied.summary, target: applied.target)
      case .leaveMark(let mark):
        try work.leaveMark(mark)
        return .marked
      case .lookForMark(let mark): return .recognized(try work.hasMark(mark))
      case .renewReplica(let reason): return .renewed(try work.renewReplica(because: reason))
      case .listFiles: return work.files?.list(from: session.peerReplica)
      case .beginFile(let name): return work.files?.begin(name)
      case .keepFile(let bytes): return work.files?.keep(bytes)
      case .finishFile: return work.files?.finish()
      case .dropFile: work.files?.drop()
      case .openFile(let number, let name): return work.files?.open(number, name)
      case .readFile(let number, let offset, let count): return work.files?.read(number, offset, count)
      case .closeFile: work.files?.close()
      case .finish: break
      }
      return nil
    }

    func end() {
      work.end(isKept: true)
      work.files?.end()
    }
  }

  /// Plays a session until both sides have ended, or `limit` messages were delivered. `change` says what becomes of a
  /// message on its way.
  static func play(
    _ one: Store, _ other: Store, limit: Int, _ random: inout SplitMix64, change: (SyncMessage) -> SyncMessage = { $0 }
  ) throws -> Outcome {
    let ends = try [End(one), End(other)]
    defer { for end in ends { end.end() } }
    var outcome = Outcome()
    while outcome.messages < limit {
      let speakers = [0, 1].filter { !ends[$0].said.isEmpty }
      guard let speaker = speakers.randomElement(using: &random) else { break }
      let message = change(ends[speaker].said.removeFirst())
      // The bytes are what travels.
      try ends[1 - speaker].handle(.message(try SyncMessage(message.encoded())))
      outcome.messages += 1
    }
    outcome.isFinished = ends.allSatisfy { $0.session.isFinished }
    outcome.assets = ends.map { $0.session.progress.assets }
    return outcome
  }
}
