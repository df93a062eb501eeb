#if Relay
  import HummingbirdCore
  import Logging
  import NIOCore
  import Synchronization
  import TallyRelayProtocol

  /// Runs what a connection's task does on the event loop of the connection.
  ///
  /// Swift's own pool would take each step of a request to another thread and back, which costs more than the step.
  /// Nothing here may block: storage has threads of its own.
  struct LoopChannel<Base: ServerChildChannel>: ServerChildChannel {
    private let base: Base
    private let limits: RelaySettings.Limits
    private let connections: Connections
    private let onRefusal: @Sendable (RelayProblem) -> Void
    private let executors = LoopExecutors()

    /// How much waits in a connection before it is told to write no more. The system keeps more than that itself.
    private static var waterMark: ChannelOptions.Types.WriteBufferWaterMark { .init(low: 4 << 10, high: 16 << 10) }

    /// A channel on top of another; `onRefusal` is called with what never became a request.
    init(
      _ base: Base, _ limits: RelaySettings.Limits, _ connections: Connections,
      onRefusal: @escaping @Sendable (RelayProblem) -> Void
    ) { (self.base, self.limits, self.connections, self.onRefusal) = (base, limits, connections, onRefusal) }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
      do {
        // Most requests fit into it, and a stream of events keeps it as long as it lives.
        try channel.syncOptions?.setOption(
          .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1_024, maximum: 65_536))
        try channel.syncOptions?.setOption(.writeBufferWaterMark, value: Self.waterMark)
        try channel.pipeline.syncOperations.addHandler(InputWatch())
      } catch {
        return channel.eventLoop.makeFailedFuture(error)
      }
      return base.setup(channel: channel, logger: logger).flatMapThrowing { [limits, connections, onRefusal] value in
        try RefusalForm.add(to: value.channel, onRefusal)
        try AnswerWatch.add(
          to: value.channel,
          .init(longestWrite: limits.longestWrite, slowestBytesPerSecond: limits.slowestBytesPerSecond))
        try RequestWatch.add(
          to: value.channel, connections, longestRest: TimeAmount(limits.slowBody + limits.longestWrite))
        return value
      }
    }

    func handle(value: Base.Value, logger: Logger) async {
      await withTaskExecutorPreference(executors.executor(of: value.channel.eventLoop)) {
        await base.handle(value: value, logger: logger)
      }
    }
  }

  /// One executor for each event loop.
  private final class LoopExecutors: Sendable {
    private let executors = Mutex<[ObjectIdentifier: LoopExecutor]>([:])

    func executor(of loop: any EventLoop) -> LoopExecutor {
      executors.withLock { executors in
        if let executor = executors[ObjectIdentifier(loop)] { return executor }
        let executor = LoopExecutor(loop)
        executors[ObjectIdentifier(loop)] = executor
        return executor
      }
    }
  }

  private final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
#endif
