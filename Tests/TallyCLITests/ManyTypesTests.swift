import Foundation
import Testing

/// What a schema of many types costs.
@Suite struct ManyTypesTests {
  /// The least processor time of a full delta of as many records in so many types.
  private static func deltaTime(types: Int) throws -> Double {
    let bench = try Bench()
    let fields = #"{"fields":{"name":{"kind":"text"},"number":{"kind":"integer"}}"#
    let entities = (0..<types).map { fields + #","type":"T\#($0)"}"# }
    try bench.write("{\"entities\":[\(entities.joined(separator: ","))]}", to: "types.json")
    try bench.done("new", "many", "--schema", "types.json")
    let lines = (0..<600).map { "{\"name\":\"T\($0 % types)|~|\($0)\",\"fields\":{\"name\":\"n\",\"number\":\($0)}}\n" }
    try bench.done("import", "many", "-", input: lines.joined())
    return try (0..<3).map { number in
      let outcome = try bench.tally("delta", "many", "-o", "delta\(number)")
      #expect(outcome.status == 0)
      return outcome.time
    }.min() ?? 0
  }

  /// Ten times the types: ten times what each of them costs, and not a hundred times.
  @Test func aFullDeltaCostsInProportionToTheTypes() throws {
    let (few, many) = (try Self.deltaTime(types: 30), try Self.deltaTime(types: 300))
    #expect(many < 8 * few, "\(few) s with 30 types, \(many) s with 300")
  }
}
