import Tally
import TallySync

/// The output of the tool for a pass through a mailbox.
enum MailboxLines {
  /// Prints what a pass did.
  static func print(_ report: MailboxReport) throws {
    try Output.run { output in
      try output.line(
        "took \(count(report.taken.count, "file")): \(count(report.changes, "change")), "
          + count(report.conflicts, "conflict"))
      try output.line("put \(count(report.written.count, "file")), \(count(report.bytesWritten, "byte"))")
      if !report.removed.isEmpty { try output.line("removed \(count(report.removed.count, "file"))") }
      for line in AssetLines.of(report.assets) { try output.line(line) }
      if report.repaired { try output.line("contents differed although the vectors were equal; a full state was put") }
      for issue in report.pending { try output.line("pending \(shown(issue.name)): \(brief(issue.message))") }
    }
  }

  /// - Throws: `Failure` if something cannot be taken in.
  static func checkRefused(_ report: MailboxReport) throws {
    guard let worst = report.refused.first else { return }
    let isNewer = report.refused.contains { $0.reason == .newerVersion }
    throw Failure(
      isNewer ? .newerFormat : .badData,
      "\(count(report.refused.count, "file")) cannot be taken in; the first is \(shown(worst.name)): \(worst.message)"
    )
  }

  /// - Throws: `Failure` if something may still arrive. What builds on a file that cannot be taken in does not.
  static func checkPending(_ report: MailboxReport) throws {
    let late = report.pending.filter { report.refused.isEmpty || $0.reason != .waitsForOthers }.count
    guard late > 0 else { return }
    try checkRefused(report)
    throw Failure(.busy, "\(count(late, "file")) \(late == 1 ? "has" : "have") not arrived")
  }
}
