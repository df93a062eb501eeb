import Foundation
import Testing

/// Default data through the tool: seeded, asked for, explained, refused.
@Suite struct SeedCommandTests {
  private let bench: Bench
  private let toast = "SpeechType|~|814dcbb8-1417-53ab-9ce6-6e8bb96e2b22"
  private let roast = "SpeechType|~|2a3f4a0f-73f7-5b01-8a7d-c113d64bd30a"

  private static let schema = """
    {"entities":[{"type":"SpeechType","fields":{"name":"text","seconds":"integer","createdAt":"date"}}]}
    """
  private static let one = """
    {"name":"speech-types","version":1,"records":[
    {"key":"toast","type":"SpeechType","fields":{"name":"Toast","seconds":120}},
    {"key":"roast","type":"SpeechType","fields":{"name":"Roast"}}]}
    """
  private static let two = """
    {"name":"speech-types","version":2,"records":[
    {"key":"toast","type":"SpeechType","fields":{"name":"Toast","seconds":90}}],
    "retired":[{"key":"roast","type":"SpeechType"}]}
    """

  init() throws {
    bench = try Bench()
    try bench.write(Self.schema, to: "speech-schema.json")
    for store in ["mac", "phone"] { try bench.done("new", store, "--schema", "speech-schema.json") }
    try bench.write(Self.one, to: "one.json")
    try bench.write(Self.two, to: "two.json")
  }

  @Test func seedingTwiceSaysSoAndChangesNothing() throws {
    #expect(try bench.done("seed", "mac", "--set", "one.json") == "seeded speech-types version 1: 2 records\n")
    try bench.unchanged("mac") {
      let again = try bench.done("seed", "mac", "--set", "one.json")
      #expect(again == "speech-types version 1 is here already\n")
    }
    #expect(
      try bench.done("seed", "mac", "--set", "two.json") == "seeded speech-types version 2: 1 record, 1 retired\n")
    #expect(try bench.done("list", "mac", "SpeechType") == "\(toast)\n")
  }

  @Test func theSetMayComeFromStandardInput() throws {
    #expect(try bench.done("seed", "mac", "--set", "-", input: Self.one).hasPrefix("seeded speech-types version 1"))
  }

  @Test func twoStoresThatSeededAreEqual() throws {
    for store in ["mac", "phone"] { try bench.done("seed", store, "--set", "one.json") }
    #expect(try bench.done("dump", "mac") == bench.done("dump", "phone"))
  }

  @Test func seedsTellsVersionsAndWhoSeeded() throws {
    #expect(try bench.done("seeds", "mac") == "")
    try bench.done("seed", "mac", "--set", "one.json")
    try bench.done("seed", "mac", "--set", "two.json")
    try bench.done("sync", "mac", "phone")
    let lines = try bench.done("seeds", "mac").split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(lines[0] == ["speech-types", "version", "2", "seeded", "here"])
    #expect(lines[1].prefix(2) == ["version", "1"] && lines[1].suffix(2) == ["2", "records"])
    #expect(lines[2].prefix(2) == ["version", "2"] && lines[2].suffix(2) == ["1", "record"])
    #expect(try bench.done("seeds", "phone").hasPrefix("speech-types  from peers\n"))
    let json = try bench.done("seeds", "phone", "--json")
    #expect(json.hasPrefix(#"{"applied":null,"name":"speech-types","versions":[{"records":2,"replica":""#))
    #expect(json.contains(#""version":1},{"records":1,"#) && json.hasSuffix("\"version\":2}]}\n"))
  }

  @Test func whyTellsTheVersionAndWhoseTheRecordIs() throws {
    try bench.done("seed", "mac", "--set", "one.json")
    let fresh = try bench.done("why", "mac", toast)
    #expect(fresh.hasPrefix("\(toast)  visible\n  default data: shows version 1, here: 1\n  name=Toast\n"))
    #expect(fresh.contains("    written in version 1 of the default data, by "))
    #expect(!fresh.contains("1970") && !fresh.contains("belongs"))
    try bench.done("put", "mac", toast, "name=Cheers")
    try bench.done("seed", "mac", "--set", "two.json")
    let edited = try bench.done("why", "mac", toast)
    #expect(edited.contains("  default data: shows version 1, here: 1, 2\n    belongs to the user\n  name=Cheers\n"))
    #expect(try bench.done("why", "mac", toast, "seconds").contains("  seconds=120\n"))
    let json = try bench.done("why", "mac", toast, "--json")
    #expect(json.contains(#""seed":{"belongsToUser":true,"isRetired":false,"shown":1,"versions":[1,2]}"#))
    #expect(json.contains(#""gaveWayTo":null"#) && json.contains(#""at":null"#) && json.contains(#""seedVersion":1"#))
  }

  @Test func whyTellsARetiredRecordFromADeletedOne() throws {
    for set in ["one.json", "two.json"] { try bench.done("seed", "mac", "--set", set) }
    let retired = try bench.done("why", "mac", roast)
    #expect(retired.hasPrefix("\(roast)  retired by its seed\n  default data: shows nothing, here: 1, 2\n"))
    #expect(retired.contains("    retired by the newest version\n"))
    try bench.done("seed", "phone", "--set", "one.json")
    try bench.done("delete", "phone", roast)
    #expect(try bench.done("why", "phone", roast).hasPrefix("\(roast)  deleted\n"))
  }

  @Test func whyTellsForWhichSeedACopyGaveWay() throws {
    try bench.done("put", "mac", "SpeechType|~|old", "name=Toast")
    let rule = #"{"type":"SpeechType","matching":["name"],"absent":["createdAt"]}"#
    let set = Self.one.dropLast() + ",\"adoptions\":[\(rule)]}"
    let output = try bench.done("seed", "mac", "--set", "-", input: String(set))
    #expect(output == "seeded speech-types version 1: 2 records\nadopted SpeechType|~|old\n")
    let why = try bench.done("why", "mac", "SpeechType|~|old")
    #expect(why.hasPrefix("SpeechType|~|old  gave way to its seed\n  gave way to \(toast)\n"))
    #expect(why.contains(", adopting (this store)\n"))
    #expect(try bench.done("why", "mac", "SpeechType|~|old", "--json").contains("\"gaveWayTo\":\"\(toast)\""))
    #expect(try bench.done("verify", "mac").hasPrefix("ok "))
  }

  @Test(arguments: [
    "", "{", "[]", #"{"name":"a"}"#, #"{"name":"a","version":0}"#, #"{"name":"a","version":1,"version":2}"#,
    #"{"name":"a","version":1,"record":[]}"#, #"{"name":"ä","version":1}"#,
    #"{"name":"a","version":1,"records":[{"key":"b","type":"Nothing"}]}"#,
    #"{"name":"a","version":1,"records":[{"key":"b","type":"SpeechType","fields":{"nothing":1}}]}"#,
    #"{"name":"a","version":1,"records":[{"key":"b","type":"SpeechType","fields":{"seconds":"long"}}]}"#,
  ])
  func aBadSetIsRefusedWhole(set: String) throws {
    try bench.unchanged("mac") { try bench.refused(65, ["seed", "mac", "--set", "-"], input: set) }
    #expect(try bench.done("seeds", "mac") == "")
  }

  @Test func anOlderVersionIsRefused() throws {
    try bench.done("seed", "mac", "--set", "two.json")
    try bench.unchanged("mac") {
      try bench.refused(65, ["seed", "mac", "--set", "one.json"], saying: "has applied version 2")
    }
  }

  @Test func whatIsMissingIsNotFound() throws {
    try bench.refused(66, ["seed", "mac", "--set", "nothing.json"])
    try bench.refused(66, ["seed", "nothing", "--set", "one.json"])
    try bench.refused(66, ["seeds", "nothing"])
    try bench.refused(64, ["seed", "mac"])
  }
}

