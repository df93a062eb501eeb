/// The outcome of applying a delta.
public struct ApplyResult: Sendable, Equatable {
  /// Records and links whose state changed.
  public var changes = 0
  /// Concurrent writes that lost, now in the conflict journal.
  public var conflicts = 0
  /// Records whose content was removed for good because the sender's was.
  public var emptied = 0
  /// Whether content went for good that files beside the store may still hold.
  package var hasRemoved = false
  /// Whether the sender's fingerprint contradicts ours although both vectors are equal: one of the two has lost or
  /// altered something. Exchange full states to repair it.
  public var fingerprintMismatch = false
  /// Whether what was stored here was damaged, or in doubt, and the sender's content was taken in its place.
  public var isHealed = false
  /// After healing: records and links of which this device alone has writes that nothing vouches for, and those of
  /// which it lost some, in words. At most a hundred.
  public var inDoubt: [String] = []

  /// The result of a delta that changed nothing.
  public init() {}

  package init(changes: Int, conflicts: Int) {
    self.changes = changes
    self.conflicts = conflicts
  }
}
