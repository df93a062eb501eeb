import Foundation

#if Network
  import TallyNetwork
#endif

/// Two processes keep one shopping list, live over TCP.
///
/// Exit code: 0 if both ended equal and sound, 1 if not, 2 without the package trait Network.
@main
struct TwoMachines {
  static func main() async {
    #if Network
      do {
        exit(try await run(Array(CommandLine.arguments.dropFirst())) ? 0 : 1)
      } catch {
        complain("The story broke off: \(error)")
        exit(1)
      }
    #else
      complain("Networking is a package trait: swift run --traits Network TwoMachines")
      exit(2)
    #endif
  }

  #if Network
    private static func run(_ arguments: [String]) async throws -> Bool {
      if arguments.count == 3, arguments[0] == "laptop", let port = Int(arguments[2]) {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(arguments[1])/secret"))
        guard let secret = SharedSecret(bytes) else { return false }
        try await Laptop.run(folder: arguments[1], port: port, secret: secret)
        return true
      }
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("two-machines-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let isEqual = try await Home.run(folder: folder.path)
      print(isEqual ? "\nBoth hold the same, byte for byte." : "\nThe two differ.")
      return isEqual
    }
  #endif

  private static func complain(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
