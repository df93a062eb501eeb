#if os(macOS) || os(Linux)
  import Foundation
  import Synchronization

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Darwin)
    import Darwin
  #endif

  /// A command that runs.
  ///
  /// Not `Foundation.Process`: on Linux what it starts inherits the signal mask of the thread, which on a dispatch
  /// thread blocks nearly all signals, and its end is noticed only when its own children have ended as well.
  package final class Child: Sendable {
    /// Opens when the command has ended.
    package let ended = Latch()
    private let process: pid_t
    private let result = Mutex<Int32?>(nil)

    /// Starts a command. The descriptors become its standard input, output and error, and stay open here; without
    /// `errors`, its standard error is that of this process.
    package init(_ command: String, input: Int32, output: Int32, errors: Int32? = nil) throws {
      process = try Self.spawn(command, input, output, errors)
      ChildProcesses.running.withLock { _ = $0.insert(process) }
      let thread = Thread { [self] in wait() }
      thread.name = "tally.child"
      thread.start()
    }

    /// The status that the shell would report: the exit status, or 128 and the signal; nil while it runs.
    package var status: Int32? { result.withLock { $0 } }

    /// Asks the command, and what it has started, to end.
    package func terminate() {
      // Under the lock it has not been reaped, so the number is still its own.
      result.withLock { if $0 == nil { ChildProcesses.terminate(process) } }
    }

    private func wait() {
      var information = siginfo_t()
      while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
      result.withLock { result in
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        result = signal == 0 ? status >> 8 & 0xFF : 128 + signal
        ChildProcesses.running.withLock { _ = $0.remove(process) }
      }
      ended.open()
    }

    private static func spawn(_ command: String, _ input: Int32, _ output: Int32, _ errors: Int32?) throws -> pid_t {
      #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
      #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
      #endif
      posix_spawn_file_actions_init(&actions)
      posix_spawnattr_init(&attributes)
      defer {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
      }
      posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
      posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
      if let errors { posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO) }
      // No signal blocked, and a broken pipe ends it again, even if this process ignores one.
      var (none, broken) = (sigset_t(), sigset_t())
      sigemptyset(&none)
      sigemptyset(&broken)
      sigaddset(&broken, SIGPIPE)
      posix_spawnattr_setsigmask(&attributes, &none)
      posix_spawnattr_setsigdefault(&attributes, &broken)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
      var arguments: [UnsafeMutablePointer<CChar>?] = []
      for text in ["/bin/sh", "-c", command] { arguments.append(strdup(text)) }
      arguments.append(nil)
      defer { for argument in arguments { free(argument) } }
      var process: pid_t = 0
      let failure = Pipes.whileNoneIsMade {
        posix_spawn(&process, "/bin/sh", &actions, &attributes, &arguments, environ)
      }
      guard failure == 0 else {
        throw SyncError(
          .unreachable, "the command cannot be started", cause: POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO))
      }
      return process
    }
  }
#endif
