import GRDB
import Tally
import TallyCRDT
import TallySync
import TallyTesting
import TallyWire
import Testing

/// Sessions as they ship, in every order of their steps and in a time of their own.
@Suite(.timeLimit(.minutes(5))) struct SteppedSyncTests {
  @Test func inWhateverOrderTheStepsComeBothAreEqual() async throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      let pair = try SteppedPair(seed: seed, notes: [30, 2], capacity: seed.isMultiple(of: 2) ? 1 : .max)
      pair.run()
      for end in pair.ends { #expect(end.isOver && pair.error(end) == nil, "seed \(seed)") }
      try pair.expectEqual()
      // Nobody had to wait for a clock.
      #expect(pair.time.now == .zero)
      // Other tests wait for this thread.
      await Task.yield()
    }
  }

  @Test func theSameSeedIsTheSameSync() throws {
    func trace(_ seed: UInt64) throws -> [StepLink.Step] {
      let pair = try SteppedPair(seed: seed, live: true)
      pair.run()
      pair.pass(seconds: 30)
      return pair.trace
    }
    let first = try trace(7)
    #expect(try trace(7) == first)
    #expect(try trace(8) != first)
    #expect(first.count > 100)
  }

  /// A peer that has never written has no id. It has what it took all the same, so the restore window begins.
  @Test func whoNeverWroteHasHeardOfADelete() throws {
    let pair = try SteppedPair(seed: 1, notes: [3, 0])
    pair.run()
    try pair.stores[0].write { try $0.execute(sql: "DELETE FROM Note WHERE id = 'Note|~|0-1'") }
    let bin = { try pair.stores[0].recentlyDeleted(ofType: "Note").map { $0.restorableUntil != nil } }
    #expect(try bin() == [false])
    pair.reconnect()
    pair.run()
    #expect(try pair.stores[1].vector.entries.allSatisfy { $0.replica == (try pair.stores[0].summary().replica) })
    #expect(try bin() == [true])
  }

  // MARK: Time

  @Test func aLiveSessionStaysHoweverLongNothingIsWritten() throws {
    let pair = try SteppedPair(seed: 1, live: true)
    pair.run()
    pair.pass(seconds: 900)
    for end in pair.ends { #expect(!end.isOver && end.progress.phase == .live) }
    try pair.stores[0].write { try $0.execute(sql: "UPDATE Note SET stars = 5") }
    pair.run()
    try pair.expectEqual()
  }

  @Test func aHeartbeatGoesOutAfterTenSecondsOfSilence() throws {
    let pair = try SteppedPair(seed: 2, live: true)
    pair.run()
    pair.pass(seconds: 9) { $0 != .delivery(first: true) }
    #expect(pair.one.connection.sentCount == 0)
    pair.pass(seconds: 1) { $0 != .delivery(first: true) }
    #expect(pair.one.connection.take() == SyncMessage.ping.encoded())
    #expect(pair.one.connection.take() == nil)
  }

  @Test func whoHearsNothingForAMinuteEnds() throws {
    let pair = try SteppedPair(seed: 3, live: true)
    pair.run()
    pair.pass(seconds: 59) { $0 != .delivery(first: false) }
    #expect(!pair.one.isOver)
    pair.pass(seconds: 5) { $0 != .delivery(first: false) }
    #expect(pair.code(pair.one) == .timedOut)
    // The other has heard it all along, its last words included.
    #expect(pair.code(pair.other) == .timedOut)
    try pair.expectEqual()
  }

  @Test func whoNeverSaysHelloIsNotWaitedForLong() throws {
    let pair = try SteppedPair(seed: 4)
    pair.pass(seconds: 59) { $0 != .delivery(first: false) }
    #expect(!pair.one.isOver)
    pair.pass(seconds: 12) { $0 != .delivery(first: false) }
    #expect(pair.code(pair.one) == .timedOut)
  }

  /// What a side does not read because its store is busy, the peer may well have said; and it says itself that it is
  /// there.
  @Test func aStoreThatIsBusyForTenMinutesIsNotTakenForGone() throws {
    let pair = try SteppedPair(seed: 5, notes: [50, 50])
    // Up to the delta, which the other then takes that long to apply.
    pair.run { $0 != .job(first: false) || pair.one.progress.bytesSent == 0 }
    #expect(pair.one.progress.bytesSent > 0)
    pair.pass(seconds: 600) { $0 != .job(first: false) }
    #expect(!pair.one.isOver && !pair.other.isOver)
    pair.run()
    for end in pair.ends { #expect(end.isOver && pair.error(end) == nil) }
    try pair.expectEqual()
  }

  // MARK: Back-pressure

  /// Somebody who asks and asks, and takes no answer.
  private func flood() throws -> (end: StepEnd, time: StepTime, sent: Int) {
    let (time, connection) = (StepTime(), StepConnection(capacity: 1))
    let store = try Store(inMemory: Schema(Note.self))
    let end = StepEnd(StoreWork(store), time, connection, SyncSettings())
    let vector = StateVector([(ReplicaID(high: 1, low: 2), UInt64(3))])
    let hello = SyncHello(
      versions: 1...1, replica: ReplicaID(high: 1, low: 2),
      digest: SyncDigest(vector: vector, fingerprint: Fingerprint(first: 4, second: 5)), isLive: false,
      messageLimit: SyncLimits.messageBytes)
    connection.arrive(SyncMessage.hello(hello).encoded())
    connection.arrive(SyncMessage.vector(vector).encoded())
    let count = 3 * SyncRunner.unsentLimit
    for number in 0..<UInt64(count) {
      connection.arrive(SyncMessage.chunk(transfer: 1, offset: number, isLast: false, bytes: [7]).encoded())
    }
    end.work()
    return (end, time, count + 2)
  }

  @Test func whoAsksAndTakesNoAnswersIsNotReadFrom() throws {
    let (end, time, sent) = try flood()
    let read = sent - end.connection.arrivedCount
    #expect(read > 200 && read <= SyncRunner.unsentLimit + 2)
    // It is given a minute, and not read from meanwhile.
    for _ in 0..<59 {
      time.pass(.seconds(1))
      end.work()
    }
    #expect(!end.isOver && sent - end.connection.arrivedCount == read)
    for _ in 0..<20 {
      time.pass(.seconds(1))
      end.work()
    }
    guard case .failure(let error as SyncError)? = end.result else { return #expect(Bool(false)) }
    #expect(error.code == .timedOut && error.message.contains("does not read"))
  }

  @Test func whoTakesTheAnswersIsReadOn() throws {
    let (end, _, sent) = try flood()
    var taken = 0
    while end.connection.take() != nil {
      taken += 1
      end.work()
    }
    #expect(end.connection.arrivedCount == 0 && !end.isOver)
    // A hello, a vector, a word that there is nothing to send, and an answer to each chunk.
    #expect(taken >= sent)
  }

  // MARK: Ends

  @Test func aConnectionThatBreaksAfterAnyStepEndsBothAndLosesNothing() async throws {
    var step = 0
    while true {
      let pair = try SteppedPair(seed: UInt64(step), capacity: 2)
      let isDone = pair.run(steps: step) < step
      pair.link.cut()
      pair.end()
      for end in pair.ends {
        #expect(end.isOver && end.isIdle, "step \(step)")
        #expect(pair.error(end) == nil || pair.code(end) == .disconnected, "step \(step)")
      }
      try pair.expectTheNextSyncConverges()
      if isDone { break }
      step += 5
      await Task.yield()
    }
    #expect(step > 60)
  }

  @Test func aTaskThatIsCancelledAfterAnyStepEndsAndLosesNothing() async throws {
    var step = 0
    while true {
      let pair = try SteppedPair(seed: UInt64(step), capacity: 2)
      let isDone = pair.run(steps: step) < step
      pair.one.cancel()
      pair.end()
      for end in pair.ends { #expect(end.isOver && end.isIdle, "step \(step)") }
      #expect(pair.error(pair.one) == nil || pair.error(pair.one) is CancellationError, "step \(step)")
      #expect(pair.error(pair.other) == nil || pair.code(pair.other) == .disconnected, "step \(step)")
      // It waits for nobody but the store.
      #expect(pair.time.now <= .seconds(1), "step \(step)")
      try pair.expectTheNextSyncConverges()
      if isDone { break }
      step += 5
      await Task.yield()
    }
    #expect(step > 60)
  }
}
