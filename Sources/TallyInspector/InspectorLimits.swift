#if Inspector
  /// How long the inspector waits for a browser, and works for it.
  package struct InspectorLimits: Sendable {
    /// A connection may take so long for its first request.
    package var first: Duration = .seconds(10)
    /// A browser may keep a connection so long for its next request.
    package var idle: Duration = .seconds(60)
    /// The time after which a person's own query, and measuring a file, are ended. In an app, ending a query waits for
    /// the function that it calls at that moment, so this is less than the five seconds that people are told.
    package var query: Duration = .milliseconds(3_500)

    /// The limits that people get.
    package init() {}
  }
#endif
