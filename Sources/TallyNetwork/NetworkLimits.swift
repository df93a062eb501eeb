#if Network
  /// The limits of a listener or transport: the time to wait for peers, and the number of peers to serve.
  public struct NetworkLimits: Sendable {
    /// The time to wait for a connection to open.
    public var connecting: Duration = .seconds(10)
    /// The time to wait for the peer to introduce itself: the TLS handshake and the proof of the secret together.
    public var introduction: Duration = .seconds(10)
    /// The time to wait for the next bytes while a call needs them, and for the peer to accept one message. A live
    /// session sends something every ten seconds, so a connection that is silent for much longer has lost its other
    /// end.
    public var idle: Duration = .seconds(120)
    /// The maximum number of peers that have introduced themselves and that a listener serves at once. Further ones
    /// are closed.
    public var connections = 256
    /// The maximum number of peers that have not introduced themselves yet and that a listener keeps at once, apart
    /// from `connections`; at least one. When one more arrives, the listener drops the one that has waited longest
    /// among those from the address (for IPv6, the 64-bit network) that most of them come from. So strangers cannot
    /// keep out anybody who knows the secret.
    public var strangers = 64

    /// Creates the default limits, which suit a device with a few peers. A listener on the open internet may want fewer
    /// strangers; one that serves an office may want more connections.
    public init() {}
  }
#endif
