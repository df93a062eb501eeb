extension SyncEngine {
  /// Does some work, and notes the newest of its steps meanwhile; none is noted after the end.
  func following<Step: Sendable, Outcome>(
    _ step: Step.Type, _ work: (@escaping @Sendable (Step) -> Void) async throws -> Outcome,
    note: @escaping @Sendable (isolated SyncEngine, Step) -> Void
  ) async throws -> Outcome {
    let (steps, feed) = AsyncStream.makeStream(of: Step.self, bufferingPolicy: .bufferingNewest(1))
    let following = Task { for await step in steps { note(self, step) } }
    let result: Result<Outcome, any Error>
    do { result = .success(try await work { feed.yield($0) }) } catch { result = .failure(error) }
    feed.finish()
    await following.value
    return try result.get()
  }
}
