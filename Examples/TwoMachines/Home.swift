#if Network
  import Foundation
  import Tally
  import TallyNetwork

  /// The first process: keeps a list, listens, and starts the other.
  enum Home {
    /// - Returns: whether both hold the same at the end.
    static func run(folder: String) async throws -> Bool {
      let home = try Machine("home", folder: folder)
      try home.add("milk", 1)
      try home.add("bread", 1)

      let secret = SharedSecret.random()
      let engine = SyncEngine(home.store)
      await engine.resume()
      let listener = try await TCPListener(host: "127.0.0.1", port: 0, security: .secret(secret)) { connection in
        try await engine.accept(connection, from: "laptop")
      }
      home.say("listens, and starts the laptop: another process with another file")
      let laptop = try start(folder, listener.port, secret)

      try await home.wait(for: "apples")
      home.say("sees apples; both are live now")
      try home.add("coffee", 1)
      try await home.wait(for: "milk") { $0.isBought == true }
      home.say("sees that the milk is bought")

      try home.edit("bread", "wants two loaves") { $0.amount = 2 }
      try await home.wait(for: "apples") { $0.amount == 8 }
      await engine.pause()
      home.say("hangs up, and writes while nobody listens")
      try home.edit("bread", "wants three loaves after all") { $0.amount = 3 }
      try home.add("that is all", 0)
      await engine.resume()
      home.say("is back; the laptop finds it by itself")

      laptop.waitUntilExit()
      await listener.close()
      return try isEqual(home, folder, laptop.terminationStatus)
    }

    private static func start(_ folder: String, _ port: Int, _ secret: SharedSecret) throws -> Process {
      let path = "\(folder)/secret"
      let isMade = FileManager.default.createFile(
        atPath: path, contents: Data(secret.bytes), attributes: [.posixPermissions: 0o600])
      guard isMade else { throw CocoaError(.fileWriteUnknown) }
      let process = Process()
      process.executableURL = Bundle.main.executableURL
      process.arguments = ["laptop", folder, "\(port)"]
      try process.run()
      return process
    }

    private static func isEqual(_ home: Machine, _ folder: String, _ status: Int32) throws -> Bool {
      guard status == 0 else { return false }
      let laptop = try Machine("laptop", folder: folder)
      let (here, there) = (try home.content(), try laptop.content())
      let isSound = try home.store.verify().isSound && laptop.store.verify().isSound
      try home.store.read { db in
        for item in try Item.fetchAll(db) where item.amount != 0 {
          home.say("✓ \(item.amount ?? 0) \(item.title ?? "")\(item.isBought == true ? ", bought" : "")")
        }
      }
      return here == there && isSound
    }
  }
#endif
