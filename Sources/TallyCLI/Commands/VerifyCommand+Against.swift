import Tally
import TallySync

extension VerifyCommand {
  /// `tally verify STORE --against PEER`.
  func compare(with peer: String) throws {
    let transport = try PeerAddress(peer).transport(security)
    try store.reading { store in
      let result = try Waiting.run {
        try await blamingPeer { try await store.compare(over: try await transport.open()) }
      }
      guard result.isEqual else { throw Failure(.badData, Self.difference(result)) }
      try Output.run { try $0.line("equal") }
    }
  }

  private static func difference(_ result: SyncComparison) -> String {
    guard !result.isSameVector else { return "both have seen the same and hold something else; sync repairs that" }
    let (lacking, ahead) = (
      count(Int(clamping: result.lacking), "transaction"), count(Int(clamping: result.ahead), "transaction")
    )
    return "not equal: this store lacks \(lacking), the peer lacks \(ahead)"
  }
}
