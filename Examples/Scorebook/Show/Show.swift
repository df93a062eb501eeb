/// The scorebook as something to look at: a phone and a tablet that edit by themselves, a relay between them, and an
/// inspector over both.
///
/// `Scorebook show [PORT]` starts a relay and the devices, each a process of its own; `Scorebook device …` is one of
/// these.
enum Show {
  #if Inspector && Relay
    private static let usage = """
      usage: Scorebook show [port]
        port   where the inspector listens; a free one without it
      """

    static func run(_ arguments: [String]) async throws {
      switch (arguments.first, arguments.count) {
      case ("show", 2) where ["--help", "-h"].contains(arguments[1]): print(usage)
      case ("show", 1): try await Stage.run(port: 0)
      case ("show", 2):
        guard let port = Int(arguments[1]), (0...65_535).contains(port) else {
          throw Arguments.Misuse(reason: "the port is a number from 0 to 65535", usage: usage)
        }
        try await Stage.run(port: port)
      case ("device", 5):
        let device = try await LiveDevice(arguments[1], folder: arguments[2], arguments[3], token: arguments[4])
        await device.run()
      default: throw Arguments.Misuse(reason: "show takes a port at most", usage: usage)
      }
    }
  #else
    static func run(_ arguments: [String]) async throws {
      throw Arguments.Misuse(reason: "this Scorebook was built without the inspector: use make show")
    }
  #endif
}
