#if Relay
  import HTTPTypes
  import Hummingbird
  import TallyRelayProtocol

  /// Health and metrics, on a listener of their own.
  struct AdminResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    let store: any RelayStorage
    let times: WriteTimes
    /// The most bytes that the file may have.
    let fileLimit: Int64?
    let news: RelayNews
    let streams: EventStreams
    let metrics: RelayMetrics
    let connections: Connections

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
      var response = await answer(request)
      response.noteEnd(after: request)
      return response
    }

    private func answer(_ request: Request) async -> Response {
      switch (request.method, request.uri.path) {
      case (.get, "/healthz"): return Self.text(.ok, "ok\n")
      case (.get, "/readyz"): return await readiness()
      case (.get, "/metrics"): return Self.text(.ok, await metricsText())
      default: return Self.text(.notFound, "there is nothing at that path\n")
      }
    }

    /// Whether requests should be sent here: the storage can be read, and the relay is not about to end.
    private func readiness() async -> Response {
      guard !news.isClosing else { return Self.text(.serviceUnavailable, "about to end\n") }
      guard await isReadable() else {
        metrics.countStorageError()
        return Self.text(.serviceUnavailable, "the storage cannot be read\n")
      }
      return Self.text(.ok, "ok\n")
    }

    /// How long a storage may take to answer; a database that stands still does not answer at all.
    private static let patience = Duration.seconds(5)

    private func isReadable() async -> Bool {
      let (answers, feed) = AsyncStream.makeStream(of: Bool.self)
      let look = Task { [store] in
        do {
          try await store.check()
          feed.yield(true)
        } catch {
          feed.yield(false)
        }
      }
      let limit = Task {
        try await Task.sleep(for: Self.patience)
        feed.yield(false)
      }
      defer {
        look.cancel()
        limit.cancel()
      }
      for await answer in answers { return answer }
      return false
    }

    /// What a storage holds is left out while it cannot be read, which the counter of its errors tells.
    private func metricsText() async -> String {
      let (commits, writes) = await store.commitCounts
      var storage: [String] = []
      do { storage = StorageMetrics.lines(try await store.figures(), limit: fileLimit) } catch {
        metrics.countStorageError()
      }
      let lines = connections.lines() + times.lines() + storage + ProcessMetrics.lines()
      return metrics.text(waiting: news.count, streams: streams.count, commits: commits, writes: writes)
        + lines.joined(separator: "\n") + "\n"
    }

    private static func text(_ status: HTTPResponse.Status, _ text: String) -> Response {
      Response(status, "text/plain; version=0.0.4; charset=utf-8", Array(text.utf8))
    }
  }
#endif
