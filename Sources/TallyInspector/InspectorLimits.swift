#if Inspector
  /// How long the inspector waits for a browser, and works for it.
  package struct InspectorLimits: Sendable {
    /// A connection may take so long for its first request.
    package var first: Duration = .seconds(10)
    /// A browser may keep a connection so long for its next request.
    package var idle: Duration = .seconds(60)
    /// A person's own query, and measuring a file, may take so long before they are ended. That waits for the function
    /// which a query calls just then, so that this is less than the five seconds that people are told.
    package var query: Duration = .milliseconds(3_500)

    /// The limits that people get.
    package init() {}
  }
#endif
