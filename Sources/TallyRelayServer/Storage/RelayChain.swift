#if Relay
  import Crypto
  import TallyRelayProtocol

  /// The hash that makes a cursor safe to keep: at each position the first sixteen bytes of a SHA-256 over the hash
  /// before, a byte that says whether an entry has come or gone, and its name.
  enum RelayChain {
    /// At the beginning of a log.
    static func start(of space: String) -> [UInt8] { hash(Array("tally relay log 1\0\(space)".utf8)) }

    /// After an entry that has come.
    static func next(_ chain: [UInt8], entry name: String) -> [UInt8] { hash(chain + [1] + Array(name.utf8)) }

    /// After an entry that has gone.
    static func next(_ chain: [UInt8], removal name: String) -> [UInt8] { hash(chain + [2] + Array(name.utf8)) }

    private static func hash(_ bytes: [UInt8]) -> [UInt8] {
      Array(SHA256.hash(data: bytes).prefix(RelayCursor.chainBytes))
    }
  }
#endif
