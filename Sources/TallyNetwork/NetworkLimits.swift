#if Network
  /// How long to wait for peers, and how many of them to serve.
  public struct NetworkLimits: Sendable {
    /// For a connection to open.
    public var connecting: Duration = .seconds(10)
    /// For the peer to introduce itself: the TLS handshake and the proof of the secret together.
    public var introduction: Duration = .seconds(10)
    /// For the next bytes, while somebody waits for them, and for the peer to take one message. A live session says
    /// something every ten seconds, so what is silent for much longer is a connection whose other end is gone.
    public var idle: Duration = .seconds(120)
    /// How many peers that have introduced themselves a listener serves at once. Further ones are closed.
    public var connections = 256
    /// How many peers that have not introduced themselves yet a listener keeps at once, apart from `connections`; at
    /// least one. When one more comes, the one goes that has waited longest of those from the address (for IPv6, the
    /// network of 64 bits) that most of them come from. So strangers keep out nobody who knows the secret.
    public var strangers = 64

    /// The usual limits.
    public init() {}
  }
#endif
