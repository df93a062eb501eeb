import Foundation

/// Starts programs. `Foundation.Process` cannot leave a standard file closed, which is something to test.
enum Spawn {
  /// What a program finds under the numbers 0, 1 and 2.
  struct Files {
    /// A path to read; nil leaves standard input closed.
    var input: String? = "/dev/null"
    /// A path to write; nil leaves standard output closed.
    var output: String?
    /// A path to write; nil leaves standard error closed.
    var errors: String?
  }

  struct Failure: Error {
    let number: Int32
    let program: String
  }

  /// Starts a program and does not wait for it.
  static func start(_ arguments: [String], in folder: String, files: Files) throws -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let writing = O_WRONLY | O_CREAT | O_TRUNC
    for (number, path, flags) in [(0, files.input, O_RDONLY), (1, files.output, writing), (2, files.errors, writing)] {
      guard let path else {
        posix_spawn_file_actions_addclose(&actions, Int32(number))
        continue
      }
      posix_spawn_file_actions_addopen(&actions, Int32(number), path, flags, 0o600)
    }
    // A crash is to be seen at once, not after a backtrace.
    let environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    var process: pid_t = 0
    let result = withCStrings(["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder] + arguments) { arguments in
      withCStrings(environment.map { "\($0)=\($1)" }) { environment in
        posix_spawn(&process, arguments[0] ?? strdup(""), &actions, nil, arguments, environment)
      }
    }
    guard result == 0 else { throw Failure(number: result, program: arguments.first ?? "") }
    return process
  }

  /// Waits for the end.
  /// - Returns: the exit code, or the number of the signal, negative.
  static func wait(for process: pid_t) -> Int32 { waitMeasuring(process).status }

  /// Waits for the end.
  /// - Returns: the status as above, the most bytes of memory that the program had, and the seconds of processor time
  ///   that it used.
  static func waitMeasuring(_ process: pid_t) -> (status: Int32, peak: Int, time: Double) {
    var status: Int32 = 0
    var usage = rusage()
    while wait4(process, &status, 0, &usage) < 0 && errno == EINTR {}
    let signal = status & 0x7F
    #if canImport(Darwin)
      let peak = Int(usage.ru_maxrss)
    #else
      let peak = Int(usage.ru_maxrss) << 10
    #endif
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    let time = seconds(usage.ru_utime) + seconds(usage.ru_stime)
    return (signal == 0 ? (status >> 8) & 0xFF : -signal, peak, time)
  }

  private static func withCStrings<T>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> T) -> T {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}
