/// The scorebook as something to look at: a phone and a tablet that edit by themselves, a relay between them, and an
/// inspector over both.
///
/// `Scorebook show [PORT]` starts a relay and the devices, each a process of its own; `Scorebook device …` is one of
/// these.
enum Show {
  #if Inspector && Relay
    static func run(_ arguments: [String]) async throws {
      switch (arguments.first, arguments.count) {
      case ("show", 1), ("show", 2): try await Stage.run(port: arguments.dropFirst().first.flatMap { Int($0) } ?? 0)
      case ("device", 5):
        let device = try await LiveDevice(arguments[1], folder: arguments[2], arguments[3], token: arguments[4])
        await device.run()
      default: throw Arguments.Misuse(reason: "show takes a port at most")
      }
    }
  #else
    static func run(_ arguments: [String]) async throws {
      throw Arguments.Misuse(reason: "this Scorebook was built without the inspector: use make show")
    }
  #endif
}
