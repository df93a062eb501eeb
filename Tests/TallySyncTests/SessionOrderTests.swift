import Foundation
import Tally
import TallyCRDT
import Testing

@testable import TallySync

/// Sessions whose steps come in an order that a test has chosen.
@Suite(.timeLimit(.minutes(5))) struct SessionOrderTests {
  /// One side, whose performer does everything at once but what it is told to hold back.
  private final class Side {
    let store: Store
    private let work: StoreWork
    private(set) var session: SyncSession
    private(set) var said: [SyncMessage] = []
    private var held: [SyncSession.Action] = []
    var holdsPreparing = false

    init(_ store: Store, isLive: Bool = false) throws {
      self.store = store
      session = SyncSession(isLive: isLive)
      work = StoreWork(store)
      try handle(try work.start())
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
    func speak(to other: Side) throws -> Bool {
      let messages = said
      said = []
      for message in messages { try other.handle(.message(message)) }
      return !messages.isEmpty
    }

    private func perform(_ action: SyncSession.Action) throws {
      switch action {
      case .send(let message): said.append(message)
      case .prepare(let transfer, let base, let parts):
        if holdsPreparing { return held.append(action) }
        try handle(try work.prepare(transfer, since: base, peerHas: parts))
      case .read(let transfer, let offset, let count): try handle(try work.read(transfer, offset, count))
      case .discard: work.discardOutgoing()
      case .resume(let count): try work.resume(count)
      case .keep(let bytes): try work.keep(bytes)
      case .apply(let isRepair):
        let (_, target) = try work.apply(isRepair: isRepair)
        try handle(.applied(try store.summary(), target: target))
      case .renewReplica(let reason):
        try store.renewReplica(because: reason)
        try handle(.renewed(try store.summary()))
      case .look: try handle(.changed(try store.summary()))
      case .collect(let base):
        let (header, blocks) = try store.blocks(since: base)
        try handle(.collected(header, blocks))
      case .applyLive(let header, let block):
        _ = try store.apply(header, block.map { [$0] } ?? [])
        try handle(.applied(try store.summary(), target: header.target))
      case .finish: break
      }
    }
  }

  private func settle(_ a: Side, _ b: Side) throws {
    while try a.speak(to: b) || b.speak(to: a) {}
  }

  /// One side has sent everything and said that it is done before the other, which is slow, has begun to send. That first word is of
  /// where it stood before it knew the other's content, with the same vector: it must not be taken for its last.
  @Test func aRepairThatOneSideIsSlowToSendConverges() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-order-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = StoreOptions()
    options.hasIncarnation = false
    let (path, copy) = (folder.appendingPathComponent("a").path, folder.appendingPathComponent("b").path)
    let original = try Store(path: path, schema: Schema(Note.self), options: options)
    try World.insert(2, "shared", original)
    try original.close()
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let stores = try [path, copy].map { try Store(path: $0, schema: Schema(Note.self), options: options) }
    try World.insert(1, "only a", stores[0])
    try World.insert(1, "only b", stores[1])
    let (a, b) = (try Side(stores[0]), try Side(stores[1]))
    b.holdsPreparing = true
    try settle(a, b)
    #expect(!a.session.isFinished)
    try b.release()
    try settle(a, b)
    #expect(a.session.isFinished && b.session.isFinished)
    try World.expectEqual(stores[0], stores[1])
    #expect(try World.count(stores[0]) == 4)
  }

  /// Two live changes cross. The peer's says nothing of the one that is still on its way to it.
  @Test func aChangeThatCrossesOneOfThePeerIsPendingUntilThePeerConfirmsIt() throws {
    let (a, b) = (try Side(try World.store(notes: 2), isLive: true), try Side(try World.store(), isLive: true))
    try settle(a, b)
    #expect(a.session.progress.phase == .live && b.session.progress.phase == .live)
    let dot = try #require(try a.change(stars: 2))
    try b.change(stars: 3)
    #expect(try b.speak(to: a))
    #expect(a.session.progress.pending == 1)
    #expect(!a.session.progress.acknowledged.covers(dot))
    try settle(a, b)
    for side in [a, b] { #expect(side.session.progress.pending == 0) }
    #expect(a.session.progress.acknowledged.covers(dot))
    try World.expectEqual(a.store, b.store)
  }
}
