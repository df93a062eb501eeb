import TestEffort
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
    #expect(why.hasPrefix("SpeechType|~|old  gave way to another record\n  gave way to \(toast)\n"))
    #expect(why.contains(", adopting (this store)\n"))
    #expect(try bench.done("why", "mac", "SpeechType|~|old", "--json").contains("\"gaveWayTo\":\"\(toast)\""))
    #expect(try bench.done("verify", "mac").hasPrefix("ok "))
  }

  @Test(
    arguments: Effort.sample(
      [
        "", "{", "[]", #"{"name":"a"}"#, #"{"name":"a","version":0}"#, #"{"name":"a","version":1,"version":2}"#,
        #"{"name":"a","version":1,"record":[]}"#, #"{"name":"ä","version":1}"#,
        #"{"name":"a","version":1,"records":[{"key":"b","type":"Nothing"}]}"#,
        #"{"name":"a","version":1,"records":[{"key":"b","type":"SpeechType","fields":{"nothing":1}}]}"#,
        #"{"name":"a","version":1,"records":[{"key":"b","type":"SpeechType","fields":{"seconds":"long"}}]}"#,
      ], 4))
  func aBadSetIsRefusedWhole(set: String) throws {
    try bench.unchanged("mac") { try bench.refused(65, ["seed", "mac", "--set", "-"], input: set) }
    #expect(try bench.done("seeds", "mac") == "")
  }

  @Test func aStoresOwnSchemaMakesAnother() throws {
    let schema = #"{"entities":[{"fields":{"name":"text"},"follows":"perField","type":"SpeechType"}]}"#
    try bench.write(schema, to: "follows.json")
    try bench.done("new", "tablet", "--schema", "follows.json")
    #expect(try bench.done("schema", "tablet") == schema + "\n")
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
