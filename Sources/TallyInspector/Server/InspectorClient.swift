#if Inspector
  import Synchronization

  /// The client of one connection, for what takes long: an answer that is no longer waited for is not needed.
  final class InspectorClient: Sendable {
    private let hasLeft = Atomic<Bool>(false)

    /// Whether the connection is closed, or the inspector is about to end.
    var isGone: Bool { hasLeft.load(ordering: .relaxed) }

    func leave() { hasLeft.store(true, ordering: .relaxed) }
  }
#endif
