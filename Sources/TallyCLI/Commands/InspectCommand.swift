import ArgumentParser
import Foundation
import Tally

struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Shows stores in a browser: why a record does not show, who wrote what, what lost, what others lack.",
    discussion: """
      It prints an address and serves until SIGINT or SIGTERM. It listens on this machine alone, and the token in the address lets in \
      one browser, once; Enter, in a terminal, prints another. Nothing can be changed unless --allow-writes is given. Several stores are shown side by side, under the \
      names of their files. What apps write meanwhile shows at once.

      Example: tally inspect phone.tally tablet.tally --port 8490
      """)

  @Argument(help: ArgumentHelp("The stores' files.", valueName: "store")) var stores: [String]
  @OptionGroup var waiting: WaitingOptions
  @Option(help: "The port to listen on; 0 takes a free one.") var port = 0
  @Flag(help: "Let the pages take back what lost, restore and delete.") var allowWrites = false

  func validate() throws {
    guard !stores.isEmpty else { throw ValidationError("which store?") }
    guard stores.count <= 16 else { throw ValidationError("16 stores at most") }
    guard (0...65_535).contains(port) else { throw ValidationError("--port is 0 to 65535") }
  }

  func run() throws { try serve() }

  /// The names under which the stores are shown: those of the files, or as much of the paths as tells them apart.
  static func names(of paths: [String]) -> [String] {
    let parts = paths.map { path in
      var parts = URL(fileURLWithPath: path).standardizedFileURL.pathComponents
      parts[parts.count - 1] = (parts[parts.count - 1] as NSString).deletingPathExtension
      return parts
    }
    let longest = parts.map(\.count).max() ?? 1
    for count in 1...longest {
      let names = parts.map { $0.suffix(count).joined(separator: "/") }
      if Set(names).count == names.count { return names }
    }
    return paths.enumerated().map { "\($0.offset + 1): \($0.element)" }
  }
}

#if !Inspector
  extension InspectCommand {
    fileprivate func serve() throws {
      throw Failure(.usage, "this tally was built without the inspector: swift build --traits Inspector")
    }
  }
#endif
