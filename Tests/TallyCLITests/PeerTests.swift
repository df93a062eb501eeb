import Foundation
import TestEffort
import Testing

/// `tally serve`, `tally sync --via` and `tally verify --against`: what they say, and how they end.
@Suite(.timeLimit(.minutes(30))) struct PeerTests {
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

  /// Files follow the records. One that is damaged at the peer is refused, and everything else is there.
  @Test func filesOfAssetsComeFromAPeer() throws {
    let face = #"{"kind": "asset", "download": "eager"}"#
    try bench.write(
      #"{"entities": [{"type": "SBPerson", "fields": {"name": "text", "face": \#(face)}}]}"#, to: "faces.json")
    for store in ["c", "d"] { try bench.done("new", store, "--schema", "faces.json") }
    let serve = "'\(Bench.tool)' serve d --stdio"
    try Data("picture".utf8).write(to: bench.url.appendingPathComponent("face.jpg"))
    try bench.done("put", "d", "SBPerson|~|ann", "face=@face.jpg")
    let outcome = try bench.tally("sync", "c", "--via", serve)
    #expect(outcome.status == 0 && outcome.lines.contains("assets: took 1, put 0, removed 0"))
    try bench.done("assets", "get", "c", "SBPerson|~|ann", "face", "-o", "got.jpg")
    #expect(try Data(contentsOf: bench.url.appendingPathComponent("got.jpg")) == Data("picture".utf8))
    try Data("other".utf8).write(to: bench.url.appendingPathComponent("face.jpg"))
    try bench.done("put", "d", "SBPerson|~|bob", "face=@face.jpg")
    let files = FileManager.default.enumerator(atPath: bench.url.path + "/d-assets")?.allObjects as? [String] ?? []
    for file in files where file.hasSuffix(".jpg") {
      try Data("wrong".utf8).write(to: bench.url.appendingPathComponent("d-assets/\(file)"))
    }
    let damaged = try bench.tally("sync", "c", "--via", serve)
    #expect(damaged.status == 75 && damaged.errors.contains("1 file of assets could not travel"))
    #expect(try bench.done("get", "c", "SBPerson|~|bob").contains("sha256-"))
  }

  /// A bar where somebody looks, and nothing but the result where nobody does.
  @Test(.enabled(if: Bench.hasTerminals)) func aTerminalShowsHowFarASyncIs() throws {
    let lines = (0..<4_000).map { "SBPerson|~|\($0) name=\(UInt64.random(in: 0...UInt64.max))\(UUID().uuidString)" }
    try bench.done("put", "a", "-", "--relaxed", input: lines.joined(separator: "\n"))
    let shown = try bench.terminal("exec '\(Bench.tool)' sync a --via \"\(stdio) 2>/dev/null\" >result")
    #expect(shown.contains("\r\u{1B}[Kconnecting"))
    #expect(shown.contains("syncing: ") && shown.contains("[") && shown.contains("%, "))
    // At the end the line is empty.
    #expect(shown.contains("received\r\u{1B}[K"))
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

  @Test(
    arguments: Effort.sample(
      [
        ["sync", "a"], ["sync", "a", "b", "--via", "true"], ["sync", "a", "b", "--watch"], ["serve", "a"],
        ["serve", "a", "--stdio", "--tcp", "127.0.0.1:0"], ["sync", "a", "--via", "tcp://nowhere"],
        ["sync", "a", "--via", "tcp://host:99999"], ["sync", "a", "b", "--trust", "system"],
        ["sync", "a", "--via", "true", "--certificate", "c"], ["sync", "a", "--via", "tcp://h:1", "--trust", "any"],
        ["serve", "a", "--stdio", "--secret-file", "s"], ["serve", "a", "--tcp", "127.0.0.1:0", "--trust", "t"],
        ["sync", "a", "--via", "tcp://::1:80"], ["serve", "a", "--tcp", ":80"],
      ], 5))
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

    /// That it was sent home is no fault of a peer's.
    @Test func aServerThatEndsComplainsOfNobody() throws {
      let outcome = try serving(
        "",
        """
        for STORE in a c; do
          [ -e $STORE ] || "$0" new $STORE --schema schema.json
          "$0" sync $STORE --via tcp://127.0.0.1:$PORT --watch >$STORE.txt 2>&1 & WATCHERS="$WATCHERS $!"
        done
        has() { "$0" get $1 'SBPerson|~|ann' >/dev/null 2>&1; }
        until has b && has c; do sleep 0.1; done
        kill $SERVER; wait $SERVER; kill $WATCHERS; wait $WATCHERS; true
        """)
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(String(decoding: try bench.bytes("served.txt"), as: UTF8.self) == "")
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
      // One that everybody can read is told of as well.
      #expect(try bench.shell("chmod 600 secret").status == 0)
      try bench.refused(65, ["serve", "b", "--tcp", "0.0.0.0:0", "--secret-file", "secret"], saying: "16 to 4096")
      try bench.refused(66, ["serve", "b", "--tcp", "0.0.0.0:0", "--secret-file", "none"])
    }

    /// Made for the tests of transports.
    private static func certificate(_ name: String) -> String {
      let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      return "'\(folder.appendingPathComponent("TransportTests/Certificates").appendingPathComponent(name).path)'"
    }

    private static func identity(_ name: String) -> String {
      "--certificate \(certificate("\(name).pem")) --key \(certificate("\(name).key"))"
    }

    private static let authority = "--trust \(certificate("authority.pem"))"

    @Test func certificatesLetThoseInWhoHaveThem() throws {
      let sync = "\"$0\" sync a --via tcp://127.0.0.1:$PORT"
      let server = "\(Self.identity("server")) \(Self.authority)"
      let before = try bench.done("dump", "b")
      // Without a certificate, with one that nobody vouches for, without TLS.
      for options in [Self.authority, "\(Self.authority) \(Self.identity("stranger"))", ""] {
        let outcome = try serving(server, "\(sync) \(options)")
        #expect([69, 76, 77].contains(outcome.status), "\(options)")
      }
      #expect(try bench.done("dump", "b") == before)
      let outcome = try serving(server, "\(sync) \(Self.authority) \(Self.identity("client"))")
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(try bench.done("dump", "a") == bench.done("dump", "b"))
    }

    @Test func aServerIsCheckedAndASecretBindsItsCertificate() throws {
      try bench.write("0123456789abcdef0123456789abcdef\n", to: "secret")
      let sync = "\"$0\" sync a --via tcp://127.0.0.1:$PORT"
      let stranger = Self.identity("stranger")
      // A certificate that signed itself: refused by who checks it, good enough with a secret.
      #expect(try serving(stranger, "\(sync) \(Self.authority)").status == 77)
      let secret = "--secret-file secret"
      let outcome = try serving("\(stranger) \(secret)", "\(sync) --trust any \(secret)")
      #expect(outcome.status == 0, "\(outcome.errors)")
    }

    @Test func certificatesThatCannotBeUsedAreRefusedAtOnce() throws {
      try bench.write("no certificate", to: "bad.pem")
      let listening = ["serve", "b", "--tcp", "127.0.0.1:0"]
      try bench.refused(66, listening + ["--certificate", "none.pem", "--key", "none.key"], saying: "none.pem")
      try bench.refused(65, listening + ["--certificate", "bad.pem", "--key", "bad.pem"], saying: "cannot be used")
      try bench.refused(
        65, ["sync", "a", "--via", "tcp://127.0.0.1:1", "--trust", "bad.pem"], saying: "cannot be used")
    }

    @Test func aSecretThatOthersCanReadIsWarnedOf() throws {
      try bench.write("0123456789abcdef0123456789abcdef\n", to: "secret")
      let sync = ["sync", "a", "--via", "tcp://127.0.0.1:1", "--secret-file", "secret"]
      for (mode, isOpen) in [(0o644, true), (0o640, true), (0o600, false)] as [(mode_t, Bool)] {
        chmod(bench.path("secret"), mode)
        let errors = try bench.tally(sync).errors
        #expect(errors.contains("tally: warning: others can read secret; chmod 600 keeps it\n") == isOpen)
      }
    }

    @Test func nobodyListens() throws {
      try bench.refused(69, ["sync", "a", "--via", "tcp://127.0.0.1:1"], saying: "no server responds")
    }

    /// Watching, a change goes over without another command; asked to end, the tool says what it did. Where a busy
    /// machine does not let it end in its time, it is started again.
    @Test func watchingStaysInSyncUntilItIsAskedToEnd() throws {
      let outcome = try serving(
        "",
        """
        for TRY in 1 2 3; do
          [ $TRY = 1 ] || "$0" put b "SBPerson|~|eve" name=$TRY >/dev/null
          "$0" sync a --via tcp://127.0.0.1:$PORT --watch >watched.txt & WATCH=$!
          until "$0" get b 'SBPerson|~|ann' >/dev/null 2>&1; do :; done
          "$0" put a "SBPerson|~|dora$TRY" name=Dora >/dev/null
          until "$0" get b "SBPerson|~|dora$TRY" >/dev/null 2>&1; do :; done
          kill $WATCH; wait $WATCH; ENDED=$?
          [ $ENDED = 143 ] || break
        done
        (exit $ENDED)
        """)
      #expect(outcome.status == 0, "\(outcome.errors)")
      let watched = String(decoding: try bench.bytes("watched.txt"), as: UTF8.self)
      #expect(watched.hasPrefix("a took 1 change, 0 conflicts\n"))
    }
  #endif
}
