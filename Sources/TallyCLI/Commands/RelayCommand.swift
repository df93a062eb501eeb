import ArgumentParser
import Foundation

struct RelayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relay",
    abstract: "Serves a relay, through which devices sync that are never online at the same time.",
    discussion: """
      A relay keeps what devices put into a space until the others come by. Its owner can read all of it. It prints "listening on \
      HOST:PORT" and serves until SIGINT or SIGTERM. Unless HOST is this machine itself it needs a certificate, a proxy that speaks \
      TLS before it, or --insecure: without one of them tokens and contents are not encrypted. Its options: tally relay serve --help.

      Examples:
        tally relay init --data relay.sqlite --url https://relay.example --output token
        tally relay --data relay.sqlite --listen 127.0.0.1:8480
        tally relay --data relay.sqlite --listen 0.0.0.0:443 --certificate fullchain.pem --key privkey.pem
        tally relay --postgres-file database --listen 127.0.0.1:8480
        tally relay token --data relay.sqlite --space ID --expires 90d --output token
        tally relay backup --data relay.sqlite --output backup.sqlite
        tally sync scores.tally --via https://relay.example/s/ID --token-file token
      """,
    subcommands: [
      RelayServeCommand.self, RelayInitCommand.self, RelayTokenCommand.self, RelayRevokeCommand.self,
      RelayListCommand.self, RelaySpacesCommand.self, RelayDeleteCommand.self, RelayBackupCommand.self,
      RelayCheckCommand.self,
    ],
    defaultSubcommand: RelayServeCommand.self)
}

/// The file of a relay, or its database.
struct RelayFileOptions: ParsableArguments {
  @Option(help: "The relay's file.") var data: String?
  @Option(
    help: ArgumentHelp(
      "In place of a file, a PostgreSQL database: postgres://USER@HOST/DATABASE. Anyone who can list processes sees it.",
      valueName: "URL"))
  var postgres: String?
  @Option(
    name: .customLong("postgres-file"),
    help: ArgumentHelp("The same, in a file that only its owner may read.", valueName: "FILE"))
  var postgresFile: String?

  func validate() throws {
    guard [data, postgres, postgresFile].compactMap({ $0 }).count == 1 else {
      throw ValidationError("one of --data, --postgres and --postgres-file is needed")
    }
  }

  /// The database's address; nil if it is a file.
  func database() throws -> String? {
    guard let postgresFile else { return postgres }
    return String(decoding: try SecretFile.bytes(in: postgresFile), as: UTF8.self)
  }
}

struct RelayServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "serve", abstract: "Serves; the same as tally relay.")

  @OptionGroup var file: RelayFileOptions
  @Option(help: ArgumentHelp("Listen on an address and a port; 0 takes a free one.", valueName: "HOST:PORT"))
  var listen = "127.0.0.1:8480"
  @Option(help: ArgumentHelp("Serve TLS with this PEM certificate, followed by its intermediates.", valueName: "FILE"))
  var certificate: String?
  @Option(help: ArgumentHelp("The certificate's private key in PEM.", valueName: "FILE")) var key: String?
  @Option(help: ArgumentHelp("Health and metrics, for the owner alone.", valueName: "HOST:PORT")) var admin: String?
  @Option(
    help: ArgumentHelp("How a line of the log looks: json or text. It goes to standard error.", valueName: "FORM"))
  var log = "text"
  @Option(help: "How many requests a token may make in a second, in the long run; four times that at once.") var rate =
    50
  @Option(
    help: ArgumentHelp(
      "How long a deleted space can be restored: 90s, 30m, 12h, 7d. 0 removes its content within seconds.",
      valueName: "TIME"))
  var keep = "7d"
  @Option(
    help: ArgumentHelp("The most bytes of a space that has no quota of its own: 500M, 5G.", valueName: "BYTES"))
  var quota: String?
  @Option(
    name: .customLong("file-limit"),
    help: ArgumentHelp("The most bytes of the relay's file; its log comes on top.", valueName: "BYTES"))
  var fileLimit: String?
  @Option(
    name: .customLong("log-file"),
    help: ArgumentHelp("Write the log there instead; SIGHUP opens it again by its name.", valueName: "FILE"))
  var logFile: String?
  @Flag(help: "Serve others over plain HTTP: they, and anyone on the path, can read tokens and contents.")
  var insecure = false

  func validate() throws {
    guard ["json", "text"].contains(log) else { throw ValidationError("--log is json or text") }
    guard (1...1_000_000).contains(rate) else { throw ValidationError("--rate is 1 to 1000000") }
    _ = try keepSeconds()
    _ = try quota.map { try RelayTokenCommand.amount($0, RelayTokenCommand.bytes, "--quota") }
    _ = try fileLimit.map { try RelayTokenCommand.amount($0, RelayTokenCommand.bytes, "--file-limit") }
    guard fileLimit == nil || file.data != nil else {
      throw ValidationError("--file-limit is for a file: a database's size is for its server to limit")
    }
    for address in [listen, admin].compactMap({ $0 }) { _ = try Self.address(address) }
    guard (certificate == nil) == (key == nil) else { throw ValidationError("--certificate and --key go together") }
    guard try insecure || certificate != nil || Self.isLocal(listen) else {
      throw ValidationError(
        "others reach \(listen) over plain HTTP: use --certificate or a proxy with TLS before it; --insecure allows it")
    }
    guard try admin.map(Self.isLocal) ?? true || insecure else {
      throw ValidationError("others reach \(admin ?? ""): --insecure allows it")
    }
  }

  func keepSeconds() throws -> Int64 {
    keep == "0" ? 0 : try RelayTokenCommand.amount(keep, RelayTokenCommand.seconds, "--keep")
  }

  static func address(_ text: String) throws -> (host: String, port: Int) {
    guard case .tcp(let host, let port) = try PeerAddress.tcp(text) else { throw Failure(.usage, "no address") }
    return (host, port)
  }

  private static func isLocal(_ text: String) throws -> Bool {
    ["127.0.0.1", "::1", "localhost"].contains(try address(text).host)
  }

  func run() throws { try serve() }
}

