#if os(macOS) || os(Linux)
  import Synchronization

  /// A transport to a peer through a command, such as `ssh`, a container or a tunnel. This process starts it and uses
  /// its standard input and output.
  ///
  /// ```swift
  /// await engine.add(ProcessTransport(command: "ssh home.example tally serve scores.tally --stdio"))
  /// ```
  ///
  /// `/bin/sh` runs the command, so it must come from the program's user, never from a peer. Its standard error is this
  /// process's own unless another descriptor is given. When the connection closes, the command's input ends; if the
  /// command has not ended two seconds later, it receives `SIGTERM`.
  public struct ProcessTransport: Transport {
    /// The name of the peer; by default the command.
    public let name: String
    /// The command line that the shell runs.
    public let command: String
    /// The descriptor that becomes the command's standard error; nil for this process's own.
    public let standardErrorDescriptor: Int32?

    /// Creates a transport through a command. Nothing runs yet: each `open()` starts the command again.
    /// - Parameters:
    ///   - command: a command line for `/bin/sh`; never use text that comes from a peer.
    ///   - name: the name of the peer; by default the command.
    ///   - standardErrorDescriptor: a descriptor that becomes the command's standard error and stays open in this
    ///     process; nil for this process's own.
    public init(command: String, name: String? = nil, standardErrorDescriptor: Int32? = nil) {
      self.command = command
      self.standardErrorDescriptor = standardErrorDescriptor
      self.name = name ?? command
    }

    /// Starts the command and returns a connection to it.
    /// - Throws: the error that prevents it from starting. A failure of the command itself appears when the connection
    ///   is used.
    public func open() async throws -> any SyncConnection {
      try ProcessConnection(command, standardErrorDescriptor)
    }
  }

  /// A connection to a child process.
  final class ProcessConnection: SyncConnection {
    private static let patience: Duration = .seconds(2)
    private let stream: StreamConnection
    private let child: Child
    private let hasHeard = Atomic(false)

    init(_ command: String, _ errors: Int32? = nil) throws {
      let (input, output) = (try Pipes.make(), try Pipes.make())
      defer { for end in [input.reading, output.writing] { Pipes.close(end) } }
      stream = try StreamConnection(reading: output.reading, writing: input.writing)
      child = try Child(command, input: input.reading, output: output.writing, errors: errors)
    }

    func send(_ message: [UInt8]) async throws {
      do {
        try await stream.send(message)
      } catch let error as SyncError where error.code == .disconnected {
        throw await explained(error)
      }
    }

    func receive() async throws -> [UInt8]? {
      do {
        let message = try await stream.receive()
        hasHeard.store(true, ordering: .relaxed)
        return message
      } catch let error as SyncError where error.code == .disconnected {
        throw await explained(error)
      }
    }

    func close() async {
      await stream.close()
      if await !child.ended.wait(atMost: Self.patience) { child.terminate() }
    }

    /// Returns the shell's explanation of the end of the command, which says more than that the bytes ended.
    private func explained(_ error: SyncError) async -> SyncError {
      guard await child.ended.wait(atMost: Self.patience), let status = child.status, status != 0 else { return error }
      let code: SyncError.Code = hasHeard.load(ordering: .relaxed) ? .disconnected : .unreachable
      return SyncError(code, "the command failed with exit status \(status)", cause: error)
    }
  }
#endif
