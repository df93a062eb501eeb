/// The answer to a request.
struct RelayAnswer: Sendable {
  var status: Int
  /// The header fields, their names in small letters.
  var fields: [String: String]
  var body: [UInt8] = []
  /// Whether the connection broke before the body's end.
  var isCut = false

  func field(_ name: String) -> String? { fields[name] }
}
