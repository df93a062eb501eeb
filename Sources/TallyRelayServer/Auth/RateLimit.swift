#if Relay
  import Synchronization
  import TallyRelayProtocol

  /// The limit on the number of requests that a token may make: a bucket that holds `burst` and gains `perSecond` in
  /// each second. In memory and for this process alone.
  final class RateLimit: Sendable {
    private struct Bucket {
      var level: Double
      var filled: Duration
      var waiting = 0
    }

    private let perSecond: Double
    private let burst: Double
    private let waitingLimit: Int
    private let time: @Sendable () -> Duration
    private let buckets = Mutex<[[UInt8]: Bucket]>([:])
    /// Beyond that full buckets are dropped: they say nothing.
    private static let largestCount = 10_000

    /// A limit for each token. `time` is since any moment, and always goes forward.
    init(perSecond: Double, burst: Int, waiting: Int, time: @escaping @Sendable () -> Duration) {
      (self.perSecond, self.burst, self.waitingLimit) = (perSecond, Double(burst), waiting)
      self.time = time
    }

    /// Counts a request.
    /// - Throws: `RelayProblem` if the bucket is empty.
    func count(_ token: [UInt8]) throws {
      let now = time()
      let missing: Double = buckets.withLock { buckets in
        if buckets.count > Self.largestCount {
          buckets = buckets.filter { $0.value.waiting > 0 || level($0.value, now) < burst }
        }
        var bucket = buckets[token] ?? Bucket(level: burst, filled: now)
        bucket.level = level(bucket, now)
        bucket.filled = now
        defer { buckets[token] = bucket }
        guard bucket.level >= 1 else { return 1 - bucket.level }
        bucket.level -= 1
        return 0
      }
      guard missing > 0 else { return }
      let seconds = max(1, Int((missing / perSecond).rounded(.up)))
      throw RelayProblem(.tooManyRequests, "the token asks too often", retryAfter: seconds)
    }

    /// Counts further requests that one has turned out to be worth. They are not refused any more: a token that owes
    /// some waits the longer before its next.
    func charge(_ token: [UInt8], _ requests: Int) {
      guard requests > 0 else { return }
      buckets.withLock { $0[token]?.level -= Double(requests) }
    }

    private func level(_ bucket: Bucket, _ now: Duration) -> Double {
      min(burst, bucket.level + (now - bucket.filled) / .seconds(1) * perSecond)
    }

    /// Runs what waits for news.
    /// - Throws: `RelayProblem` if the token waits in too many requests already.
    func whileWaiting<T>(_ token: [UInt8], _ body: () async throws -> T) async throws -> T {
      let seat = try seat(token)
      defer { seat.leave() }
      return try await body()
    }

    /// A request that waits for news: it counts until it is left or nobody has it any more.
    final class Seat: Sendable {
      private let rates: RateLimit
      private let token: Mutex<[UInt8]?>

      fileprivate init(_ rates: RateLimit, _ token: [UInt8]) {
        self.rates = rates
        self.token = Mutex(token)
      }

      func leave() {
        guard let token = token.withLock({ $0.take() }) else { return }
        rates.buckets.withLock { $0[token]?.waiting -= 1 }
      }

      deinit { leave() }
    }

    /// - Throws: `RelayProblem` if the token waits in too many requests already.
    func seat(_ token: [UInt8]) throws -> Seat {
      let mayWait = buckets.withLock { buckets in
        guard buckets[token, default: Bucket(level: burst, filled: time())].waiting < waitingLimit else { return false }
        buckets[token]?.waiting += 1
        return true
      }
      guard mayWait else {
        throw RelayProblem(.tooManyWaiting, "the token waits in \(waitingLimit) requests", retryAfter: 5)
      }
      return Seat(self, token)
    }
  }
#endif
