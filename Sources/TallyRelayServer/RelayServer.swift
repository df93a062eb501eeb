#if Relay
  import Hummingbird
  import HummingbirdCore
  import Logging
  import NIOCore
  import ServiceLifecycle
  import TallyRelayProtocol

  /// A relay: keeps the logs of spaces in one file, and lets their devices put, read and wait.
  ///
  /// <!-- not compiled here: examples are compiled without the trait Relay -->
  /// ```swift
  /// let store = try RelayStore(path: "relay.sqlite", for: .serving)
  /// let server = RelayServer(store, RelaySettings(address: .init(host: "127.0.0.1", port: 8480)))
  /// try await server.run { print("listening on \($0.host):\($0.port)") }
  /// ```
  public struct RelayServer: Sendable {
    private let store: any RelayStorage
    private let settings: RelaySettings
    private let certificate: RelayCertificate?
    private let times = WriteTimes()
    private let news = RelayNews()
    /// Says that something large was removed.
    private let removals = RelayNews()
    private let metrics = RelayMetrics()
    private let connections: Connections
    private let time: @Sendable () -> Duration

    /// A server. It does not listen before it runs.
    public init(_ store: RelayStore, _ settings: RelaySettings) { self.init(storage: store, settings) }

    /// A server on any storage.
    package init(storage: any RelayStorage, _ settings: RelaySettings) {
      self.settings = settings
      connections = Connections(settings.limits, overTLS: settings.certificate != nil)
      certificate = settings.certificate.map { RelayCertificate($0) }
      let clock = ContinuousClock()
      let start = clock.now
      let time: @Sendable () -> Duration = { clock.now - start }
      self.time = time
      store = ServedStorage(
        base: storage, quota: settings.limits.spaceBytes, fileLimit: settings.limits.fileBytes,
        times: times, clock: time)
    }

    /// Reads the certificate and its key again, after a renewal: connections that are made from now on get it. Does
    /// nothing without `RelaySettings.certificate`.
    /// - Throws: `RelayStoreError` with `.badCertificate`; then connections still get the one from before.
    public func reloadCertificate() throws { try certificate?.load() }

    /// Serves until the task is cancelled. Then nobody waits for news any longer, no connection is taken any more, and
    /// requests that are under way get some time to end.
    /// - Parameters:
    ///   - onAdmin: called with the address of health and metrics.
    ///   - onListening: called with the address to which clients connect.
    /// - Throws: what keeps it from listening; `RelayStoreError` with `.badCertificate`, or `.refused` if a database is
    ///   to be limited in its size.
    public func run(
      onAdmin: @escaping @Sendable (RelaySettings.Address) async -> Void = { _ in },
      onListening: @escaping @Sendable (RelaySettings.Address) async -> Void
    ) async throws {
      if let bytes = settings.limits.fileBytes { try await store.limitFile(to: bytes) }
      try certificate?.load()
      store.follow { [news] in
        news.watched
      } announce: { [news] in
        news.announce($0)
      }
      let streams = EventStreams(news, heartbeat: settings.limits.heartbeat, time: time)
      var services: [any Service] = []
      let log = RelayRequestLog(settings, key: store.random(32), now: store.now)
      for warning in store.warnings { log.fault(warning) }
      if let admin = settings.admin {
        let responder = AdminResponder(
          store: store, times: times, fileLimit: settings.limits.fileBytes, news: news, streams: streams,
          metrics: metrics, connections: connections)
        services.append(
          application(
            responder, admin, http1(log, Connections(adminLimits, overTLS: false), over: nil),
            connections: Self.adminConnections, onAdmin))
      }
      services.append(
        application(
          responder(streams, log), settings.address, http1(log, connections, over: certificate),
          connections: settings.limits.connections, onListening))
      services.append(HeartbeatService(streams: streams, pause: settings.limits.heartbeat / 20))
      services.append(
        SpaceSweeper(
          store: store, news: news, removals: removals, keep: settings.keep, pause: settings.limits.sweepPause,
          probation: min(settings.keep, settings.limits.clockProbation), time: time,
          report: { [metrics] in _ = RelayResponder.problem($0, metrics, log) }, note: { log.fault($0) }))
      services.append(MemoryService(store: store, pause: settings.limits.memoryPause))
      // Services are asked to end from the last to the first: whoever waits goes, then the rest, then health.
      services.append(NewsService(news: news))
      var configuration = ServiceGroupConfiguration(services: services, logger: Self.logger)
      configuration.maximumGracefulShutdownDuration = settings.limits.draining
      let group = ServiceGroup(configuration: configuration)
      let running = Task { try await group.run() }
      try await withTaskCancellationHandler {
        try await running.value
      } onCancel: {
        Task { await group.triggerGracefulShutdown() }
      }
    }

    /// How many connections may wait to be taken. The system takes less where its own limit is lower
    /// (`net.core.somaxconn`); a client whose connection finds no room tries again after a second or more.
    private static let backlog = 65_535

    /// The most connections of administrators, who find room also when all others are taken.
    private static let adminConnections = 32

    private var adminLimits: RelaySettings.Limits {
      var limits = settings.limits
      limits.connections = Self.adminConnections
      return limits
    }

    private static var logger: Logger {
      let usual = Logger(label: "tally.relay")
      var logger = Logger(label: usual.label) { _ in WithoutRequestNumbers(base: usual.handler) }
      logger.logLevel = .warning
      return logger
    }

    /// At random, so that clients spread over relays that were started one after the other.
    private var streamLife: @Sendable () -> Duration {
      let (longest, random) = (settings.limits.streamLife, store.random)
      return { longest * (0.7 + 0.3 * Double(random(1).first ?? 0) / 255) }
    }

    private func responder(_ streams: EventStreams, _ log: RelayRequestLog) -> RelayResponder {
      let limits = settings.limits
      let rates = RateLimit(
        perSecond: limits.requestsPerSecond, burst: limits.requestBurst, waiting: limits.waitingRequests, time: time)
      return RelayResponder(
        api: RelayAPI(
          store: store, news: news, removals: removals, streams: streams, rates: rates, limits: limits, time: time,
          streamLife: streamLife),
        metrics: metrics, log: log)
    }

    private func http1(
      _ log: RelayRequestLog, _ connections: Connections, over certificate: RelayCertificate?
    ) -> HTTPServerBuilder {
      let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: RelayLimits.headerBytes, maxHeaderListSize: 2 * RelayLimits.headerBytes,
        maxHeaderFieldCount: 2 * RelayLimits.headerFields)
      let idle = TimeAmount(settings.limits.idle)
      let configuration = HTTP1Channel.Configuration(idleTimeout: idle, httpDecoderConfiguration: decoder)
      return HTTPServerBuilder { [metrics, limits = settings.limits] responder in
        let base = HTTP1Channel(responder: responder, configuration: configuration)
        let channel = LoopChannel(base, limits, connections) { problem in
          metrics.count(.other, problem.status, problem.code, .zero)
          log.note(refusal: problem)
        }
        return certificate.map { channel.over($0) } ?? channel
      }
    }

    private func application<Responder: HTTPResponder>(
      _ responder: Responder, _ address: RelaySettings.Address, _ server: HTTPServerBuilder, connections: Int,
      _ onListening: @escaping @Sendable (RelaySettings.Address) async -> Void
    ) -> Application<Responder> where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
      Application(
        responder: responder, server: server,
        configuration: ApplicationConfiguration(
          address: .hostname(address.host, port: address.port), backlog: Self.backlog,
          availableConnectionsDelegate: MaximumAvailableConnections(connections)),
        onServerRunning: { channel in
          await onListening(.init(host: address.host, port: channel.localAddress?.port ?? address.port))
        }, logger: Self.logger)
    }
  }

  /// Lets streams of events say something now and then.
  private struct HeartbeatService: Service {
    let streams: EventStreams
    let pause: Duration

    func run() async throws {
      try await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          do { try await Task.sleep(for: pause) } catch is CancellationError { return }
          streams.tick()
        }
      }
    }
  }

  /// Drops all metadata. Hummingbird adds a request number to each request's logger, which would cost every stream a
  /// dictionary that no line prints.
  private struct WithoutRequestNumbers: LogHandler {
    var base: any LogHandler

    var logLevel: Logger.Level {
      get { base.logLevel }
      set { base.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
      get { [:] }
      set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { nil }
      set {}
    }

    func log(event: LogEvent) { base.log(event: event) }
  }

  /// Ends all waits when the relay is asked to end.
  private struct NewsService: Service {
    let news: RelayNews

    func run() async throws {
      try? await gracefulShutdown()
      news.close()
    }
  }
#endif
