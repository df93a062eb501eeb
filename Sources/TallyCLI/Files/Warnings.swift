import Logging

/// The library's warnings, as messages of the tool: one line with its prefix.
struct Warnings: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .warning

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    let details = all.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
    complain("\(event.level): \(event.message)\(details.isEmpty ? "" : " (\(details))")")
  }
}
