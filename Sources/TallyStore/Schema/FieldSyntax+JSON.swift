import Foundation

extension FieldSyntax {
  /// Whether the text is JSON, of any kind at the top (RFC 8259).
  static func isJSON(_ text: String) -> Bool {
    (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
  }
}