// MARK: - Running the built tool

extension SeedCommandTests {
  /// A folder of its own that disappears with the test, in which the built tool runs.
  private final class Bench {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("tally-seeds-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The tool stands beside the test bundle.
    private static var tool: URL {
      #if canImport(Darwin)
        let bundle = Bundle(for: Bench.self).bundleURL
      #else
        let bundle = Bundle.main.executableURL ?? Bundle.main.bundleURL
      #endif
      return bundle.deletingLastPathComponent().appendingPathComponent("tally")
    }

    func write(_ text: String, to name: String) throws {
      try Data(text.utf8).write(to: url.appendingPathComponent(name))
    }

    private func tally(_ arguments: [String], input: String?) throws -> (status: Int32, output: String, errors: String)
    {
      let process = Process()
      process.executableURL = Self.tool
      process.arguments = arguments
      process.currentDirectoryURL = url
      // Files, so that nothing waits for a full pipe.
      let streams = try ["in", "out", "err"].map { name in
        let stream = url.appendingPathComponent("\(UUID().uuidString).\(name)")
        try Data((name == "in" ? input ?? "" : "").utf8).write(to: stream)
        return stream
      }
      defer { for stream in streams { try? FileManager.default.removeItem(at: stream) } }
      process.standardInput = try FileHandle(forReadingFrom: streams[0])
      process.standardOutput = try FileHandle(forWritingTo: streams[1])
      process.standardError = try FileHandle(forWritingTo: streams[2])
      try process.run()
      process.waitUntilExit()
      return (
        process.terminationStatus, String(decoding: try Data(contentsOf: streams[1]), as: UTF8.self),
        String(decoding: try Data(contentsOf: streams[2]), as: UTF8.self)
      )
    }

    /// Runs the tool, which must succeed without a complaint.
    @discardableResult
    func done(_ arguments: String..., input: String? = nil, at location: SourceLocation = #_sourceLocation) throws
      -> String
    {
      let outcome = try tally(arguments, input: input)
      #expect(outcome.status == 0, "\(outcome.errors)", sourceLocation: location)
      #expect(outcome.errors.isEmpty, sourceLocation: location)
      return outcome.output
    }

    /// Runs the tool, which must refuse with this code, one line of complaint and no output.
    func refused(
      _ status: Int32, _ arguments: [String], saying part: String = "", input: String? = nil,
      at location: SourceLocation = #_sourceLocation
    ) throws {
      let outcome = try tally(arguments, input: input)
      #expect(outcome.status == status, "\(outcome.errors)", sourceLocation: location)
      #expect(outcome.output.isEmpty, sourceLocation: location)
      #expect(outcome.errors.hasPrefix("tally: "), sourceLocation: location)
      #expect(outcome.errors.split(separator: "\n").count == 1, sourceLocation: location)
      #expect(part.isEmpty || outcome.errors.contains(part), sourceLocation: location)
    }

    /// Runs the body, which must leave the store's content as it was and sound.
    func unchanged(_ store: String, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) throws {
      let before = try done("dump", store, at: location)
      try body()
      #expect(try done("dump", store, at: location) == before, sourceLocation: location)
      #expect(try done("verify", store, at: location).hasPrefix("ok "), sourceLocation: location)
    }
  }
}
