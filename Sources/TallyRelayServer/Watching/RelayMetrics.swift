#if Relay
  import Synchronization
  import TallyRelayProtocol

  /// The metrics of a relay, as Prometheus reads them. Labels are kinds of requests and statuses, never a space or a
  /// token.
  final class RelayMetrics: Sendable {
    private struct Requests: Hashable, Comparable {
      let route: String
      let status: Int

      static func < (one: Requests, other: Requests) -> Bool { (one.route, one.status) < (other.route, other.status) }
    }

    private struct State {
      var requests: [Requests: Int] = [:]
      var problems: [String: Int] = [:]
      /// The number of requests that took at most a given time, by kind, and all together.
      var buckets: [String: [Int]] = [:]
      var seconds: [String: Double] = [:]
      var storageErrors = 0
    }

    /// In seconds.
    private static let bounds = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60]
    private let state = Mutex(State())

    func count(_ kind: RelayRoute.Kind, _ status: Int, _ problem: RelayProblem.Code?, _ duration: Duration) {
      let (route, seconds) = (kind.rawValue, duration / .seconds(1))
      state.withLock { state in
        state.requests[Requests(route: route, status: status), default: 0] += 1
        if let problem { state.problems[problem.rawValue, default: 0] += 1 }
        var buckets = state.buckets[route] ?? Array(repeating: 0, count: Self.bounds.count + 1)
        buckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
        state.buckets[route] = buckets
        state.seconds[route, default: 0] += seconds
      }
    }

    func countStorageError() { state.withLock { $0.storageErrors += 1 } }

    /// The text that Prometheus reads, version 0.0.4.
    func text(waiting: Int, streams: Int, commits: Int, writes: Int) -> String {
      let state = state.withLock { $0 }
      var lines: [String] = []
      func family(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: String)]) {
        lines += ["# HELP \(name) \(help)", "# TYPE \(name) \(type)"]
        lines += samples.map { "\(name)\($0.labels) \($0.value)" }
      }
      family(
        "tally_relay_requests_total", "counter", "Requests that were answered.",
        state.requests.sorted { $0.key < $1.key }.map {
          ("{route=\"\($0.key.route)\",status=\"\($0.key.status)\"}", "\($0.value)")
        })
      family(
        "tally_relay_problems_total", "counter", "Requests that were answered with a problem, by its code.",
        state.problems.sorted { $0.key < $1.key }.map { ("{code=\"\($0.key)\"}", "\($0.value)") })
      lines += Self.histogram(state.buckets, state.seconds)
      family("tally_relay_waiting", "gauge", "Requests that wait for news.", [("", "\(waiting)")])
      family("tally_relay_streams", "gauge", "Streams of events that are open.", [("", "\(streams)")])
      family("tally_relay_commits_total", "counter", "Transactions that are on the disk.", [("", "\(commits)")])
      family("tally_relay_writes_total", "counter", "Writes that these transactions held.", [("", "\(writes)")])
      family(
        "tally_relay_storage_errors_total", "counter", "Errors of the file or the database.",
        [("", "\(state.storageErrors)")])
      return lines.joined(separator: "\n") + "\n"
    }

    private static func histogram(_ buckets: [String: [Int]], _ seconds: [String: Double]) -> [String] {
      let name = "tally_relay_request_seconds"
      var lines = ["# HELP \(name) How long requests took.", "# TYPE \(name) histogram"]
      for (route, counts) in buckets.sorted(by: { $0.key < $1.key }) {
        var sum = 0
        for (index, count) in counts.enumerated() {
          sum += count
          let bound = index < bounds.count ? "\(bounds[index])" : "+Inf"
          lines.append("\(name)_bucket{route=\"\(route)\",le=\"\(bound)\"} \(sum)")
        }
        lines.append("\(name)_sum{route=\"\(route)\"} \(seconds[route] ?? 0)")
        lines.append("\(name)_count{route=\"\(route)\"} \(sum)")
      }
      return lines
    }
  }
#endif
