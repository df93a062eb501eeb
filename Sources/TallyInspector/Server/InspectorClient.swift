#if Inspector
  import Synchronization

  /// Whoever asks over one connection, for what takes long: nobody needs an answer that nobody waits for.
  final class InspectorClient: Sendable {
    private let hasLeft = Atomic<Bool>(false)

    /// Whether the connection is closed, or the inspector is about to end.
    var isGone: Bool { hasLeft.load(ordering: .relaxed) }

    func leave() { hasLeft.store(true, ordering: .relaxed) }
  }
#endif