struct RelayTokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Makes a token for a space, and prints the space's address and the token.",
    discussion: """
      The relay keeps a hash of the token only: it cannot be printed again. A relay that serves takes it at once. --output keeps \
      both in a new file that only its owner may read, for tally sync --token-file; then only the address is printed. (A file made \
      by > is for others to read as well, unless umask 077 is set.)
      """)

  @OptionGroup var file: RelayFileOptions
  @Option(help: ArgumentHelp("The space's id, or 'new'.", valueName: "ID")) var space = "new"
  @Option(help: "What the token allows: reader, writer or admin.") var role = "writer"
  @Option(help: ArgumentHelp("The most bytes of the space from now on: 500M, 5G.", valueName: "BYTES")) var quota:
    String?
  @Option(help: ArgumentHelp("How long the token counts: 12h, 90d.", valueName: "TIME")) var expires: String?
  @Option(help: ArgumentHelp("Where clients reach the relay.", valueName: "BASE")) var url = "http://127.0.0.1:8480"
  @Option(help: ArgumentHelp("A new file for address and token, of mode 0600.", valueName: "FILE"))
  var output: String?
  @Flag(help: "Print JSON.") var json = false

  func validate() throws {
    guard ["reader", "writer", "admin"].contains(role) else {
      throw ValidationError("--role is reader, writer or admin")
    }
    guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
      throw ValidationError("--url is http(s)://HOST")
    }
    if let quota { _ = try Self.amount(quota, Self.bytes, "--quota") }
    if let expires, try Self.amount(expires, Self.seconds, "--expires") > Self.longest {
      throw ValidationError("--expires is at most 36500d; without it a token has no end")
    }
  }

  static let bytes: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
  static let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]

  /// A number with a unit behind it, or without.
  /// A century.
  private static let longest: Int64 = 36_500 * 86_400

  static func amount(_ text: String, _ units: [Character: Int64], _ option: String) throws -> Int64 {
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? text : String(text.dropLast())
    guard let number = Int64(digits), number > 0,
      case (let amount, false) = number.multipliedReportingOverflow(by: unit ?? 1)
    else { throw ValidationError("\(option) is a number and one of \(units.keys.sorted().map(String.init).joined())") }
    return amount
  }

  func run() throws { try make() }
}

struct RelayRevokeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Revokes a token: a relay that serves refuses it from its next request on.")

  @OptionGroup var file: RelayFileOptions
  @Argument(help: "What tally relay list calls the token, or the beginning of that.") var token: String

  func validate() throws {
    guard !token.isEmpty else { throw ValidationError("which token?") }
  }

  func run() throws { try revoke() }
}

struct RelayDeleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes a space: a relay that serves no longer knows it from the next request on.",
    discussion: """
      A relay removes the space's content and its tokens when the time has passed that its option --keep says, seven days by default. \
      Until then, --restore brings all of it back. What devices have already is not touched.
      """)

  @OptionGroup var file: RelayFileOptions
  @Argument(help: "The space's id.") var space: String
  @Flag(help: "Bring back a deleted space whose content is still there.") var restore = false

  func run() throws { try delete() }
}

struct RelayListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists tokens, never the tokens themselves, and says of which the space was deleted.")

  @OptionGroup var file: RelayFileOptions
  @Flag(help: "Print JSON, an object a line.") var json = false

  func run() throws { try list() }
}

#if !Relay
  extension RelayFileOptions {
    fileprivate var missing: Failure {
      data == nil
        ? Failure(.usage, "this tally was built without PostgreSQL: swift build --traits Postgres")
        : Self.withoutRelay
    }

    fileprivate static var withoutRelay: Failure {
      Failure(.usage, "this tally was built without the relay: swift build --traits Relay")
    }
  }
  extension RelayServeCommand { fileprivate func serve() throws { throw file.missing } }
  extension RelayTokenCommand { fileprivate func make() throws { throw file.missing } }
  extension RelayRevokeCommand { fileprivate func revoke() throws { throw file.missing } }
  extension RelayDeleteCommand { fileprivate func delete() throws { throw file.missing } }
  extension RelayListCommand { fileprivate func list() throws { throw file.missing } }
  extension RelayInitCommand { func make() throws { throw file.missing } }
  extension RelaySpacesCommand { func list() throws { throw file.missing } }
  extension RelayBackupCommand { func copy() throws { throw RelayFileOptions.withoutRelay } }
  extension RelayCheckCommand { func check() throws { throw RelayFileOptions.withoutRelay } }
#endif
