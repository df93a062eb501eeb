#if Relay
  import Foundation

  /// The settings of a relay.
  public struct RelaySettings: Sendable {
    /// The limits of each token and each request. Rates are of one process.
    public struct Limits: Sendable {
      /// The number of requests per second that a token may make, in the long run.
      public var requestsPerSecond = 50.0
      /// The number of requests that a token may make at once, after a pause.
      public var requestBurst = 200
      /// In how many requests a token may wait for news.
      public var waitingRequests = 16
      /// The time for which a stream of events is silent when there is nothing to report.
      public var heartbeat: Duration = .seconds(20)
      /// The time for which a client may leave an answer or an event unread; then its connection is closed. A client
      /// that reads must take `slowestBytesPerSecond` after that time.
      public var longestWrite: Duration = .seconds(60)
      /// The maximum number of bytes of answers and events that are in memory at once, of all requests together. A
      /// token gets a sixteenth of what others have left.
      public var answerBytes = 256 << 20
      /// The maximum number of bytes that connections hold on which no request is under way, such as headers that have
      /// not come in whole, of all connections together. Beyond that those that have waited longest are closed.
      package var unfinishedBytes = 64 << 20
      /// The maximum number of bytes that connections over TLS take on which no request is under way, beside
      /// `unfinishedBytes`: some 4,000 connections. Beyond that those are closed that have waited longest, for two
      /// seconds or more.
      package var idleSessionBytes = 256 << 20
      /// How often the token of a stream of events or of a long download is looked up again.
      package var tokenPause: Duration = .seconds(5)
      /// The maximum lifetime of a stream of events; it ends after seven tenths of that or later, at random.
      public var streamLife: Duration = .seconds(90 * 60)
      /// The maximum number of open connections. Beyond nine tenths of it those are closed that have waited longest
      /// without a request, first of them the ones that never had one; if all have one, others wait for one to end.
      /// Each takes a file descriptor: a process that may have fewer must set this lower, as `tally relay` does, since
      /// one without any left does not go on.
      public var connections = 20_000
      /// The maximum number of bytes of bodies that are taken in at once, of all requests together. A token gets a
      /// quarter of what others have left.
      public var bodyBytes = 256 << 20
      /// The most bytes of one entry; a larger one is refused.
      public var entryBytes = 1 << 30
      /// The most bytes of a space that has no quota of its own; nil for no limit.
      public var spaceBytes: Int64?
      /// The most bytes of the relay's file; nil for no limit. What would need more is answered with 507
      /// `storageFull`. Not for a database.
      public var fileBytes: Int64?
      /// The time that a body may take before its rate counts. A body that came fast may pause for as long as
      /// `longestWrite`.
      public var slowBody: Duration = .seconds(10)
      /// The minimum number of bytes of a body per second after that, and of an answer.
      public var slowestBytesPerSecond = 1_024
      /// The time for which a connection may be silent, between requests or within one.
      public var idle: Duration = .seconds(60)
      /// The time between two searches for deleted spaces: for those whose rows are to be removed, and for those in
      /// which somebody waits.
      public var sweepPause: Duration = .seconds(10)
      /// The longest time for which the clock has to go evenly before something is removed for good because of what it
      /// says; less where deleted spaces are kept for less.
      package var clockProbation: Duration = .seconds(3_600)
      /// The time between two looks at the process's memory, to give back what it no longer needs.
      public var memoryPause: Duration = .seconds(15)
      /// The time that requests in progress are given when the relay is asked to stop.
      public var draining: Duration = .seconds(20)

      /// Creates the limits that the relay has unless its administrator gives others.
      public init() {}
    }

    /// The format of a line of the log.
    public enum LogFormat: String, Sendable, CaseIterable {
      /// An object of JSON.
      case json
      /// Words with spaces between.
      case text
    }

    /// The address to listen at.
    public struct Address: Sendable, Hashable {
      /// A name or an address of this machine.
      public var host: String
      /// A port; 0 for a free one.
      public var port: Int

      /// A host and a port.
      public init(host: String, port: Int) { (self.host, self.port) = (host, port) }
    }

    /// A TLS certificate and its private key: two PEM files, read when the relay starts, and when it is told to read
    /// them again.
    public struct Certificate: Sendable, Hashable {
      /// The certificate, followed by the intermediate certificates up to a root that clients trust.
      public var chainPath: String
      /// The file of the certificate's private key, in PEM.
      public var keyPath: String

      /// A certificate with its key.
      public init(chainPath: String, keyPath: String) { (self.chainPath, self.keyPath) = (chainPath, keyPath) }
    }

    /// The address to which clients connect.
    public var address: Address
    /// Serves TLS, 1.2 or newer, instead of plain HTTP; nil for plain HTTP. After a renewal,
    /// `RelayServer.reloadCertificate()`.
    public var certificate: Certificate?
    /// The address of health and metrics, for the owner alone, in plain HTTP; nil for none.
    public var admin: Address?
    /// The time for which the content of a deleted space is kept, so that it can be restored.
    public var keep: Duration = .seconds(7 * 86_400)
    /// The limits of tokens and requests.
    public var limits = Limits()
    /// The format of a line of the log.
    public var logFormat = LogFormat.text
    /// Receives the lines of the log without line ends; nil for none. Called on event loops, so it must not block.
    public var log: (@Sendable (String) -> Void)?

    /// Creates settings with the usual limits, for an address and perhaps one for administrators.
    public init(address: Address, admin: Address? = nil) { (self.address, self.admin) = (address, admin) }
  }
#endif
