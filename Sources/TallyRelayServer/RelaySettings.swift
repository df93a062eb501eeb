#if Relay
  import Foundation

  /// How a relay behaves.
  public struct RelaySettings: Sendable {
    /// What each token, and each request, may take up. Rates are of one process.
    public struct Limits: Sendable {
      /// How many requests a token may make in each second, in the long run.
      public var requestsPerSecond = 50.0
      /// How many requests a token may make at once, after a pause.
      public var requestBurst = 200
      /// In how many requests a token may wait for news.
      public var waitingRequests = 16
      /// How long a stream of events says nothing when there is nothing to say.
      public var heartbeat: Duration = .seconds(20)
      /// How long whoever has asked for events may not read them.
      public var longestWrite: Duration = .seconds(60)
      /// How long a stream of events lives at most; it ends after seven tenths of that or later, at random.
      public var streamLife: Duration = .seconds(90 * 60)
      /// How many connections are open at once. Others wait for one to end.
      public var connections = 20_000
      /// How many bytes of bodies are taken in at once, of all requests together.
      public var bodyBytes = 256 << 20
      /// The largest entry.
      public var entryBytes = 1 << 30
      /// How long a body may take before its rate counts.
      public var slowBody: Duration = .seconds(10)
      /// How many bytes of a body must come in a second after that.
      public var slowestBytesPerSecond = 1_024
      /// How long a connection may say nothing, between requests or within one.
      public var idle: Duration = .seconds(60)
      /// How long between two looks for deleted spaces: for those whose rows are to be removed, and for those in which
      /// somebody waits.
      public var sweepPause: Duration = .seconds(10)
      /// How long requests that are under way get when the relay is asked to end.
      public var draining: Duration = .seconds(20)

      /// The usual limits.
      public init() {}
    }

    /// How a line of the log looks.
    public enum LogFormat: String, Sendable, CaseIterable {
      /// An object of JSON.
      case json
      /// Words with spaces between.
      case text
    }

    /// Where to listen.
    public struct Address: Sendable, Hashable {
      /// A name or an address of this machine.
      public var host: String
      /// A port; 0 for a free one.
      public var port: Int

      /// A host and a port.
      public init(host: String, port: Int) { (self.host, self.port) = (host, port) }
    }

    /// A TLS certificate and its private key: two PEM files, read when the relay starts.
    public struct Certificate: Sendable, Hashable {
      /// The certificate, followed by the intermediate certificates up to a root that clients trust.
      public var chainPath: String
      /// The certificate's private key.
      public var keyPath: String

      /// A certificate with its key.
      public init(chainPath: String, keyPath: String) { (self.chainPath, self.keyPath) = (chainPath, keyPath) }
    }

    /// Where clients come.
    public var address: Address
    /// Serves TLS, 1.2 or newer, instead of plain HTTP; nil for plain HTTP. Restart the relay after a renewal.
    public var certificate: Certificate?
    /// Where health and metrics are, for the owner alone, in plain HTTP; nil for nowhere.
    public var admin: Address?
    /// How long the content of a deleted space is kept, so that it can be restored.
    public var keep: Duration = .seconds(7 * 86_400)
    /// What tokens and requests may take up.
    public var limits = Limits()
    /// How a line of the log looks.
    public var logFormat = LogFormat.text
    /// Receives the lines of the log without line ends; nil for none. Called on event loops, so it must not block.
    public var log: (@Sendable (String) -> Void)?

    /// The usual settings.
    public init(address: Address, admin: Address? = nil) { (self.address, self.admin) = (address, admin) }
  }
#endif
