import Foundation

/// Three devices keep one shopping list through a relay, each a process of its own.
///
/// Exit code: 0 if all ended equal and sound, 1 if not.
@main
struct ThreeDevices {
  static func main() async {
    do {
      exit(try await run(Array(CommandLine.arguments.dropFirst())) ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("The story broke off: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func run(_ arguments: [String]) async throws -> Bool {
    if arguments.count == 4, arguments[0] == "device" {
      let token = try String(contentsOfFile: "\(arguments[2])/token", encoding: .utf8)
      try await Device(arguments[1], folder: arguments[2], address: arguments[3], token: token).run()
      return true
    }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("three-devices-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var story = try await Story(folder: folder.path)
    let isEqual = try await story.run()
    print(isEqual ? "\nAll three hold the same, byte for byte." : "\nThey differ.")
    return isEqual
  }
}
