import Foundation
import Testing

/// Whatever the command line says, the answer is a code of the table, one line, and a store as it was.
@Suite struct HostileArgumentTests {
  let bench: Bench
  private static let injection = "x\" INTEGER); DROP TABLE t;--"

  init() throws {
    bench = try Bench("a")
    try bench.done("put", "a", "-", input: "SBPerson|~|ann name=Ann\nSBGame|~|go name=Go\n")
  }

  private static let wrongCommandLines: [[String]] = [
    [], ["nothing"], ["get"], ["get", "a"], ["get", "a", "SBPerson|~|ann", "more"],
    ["put", "a", "SBPerson|~|ann", "name"],
    ["put", "a", "-", "name=Ann"], ["new", "b"], ["delta", "a"], ["sync", "a"], ["sync", "a", "b", "c"],
    ["import", "a", "-", "--batch", "0"], ["import", "a", "-", "--batch", "many"],
    ["get", "a", "x", "--timeout", "-1"],
    ["get", "a", "x", "--timeout", "nan"], ["dump", "a", "--view", "--canonical"], ["conflicts", "a", "--limit", "-1"],
    ["get", "a", "x", "--none"], ["\u{1B}[31m\n\n"],
  ]

  @Test func aWrongCommandLineIs64() throws {
    try bench.unchanged("a") {
      for arguments in Self.wrongCommandLines { try bench.refused(64, arguments) }
    }
  }

  @Test func helpAndVersionAreNoErrors() throws {
    #expect(try bench.done("--help").contains("Exit codes: 0 done; 64 wrong"))
    #expect(try bench.done("put", "--help").contains("ACK <name> <replica>:<sequence>"))
    #expect(try bench.done("--version").split(separator: ".").count == 3)
  }

  @Test func malformedNamesAreRefused() throws {
    let names = [
      "", "SBPerson", "|~|", "SBPerson|~|", "|~|ann", "SBPerson|~|a|~|b", "SBPerson|~|naïve", "SBPerson|~|a\tb",
      "1st|~|x",
      "SBPerson|~|" + String(repeating: "x", count: 250), "\(Self.injection)|~|x",
    ]
    try bench.unchanged("a") {
      for name in names {
        try bench.refused(65, ["put", "a", name], saying: "is not a record name")
      }
      for command in ["get", "delete", "restore", "why"] {
        try bench.refused(65, [command, "a", "SBPerson"], saying: "is not a record name")
      }
      try bench.refused(65, ["link", "a", "SBGame|~|go", "players", "ann"], saying: "is not a record name")
      try bench.refused(65, ["put", "a", "SBGame|~|go", "owner=ann"], saying: "is not a record name")
    }
  }

  @Test func unknownTypesFieldsAndRelationshipsAreRefused() throws {
    try bench.unchanged("a") {
      for command in ["put", "get", "delete", "restore", "why"] {
        try bench.refused(65, [command, "a", "Nothing|~|x"], saying: "unknownType")
      }
      for word in ["Nothing", Self.injection, "sqlite_master", "tally_meta", "SBGame\" --"] {
        try bench.refused(65, ["list", "a", word], saying: "unknownType")
        try bench.refused(65, ["put", "a", "SBPerson|~|x", "\(word)=1"], saying: "unknownField")
        try bench.refused(65, ["link", "a", "SBGame|~|go", word, "SBPerson|~|ann"], saying: "unknownRelationship")
      }
      for column in ["id", "rowid", "tally_clock", "NAME"] {
        try bench.refused(65, ["put", "a", "SBPerson|~|ann", "\(column)=1"], saying: "unknownField")
      }
    }
  }

  @Test func valuesOfTheWrongTypeAreRefused() throws {
    let values = [
      "rating=high", "rating=1e999", "rating=nan", "rating:=\"1\"", "isTeam=yes", "isTeam:=2", "plays=1.5",
      "plays=9223372036854775808", "plays:=1e3", "since=2026-02-30", "since=2026-01-01T25:00:00Z", "since:=5",
      "code=123",
      "rules={", "rules:=[1,]", "icon=0", "icon=xx", "icon=base64:!", "name:=1", "owner=SBGame|~|go", "owner:=1",
    ]
    try bench.unchanged("a") {
      for value in values { try bench.refused(65, ["put", "a", "SBGame|~|go", "name=changed", value]) }
      try bench.refused(65, ["put", "a", "SBGame|~|go", "name=1", "name=2"], saying: "given twice")
      try bench.refused(65, ["put", "a", "SBGame|~|go", "owner=SBPerson|~|nobody"], saying: "danglingReference")
      try bench.refused(65, ["link", "a", "SBGame|~|go", "players", "SBPerson|~|nobody"], saying: "danglingReference")
      try bench.refused(65, ["link", "a", "SBGame|~|go", "players", "SBGame|~|go"], saying: "typeMismatch")
    }
  }

