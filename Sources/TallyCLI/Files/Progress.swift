import Foundation

/// A bar on the terminal; nothing if standard error is none.
final class Progress {
  private static let width = 30
  private static let interval: UInt64 = 100_000_000
  private let file: InputFile
  private let isShown = isatty(STDERR_FILENO) == 1
  private var last: UInt64 = 0

  init(of file: InputFile) { self.file = file }

  func show(_ text: String) {
    let now = DispatchTime.now().uptimeNanoseconds
    guard isShown, now - last >= Self.interval else { return }
    last = now
    var bar = ""
    if let total = file.byteCount, total > 0 {
      let filled = min(Self.width, Self.width * file.bytesRead / total)
      bar = "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: Self.width - filled))] "
    }
    showOnTerminal("\r\u{1B}[K\(bar)\(text)")
  }

  /// Clears the line.
  func end() {
    if isShown, last > 0 { showOnTerminal("\r\u{1B}[K") }
  }
}
