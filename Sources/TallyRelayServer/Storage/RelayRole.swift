#if Relay
  /// The rights that a token grants.
  public enum RelayRole: String, Sendable, CaseIterable {
    /// Reads.
    case reader
    /// Reads, puts and removes entries.
    case writer
    /// All of that, and deletes the space.
    case admin

    /// Whether entries may be put and removed.
    var mayWrite: Bool { self != .reader }

    /// Whether the space may be deleted.
    var mayDeleteSpace: Bool { self == .admin }
  }
#endif
