import Foundation

/// JSON as the inspector and the tool write it: sorted keys, and slashes as they are.
package enum InspectionJSON {
  /// The bytes of a report.
  package static func bytes(_ report: some Encodable, isPretty: Bool = false) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try encoder.encode(report)
  }

  /// The text of a report.
  package static func text(_ report: some Encodable, isPretty: Bool = false) throws -> String {
    String(decoding: try bytes(report, isPretty: isPretty), as: UTF8.self)
  }
}
