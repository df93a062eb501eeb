/// A transport to a peer in the same process, which hands the other end of each connection to `accept`.
public struct MemoryTransport: Transport {
  /// The name of the peer.
  public let name: String
  private let accept: @Sendable (MemoryConnection) async throws -> Void

  /// Creates a transport to a peer in this process, for tests of an engine without a network.
  ///
  /// ```swift
  /// let transport = MemoryTransport(name: "tablet") { connection in try await tablet.sync(over: connection) }
  /// await engine.add(transport)
  /// ```
  /// - Parameters:
  ///   - name: the name of the peer in the engine's status.
  ///   - accept: serves the other end of each connection, in a task of its own.
  public init(name: String, accept: @escaping @Sendable (MemoryConnection) async throws -> Void) {
    self.name = name
    self.accept = accept
  }

  /// Opens a connection and returns this side's end. An error from `accept` ends its side, and this side sees a
  /// connection that ended.
  public func open() async throws -> any SyncConnection {
    let (here, there) = MemoryConnection.pair()
    Task { [accept] in
      try? await accept(there)
      await there.close()
    }
    return here
  }
}
