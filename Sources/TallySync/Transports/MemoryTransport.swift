/// Reaches a peer in the same process: the other end of each connection is handed to `accept`.
public struct MemoryTransport: Transport {
  /// The name of the peer.
  public let name: String
  private let accept: @Sendable (MemoryConnection) async throws -> Void

  /// A transport to what `accept` serves, such as `{ try await store.sync(over: $0) }`.
  public init(name: String, accept: @escaping @Sendable (MemoryConnection) async throws -> Void) {
    self.name = name
    self.accept = accept
  }

  /// Connects. What `accept` throws ends its side; the opener sees a connection that ended.
  public func open() async throws -> any SyncConnection {
    let (here, there) = MemoryConnection.pair()
    Task { [accept] in
      try? await accept(there)
      await there.close()
    }
    return here
  }
}
