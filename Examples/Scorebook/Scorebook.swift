import Foundation
import Tally

/// Two devices keep a scorebook of games, apart from each other, and meet again.
///
/// Exit code: 0 if both ended equal and sound, 1 if not, 2 for wrong arguments.
@main
struct Scorebook {
  static func main() async {
    let terminal = Terminal()
    do {
      if ["show", "device"].contains(CommandLine.arguments.dropFirst().first) {
        return try await Show.run(Array(CommandLine.arguments.dropFirst()))
      }
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      if arguments.wantsHelp { return print(Arguments.usage) }
      let failures = try run(arguments, terminal)
      if failures > 0 {
        terminal.complain("\(failures) expectations failed")
        exit(1)
      }
    } catch let error as Arguments.Misuse {
      terminal.complain("\(error.reason)\n\(error.usage)")
      exit(2)
    } catch {
      terminal.complain("The story broke off: \(error)")
      exit(1)
    }
  }

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> Int {
    let folder = try Folder(arguments.folder, isKept: arguments.isKept)
    defer { folder.clean() }
    let devices = Devices(
      phone: try Device(name: "phone", folder: folder.url, isLeft: true, terminal: terminal),
      tablet: try Device(name: "tablet", folder: folder.url, isLeft: false, terminal: terminal))
    let story = try Story(devices, terminal)
    try story.tell()
    for device in devices.both { try device.store.close() }
    if arguments.isKept { print("\nThe stores are in \(folder.url.path)") }
    return story.failures
  }
}
