import ArgumentParser
import Foundation
import Tally
import TallyStore
import TallySync

struct CloneCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clone",
    abstract: "Makes a store of what another store, a folder, a relay or a peer holds: a second device.",
    discussion: """
      The new store is a replica of its own, with all that the place holds: what is written in it reaches the others with tally sync.

      PLACE is another store's file, or what tally sync takes after --via: folder:PATH, https://HOST/s/ID, tcp://HOST:PORT, or a \
      command of several words that runs tally serve --stdio. A folder, a relay and a peer hold records and not the app's tables, so \
      they need --schema; tally schema STORE prints that of a store.

      The store appears when all has arrived. Until then it is in the folder STORE.part: if the tool fails, is ended or killed, the same \
      command goes on there. With another place or schema it begins again.

      Examples:
        tally clone scores.tally /media/stick/scores.tally
        tally clone folder:/home/me/Dropbox/scores scores.tally --schema schema.json
        tally clone https://relay.example/s/3f2a scores.tally --schema schema.json --token-file token
        tally clone "ssh home.example tally serve scores.tally --stdio" scores.tally --schema schema.json
      """)

  @Argument(help: "What is to be taken: another store's file, a folder, a relay or a peer.") var place: String
  @Argument(help: "The new store's file; there must be none yet.") var store: String
  @Option(help: ArgumentHelp("The schema, or - for standard input; that of the other store.", valueName: "file"))
  var schema: String?
  @Option(help: "A file with the token for a relay's space, kept from others.") var tokenFile: String?
  @OptionGroup var security: SecurityOptions
  @OptionGroup var waiting: WaitingOptions
  @OptionGroup var progress: ProgressOptions

  /// A single word that names no other place is another store's file, also where there is none.
  private var source: SyncPlace {
    let named = SyncPlace(via: place, tokenFile, security)
    guard case .peer(let peer, _) = named, !peer.hasPrefix("tcp://"), !peer.contains(" ") || access(peer, F_OK) == 0
    else { return named }
    return .file(peer)
  }

  func validate() throws { try source.validate(tokenFile: tokenFile, security) }

  func run() throws {
    let made = NewStore(store)
    try made.check()
    let partial = try PartialStore(made, from: origin, try declared())
    let rest: SyncRest
    do {
      rest = try source.sync(partial.path, named: store, waiting, progress)
      if let report = rest.mailbox { try MailboxLines.checkPending(report) }
      // Of what is refused for good nothing may have arrived at all.
      let isNothing = try rest.mailbox?.refused.isEmpty == false && partial.removeIfEmpty(waiting.timeout)
      if !isNothing { try partial.finish() }
    } catch {
      // That nothing can be read of it is the lesser news.
      if (try? partial.removeIfEmpty(waiting.timeout)) != true {
        complain("what has arrived is in \(printable(store)).part; the same command goes on")
      }
      throw error
    }
    try rest.check()
  }

  /// The place by a name that is the same in every folder.
  private var origin: String {
    switch source {
    case .file(let other): "file:" + URL(fileURLWithPath: other).path
    case .folder(let folder): "folder:" + URL(fileURLWithPath: String(folder.dropFirst("folder:".count))).path
    case .relay(let address, _): address
    case .peer(let peer, _): peer
    }
  }

  private func declared() throws -> Schema {
    if let schema { return try NewCommand.schema(schema) }
    guard case .file(let other) = source else {
      throw Failure(
        .usage, "\(shown(place)) holds records and not the app's tables: give --schema, as tally schema STORE prints it"
      )
    }
    return try OpenStore.reading(other, waiting.timeout) { try $0.schema }
  }
}
