/// The arguments of the command line.
struct Arguments {
  /// An argument that means nothing.
  struct Misuse: Error {
    var reason: String
    var usage = Arguments.usage
  }

  static let usage = """
    usage: Scorebook [--keep] [folder]
      folder   where phone.tally and tablet.tally go; a temporary folder without it
      --keep   leaves the two stores there, to look at with the tally tool or sqlite3
    """

  private(set) var folder: String?
  private(set) var isKept = false
  private(set) var wantsHelp = false

  init(_ arguments: some Sequence<String>) throws {
    for argument in arguments {
      switch argument {
      case "--keep": isKept = true
      case "--help", "-h": wantsHelp = true
      case _ where argument.hasPrefix("-"): throw Misuse(reason: "unknown option \(argument)")
      case _ where folder != nil: throw Misuse(reason: "one folder is enough")
      default: folder = argument
      }
    }
  }
}
