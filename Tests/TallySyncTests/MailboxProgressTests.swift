import Foundation
import Synchronization
import Tally
import Testing

@testable import TallySync

/// How far a pass is.
@Suite struct MailboxProgressTests {
  private final class Steps: Sendable {
    let all = Mutex<[MailboxProgress]>([])

    var settings: MailboxSettings {
      var settings = MailboxSettings()
      settings.onProgress = { step in self.all.withLock { $0.append(step) } }
      return settings
    }
  }

  @Test func aPassSaysWhatItDoesAndHowManyBytesHavePassed() throws {
    let mailbox = MemoryMailbox()
    let (a, b) = (try World.store(notes: 50, "a"), try World.store(notes: 50, "b"))
    let (first, second) = (Steps(), Steps())
    let put = try a.sync(through: mailbox, first.settings)
    let took = try b.sync(through: mailbox, second.settings)
    for (steps, report) in [(first, put), (second, took)] {
      let steps = steps.all.withLock { $0 }
      let phases = steps.map(\.phase)
      #expect(phases == phases.sorted { Self.place($0) < Self.place($1) } && Set(phases).count == 3)
      #expect(steps.last?.bytesRead == report.bytesRead && steps.last?.bytesWritten == report.bytesWritten)
      #expect(steps.allSatisfy { $0.file <= $0.fileCount })
    }
    #expect(took.bytesRead > 0 && put.bytesWritten > 0)
    #expect(second.all.withLock { $0 }.contains { $0.phase == .taking && $0.file == 1 && $0.fileCount == 1 })
  }

  /// A first sync is one file: how far that is shows by its bytes and records, received and applied apart.
  @Test(arguments: [false, true]) func aFirstSyncGoesOnWithinItsOnlyFile(isInFolder: Bool) throws {
    let folder = try SharedFolder()
    let mailbox: any FileMailbox = isInFolder ? folder.mailbox : MemoryMailbox()
    let (a, b) = (try World.store(), try World.store())
    let count = 20_000
    try a.write { db in
      for _ in 0..<count { try Note(text: "\(UUID())", stars: 1).insert(db) }
    }
    let (first, second) = (Steps(), Steps())
    try a.sync(through: mailbox, first.settings)
    let report = try b.sync(through: mailbox, second.settings)
    let size = UInt64(report.bytesRead)
    let put = first.all.withLock { $0 }.compactMap(\.transfer)
    #expect(put.filter { $0.stage == .preparing }.map(\.bytes).contains { $0 > 0 && $0 < size })
    #expect(put.last == TransferProgress(.sending, size, of: size))
    let taken = second.all.withLock { $0 }.filter { $0.phase == .taking }
    let steps = taken.compactMap(\.transfer)
    let stages = steps.map(\.stage)
    #expect(stages == stages.filter { $0 == .receiving } + stages.filter { $0 == .applying })
    for stage in [TransferProgress.Stage.receiving, .applying] {
      let bytes = steps.filter { $0.stage == stage }.map(\.bytes)
      #expect(bytes == bytes.sorted() && bytes.last == size && Set(bytes).count > 2)
    }
    let records = steps.map(\.records)
    #expect(records == records.sorted() && records.last == count && Set(records).count > 2)
    guard isInFolder else { return }
    #expect(steps.allSatisfy { $0.byteCount == size })
    let fractions = taken.compactMap(\.fraction)
    #expect(fractions.count == taken.count && fractions == fractions.sorted() && Set(fractions).count > 4)
    #expect(fractions.first == 0 && fractions.last == 1)
  }

  /// Over a connection as well.
  @Test func aFirstSyncOverAConnectionGoesOnWithinItsOnlyDelta() async throws {
    let (a, b) = (try World.store(), try World.store())
    let count = 20_000
    try await a.write { db in
      for _ in 0..<count { try Note(text: "\(UUID())", stars: 1).insert(db) }
    }
    let seen = Mutex<[SyncSession.Progress]>([])
    var settings = SyncSettings()
    settings.onProgress = { step in seen.withLock { $0.append(step) } }
    let (left, right) = MemoryConnection.pair()
    async let first = a.sync(over: left)
    async let second = b.sync(over: right, settings)
    _ = (try await first, try await second)
    let steps = seen.withLock { $0 }
    let fractions = steps.compactMap(\.fraction)
    #expect(fractions == fractions.sorted() && Set(fractions).count > 8)
    let transfers = steps.compactMap(\.transfer)
    let stages = transfers.map(\.stage)
    let inOrder = [TransferProgress.Stage.waiting, .receiving, .applying].flatMap { stage in
      stages.filter { $0 == stage }
    }
    #expect(stages == inOrder)
    let size = steps.map(\.receiveTotal).max() ?? 0
    for stage in [TransferProgress.Stage.receiving, .applying] {
      let bytes = transfers.filter { $0.stage == stage }.map(\.bytes)
      #expect(bytes == bytes.sorted() && Set(bytes).count > 2, "\(stage)")
      // The last bytes that arrive begin the next stage.
      #expect(stage == .receiving ? bytes.last ?? 0 <= size : bytes.last == size, "\(stage)")
    }
    let records = transfers.map(\.records)
    #expect(records == records.sorted() && records.last == count && Set(records).count > 2)
  }

  @Test func theTimeLeftFollowsThePaceOfTheLastSeconds() {
    var rate = TransferRate()
    func left(_ stage: TransferProgress.Stage, _ bytes: UInt64, at seconds: Double) -> Double? {
      rate.timing(TransferProgress(stage, bytes, of: 1000), at: .seconds(seconds))?.timeLeft.map { $0 / .seconds(1) }
    }
    #expect(left(.receiving, 0, at: 0) == nil && left(.receiving, 50, at: 0.5) == nil)
    #expect(left(.receiving, 100, at: 1) == 9)
    for second in 2...20 { _ = left(.receiving, UInt64(100 + second), at: Double(second)) }
    // It has become slow: of the last ten seconds each brought one byte.
    #expect(left(.receiving, 121, at: 21) == 879)
    #expect(left(.receiving, 121, at: 40) == nil)
    // Another stage has another pace, and so has the next delta.
    #expect(left(.applying, 10, at: 41) == nil && left(.applying, 20, at: 43) == 196)
    #expect(left(.applying, 5, at: 44) == nil)
    #expect(rate.timing(nil, at: .seconds(45)) == nil)
  }

  private static func place(_ phase: MailboxProgress.Phase) -> Int {
    switch phase {
    case .looking: 0
    case .taking: 1
    case .putting: 2
    }
  }
}
