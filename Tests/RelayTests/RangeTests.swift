#if Relay
  import Synchronization
  import TallyRelayProtocol
  import Testing

  @testable import TallyRelayServer

  /// What is decided without a connection: parts of entries, and the pace of a token.
  @Suite struct RangeTests {
    @Test(
      arguments: [
        (nil, 0, 10, true), ("bytes=0-", 0, 10, false), ("bytes=3-", 3, 10, false), ("bytes=3-3", 3, 4, false),
        ("bytes=0-9", 0, 10, false), ("bytes=9-1000", 9, 10, false), ("bytes=0-999999999999999999", 0, 10, false),
        // What is not understood is not looked at.
        ("bytes=-3", 0, 10, true), ("bytes=5-4", 0, 10, true), ("bytes=0-1,3-4", 0, 10, true),
        ("bytes= 0-1", 0, 10, true),
        ("bytes=+1-2", 0, 10, true), ("items=0-1", 0, 10, true), ("bytes=1-9999999999999999999999", 0, 10, true),
        ("bytes=", 0, 10, true), ("bytes=-", 0, 10, true),
      ] as [(String?, Int, Int, Bool)])
    func partsAreThoseOfTheStandard(_ field: String?, _ first: Int, _ end: Int, _ isWhole: Bool) throws {
      let range = try ByteRange(field, size: 10)
      #expect(range.first == first && range.end == end && range.isWhole == isWhole)
    }

    @Test func aPartBeyondTheEndIsRefused() throws {
      for (field, size) in [("bytes=10-", 10), ("bytes=11-12", 10), ("bytes=0-", 0)] {
        #expect(throws: RelayProblem.self) { try ByteRange(field, size: size) }
      }
      #expect(try ByteRange("bytes=2-4", size: 10).field == "bytes 2-4/10")
    }

    private final class Clock: Sendable {
      private let time = Mutex(Duration.zero)
      var now: Duration {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
      }
    }

    @Test func aTokenHasItsPace() throws {
      let clock = Clock()
      let rates = RateLimit(perSecond: 2, burst: 4, waiting: 1) { clock.now }
      func asked(_ token: UInt8, _ count: Int) -> Int {
        (0..<count).reduce(0) { sum, _ in
          do {
            try rates.count([token])
            return sum + 1
          } catch {
            return sum
          }
        }
      }
      #expect(asked(1, 10) == 4)
      #expect(asked(2, 10) == 4)
      clock.now = .milliseconds(499)
      #expect(asked(1, 10) == 0)
      let problem = #expect(throws: RelayProblem.self) { try rates.count([1]) }
      #expect(problem?.code == .tooManyRequests && problem?.retryAfter == 1)
      clock.now = .milliseconds(1_500)
      #expect(asked(1, 10) == 3)
      // A long pause fills the bucket, and no more than that.
      clock.now = .seconds(3_600)
      #expect(asked(1, 10) == 4)
    }
  }
#endif
