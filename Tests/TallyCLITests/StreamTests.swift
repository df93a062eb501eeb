import Testing

/// Standard files that are closed, full or torn.
@Suite struct StreamTests {
  let bench: Bench

  init() throws {
    bench = try Bench("a")
    try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
  }

  private func status(_ script: String) throws -> Int32 { try bench.shell(script).status }

  @Test func closedInputIsAnErrorAndNotAnEmptyFile() throws {
    try bench.unchanged("a") {
      for command in ["put a -", "import a -", "apply a -", "new b --schema -"] {
        let outcome = try bench.shell("\"$0\" \(command) <&-")
        #expect(outcome.status == 74 && outcome.errors.hasPrefix("tally: cannot read standard input"))
      }
    }
    #expect(try bench.contents().contains("b") == false)
  }

  @Test func closedOutputIsNoticedBeforeAnythingIsWritten() throws {
    try bench.write("{\"name\":\"SBPerson|~|x\"}\n", to: "lines")
    try bench.unchanged("a") {
      for command in [
        "put a 'SBPerson|~|x'", "delete a 'SBPerson|~|ann'", "import a lines", "dump a", "get a 'SBPerson|~|ann'",
      ] {
        let status = try status("\"$0\" \(command) >&-")
        #expect(status == 74, "\(command)")
      }
    }
  }

  @Test func closedErrorsAreNoReasonToCrash() throws {
    #expect(try status("\"$0\" get a 'SBPerson|~|none' 2>&-") == 66)
    #expect(try status("\"$0\" nonsense 2>&-") == 64)
    #expect(try status("\"$0\" put a 'SBPerson|~|bob' <&- 2>&-") == 0)
    #expect(try bench.done("verify", "a") == "ok 2 checked\n")
  }

  /// A file opened while a standard file is closed takes its number, and what is meant for the terminal goes into the
  /// file.
  @Test func withAllStandardFilesClosedNothingIsWrittenIntoTheWrongFile() throws {
    #expect(try status("\"$0\" new b --schema schema.json <&- >&- 2>&-") == 0)
    #expect(try bench.done("verify", "b") == "ok 0 checked\n")
    #expect(try status("\"$0\" delta a -o delta <&- >&- 2>&-") == 74)
    #expect(try bench.contents().contains("delta") == false, "a closed output is noticed first")
    #expect(try status("\"$0\" delta a -o delta <&- >/dev/null 2>&-") == 0)
    try bench.done("apply", "b", "delta")
    #expect(try bench.done("dump", "b") == bench.done("dump", "a"))
  }

  @Test func aReaderThatHasSeenEnoughIsNoError() throws {
    try bench.done("import", "a", "-", input: (1...3000).map { "{\"name\":\"SBPerson|~|p\($0)\"}\n" }.joined())
    let outcome = try bench.shell("{ \"$0\" dump a; echo $? >status; } | head -n 1")
    #expect(outcome.lines.count == 1 && outcome.errors.isEmpty)
    #expect(try bench.bytes("status") == Array("0\n".utf8))
  }

  @Test func aReaderThatLeavesADeltaUnreadIsAnError() throws {
    try bench.done("import", "a", "-", input: (1...3000).map { "{\"name\":\"SBPerson|~|p\($0)\"}\n" }.joined())
    let outcome = try bench.shell("{ \"$0\" delta a -o - ; echo $? >status; } | true")
    #expect(outcome.errors == "tally: nobody reads the delta any more\n")
    #expect(try bench.bytes("status") == Array("74\n".utf8))
  }

  #if os(Linux)
    @Test func aFullOutputIsAnError() throws {
      #expect(try status("\"$0\" dump a >/dev/full") == 74)
      #expect(try status("\"$0\" delta a -o - >/dev/full") == 74)
    }
  #endif
}
