import Foundation

/// A program that was started. Its streams are pipes or files of ours.
struct Child {
  let process: pid_t

  struct CannotStart: Error {
    let number: Int32
    let program: String
  }

  /// Starts a program in a folder. `streams` are descriptors for its standard input, output and error.
  init(_ command: [String], in folder: String, streams: [Int32], environment: [String: String] = [:]) throws {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, descriptor) in streams.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
    }
    let all = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
      .merging(environment) { $1 }
    var process: pid_t = 0
    let inFolder = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder]
    let result = Self.withCStrings(inFolder + command) { arguments in
      Self.withCStrings(all.map { "\($0)=\($1)" }) { posix_spawn(&process, "/bin/sh", &actions, nil, arguments, $0) }
    }
    guard result == 0 else { throw CannotStart(number: result, program: command[0]) }
    self.process = process
  }

  /// Ends it as nothing can prevent.
  func kill() { Foundation.kill(process, SIGKILL) }

  /// Waits for its end.
  /// - Returns: the exit code, or the number of the signal, negative.
  @discardableResult
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : -signal
  }

  private static func withCStrings<T>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> T) -> T {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}

/// A pipe that children do not inherit unless it is given to them.
struct Pipe {
  let reading: Int32
  let writing: Int32

  init() throws {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (reading, writing) = (ends[0], ends[1])
  }

  /// Everything up to the end.
  static func rest(of descriptor: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = next(of: descriptor) { bytes += more }
    return bytes
  }

  /// What is there already.
  static func available(of descriptor: Int32) -> [UInt8] {
    let flags = fcntl(descriptor, F_GETFL)
    _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
    defer { _ = fcntl(descriptor, F_SETFL, flags) }
    return rest(of: descriptor)
  }

  /// What is there; waits for something, nil at the end.
  static func next(of descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &buffer, buffer.count)
    return count > 0 ? Array(buffer[..<count]) : nil
  }
}
