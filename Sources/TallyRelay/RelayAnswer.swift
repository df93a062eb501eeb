import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The answer to a request.
struct RelayAnswer: Sendable {
  let status: Int
  /// The header fields, their names in small letters.
  let fields: [String: String]
  let body: [UInt8]
  /// Whether the connection broke before the body's end.
  let isCut: Bool

  init(_ response: HTTPURLResponse, _ body: [UInt8], isCut: Bool = false) {
    self.isCut = isCut
    status = response.statusCode
    var fields: [String: String] = [:]
    for (name, value) in response.allHeaderFields { fields["\(name)".lowercased()] = "\(value)" }
    self.fields = fields
    self.body = body
  }

  func field(_ name: String) -> String? { fields[name] }
}
