/// The outcome of applying a delta.
public struct ApplyResult: Sendable, Equatable {
  /// The number of records and links whose state changed.
  public var changes = 0
  /// The number of concurrent writes that lost and are now in the conflict journal.
  public var conflicts = 0
  /// The number of records whose content was removed for good because the sender had removed it.
  public var emptied = 0
  /// Whether content went for good that files beside the store may still hold.
  package var hasRemoved = false
  /// Whether the fingerprints differ although both vectors are equal: one of the two stores has lost or altered
  /// something. Exchange full states to repair it.
  public var fingerprintMismatch = false
  /// Whether this store's content was damaged or in doubt and the sender's content replaced it.
  public var isHealed = false
  /// Descriptions of records and links after healing: those for which only this device has writes, which nothing
  /// confirms, and those that have lost some of its writes. At most a hundred.
  public var inDoubt: [String] = []

  /// Creates the result of a delta that changed nothing.
  public init() {}

  package init(changes: Int, conflicts: Int) {
    self.changes = changes
    self.conflicts = conflicts
  }
}
