import Logging
import TallyCRDT

/// Notices that triggers of the app's answer each change of a peer's with a write of their own. If the peer's do the
/// same, the two never come to rest. Recipes for triggers that stay quiet while the store applies are in
/// `Docs/Triggers.md`.
struct EchoDetector {
  /// So many changes in a row that were answered count as a loop.
  static let threshold = 16
  private var count = 0

  /// Takes note of a change of a peer's that was applied.
  mutating func note(_ isAnswered: Bool, _ connection: Connection, _ logger: Logger) throws {
    guard isAnswered else {
      if count >= Self.threshold { try connection.execute("DELETE FROM tally_meta WHERE key = 'echo'") }
      count = 0
      return
    }
    count += 1
    guard count == Self.threshold else { return }
    logger.warning(
      "app triggers answer every change from peers with a write; guard them with WHEN NOT tally_applying()")
    try connection.execute("INSERT OR REPLACE INTO tally_meta VALUES('echo', 1)")
  }
}
