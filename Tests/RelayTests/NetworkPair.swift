#if Relay
  import Foundation

  /// A network of two machines, of which one is a network namespace: what a test needs to be root on Linux for.
  struct NetworkPair: Sendable {
    struct Failure: Error { let command: String, status: Int32 }

    /// Whether this process may make one.
    static let isAvailable: Bool = {
      guard geteuid() == 0, access("/usr/sbin/ip", X_OK) == 0 || access("/sbin/ip", X_OK) == 0 else { return false }
      guard let pair = try? NetworkPair() else { return false }
      return (try? pair.remove()) != nil
    }()

    /// The namespace; also the beginning of what its interfaces are called.
    private let name: String
    /// The address of the machine in the namespace.
    let address: String

    init() throws {
      // An interface's name has 15 bytes at most.
      name = "tally\(UUID().uuidString.prefix(6).lowercased())"
      let net = Int.random(in: 0..<16_384)
      // Of 10.214.0.0/16, four addresses.
      func host(_ number: Int) -> String { "10.214.\(net / 64).\(net % 64 * 4 + number)" }
      address = host(2)
      try Self.ip("netns", "add", name)
      try Self.ip("link", "add", "\(name)a", "type", "veth", "peer", "name", "\(name)b", "netns", name)
      try Self.ip("address", "add", "\(host(1))/30", "dev", "\(name)a")
      try Self.ip("-n", name, "address", "add", "\(address)/30", "dev", "\(name)b")
      try Self.ip("-n", name, "link", "set", "lo", "up")
      try Self.ip("-n", name, "link", "set", "\(name)b", "up")
      try up()
    }

    /// What runs a program on the machine in the namespace.
    var prefix: [String] { ["ip", "netns", "exec", name] }

    func down() throws { try Self.ip("link", "set", "\(name)a", "down") }
    func up() throws { try Self.ip("link", "set", "\(name)a", "up") }

    /// Removing a namespace removes its interfaces, and their other ends.
    func remove() throws { try Self.ip("netns", "delete", name) }

    private static func ip(_ arguments: String...) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["ip"] + arguments
      process.standardInput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw Failure(command: "ip \(arguments.joined(separator: " "))", status: process.terminationStatus)
      }
    }
  }
#endif
