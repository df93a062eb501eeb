#if Inspector
  /// How long the inspector waits for a browser, and works for it.
  package struct InspectorLimits: Sendable {
    /// A connection may take so long for its first request.
    package var first: Duration = .seconds(10)
    /// A browser may keep a connection so long for its next request.
    package var idle: Duration = .seconds(60)
    /// A person's own query, and measuring a file, may take so long.
    package var query: Duration = .seconds(5)

    /// The limits that people get.
    package init() {}
  }
#endif
