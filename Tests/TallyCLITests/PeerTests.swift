import Foundation
import Testing

/// `tally serve`, `tally sync --via` and `tally verify --against`: what they say, and how they end.
@Suite(.timeLimit(.minutes(2))) struct PeerTests {
  let bench: Bench
  private var stdio: String { "'\(Bench.tool)' serve b --stdio" }

  init() throws {
    bench = try Bench("a", "b")
    try bench.done("put", "a", "-", input: "SBPerson|~|ann name=Ann\nSBPerson|~|bob name=Bob\n")
    try bench.done("put", "b", "-", input: "SBPerson|~|carl name=Carl\n")
  }

  @Test func aSyncThroughACommandMakesBothEqual() throws {
    let outcome = try bench.tally("sync", "a", "--via", stdio)
    #expect(outcome.status == 0)
    #expect(outcome.lines.first == "a took 1 change, 0 conflicts")
    #expect(outcome.lines.last?.hasPrefix("converged, ") == true)
    // The other side says the same on standard error, which passes through.
    #expect(outcome.errors == "b took 2 changes, 0 conflicts\n")
    #expect(try bench.done("dump", "a") == bench.done("dump", "b"))
  }

  @Test func verifyAgainstAPeerSaysWhoLacksWhat() throws {
    let before = try bench.tally("verify", "a", "--against", stdio)
    #expect(before.status == 65 && before.bytes.isEmpty)
    #expect(before.errors.contains("this store lacks 1 transaction, the peer lacks 2 transactions"))
    _ = try bench.tally("sync", "a", "--via", stdio)
    let after = try bench.tally("verify", "a", "--against", stdio)
    #expect(after.status == 0 && after.output == "equal\n")
  }

  @Test func aPeerThatIsNotThereIsUnreachable() throws {
    try bench.unchanged("a") {
      try bench.refused(69, ["sync", "a", "--via", "exec /no/such/program 2>/dev/null"], saying: "exit status 127")
      try bench.refused(69, ["sync", "a", "--via", "exit 3"], saying: "exit status 3")
    }
  }

  @Test func whatIsNoPeerViolatesTheProtocol() throws {
    try bench.unchanged("a") { try bench.refused(76, ["sync", "a", "--via", "yes nonsense"]) }
  }

  @Test func aPeerOfAnotherVersionIsRefused() throws {
    // A hello that offers the versions 7 to 9: its length, its tag, the magic bytes and the range.
    let newer = "printf '\\006\\001TS\\007\\011\\000'; cat >/dev/null"
    try bench.unchanged("a") { try bench.refused(78, ["sync", "a", "--via", newer], saying: "7 to 9") }
  }

  @Test(arguments: [
    ["sync", "a"], ["sync", "a", "b", "--via", "true"], ["sync", "a", "b", "--watch"], ["serve", "a"],
    ["serve", "a", "--stdio", "--tcp", "127.0.0.1:0"], ["sync", "a", "--via", "tcp://nowhere"],
    ["sync", "a", "--via", "tcp://host:99999"], ["sync", "a", "--via", "tcp://::1:80"], ["serve", "a", "--tcp", ":80"],
  ])
  func aWrongCommandLineIsRefused(_ arguments: [String]) throws {
    let outcome = try bench.tally(arguments)
    #expect(outcome.status == 64 && outcome.bytes.isEmpty)
  }

  #if Network
    /// Runs a script with a server in the background; `$PORT` is its port, `$0` the tool.
    private func serving(_ options: String, _ script: String) throws -> Outcome {
      try bench.shell(
        """
        mkfifo out; "$0" serve b --tcp 127.0.0.1:0 \(options) >out 2>served.txt & SERVER=$!
        exec 3<out; read -r LINE <&3; PORT=${LINE##*:}
        \(script)
        STATUS=$?; kill $SERVER; wait $SERVER; echo "server $?"; exit $STATUS
        """)
    }

    @Test func aSyncOverTCPMakesBothEqual() throws {
      let outcome = try serving("", "\"$0\" sync a --via tcp://127.0.0.1:$PORT")
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(outcome.lines.first == "a took 1 change, 0 conflicts")
      // Asked to end, a server ends in order.
      #expect(outcome.lines.last == "server 0")
      #expect(try bench.done("dump", "a") == bench.done("dump", "b"))
    }

    @Test func strangersAreRefused() throws {
      try bench.write("0123456789abcdef0123456789abcdef\n", to: "secret")
      try bench.write("another secret of sixteen bytes", to: "wrong")
      let before = try bench.done("dump", "b")
      for option in ["", "--secret-file wrong"] {
        let outcome = try serving("--secret-file secret", "\"$0\" sync a --via tcp://127.0.0.1:$PORT \(option)")
        #expect(outcome.status == 77, "\(option)")
      }
      #expect(try bench.done("dump", "b") == before)
      let known = try serving(
        "--secret-file secret", "\"$0\" sync a --via tcp://127.0.0.1:$PORT --secret-file secret")
      #expect(known.status == 0, "\(known.errors)")
    }

    @Test func whoListensToOthersNeedsASecret() throws {
      try bench.refused(64, ["serve", "b", "--tcp", "0.0.0.0:0"], saying: "--secret-file is needed")
      try bench.write("short\n", to: "secret")
      try bench.refused(65, ["serve", "b", "--tcp", "0.0.0.0:0", "--secret-file", "secret"], saying: "16 to 4096")
      try bench.refused(66, ["serve", "b", "--tcp", "0.0.0.0:0", "--secret-file", "none"])
    }

    @Test func nobodyListens() throws {
      try bench.refused(69, ["sync", "a", "--via", "tcp://127.0.0.1:1"], saying: "nobody answers")
    }

    /// Watching, a change goes over without another command; asked to end, the tool says what it did.
    @Test func watchingStaysInSyncUntilItIsAskedToEnd() throws {
      let outcome = try serving(
        "",
        """
        "$0" sync a --via tcp://127.0.0.1:$PORT --watch >watched.txt & WATCH=$!
        until "$0" get b 'SBPerson|~|ann' >/dev/null 2>&1; do :; done
        "$0" put a 'SBPerson|~|dora' name=Dora >/dev/null
        until "$0" get b 'SBPerson|~|dora' >/dev/null 2>&1; do :; done
        kill $WATCH; wait $WATCH
        """)
      #expect(outcome.status == 0, "\(outcome.errors)")
      let watched = String(decoding: try bench.bytes("watched.txt"), as: UTF8.self)
      #expect(watched.hasPrefix("a took 1 change, 0 conflicts\n"))
    }
  #endif
}
