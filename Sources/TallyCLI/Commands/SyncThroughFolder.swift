import Foundation
import Tally
import TallySync

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

  func run(_ path: String, _ waiting: WaitingOptions, _ progress: ProgressOptions) throws -> MailboxReport {
    try OpenStore.writing(path, waiting.timeout) { store in
      let bar = PassProgress(progress)
      defer { bar.end() }
      let report: MailboxReport
      do {
        report = try store.sync(through: FolderMailbox(url), bar.settings)
      } catch let error as MailboxError {
        throw Failure(error.code == .unavailable ? .notFound : .inputOutput, "\(url.path): \(error.message)")
      }
      bar.end()
      try MailboxLines.print(report)
      return report
    }
  }
}
