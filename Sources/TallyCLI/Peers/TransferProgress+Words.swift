import Tally
import TallySync

extension TransferProgress {
  /// What is being done with a delta, behind the word `syncing`.
  var words: String {
    switch stage {
    case .preparing: "reading what is new"
    case .sending: "sending"
    case .waiting: "waiting for the peer"
    case .receiving: "receiving"
    case .applying: "applying"
    }
  }

  /// How much of it is done: `12 MB of 27 MB, 91233 records`.
  var details: String {
    var parts: [String] = []
    if byteCount > 0 {
      parts.append("\(SyncProgress.size(bytes)) of \(SyncProgress.size(byteCount))")
    } else if bytes > 0 {
      parts.append(SyncProgress.size(bytes))
    }
    if records > 0 { parts.append("\(records) records") }
    return parts.joined(separator: ", ")
  }

  /// The time until its end: `10 s left`; empty if that cannot be told.
  var left: String { byteCount > bytes ? timeLeft.map(Self.text) ?? "" : "" }

  private static func text(_ left: Duration) -> String {
    // A second begun is a second to wait.
    let seconds = left.components.seconds + 1
    if seconds < 100 { return "\(seconds) s left" }
    return seconds < 5400 ? "\((seconds + 59) / 60) min left" : "\((seconds + 3599) / 3600) h left"
  }
}
