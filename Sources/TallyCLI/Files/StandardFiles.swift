import Foundation

/// The standard files that the shell hands over, checked before anything is opened.
enum StandardFiles {
  /// Puts something in the place of standard files that are closed, so that no file opened later takes their numbers
  /// and gets the output or the errors written into it. Using them fails as if they were closed.
  static func hold() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one; opened the wrong way round, it refuses what is asked of it.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Refuses arguments that Swift would repair, and so store as something else than what was given.
  /// - Throws: `Failure`.
  static func checkArguments() throws {
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = CommandLine.unsafeArgv[index] else { continue }
      guard String(validatingCString: argument) != nil else {
        throw Failure(.badData, "argument \(index) is not valid UTF-8")
      }
    }
  }
}
