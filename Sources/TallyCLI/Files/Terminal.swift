import Foundation
import Synchronization

/// Standard error, shared by messages and one status line that is redrawn in place where it is a terminal. A message
/// clears the status line first.
enum Terminal {
  private static let clear = "\r\u{1B}[K"
  /// The line that changes, if one stands there.
  private static let bar = Mutex<String?>(nil)
  static let isThere = isatty(STDERR_FILENO) == 1

  /// The number of columns; 72 where it is not known.
  static var width: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 72 }
    return Int(size.ws_col)
  }

  /// Shows the line that changes, or clears it.
  static func show(bar line: String?) {
    bar.withLock { bar in
      guard isThere, line != nil || bar != nil else { return }
      write(clear + (line ?? ""))
      bar = line
    }
  }

  /// Clears the line where the tool ends, unless a line is being written right now.
  static func leave() { _ = bar.withLockIfAvailable { if $0 != nil { write(clear) } } }

  /// Writes whole lines.
  static func say(_ lines: String) { aside { write(lines) } }

  /// Lets something else be written to the terminal, and shows the line again.
  static func aside<T>(_ body: () throws -> T) rethrows -> T {
    try bar.withLock { bar in
      guard let line = bar else { return try body() }
      write(clear)
      defer { write(line) }
      return try body()
    }
  }

  /// If the terminal is gone, nothing can be done about it.
  private static func write(_ text: String) {
    try? Array(text.utf8).withUnsafeBytes { try writeAll($0, to: STDERR_FILENO, "standard error") }
  }
}
