import Foundation
import Testing

/// What a schema of many types costs.
@Suite struct ManyTypesTests {
  private static let commands = [["delta", "many", "-o", "-"], ["get", "many", "T1|~|1"], ["put", "many", "T1|~|1"]]

  /// The least processor time of each command on as many records in so many types.
  private static func times(types: Int) throws -> [Double] {
    let bench = try Bench()
    let fields = #"{"fields":{"name":{"kind":"text"},"number":{"kind":"integer"}}"#
    let entities = (0..<types).map { fields + #","type":"T\#($0)"}"# }
    try bench.write("{\"entities\":[\(entities.joined(separator: ","))]}", to: "types.json")
    try bench.done("new", "many", "--schema", "types.json")
    let lines = (0..<600).map { "{\"name\":\"T\($0 % types)|~|\($0)\",\"fields\":{\"name\":\"n\",\"number\":\($0)}}\n" }
    try bench.done("import", "many", "-", input: lines.joined())
    return try commands.map { command in
      try (0..<3).map { number in
        // Something to write, each time.
        let outcome = try bench.tally(command + (command[0] == "put" ? ["number=\(1000 + number)"] : []))
        #expect(outcome.status == 0)
        return outcome.time
      }.min() ?? 0
    }
  }

  /// What 175 more types cost beside 55 more: 3.2 times as much where each costs the same, 9.1 where all are squared.
  @Test func aDeltaAnOpeningAndAWriteCostInProportionToTheTypes() throws {
    let (few, some, many) = (try Self.times(types: 5), try Self.times(types: 60), try Self.times(types: 180))
    for (place, command) in Self.commands.enumerated() {
      // Less than this is noise.
      let (step, leap) = (max(some[place] - few[place], 0.02), many[place] - few[place])
      #expect(leap < 6 * step, "\(command[0]): \(few[place]) s, \(some[place]) s, \(many[place]) s")
    }
  }
}
