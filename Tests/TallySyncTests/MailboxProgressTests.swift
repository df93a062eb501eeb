import Synchronization
import Tally
import TallySync
import Testing

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

  private static func place(_ phase: MailboxProgress.Phase) -> Int {
    switch phase {
    case .looking: 0
    case .taking: 1
    case .putting: 2
    }
  }
}
