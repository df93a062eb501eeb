#if Inspector
  import Foundation

  /// A person at the terminal where an inspector was started.
  package enum EnterKey {
    /// Calls the body each time that Enter is pressed, on a thread of its own, for as long as there is a terminal.
    ///
    /// Nothing is read unless standard input is a terminal with this process in its foreground: what a script has there
    /// is not meant for the inspector, and a job in the background would be stopped for reading.
    /// - Returns: whether Enter is listened to.
    package static func follow(_ body: @escaping @Sendable () -> Void) -> Bool {
      guard isatty(STDIN_FILENO) == 1, isInForeground else { return false }
      // Reading fails from now on where it would stop a process that was sent to the background.
      signal(SIGTTIN, SIG_IGN)
      let thread = Thread { read(body) }
      thread.name = "tally.enter"
      thread.start()
      return true
    }

    private static var isInForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

    private static func read(_ body: () -> Void) {
      var buffer = [UInt8](repeating: 0, count: 256)
      while true {
        let count = Foundation.read(STDIN_FILENO, &buffer, buffer.count)
        if count > 0 {
          for byte in buffer[..<count] where byte == 0x0A { body() }
        } else if count < 0, errno == EINTR {
          continue
        } else if count < 0, errno == EIO, tcgetpgrp(STDIN_FILENO) >= 0, !isInForeground {
          sleep(1)
        } else {
          return
        }
      }
    }
  }
#endif
