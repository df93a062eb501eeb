#if Macros
  import Logging
  import Synchronization

  /// Says once for each column that something in it could not be read.
  package final class FallbackLog: Sendable {
    /// The one of this process, or of a test.
    @TaskLocal package static var current = FallbackLog(Logger(label: "tally.entity"))

    private let logger: Logger
    private let said = Mutex<Set<String>>([])

    /// A log that has said nothing yet.
    package init(_ logger: Logger) { self.logger = logger }

    /// Says it, unless it was said. The value is the user's, so it is not told.
    package func note(_ type: String, _ column: String, isNull: Bool) {
      let isNew = said.withLock { $0.insert("\(type).\(column) \(isNull)").inserted }
      guard isNew else { return }
      logger.warning(
        isNull
          ? "\(type).\(column) is null in a row that was fetched; it reads as its default"
          : "\(type).\(column) has a value that this version of the app cannot read; it reads as its default",
        metadata: ["type": "\(type)", "column": "\(column)"])
    }
  }
#endif
