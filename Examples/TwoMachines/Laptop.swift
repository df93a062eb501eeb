#if Network
  import Foundation
  import Tally
  import TallyNetwork

  /// The second process: on the way, with a list of its own, and live as soon as it reaches home.
  enum Laptop {
    static func run(folder: String, port: Int, secret: SharedSecret) async throws {
      let laptop = try Machine("laptop", folder: folder)
      try laptop.add("apples", 6)

      var settings = SyncEngine.Settings()
      settings.shortestRetry = .milliseconds(50)
      settings.longestRetry = .milliseconds(200)
      let engine = SyncEngine(laptop.store, settings)
      await engine.add(TCPTransport(host: "127.0.0.1", port: port, security: .secret(secret), name: "home"))
      await engine.resume()

      try await laptop.wait(for: "milk")
      laptop.say("sees milk")
      try await laptop.wait(for: "coffee")
      try laptop.edit("milk", "bought the milk") { $0.isBought = true }

      // Home has gone quiet: both go on writing.
      try await laptop.wait(for: "bread") { $0.amount == 2 }
      try laptop.edit("apples", "takes 8 apples") { $0.amount = 8 }
      try await laptop.wait(for: "that is all")

      // What home has not confirmed yet goes out before this process ends.
      for await status in await engine.statusUpdates() {
        if let home = status.peers.first, home.phase == .live, home.pending == 0 { break }
      }
      await engine.pause()
      try laptop.store.close()
    }
  }
#endif
