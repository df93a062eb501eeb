import ArgumentParser
import Foundation

struct RelayInitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Makes a relay's file, or its tables in a database, with a first space and a token for it.",
    discussion: """
      What is made is for its owner alone: the file has mode 0600, its folder 0700 if it was not there, the token's file 0600. \
      With --user, which needs root, all of it but the token belongs to that user of the system, who is made if need be; with \
      --unit it also writes a service for systemd that runs the relay as that user. A relay that is there already is left as it \
      is, with exit code 73.

      Examples:
        tally relay init --data relay.sqlite --url https://relay.example --output token
        tally relay init --data /var/lib/tally-relay/relay.sqlite \\
          --user tally-relay --unit /etc/systemd/system/tally-relay.service
      """)

  @OptionGroup var file: RelayFileOptions
  @Option(help: ArgumentHelp("Where clients reach the relay.", valueName: "BASE")) var url = "http://127.0.0.1:8480"
  @Option(help: "What the token allows: reader, writer or admin.") var role = "writer"
  @Option(help: ArgumentHelp("The most bytes of the first space: 500M, 5G.", valueName: "BYTES")) var quota: String?
  @Option(help: ArgumentHelp("A new file for address and token, of mode 0600; printed without it.", valueName: "FILE"))
  var output: String?
  @Option(help: ArgumentHelp("The system's user who runs the relay; made if need be, by root.", valueName: "NAME"))
  var user: String?
  @Option(help: ArgumentHelp("Write a service for systemd there.", valueName: "FILE")) var unit: String?
  @Option(help: ArgumentHelp("Where the service listens.", valueName: "HOST:PORT")) var listen = "127.0.0.1:8480"
  @Option(help: ArgumentHelp("Where the service has health and metrics.", valueName: "HOST:PORT"))
  var admin = "127.0.0.1:9464"

  func validate() throws {
    guard ["reader", "writer", "admin"].contains(role) else {
      throw ValidationError("--role is reader, writer or admin")
    }
    guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
      throw ValidationError("--url is http(s)://HOST")
    }
    _ = try quota.map { try RelayTokenCommand.amount($0, RelayTokenCommand.bytes, "--quota") }
    for address in [listen, admin] { _ = try RelayServeCommand.address(address) }
    guard unit == nil || user != nil else { throw ValidationError("--unit needs --user: nobody runs a relay as root") }
    guard unit == nil || file.postgres == nil else {
      throw ValidationError("--unit needs --postgres-file: a service's command line is for everybody to read")
    }
    if let user, !Self.isUserName(user) {
      throw ValidationError("--user is small letters, digits, '_' and '-', at most 32, and a letter or '_' first")
    }
  }

  private static func isUserName(_ name: String) -> Bool {
    guard let first = name.utf8.first, (1...32).contains(name.utf8.count) else { return false }
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    return (letters.contains(first) || first == UInt8(ascii: "_"))
      && name.utf8.allSatisfy {
        letters.contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || [0x2D, 0x5F].contains($0)
      }
  }

  func run() throws { try make() }
}

struct RelaySpacesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "spaces",
    abstract: "Lists spaces: entries, bytes, quota, last write, devices and tokens.",
    discussion: """
      Bytes are what counts against a quota: contents, unfinished uploads, and 256 for each position of the log. Devices are those \
      that have entries there, by the names that stores give to entries.
      """)

  @OptionGroup var file: RelayFileOptions
  @Flag(help: "Print JSON, an object a line.") var json = false

  func run() throws { try list() }
}

struct RelayBackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies a relay's file as it is at one moment, also while the relay serves.",
    discussion: """
      The copy is one file of mode 0600 that is on the disk when the command ends with 0, and appears under its name only then. A \
      file that is there already is left, with exit code 73. A database is copied by pg_dump --schema tally_relay.
      """)

  @Option(help: "The relay's file.") var data: String
  @Option(help: ArgumentHelp("The copy: a new file.", valueName: "FILE")) var output: String

  func run() throws { try copy() }
}

struct RelayCheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Reads all of a relay's file, and says what does not fit together.",
    discussion: """
      Ends with 65 if something is wrong that is still so at the end. --mend makes indexes and counts anew, removes rows that \
      belong to nothing, and removes entries whose content is not all there, which devices that have them put again; the rest needs \
      a backup. A relay may serve meanwhile. A database is checked by pg_amcheck --schema tally_relay.
      """)

  @Option(help: "The relay's file.") var data: String
  @Flag(help: "Mend what can be mended.") var mend = false

  func run() throws { try check() }
}
