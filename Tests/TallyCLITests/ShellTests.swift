import Foundation
import Testing

/// Many commands and many stores in one process: `tally shell`.
@Suite struct ShellTests {
  let bench: Bench

  init() throws { bench = try Bench() }

  /// The answers to these lines, one for each.
  private func answers(_ lines: String..., seed: Int = 1, at location: SourceLocation = #_sourceLocation) throws
    -> [String]
  {
    let arguments = ["shell", "--schema", "schema.json", "--seed", "\(seed)"]
    let outcome = try bench.tally(arguments, input: lines.map { $0 + "\n" }.joined())
    #expect(outcome.status == 0, sourceLocation: location)
    #expect(outcome.lines.count == lines.count, sourceLocation: location)
    return outcome.lines
  }

  private func isRefused(_ answer: String?, _ status: Int, _ code: String = "") -> Bool {
    guard let answer else { return false }
    return answer.hasPrefix("{\"error\":{\"code\":\"\(code)") && answer.hasSuffix(",\"status\":\(status)}}")
  }

  @Test func aRecordComesBackAsItWasPut() throws {
    let record = #"{"fields":{"born":null,"name":"Ann B."},"links":{},"name":"SBPerson|~|ann"}"#
    let answers = try answers(
      "new a", "put a 'SBPerson|~|ann' name='Ann B.'", "get a 'SBPerson|~|ann'", "list a SBPerson", "view a",
      "delete a 'SBPerson|~|ann'", "get a 'SBPerson|~|ann'", "restore a 'SBPerson|~|ann'", "put a '\(record)'",
      "get a 'SBPerson|~|ann'")
    #expect(answers[0] == "{\"ok\":null}")
    #expect(answers[1].hasSuffix(":1\"}"))
    #expect(answers[2] == "{\"ok\":\(record)}")
    #expect(answers[3] == "{\"ok\":[\"SBPerson|~|ann\"]}")
    #expect(answers[4] == "{\"ok\":[\(record)]}")
    #expect(isRefused(answers[6], 66, "noSuchRecord"))
    #expect(answers[8] == "{\"ok\":null}", "nothing had to change")
    #expect(answers[9] == answers[2])
  }

  @Test func storesOfOneProcessReplicate() throws {
    let answers = try answers(
      "new a", "new b", "put a 'SBPerson|~|ann' name=Ann", "put a 'SBGame|~|go' name=Go",
      "link a 'SBGame|~|go' players 'SBPerson|~|ann'", "sync a b", "put b 'SBGame|~|go' name=B",
      "put a 'SBGame|~|go' name=A", "unlink b 'SBGame|~|go' players 'SBPerson|~|ann'", "sync b a", "dump a", "dump b",
      "conflicts a", "verify a", "delta a b", "vector a", "vector b")
    #expect(answers[5].contains("\"isConverged\":true,\"repaired\":false"))
    #expect(answers[5].contains("\"second\":{\"changes\":3,\"conflicts\":0,\"mismatch\":false}"))
    #expect(answers[10] == answers[11])
    #expect(answers[12].contains("\"loser\":{\"value\":\"B\""))
    #expect(answers[13].contains("\"problems\":[]"))
    #expect(answers[15] == answers[16] && answers[15].contains(":4,"))
  }

  @Test func deltasTravelAsHexadecimal() throws {
    let first = try answers("new a", "put a 'SBPerson|~|ann' name=Ann", "delta a")
    let delta = first[2].dropFirst("{\"ok\":\"".count).dropLast(2)
    let answers = try answers(
      "new b", "apply b \(delta)", "apply b \(delta)", "apply b \(delta.dropLast(2))", "apply b \(delta.dropLast())",
      "apply b \(delta) twice", "list b SBPerson")
    #expect(answers[1] == "{\"ok\":{\"changes\":1,\"conflicts\":0,\"mismatch\":false}}")
    #expect(answers[2] == "{\"ok\":{\"changes\":0,\"conflicts\":0,\"mismatch\":false}}")
    #expect(isRefused(answers[3], 65, "truncated"))
    #expect(isRefused(answers[4], 65, "badData"))
    #expect(isRefused(answers[5], 64, "usage"))
    #expect(answers[6] == "{\"ok\":[\"SBPerson|~|ann\"]}")
  }

  /// A copy that nobody noticed has the same identity; the sync finds it.
  @Test func aCopyInMemoryIsFoundBySync() throws {
    let answers = try answers(
      "new a", "put a 'SBPerson|~|ann' name=Ann", "copy a b", "put a 'SBPerson|~|ann' name=A", "put b 'SBPerson|~|bob'",
      "sync a b", "sync a b", "dump a", "dump b", "list a SBPerson", "copy a c", "renew c", "put c 'SBPerson|~|cy'")
    #expect(answers[3] == answers[4], "one number, issued twice")
    #expect(answers[5].contains("\"repaired\":true"))
    #expect(answers[6].contains("\"isConverged\":true"))
    #expect(answers[7] == answers[8])
    #expect(answers[9] == "{\"ok\":[\"SBPerson|~|ann\",\"SBPerson|~|bob\"]}")
    #expect(answers[12].hasSuffix(":1\"}"))
  }

  @Test func filesOpenCopyAndClose() throws {
    let answers = try answers(
      "new a one", "put a 'SBPerson|~|ann' name=Ann", "copy a b two", "put b 'SBPerson|~|bob'", "close a", "get a x",
      "new c one", "open c one", "list c SBPerson", "sync c b", "stores", "reset", "stores")
    #expect(answers[3].hasSuffix(":1\"}"), "a copy in a file is noticed")
    #expect(isRefused(answers[5], 66, "notFound"))
    #expect(isRefused(answers[6], 73, "cannotCreate"))
    #expect(answers[8] == "{\"ok\":[\"SBPerson|~|ann\"]}")
    #expect(answers[10] == "{\"ok\":[\"b\",\"c\"]}")
    #expect(answers[12] == "{\"ok\":[]}")
    #expect(try bench.done("list", "one", "SBPerson") == "SBPerson|~|ann\nSBPerson|~|bob\n")
    #expect(try bench.done("dump", "one") == bench.done("dump", "two"))
  }

  @Test func seedsComeTwiceAndAreThereOnce() throws {
    let set = #"{"name":"people","version":1,"records":[{"key":"ann","type":"SBPerson","fields":{"name":"Ann"}}]}"#
    let answers = try answers(
      "new a", "new b", "seed a '\(set)'", "seed a '\(set)'", "seed b '\(set)'", "sync a b", "view a", "view b",
      "seed a '{}'", "seeds a")
    #expect(answers[2].contains("\"isNew\":true") && answers[3].contains("\"isNew\":false"))
    #expect(answers[6] == answers[7] && answers[6].components(separatedBy: "SBPerson|~|").count == 2)
    #expect(answers[8].hasPrefix("{\"error\":"))
    #expect(answers[9].contains("\"name\":\"people\""))
  }

  @Test func aBadLineIsAnsweredAndTheNextIsRead() throws {
    let answers = try answers(
      "", "nothing", "nothing a", "new", "new a", "new a", "new a b c", "get b 'SBPerson|~|x'", "get a", "get a ann",
      "get a 'SBPerson|~|ann", "get a 'SBPerson|~|ann' more", "put a", "put a 'SBPerson|~|ann' name", "put a '{'",
      "put a 'SBPerson|~|ann' other=1", "link a 'SBGame|~|go' players 'SBPerson|~|ann'", "sync a a", "sync a",
      "delta a b", "apply a", "clock a soon", "conflicts a -1", "reset a", "close b", "open b none", "\\",
      "put a 'SBPerson|~|ann' name=Ann")
    for (number, answer) in answers.enumerated() where number != 4 && number != answers.count - 1 {
      #expect(answer.hasPrefix("{\"error\":{\"code\":\""), "line \(number): \(answer)")
    }
    #expect(answers.last?.hasSuffix(":1\"}") == true)
  }

  @Test func bytesThatAreNoTextAreAnswered() throws {
    let outcome = try bench.shell(
      "printf '\\377\\n\\0\\nnew a\\n' | \"$0\" shell --schema schema.json")
    #expect(outcome.status == 0)
    #expect(outcome.lines.count == 3)
    #expect(isRefused(outcome.lines.first, 65, "badData"))
    #expect(outcome.lines.last == "{\"ok\":null}")
  }

  @Test func aSeedRepeatsTheRun() throws {
    let lines = ["new a", "clock a 1000", "put a 'SBPerson|~|ann' name=Ann", "dump a", "reset"]
    let script = (lines + lines).map { $0 + "\n" }.joined()
    func run(_ seed: String) throws -> [String] {
      try bench.tally("shell", "--schema", "schema.json", "--seed", seed, input: script).lines
    }
    let once = try run("7")
    #expect(try run("7") == once)
    #expect(Array(once.prefix(5)) == Array(once.suffix(5)))
    #expect(try run("8") != once)
  }
}
