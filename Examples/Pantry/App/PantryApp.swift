import Foundation

/// The program: a command on a file.
@main
struct PantryApp {
  static func main() async {
    do {
      guard let path = CommandLine.arguments.dropFirst().first else {
        throw Terminal.Misuse(description: Terminal.usage)
      }
      try await Terminal(store: try Pantry.open(path)).run(Array(CommandLine.arguments.dropFirst(2)))
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}
