#if Relay
  import Dispatch
  import Foundation
  import Hummingbird
  import HTTPTypes
  import Logging
  import NIOCore
  import NIOEmbedded
  import Synchronization
  import TallyRelayProtocol
  import TallyRig
  import TallySync

  @testable import TallyRelay
  @testable import TallyRelayServer

  /// The relay itself as the log of a simulated relay: its file, its answers and its events, and the client's own
  /// mailbox, without a network between them.
  final class ServedRelayLog: RelayLog {
    /// What serves the file, until the file is replaced.
    private struct Serving {
      let store: RelayStore
      let responder: RelayResponder
      let pages: EventPages
      let space: Int64
    }

    private let folder: URL
    private let serving: Mutex<Serving>
    private let isBackedUp = Mutex(false)
    private let cut: CutDownloads
    let mailbox: any Mailbox
    var blocks: Bool { true }

    /// Makes a relay in an empty folder, and serves it.
    init(in folder: URL) async throws {
      self.folder = folder
      let store = try Self.open(folder)
      let token = try await store.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      let space = try await store.bearer(token.token)?.space ?? 0
      serving = Mutex(Self.serving(store, space))
      let transport = DirectTransport()
      var settings = RelayClient.Settings()
      settings.sleep = { _ in }
      let client = RelayClient("http://relay.test", token: token.token, settings, transport)
      cut = CutDownloads(try RelayMailbox(space: token.space, on: client))
      mailbox = cut
      transport.serve { [unowned self] in try await responder.respond(to: $0, context: $1) }
    }

    private var responder: RelayResponder { serving.withLock { $0.responder } }

    private static func open(_ folder: URL) throws -> RelayStore {
      try RelayStore(
        path: folder.appendingPathComponent("relay.sqlite").path, for: .serving, now: { 1_800_000_000 })
    }

    private static func serving(_ store: RelayStore, _ space: Int64) -> Serving {
      let settings = RelaySettings(address: .init(host: "relay.test", port: 0))
      let news = RelayNews()
      let time: @Sendable () -> Duration = { .zero }
      let limits = settings.limits
      let api = RelayAPI(
        store: store, news: news, removals: RelayNews(),
        streams: EventStreams(news, heartbeat: limits.heartbeat, time: time),
        rates: RateLimit(perSecond: 1_000_000, burst: 1_000_000, waiting: 1_000, time: time), limits: limits,
        time: time, streamLife: { limits.streamLife })
      let log = RelayRequestLog(settings, key: Array(repeating: 0, count: 32), now: store.now)
      return Serving(
        store: store, responder: RelayResponder(api: api, metrics: RelayMetrics(), log: log), pages: api.pages,
        space: space)
    }

    // MARK: As a simulated log

    func event(after cursor: RelayCursor?) throws -> RelayEvent? {
      let (pages, ticket) = serving.withLock { serving in
        // Instances read an event again only when they hear of news.
        serving.responder.api.news.announce(serving.space)
        return (serving.pages, serving.responder.api.news.ticket(for: serving.space))
      }
      guard let lines = try blocking({ try await pages.event(ticket, after: cursor) }) else { return nil }
      var parser = EventStreamParser()
      let event = try parser.parse(Array(lines.bytes.readableBytesView)).first
      return event.flatMap { RelayEvent(kind: $0.kind, id: $0.id, data: $0.data) }
    }

    func backUp() throws {
      let store = serving.withLock { $0.store }
      try store.pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
      try replace(copy, with: file)
      isBackedUp.withLock { $0 = true }
    }

    func restore() throws -> Bool {
      guard isBackedUp.withLock({ $0 }) else { return false }
      try serving.withLock { serving in
        try serving.store.close()
        for end in ["-wal", "-shm"] { try RelayFixture.removeIfThere(URL(fileURLWithPath: file.path + end)) }
        try replace(file, with: copy)
        serving = Self.serving(try Self.open(folder), serving.space)
      }
      return true
    }

    func cutDownloads(after byteCount: Int?) { cut.byteCount.withLock { $0 = byteCount } }

    /// Lets go of the file.
    func close() throws { try serving.withLock { try $0.store.close() } }

    private var file: URL { folder.appendingPathComponent("relay.sqlite") }
    private var copy: URL { folder.appendingPathComponent("backup.sqlite") }

    private func replace(_ one: URL, with other: URL) throws {
      try RelayFixture.removeIfThere(one)
      try FileManager.default.copyItem(at: other, to: one)
    }

    /// Worlds have a thread of their own, which may block.
    private func blocking<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
      let (done, result) = (DispatchSemaphore(value: 0), Outcome<T>())
      Task {
        let outcome: Result<T, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        result.value.withLock { $0 = outcome }
        done.signal()
      }
      done.wait()
      guard let outcome = result.value.withLock({ $0 }) else { throw CancellationError() }
      return try outcome.get()
    }

    private final class Outcome<T: Sendable>: Sendable {
      let value = Mutex<Result<T, any Error>?>(nil)
    }
  }

  /// A mailbox whose downloads break off.
  private final class CutDownloads: Mailbox {
    private let inner: RelayMailbox
    let byteCount = Mutex<Int?>(nil)

    init(_ inner: RelayMailbox) { self.inner = inner }

    var name: String { inner.name }
    var identity: String { inner.identity }
    var kind: MailboxKind { inner.kind }
    func changes(after cursor: MailboxCursor?) async throws -> MailboxPage { try await inner.changes(after: cursor) }

    func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      guard let limit = byteCount.withLock({ $0 }) else { return try await inner.get(name, from: offset) }
      var bytes: [UInt8] = []
      for try await piece in try await inner.get(name, from: offset) { bytes += piece }
      return AsyncThrowingStream { feed in
        feed.yield(Array(bytes.prefix(limit)))
        feed.finish(throwing: bytes.count > limit ? MailboxError(.unreadable, "the download broke off") : nil)
      }
    }

    func put(_ upload: MailboxUpload) async throws -> MailboxReceipt { try await inner.put(upload) }
    func remove(_ names: [String]) async throws { try await inner.remove(names) }
    func wait(after cursor: MailboxCursor?) async throws { try await inner.wait(after: cursor) }
  }

  /// Hands requests to a relay in the same process.
  private final class DirectTransport: RelayTransport {
    typealias Server = @Sendable (Request, RelayContext) async throws -> Response

    private let server = Mutex<Server?>(nil)
    private let channel = NIOAsyncTestingChannel()

    func serve(_ server: @escaping Server) { self.server.withLock { $0 = server } }

    func answer(to request: RelayRequest, limit: Int) async throws -> RelayAnswer {
      guard let server = server.withLock({ $0 }) else { throw RelayTransportError.refused }
      let context = RelayContext(
        source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test")))
      let response = try await server(Self.request(request), context)
      let body = Collected()
      try await response.body.write(BodyCollector(body: body))
      var fields: [String: String] = [:]
      for field in response.headers { fields[field.name.canonicalName] = field.value }
      let bytes = body.bytes.withLock { $0 }
      guard bytes.count <= limit || response.status.code == 206 else { throw RelayTransportError.tooLong }
      return RelayAnswer(status: response.status.code, fields: fields, body: request.method == "HEAD" ? [] : bytes)
    }

    /// Worlds push by themselves.
    func parts(of request: RelayRequest, limit: Int) -> AsyncThrowingStream<RelayPart, any Error> {
      AsyncThrowingStream { $0.finish(throwing: RelayTransportError.refused) }
    }

    private static func request(_ request: RelayRequest) throws -> Request {
      guard let method = HTTPRequest.Method(request.method), let url = URL(string: request.url) else {
        throw RelayTransportError.notHTTP
      }
      var fields = HTTPFields()
      for (name, value) in request.fields {
        guard let name = HTTPField.Name(name) else { throw RelayTransportError.notHTTP }
        fields[name] = value
      }
      fields[.authorization] = request.authorization
      if let body = request.body { fields[.contentLength] = "\(body.count)" }
      let path = url.path + (url.query.map { "?\($0)" } ?? "")
      return Request(
        head: HTTPRequest(method: method, scheme: "http", authority: url.host, path: path, headerFields: fields),
        body: RequestBody(buffer: ByteBuffer(bytes: request.body ?? [])))
    }

    private final class Collected: Sendable {
      let bytes = Mutex<[UInt8]>([])
    }

    private struct BodyCollector: ResponseBodyWriter {
      let body: Collected

      mutating func write(_ buffer: ByteBuffer) async throws {
        body.bytes.withLock { $0 += buffer.readableBytesView }
      }

      consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
  }
#endif
