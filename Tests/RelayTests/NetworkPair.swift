#if Relay
  import Foundation
  import RelayRig

  /// A network of two machines, of which one is a network namespace: what a test needs to be root on Linux for. It goes
  /// with the test.
  struct NetworkPair: Sendable {
    /// Whether this process may make one.
    static let isAvailable: Bool = {
      guard geteuid() == 0, access("/usr/sbin/ip", X_OK) == 0 || access("/sbin/ip", X_OK) == 0 else { return false }
      let name = newName()
      do {
        try ip("netns", "add", name)
        let link = Result {
          try ip("link", "add", "\(name)a", "type", "veth", "peer", "name", "\(name)b", "netns", name)
        }
        try remove(name)
        try link.get()
        return true
      } catch {
        return false
      }
    }()

    /// The namespace; also the beginning of what its interfaces are called.
    private let name: String
    /// The address of the machine in the namespace.
    let address: String

    init() throws {
      let name = Self.newName()
      self.name = name
      let net = Int.random(in: 0..<16_384)
      // Of 10.214.0.0/16, four addresses.
      func host(_ number: Int) -> String { "10.214.\(net / 64).\(net % 64 * 4 + number)" }
      address = host(2)
      try Self.ip("netns", "add", name)
      Leftovers.note { try Self.remove(name) }
      try Self.ip("link", "add", "\(name)a", "type", "veth", "peer", "name", "\(name)b", "netns", name)
      try Self.ip("address", "add", "\(host(1))/30", "dev", "\(name)a")
      try Self.ip("-n", name, "address", "add", "\(address)/30", "dev", "\(name)b")
      try Self.ip("-n", name, "link", "set", "lo", "up")
      try Self.ip("link", "set", "\(name)a", "up")
      try up()
    }

    /// An interface's name has 15 bytes at most.
    private static func newName() -> String { "tally\(UUID().uuidString.prefix(6).lowercased())" }

    /// What runs a program on the machine in the namespace.
    var prefix: [String] { ["ip", "netns", "exec", name] }

    /// At the far end, so that this machine keeps its route: without one, something else might answer.
    func down() throws { try Self.ip("-n", name, "link", "set", "\(name)b", "down") }
    func up() throws { try Self.ip("-n", name, "link", "set", "\(name)b", "up") }

    /// How many packets to the machine in the namespace, of those on their way, the system has sent again for a
    /// process.
    func resentPackets(of pid: pid_t) throws -> Int {
      let folder = "/proc/\(pid)/fd"
      let sockets = Set(
        try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
          // One that is closed meanwhile is none.
          (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"))
            .flatMap { $0.hasPrefix("socket:[") ? String($0.dropFirst(8).dropLast()) : nil }
        })
      // `Documentation/networking/proc_net_tcp.rst` of Linux: remote address, retransmits, inode.
      let lines = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n").dropFirst()
      let bytes = address.split(separator: ".").compactMap { UInt8($0) }
      let remote = bytes.reversed().map { String(format: "%02X", $0) }.joined()
      var resent = 0
      for line in lines {
        let fields = line.split(separator: " ")
        guard fields.count > 9, fields[2].hasPrefix("\(remote):"), sockets.contains(String(fields[9])) else { continue }
        resent += Int(fields[6], radix: 16) ?? 0
      }
      return resent
    }

    /// The names of all namespaces on the machine.
    static func names() throws -> [String] {
      try Program.run("ip", ["netns", "list"]).split(separator: "\n").compactMap { line in
        line.split(separator: " ").first.map(String.init)
      }
    }

    /// Removing a namespace removes its interfaces, and their other ends.
    private static func remove(_ name: String) throws { try ip("netns", "delete", name) }

    private static func ip(_ arguments: String...) throws { try Program.run("ip", arguments) }
  }
#endif
