import ArgumentParser
import Tally

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

      The files of assets follow the records. If one cannot travel, the records are synced all the same, and the exit code is 75.

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

  func validate() throws { try place().validate(tokenFile: tokenFile, security, isWatching: watch) }

  private func place() throws -> SyncPlace {
    switch (second, via) {
    case (let second?, nil): .file(second)
    case (nil, let via?): SyncPlace(via: via, tokenFile, security)
    default: throw ValidationError("give either a second store or --via PEER")
    }
  }

  func run() throws {
    try place().sync(first, isWatching: watch, waiting, progress).check()
  }
}
