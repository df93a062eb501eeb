import ArgumentParser
import Tally
import TallySync

struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Lets peers sync with a store.",
    discussion: """
      With --stdio it talks to one peer over standard input and output, ends with it, and says what it did on standard error. \
      With --tcp it prints "listening on HOST:PORT" and serves any number of peers until SIGINT or SIGTERM; port 0 takes a free one. \
      Unless HOST is this machine itself, a secret is needed, or certificates of the peers: --trust. With --certificate it speaks TLS.

      Examples:
        tally sync here.tally --via "ssh home.example tally serve there.tally --stdio"
        tally serve scores.tally --tcp 0.0.0.0:7400 --secret-file secret
        tally serve scores.tally --tcp 0.0.0.0:7400 --certificate me.pem --key me.key --trust authority.pem
      """)

  @OptionGroup var store: StoreArguments
  @Flag(help: "Serve one peer over standard input and output.") var stdio = false
  @Option(help: ArgumentHelp("Listen on an address and a port.", valueName: "HOST:PORT")) var tcp: String?
  @OptionGroup var security: SecurityOptions
  @OptionGroup var progress: ProgressOptions

  func validate() throws {
    guard stdio != (tcp != nil) else { throw ValidationError("give either --stdio or --tcp HOST:PORT") }
    guard !stdio || !security.isGiven else { throw ValidationError("a secret or certificates go with --tcp") }
    guard security.trust == nil || security.certificate != nil else {
      throw ValidationError("--trust needs --certificate: without it nothing is encrypted")
    }
  }

  func run() throws {
    if let tcp { return try serve(tcp) }
    let connection = try StreamConnection.standardStreams()
    try store.writing(isDurable: false) { store in
      let outcome = try Waiting.run {
        var settings = SyncSettings()
        settings.isLive = true
        return try await blamingPeer { [settings] in try await store.sync(over: connection, settings) }
      }
      try Output.run { output in
        for line in SyncLines.of(outcome, self.store.store) { try output.line(line) }
      }
    }
  }

  #if !Network
    private func serve(_ address: String) throws { throw SecurityOptions.noNetwork }
  #endif
}
