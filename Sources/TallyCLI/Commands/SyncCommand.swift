import ArgumentParser
import Tally
import TallyStore

struct SyncCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Brings two stores to the same state: files, peers, or through a shared folder or a relay.",
    discussion: """
      With a second store, prints what each took. If somebody wrote meanwhile, it says that newer changes wait. The exit code is 65 if \
      their contents contradict each other and could not be repaired.

      With --via the other store is a peer: tcp://HOST:PORT, where tally serve --tcp listens, or a command that runs tally serve \
      --stdio. --watch stays connected and passes changes on as they are committed, until SIGINT or SIGTERM; a connection that is \
      lost is opened again. Then the exit code is 69 if the peer cannot be reached or went away, 76 if it does not keep to the \
      protocol, 77 if it lets nobody in without the right secret, and 78 if it speaks another version.

      With --via folder:PATH, takes in what others have put into the folder and puts what it lacks; the others do the \
      same when they come by. Files that have not arrived yet are listed as pending and taken the next time. The exit code \
      is 66 if the folder is not there, and 65 or 78 if it holds something that cannot be read.

      With --via https://HOST/s/ID, does the same through a space on a relay, with the token in --token-file; --watch stays, \
      and is told at once when somebody has put something. Then the exit code is 66 if there is no such space, 69 if the relay \
      cannot be reached, 73 if the space has no room left, 75 if the relay is busy, 76 if the server is not a relay, and 77 if it \
      refuses the token.

      Examples:
        tally sync scores.tally /media/stick/scores.tally
        tally sync scores.tally --via "ssh home.example tally serve scores.tally --stdio"
        tally sync scores.tally --via tcp://home.example:7400 --secret-file secret --watch
        tally sync scores.tally --via tcp://home.example:7400 --trust authority.pem
        tally sync scores.tally --via folder:/home/me/Dropbox/scores
        tally sync scores.tally --via https://relay.example/s/3f2a --token-file token --watch
      """)

  @Argument(help: "One store's file.") var first: String
  @Argument(help: "The other store's file, unless --via is there.") var second: String?
  @Option(help: ArgumentHelp("Sync with a peer, or through a folder or a relay.", valueName: "PEER")) var via: String?
  @Flag(help: "Stay connected to the peer or relay and follow changes.") var watch = false
  @Option(help: "A file with the token for a relay's space, kept from others.") var tokenFile: String?
  @OptionGroup var security: SecurityOptions
  @OptionGroup var waiting: WaitingOptions
  @OptionGroup var progress: ProgressOptions

  func validate() throws {
    guard (second == nil) != (via == nil) else { throw ValidationError("give either a second store or --via PEER") }
    let isRelay = via.map(SyncThroughRelay.isRelay) ?? false
    guard isRelay == (tokenFile != nil) else {
      throw ValidationError("a relay's https:// address and --token-file go together")
    }
    let isPeer = via.map { !$0.hasPrefix("folder:") } ?? false
    guard isPeer || !watch && !security.isGiven else {
      throw ValidationError("--watch, --secret-file and certificates go with a peer that --via names")
    }
    guard !security.isGiven || via?.hasPrefix("tcp://") == true else {
      throw ValidationError("a secret or certificates go with tcp://; what a command says is its own matter")
    }
  }

  func run() throws {
    if let via, via.hasPrefix("folder:") { return try SyncThroughFolder(via).run(first, waiting, progress) }
    if let via, SyncThroughRelay.isRelay(via) {
      return try SyncThroughRelay(via, tokenFile: tokenFile, isWatching: watch).run(first, waiting, progress)
    }
    if let via {
      let sync = SyncWithPeer(
        store: first, peer: via, isWatching: watch, security: security, timeout: waiting.timeout,
        progress: progress)
      return try sync.run()
    }
    if let second { try sync(with: second) }
  }

  private func sync(with second: String) throws {
    try OpenStore.writing(first, waiting.timeout) { one in
      try OpenStore.writing(second, waiting.timeout) { two in
        let bar = Progress("syncing", progress)
        defer { bar.end() }
        let report = try one.sync(with: two) { fraction in
          bar.show(fraction, fraction == nil ? "reading what each lacks" : "of the changes applied")
        }
        bar.end()
        try Output.run { output in
          try output.line(printable("\(first) took \(Self.text(report.first))"))
          try output.line(printable("\(second) took \(Self.text(report.second))"))
          if report.repaired { try output.line("contents differed although the vectors were equal; both were joined") }
          for (name, result) in [(first, report.first), (second, report.second)] {
            for line in SyncLines.healing(result.isHealed, result.inDoubt, name) { try output.line(printable(line)) }
          }
          if report.isConverged { return try output.line("converged, \(report.byteCount) bytes exchanged") }
          guard report.newerChanges > 0 else { return }
          try output.line("synced, \(report.byteCount) bytes exchanged; \(SyncLines.newer(report.newerChanges))")
        }
        guard report.isConverged || report.newerChanges > 0 else {
          throw Failure(.badData, "the two stores still differ")
        }
      }
    }
  }

  private static func text(_ result: ApplyResult) -> String {
    "\(count(result.changes, "change")), \(count(result.conflicts, "conflict"))"
  }
}
