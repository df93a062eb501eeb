#if Inspector
  import Foundation
  import Logging
  import NIOCore
  import Synchronization
  import TallyInspection
  import TallyStore
  import TallySync

  /// Shows stores in a browser: why a record does not show, who wrote what, what lost, what peers lack.
  ///
  /// ```swift
  /// let inspector = Inspector(store, engine)
  /// print(try await inspector.serve())  // http://127.0.0.1:49152/?token=…
  /// ```
  ///
  /// For debug builds. It listens on this machine alone, lets in the browser that has the address with its token, once,
  /// and changes nothing unless `Settings.allowsWrites` is set. While no page is open it waits, and reads a counter
  /// after commits at most ten times a second, to keep a log. `tally inspect` does the same for files.
  public final class Inspector: Sendable {
    /// What an inspector may do.
    public struct Settings: Sendable {
      /// The name of the store in the pages.
      public var name = "store"
      /// Whether the pages can change something: take back what lost, restore, delete.
      public var allowsWrites = false
      /// The logger for the address and for requests that are refused.
      public var logger = Logger(label: "tally.inspector")

      /// The default settings: nothing can be changed.
      public init() {}
    }

    /// The errors of an inspector.
    public struct Failure: Error, Sendable, CustomStringConvertible {
      /// What went wrong, in words.
      public let description: String
    }

    private enum State {
      case idle
      case starting
      case serving(InspectorServer)
    }

    package let room: InspectorRoom
    private let state = Mutex(State.idle)

    /// Creates an inspector of a store, and of its engine if it has one. Nothing is served yet.
    public convenience init(_ store: Store, _ engine: SyncEngine? = nil, _ settings: Settings = Settings()) {
      let inspected = InspectedStore(settings.name, store, engine.map { EngineView($0) })
      self.init(InspectorRoom([inspected], settings))
    }

    /// Creates an inspector of several stores.
    package init(_ room: InspectorRoom) { self.room = room }

    /// Serves the pages on this machine until `close()`.
    /// - Parameter port: the port to listen on; 0 takes a free one.
    /// - Returns: the address to open, with a token that lets in one browser, once.
    /// - Throws: `Failure` if it serves already or the port is taken.
    @discardableResult
    public func serve(port: Int = 0) async throws -> String {
      try state.withLock { state in
        guard case .idle = state else { throw Failure(description: "the inspector serves already") }
        state = .starting
      }
      do {
        let server = try await InspectorServer(room, port: port)
        state.withLock { $0 = .serving(server) }
        return server.newAddress()
      } catch {
        state.withLock { $0 = .idle }
        throw Self.failure(port, error)
      }
    }

    /// Makes another address, which lets in another browser, once: each browser needs one, and so does a user who opens
    /// an address that a preview of the link has opened already.
    ///
    /// ```swift
    /// let inspector = Inspector(store, engine)
    /// let (first, second) = (try await inspector.serve(), try inspector.newAddress())
    /// print(first, second)
    /// ```
    ///
    /// The newest 64 addresses are good until they are opened or `close()` is called; browsers that are in stay in.
    /// - Returns: the address to open.
    /// - Throws: `Failure` if nothing is served.
    public func newAddress() throws -> String {
      try state.withLock { state in
        guard case .serving(let server) = state else { throw Failure(description: "the inspector does not serve") }
        return server.newAddress()
      }
    }

    private static func failure(_ port: Int, _ error: any Error) -> Failure {
      let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
      return Failure(description: "the inspector cannot listen on port \(port): \(reason)")
    }

    /// Finds out whether an inspector could listen on a port, for who has much to start before there is one.
    /// - Throws: `Failure` if the port is taken.
    package static func checkPort(_ port: Int) async throws {
      do {
        try await InspectorServer.tryPort(port)
      } catch {
        throw failure(port, error)
      }
    }

    /// Ends serving: connections are closed, and the port is free when this returns. Does no harm if nothing is served.
    public func close() async {
      let server = state.withLock { state -> InspectorServer? in
        guard case .serving(let server) = state else { return nil }
        state = .idle
        return server
      }
      await server?.close()
    }
  }
#endif
