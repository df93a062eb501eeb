import Foundation

/// A phone, a tablet and a desktop keep one list through a relay that is killed in between.
struct Story {
  private static let names = ["phone", "tablet", "desktop"]
  private static let tool = (Bundle.main.executableURL ?? Bundle.main.bundleURL).deletingLastPathComponent()
    .appendingPathComponent("tally")

  private let folder: String
  /// The address at which the relay listens: the same one again after it was killed.
  private let place: String
  private var relay: ChildProcess
  private var devices: [String: ChildProcess] = [:]

  /// Starts a relay, makes a space on it, and starts the devices.
  init(folder: String) async throws {
    self.folder = folder
    relay = try ChildProcess(Self.tool, ["relay", "--data", "\(folder)/relay.sqlite", "--listen", "127.0.0.1:0"])
    place = try await Self.place(relay)
    Self.say("relay", "listens on \(place)")
    let making = try ChildProcess(
      Self.tool, ["relay", "token", "--data", "\(folder)/relay.sqlite", "--url", "http://\(place)", "--json"])
    let made = try JSONDecoder().decode([String: String].self, from: Data(try await making.nextLine().utf8))
    try making.end()
    guard let address = made["url"], let token = made["token"] else { throw ChildProcess.Ended() }
    let file = FileManager.default.createFile(
      atPath: "\(folder)/token", contents: Data(token.utf8), attributes: [.posixPermissions: 0o600])
    guard file, let executable = Bundle.main.executableURL else { throw CocoaError(.fileWriteUnknown) }
    for name in Self.names {
      devices[name] = try ChildProcess(executable, ["device", name, folder, address])
    }
  }

  /// - Returns: whether all devices hold the same at the end.
  mutating func run() async throws -> Bool {
    try await tell("phone", "add milk 1", "writes 1 milk")
    try await tell("phone", "add bread 1", "writes 1 bread")
    for name in ["tablet", "desktop"] { try await see(name, "1 bread") }

    try await tell("tablet", "offline", "loses the network, and is used nevertheless")
    try await tell("tablet", "amount milk 3", "wants 3 milk")
    try await tell("tablet", "add tea 1", "writes 1 tea")
    try await tell("desktop", "buy milk", "ticks the milk off")
    try await see("phone", "1 milk, bought")

    Self.say("relay", "is killed")
    relay.kill()
    try await tell("phone", "add apples 6", "writes 6 apples")
    try await tell("desktop", "delete bread", "deletes the bread")
    for name in ["phone", "desktop"] { try await tell(name, "trouble", "says how it stands:") }
    try await restartRelay()
    try await see("desktop", "6 apples")

    try await tell("tablet", "online", "finds the network again")
    for name in Self.names { try await tell(name, "gone bread", "sees that the bread is gone") }
    // The tablet's amount and the desktop's tick are of different fields: both stay.
    for name in Self.names { for line in ["3 milk, bought", "1 tea", "6 apples"] { try await see(name, line) } }
    return try await isEqual()
  }

  private mutating func restartRelay() async throws {
    relay = try ChildProcess(Self.tool, ["relay", "--data", "\(folder)/relay.sqlite", "--listen", place])
    Self.say("relay", "listens again on \(try await Self.place(relay))")
  }

  private static func place(_ relay: ChildProcess) async throws -> String {
    String(try await relay.nextLine().dropFirst("listening on ".count))
  }

  // MARK: Devices

  private func tell(_ name: String, _ command: String, _ text: String) async throws {
    Self.say(name, text)
    try await show(name, command)
  }

  private func see(_ name: String, _ line: String) async throws {
    try await show(name, "wait \(line)")
    Self.say(name, "sees \(line)")
  }

  private func show(_ name: String, _ command: String) async throws {
    for line in try await ask(name, command) { Self.say(name, "  \(line)") }
  }

  private func ask(_ name: String, _ command: String) async throws -> [String] {
    guard let device = devices[name] else { throw ChildProcess.Ended() }
    let answer = try await device.ask(command)
    if let failure = answer.first(where: { $0.hasPrefix("failed: ") }) { throw Device.Failure(description: failure) }
    return answer
  }

  private func isEqual() async throws -> Bool {
    var checks: Set<[String]> = []
    for name in Self.names {
      try await tell(name, "list", "has")
      try await tell(name, "status", "and is")
      checks.insert(try await ask(name, "check"))
    }
    for device in devices.values { try device.end() }
    relay.kill()
    return checks.count == 1 && checks.first?.first == "sound"
  }

  private static func say(_ name: String, _ text: String) {
    let column = name.padding(toLength: 7, withPad: " ", startingAt: 0)
    FileHandle.standardOutput.write(Data("  \(column)│ \(text)\n".utf8))
  }
}
