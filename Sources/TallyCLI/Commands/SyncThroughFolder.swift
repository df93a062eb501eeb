import Foundation
import Tally

/// `tally sync STORE --via folder:PATH`.
struct SyncThroughFolder {
  private let url: URL

  init(_ place: String) throws {
    let scheme = "folder:"
    guard place.hasPrefix(scheme), place.count > scheme.count else {
      throw Failure(.usage, "\(shown(place)) is no place to sync through; folder:PATH is")
    }
    url = URL(fileURLWithPath: String(place.dropFirst(scheme.count)), isDirectory: true)
  }

  func run(_ path: String, _ waiting: WaitingOptions) throws {
    try OpenStore.writing(path, waiting.timeout) { store in
      let report: MailboxReport
      do {
        report = try store.sync(through: FolderMailbox(url))
      } catch let error as MailboxError {
        throw Failure(error.code == .unavailable ? .notFound : .inputOutput, "\(url.path): \(error.message)")
      }
      try Output.run { try Self.print(report, $0) }
      guard let worst = report.refused.first else { return }
      let isNewer = report.refused.contains { $0.reason == .newerVersion }
      throw Failure(
        isNewer ? .newerFormat : .badData,
        "\(count(report.refused.count, "file")) cannot be taken in; the first is \(shown(worst.name)): \(worst.message)"
      )
    }
  }

  private static func print(_ report: MailboxReport, _ output: Output) throws {
    try output.line(
      "took \(count(report.taken.count, "file")): \(count(report.changes, "change")), "
        + count(report.conflicts, "conflict"))
    try output.line("put \(count(report.written.count, "file")), \(count(report.bytesWritten, "byte"))")
    if !report.removed.isEmpty { try output.line("removed \(count(report.removed.count, "file"))") }
    if report.repaired { try output.line("contents differed although the vectors were equal; a full state was put") }
    for issue in report.pending { try output.line("pending \(shown(issue.name)): \(issue.message)") }
  }
}
