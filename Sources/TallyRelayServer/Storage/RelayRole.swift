#if Relay
  /// What a token allows.
  public enum RelayRole: String, Sendable, CaseIterable {
    /// Reads.
    case reader
    /// Reads, puts and removes entries.
    case writer
    /// All of that; what only admins may do comes with membership.
    case admin

    /// Whether entries may be put and removed.
    var mayWrite: Bool { self != .reader }
  }
#endif
