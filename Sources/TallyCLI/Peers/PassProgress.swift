import Tally
import TallySync

/// The progress of a pass through a folder or a relay.
final class PassProgress: Sendable {
  private let bar: Progress

  init(_ options: ProgressOptions) { bar = Progress("syncing", options) }

  /// The settings of a pass that reports its progress here.
  var settings: MailboxSettings {
    var settings = MailboxSettings()
    if bar.isShown { settings.onProgress = { [bar] in Self.show($0, bar) } }
    return settings
  }

  private static func show(_ progress: MailboxProgress, _ bar: Progress) {
    let (file, files) = (progress.file, progress.fileCount)
    let read = SyncProgress.size(UInt64(progress.bytesRead))
    if let transfer = progress.transfer {
      let of = files > 1 && progress.phase == .taking ? "file \(min(file + 1, files)) of \(files), " : ""
      return bar.show(
        transfer.fraction, of: "syncing: \(transfer.words)", left: transfer.left, "\(of)\(transfer.details)")
    }
    switch progress.phase {
    case .looking:
      bar.show(nil, files > 0 ? "\(file) of \(count(files, "file")) looked at" : "looking around")
    case .taking:
      bar.show(files > 0 ? Double(file) / Double(files) : nil, "\(file) of \(count(files, "file")), \(read) read")
    case .putting: bar.show(nil, "\(SyncProgress.size(UInt64(progress.bytesWritten))) put, \(read) read")
    }
  }

  /// Clears the line.
  func end() { bar.end() }
}
