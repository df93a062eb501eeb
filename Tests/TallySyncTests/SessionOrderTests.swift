import Foundation
import Tally
import TallyCRDT
import Testing

@testable import TallySync

/// Sessions whose steps come in an order that a test has chosen.
@Suite(.timeLimit(.minutes(5))) struct SessionOrderTests {
  /// One side has sent everything and said that it is done before the other, which is slow, has begun to send. That
  /// first word is of where it stood before it knew the other's content, with the same vector: it must not be taken for
  /// its last.
  @Test func aRepairThatOneSideIsSlowToSendConverges() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-order-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = StoreOptions()
    options.detectsCopies = false
    let (path, copy) = (folder.appendingPathComponent("a").path, folder.appendingPathComponent("b").path)
    let original = try Store(path: path, schema: Schema(Note.self), options: options)
    try World.insert(2, "shared", original)
    try original.close()
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let stores = try [path, copy].map { try Store(path: $0, schema: Schema(Note.self), options: options) }
    try World.insert(1, "only a", stores[0])
    try World.insert(1, "only b", stores[1])
    let (a, b) = (try SessionSide(stores[0]), try SessionSide(stores[1]))
    b.holdsPreparing = true
    try SessionSide.settle(a, b)
    #expect(!a.session.isFinished)
    try b.release()
    try SessionSide.settle(a, b)
    #expect(a.session.isFinished && b.session.isFinished)
    try World.expectEqual(stores[0], stores[1])
    #expect(try World.count(stores[0]) == 4)
  }

  /// Two live changes cross. The peer's says nothing of the one that is still on its way to it.
  @Test func aChangeThatCrossesOneOfThePeerIsPendingUntilThePeerConfirmsIt() throws {
    let (a, b) = (
      try SessionSide(try World.store(notes: 2), isLive: true), try SessionSide(try World.store(), isLive: true)
    )
    try SessionSide.settle(a, b)
    #expect(a.session.progress.phase == .live && b.session.progress.phase == .live)
    let dot = try #require(try a.change(stars: 2))
    try b.change(stars: 3)
    #expect(try b.speak(to: a))
    #expect(a.session.progress.pending == 1)
    #expect(!a.session.progress.acknowledged.covers(dot))
    try SessionSide.settle(a, b)
    for side in [a, b] { #expect(side.session.progress.pending == 0) }
    #expect(a.session.progress.acknowledged.covers(dot))
    try World.expectEqual(a.store, b.store)
  }
}