  @Test func namesAreValuesAndNeverSQL() throws {
    let name = "SBPerson|~|\(Self.injection)'\\%_"
    try bench.done("put", "a", name, "name=\(Self.injection)")
    #expect(try bench.done("get", "a", name).contains("  name=\(Self.injection)\n"))
    #expect(try bench.done("list", "a", "SBPerson").contains(name))
    try bench.done("delete", "a", name)
    #expect(try bench.done("verify", "a").hasPrefix("ok "))
  }

  @Test func aNULInANameIsRefused() throws {
    try bench.unchanged("a") {
      for line in ["SBPerson|~|a\0b\n", "\0\n"] {
        let outcome = try bench.tally("put", "a", "-", input: line)
        #expect(outcome.status == 65)
      }
    }
  }

  @Test func bytesThatAreNoTextAreRefusedAndNotRepaired() throws {
    try bench.unchanged("a") {
      let argument = try bench.shell("\"$0\" put a 'SBPerson|~|ann' \"$(printf 'name=\\377\\376')\"")
      #expect(argument.status == 65 && argument.errors == "tally: argument 4 is not valid UTF-8\n")
      let line = try bench.shell("printf 'SBPerson|~|ann name=\\377\\376\\n' | \"$0\" put a -")
      #expect(line.status == 65 && line.errors.hasPrefix("tally: line 1: not valid UTF-8\n"))
    }
  }

  /// A single argument is limited by the system (to 128 KiB on Linux), a line is not.
  @Test func aLongArgumentIsNoProblem() throws {
    let long = String(repeating: "x", count: 120_000)
    try bench.unchanged("a") {
      for arguments in [
        ["get", "a", long], ["put", "a", "SBPerson|~|\(long)"], ["list", "a", long],
        ["put", "a", "SBGame|~|go", "\(long)=1"],
      ] {
        try bench.refused(65, arguments)
      }
      try bench.refused(64, [long])
      try bench.refused(66, ["get", long, "SBPerson|~|ann"])
    }
  }

  @Test func aLineOfAMebibyteIsNoProblem() throws {
    try bench.unchanged("a") {
      let mebibyte = String(repeating: "x", count: 1 << 20)
      for line in [
        "SBPerson|~|\(mebibyte)", mebibyte, String(repeating: "[", count: 1 << 20), "{\"name\":\"\(mebibyte)\"}",
      ] {
        let outcome = try bench.tally("put", "a", "-", input: line)
        #expect(outcome.status == 65 && outcome.errors.utf8.count < 2000)
      }
    }
    let mebibyte = String(repeating: "é", count: 1 << 19)
    #expect(try bench.done("put", "a", "-", input: "SBPerson|~|ann name=\(mebibyte)").hasPrefix("ACK SBPerson|~|ann "))
    #expect(try bench.done("get", "a", "SBPerson|~|ann").contains("  name=\(mebibyte)\n"))
  }

  private static let malformedSchemas = [
    "", "null", "[]", "{}", "{\"entities\":{}}", "{\"entities\":[{}]}",
    "{\"entities\":[{\"type\":\"x\\\" INTEGER); DROP TABLE t;--\"}]}",
    "{\"entities\":[{\"type\":\"A\",\"fields\":{\"x\\\" INTEGER); DROP TABLE t;--\":\"text\"}}]}",
    "{\"entities\":[{\"type\":\"A\",\"fields\":{\"x\":\"number\"}}]}",
    "{\"entities\":[{\"type\":\"A\",\"fields\":{\"x\":\"text\",\"x\":\"real\"}}]}",
    "{\"entities\":[{\"type\":\"A\",\"feilds\":{\"x\":\"text\"}}]}",
    "{\"entities\":[{\"type\":\"A\"},{\"type\":\"a\"}]}",
    "{\"entities\":[{\"type\":\"A\",\"references\":{\"b\":{\"to\":\"B\"}}}]}",
    "{\"entities\":[{\"type\":\"A\",\"references\":{\"b\":{\"to\":\"A\",\"onDelete\":\"explode\"}}}]}",
    "{\"entities\":[{\"type\":\"tally_a\"}]}", "{\"entities\":[{\"type\":\"A\\u0000\"}]}",
  ]

  @Test func aMalformedSchemaCreatesNothing() throws {
    for schema in Self.malformedSchemas { try bench.refused(65, ["new", "b", "--schema", "-"], input: schema) }
    #expect(try bench.contents().contains { $0.hasPrefix("b") } == false)
  }
}
