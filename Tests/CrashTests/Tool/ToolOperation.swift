import Foundation
import Testing

/// A command of the tool that changes something, in a folder that has all that it needs.
struct ToolOperation: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var arguments: [String]
  /// The stores that it changes.
  var stores = ["a"]
  /// Whether it is one transaction in each store. An import is several.
  var isAtomic = true
  /// What a second run may say after a first one that failed at the end.
  var againMayRefuse: [Int32] = []

  static let all = [
    ToolOperation(testDescription: "put", arguments: ["put", "a", "SBPerson|~|new", "name=New"]),
    ToolOperation(testDescription: "change", arguments: ["put", "a", "SBPerson|~|ann", "name=Anna"]),
    ToolOperation(testDescription: "delete", arguments: ["delete", "a", "SBPerson|~|ann"], againMayRefuse: [66]),
    ToolOperation(testDescription: "link", arguments: ["link", "a", "SBGame|~|chess", "players", "SBPerson|~|ann"]),
    ToolOperation(testDescription: "apply", arguments: ["apply", "a", "delta"]),
    ToolOperation(testDescription: "seed", arguments: ["seed", "a", "--set", "seeds.json"]),
    ToolOperation(
      testDescription: "import", arguments: ["import", "a", "import.jsonl", "--batch", "4"], isAtomic: false),
    ToolOperation(testDescription: "sync", arguments: ["sync", "a", "b"], stores: ["a", "b"]),
    ToolOperation(testDescription: "folder", arguments: ["sync", "a", "--via", "folder:box"]),
    ToolOperation(testDescription: "delta", arguments: ["delta", "a", "-o", "out"], againMayRefuse: [73]),
    ToolOperation(
      testDescription: "new", arguments: ["new", "n", "--schema", "schema.json"], stores: ["n"], againMayRefuse: [73]),
  ]

  /// All of them, or those that `TALLY_OPERATIONS` names, separated by commas.
  static let chosen: [ToolOperation] = {
    guard let names = ProcessInfo.processInfo.environment["TALLY_OPERATIONS"]?.split(separator: ",") else { return all }
    return all.filter { names.contains(Substring($0.testDescription)) }
  }()

  /// A folder with stores that have seen some use, and everything that an operation reads.
  static func workshop() throws -> Workshop {
    let workshop = try Workshop()
    try FileManager.default.createDirectory(at: workshop.url("box"), withIntermediateDirectories: false)
    for store in ["a", "b", "c"] { try workshop.done("new", store, "--schema", "schema.json") }
    try workshop.done("put", "a", "-", "--relaxed", input: "SBPerson|~|ann name=Ann\nSBPerson|~|bob name=Bob\n")
    try workshop.done(
      "put", "a", "SBGame|~|chess", "name=Chess", "owner=SBPerson|~|ann", "icon=\(String(repeating: "ab", count: 9000))"
    )
    try workshop.done("link", "a", "SBGame|~|chess", "players", "SBPerson|~|bob")
    try workshop.done("sync", "a", "b")
    try workshop.done("put", "b", "SBPerson|~|ben", "name=Ben")
    try workshop.done("sync", "b", "--via", "folder:box")
    try workshop.done("put", "b", "SBPerson|~|bea", "name=Bea")
    try workshop.done("put", "a", "SBPerson|~|amy", "name=Amy")
    try workshop.done("put", "c", "SBPerson|~|carl", "name=Carl")
    try workshop.done("delta", "c", "-o", "delta")
    let seeds = """
      {"name":"people","version":1,"records":[
      {"key":"nobody","type":"SBPerson","fields":{"name":"Nobody"},"references":{},"relationships":{}}],
      "retired":[],"adoptions":[]}
      """
    try workshop.write(Array(seeds.utf8), to: "seeds.json")
    let lines = (1...5).map {
      "{\"name\":\"SBGame|~|g\($0)\",\"fields\":{\"owner\":\"SBPerson|~|p\($0)\"}}\n{\"name\":\"SBPerson|~|p\($0)\"}\n"
    }
    try workshop.write(Array(lines.joined().utf8), to: "import.jsonl")
    return workshop
  }
}
