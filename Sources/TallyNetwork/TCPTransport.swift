#if Network
  import NIOCore
  import NIOPosix
  import NIOSSL
  import TallySync

  /// A transport to a peer that listens on a TCP port, such as a `TCPListener`.
  ///
  /// ```swift
  /// let transport = TCPTransport(host: "home.example", port: 7_400, security: .tls(TLSSettings(), secret: secret))
  /// await engine.add(transport)
  /// ```
  public struct TCPTransport: Transport {
    /// The name of the peer; by default `host:port`.
    public let name: String
    private let host: String
    private let port: Int
    private let security: NetworkSecurity
    private let limits: NetworkLimits

    /// Creates a transport to a port of a host.
    /// - Parameters:
    ///   - host: the name or the address of the host.
    ///   - port: the TCP port on which the peer listens.
    ///   - security: the secret and the encryption; they must match the listener's.
    ///   - name: the name of the peer; by default `host:port`.
    ///   - limits: the times to wait for the peer; the numbers of peers apply only to listeners.
    public init(
      host: String, port: Int, security: NetworkSecurity, name: String? = nil, limits: NetworkLimits = NetworkLimits()
    ) {
      self.host = host
      self.port = port
      self.security = security
      self.name = name ?? "\(host):\(port)"
      self.limits = limits
    }

    /// Connects, lets both sides introduce themselves, and returns the connection.
    /// - Throws: `SyncError`: `unreachable` if no peer listens there, `unauthorized` if one side does not accept the
    ///   other, `timedOut`.
    public func open() async throws -> any SyncConnection { try await connect() }

    /// Connects like `open`, and returns the connection with its own type.
    public func connect() async throws -> TCPConnection {
      let context = try security.clientContext()
      let opening = try await dial(context)
      let (secret, channel, isEncrypted) = (security.secret, opening.channel, context != nil)
      return try await opening.finish(limits.introduction) { framed in
        guard let secret else { return }
        let binding = isEncrypted ? try await Self.binding(channel) : []
        try await Introduction(connection: framed, secret: secret, binding: binding).asClient()
      }
    }

    private func dial(_ context: NIOSSLContext?) async throws -> Opening {
      let limits = limits
      // An address cannot be asked for by name (RFC 6066, 3); a certificate for addresses is compared with the one
      // dialled.
      let isAddress = (try? SocketAddress(ipAddress: host, port: port)) != nil
      let hostname = isAddress ? nil : host
      do {
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .channelOption(.autoRead, value: false)
          .channelOption(.allowRemoteHalfClosure, value: true)
          .channelOption(.tcpOption(.tcp_nodelay), value: 1)
          .channelOption(.socketOption(.so_keepalive), value: 1)
          .connectTimeout(TimeAmount(limits.connecting))
          .connect(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
              try Opening.make(
                channel, context.map { try NIOSSLClientHandler(context: $0, serverHostname: hostname) }, limits)
            }
          }
      } catch let error as SyncError {
        throw error
      } catch {
        throw SyncError(.unreachable, "no server responds at \(host):\(port)", cause: error)
      }
    }

    private static func binding(_ channel: any Channel) async throws -> [UInt8] {
      guard let certificate = try await channel.nioSSL_peerCertificate().get() else {
        throw SyncError(.unauthorized, "the peer has no certificate")
      }
      return try certificate.fingerprint()
    }
  }
#endif
