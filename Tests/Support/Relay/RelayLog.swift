import TallyRelayProtocol
import TallySync

/// Where a simulated relay keeps its log: in memory, or, in the relay's own tests, in the relay itself.
package protocol RelayLog: Sendable {
  /// The log as a client reaches it that nobody pushes to.
  var mailbox: any Mailbox { get }
  /// Whether it waits for what other threads do.
  var blocks: Bool { get }
  /// The event that an instance writes to a stream that stands at a cursor; nil if there is nothing to say.
  func event(after cursor: RelayCursor?) throws -> RelayEvent?
  /// Keeps a copy.
  func backUp() throws
  /// Puts the copy back, if there is one.
  /// - Returns: whether there was.
  func restore() throws -> Bool
  /// After how many bytes each download breaks off; nil for none.
  func cutDownloads(after byteCount: Int?)
}
