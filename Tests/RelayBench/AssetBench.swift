#if Relay
  import Foundation
  import RelayRig
  import Tally
  import TallyRelay
  import TallyRelayProtocol
  import TallyTesting
  import TallyWire

  /// Files of assets through a relay, beside curl with the same bytes: the device that has them, and one that has
  /// nothing. And how many bytes have to pass again after a device was killed at a random one.
  struct AssetBench {
    let folder: URL
    /// All files together, and each.
    let byteCount: Int
    let fileByteCount: Int
    let seed: UInt64
    private static let kills = 5

    private struct Costs {
      var ratios: [Double] = []
      var (ours, curls) = (Duration.zero, Duration.zero)
      var memory = 0.0

      mutating func add(_ outcome: AssetDevice.Outcome, curl: Duration) {
        ratios.append(outcome.time / curl)
        (ours, curls) = (ours + outcome.time, curls + curl)
        memory = max(memory, outcome.memory)
      }

      func text(rounds: Int) -> String {
        String(
          format: "%.2f × (%.2f s; curl %.2f s)", ratios.sorted()[ratios.count / 2],
          ours / .seconds(1) / Double(rounds),
          curls / .seconds(1) / Double(rounds))
      }
    }

    func run() async throws -> [Figure] {
      let source = folder.appendingPathComponent("assets.tally")
      let names = try makeFiles(source)
      let relay = try await RelayUnderLoad(folder, "assets")
      // A run of a gigabyte is long enough to be one.
      let rounds = byteCount > 256_000_000 ? 1 : 3
      var (putting, getting) = (Costs(), Costs())
      for round in 0..<rounds {
        let (token, other) = (try await relay.token(), try await relay.token())
        let plain = try curlPut(names, source, relay.port, other)
        putting.add(try outcome(AssetDevice(source, port: relay.port, token)), curl: plain)
        let copies = folder.appendingPathComponent("curl-\(round)")
        let fetched = try curlGet(names, into: copies, relay.port, token)
        let device = folder.appendingPathComponent("device-\(round).tally")
        getting.add(try outcome(AssetDevice(device, port: relay.port, token)), curl: fetched)
        try check(names, device)
        for place in [copies, Self.assets(device)] { try FileManager.default.removeItem(at: place) }
      }
      let again = (
        get: try await killed(.down, source, names, relay), put: try await killed(.up, source, names, relay)
      )
      try relay.stop()
      let size = "\(names.count) files, \(byteCount / 1_000_000) MB"
      return [
        Figure(
          name: "first sync of \(size): a new device gets them, beside curl", value: getting.text(rounds: rounds),
          target: "≤ 1.3 ×"),
        Figure(
          name: "the device that has them puts them, beside curl", value: putting.text(rounds: rounds),
          target: "≤ 1.3 ×"),
        Figure(
          name: "the most memory of these devices beyond the idle process: getting, putting",
          value: String(format: "%.1f MiB, %.1f MiB", getting.memory, putting.memory), target: "≤ 32 MiB"),
        Figure(
          name: "bytes that pass again after a kill at a random byte, the most of \(Self.kills): getting, putting",
          value: String(format: "%.0f KiB, %.0f KiB", Double(again.get) / 1_024, Double(again.put) / 1_024),
          target: "≤ 1024 KiB, and heads of requests"),
      ]
    }

    private func outcome(_ device: AssetDevice) throws -> AssetDevice.Outcome {
      guard let outcome = try device.wait() else { throw LoadConnection.Failure(call: "a device was killed") }
      return outcome
    }

    // MARK: Files

    private static func assets(_ store: URL) -> URL { URL(fileURLWithPath: store.path + "-assets") }
    private static func entry(_ name: AssetName) -> String {
      "asset1-default-\(name.hash)-\(name.byteCount).\(name.type)"
    }

    /// A store with records that name all files.
    private func makeFiles(_ path: URL) throws -> [AssetName] {
      let store = try Store(path: path.path, schema: AssetDevice.schema)
      var random = SplitMix64(seed: seed)
      var noise = Data((0..<fileByteCount).map { _ in UInt8.random(in: 0...255, using: &random) })
      let names = try (0..<max(1, byteCount / fileByteCount)).map { number in
        noise.replaceSubrange(0..<8, with: withUnsafeBytes(of: UInt64(number).bigEndian) { Data($0) })
        return try store.assets.add(noise, type: "jpg")
      }
      try store.write { db in
        for (number, name) in names.enumerated() {
          try db.execute(
            sql: "INSERT INTO Picture(id, photo) VALUES(?, ?)", arguments: ["Picture|~|\(number)", name])
        }
      }
      try store.close()
      return names
    }

    private func check(_ names: [AssetName], _ path: URL) throws {
      let store = try Store(path: path.path, schema: AssetDevice.schema)
      defer { try? store.close() }
      guard try names.allSatisfy({ try store.assets.url(of: $0) != nil }) else {
        throw LoadConnection.Failure(call: "a sync of all files")
      }
    }

    // MARK: curl

    private static func options(_ token: RelayUnderLoad.Token) -> [String] {
      ["silent", "show-error", "fail", "noproxy = \"*\"", "header = \"Authorization: Bearer \(token.token)\""]
    }

    private func curl(_ lines: [String]) throws -> Duration {
      let config = folder.appendingPathComponent("curl")
      try (lines.joined(separator: "\n") + "\n").write(to: config, atomically: true, encoding: .utf8)
      let start = ContinuousClock.now
      try Program.run("curl", ["--config", config.path])
      return ContinuousClock.now - start
    }

    private func curlGet(
      _ names: [AssetName], into copies: URL, _ port: Int, _ token: RelayUnderLoad.Token
    ) throws -> Duration {
      try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: true)
      let base = "http://127.0.0.1:\(port)/v1/spaces/\(token.space)/entries/"
      return try curl(
        Self.options(token)
          + names.flatMap { name in
            ["url = \"\(base)\(Self.entry(name))\"", "output = \"\(copies.path)/\(name.hash)\""]
          })
    }

    /// Each file in as few requests as the relay takes, whose bodies and digests are ready before.
    private func curlPut(
      _ names: [AssetName], _ source: URL, _ port: Int, _ token: RelayUnderLoad.Token
    ) throws -> Duration {
      let pieces = folder.appendingPathComponent("pieces")
      try FileManager.default.createDirectory(at: pieces, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: pieces) }
      let base = "http://127.0.0.1:\(port)/v1/spaces/\(token.space)"
      var lines: [String] = []
      for name in names {
        let path = Self.assets(source).appendingPathComponent("\(name.hash.prefix(2))/\(name.hash).\(name.type)")
        let bytes = [UInt8](try Data(contentsOf: path))
        for start in stride(from: 0, to: bytes.count, by: RelayLimits.bodyBytes) {
          let piece = Array(bytes[start..<min(start + RelayLimits.bodyBytes, bytes.count)])
          let file = pieces.appendingPathComponent("\(name.hash)-\(start)")
          try Data(piece).write(to: file)
          let isWhole = piece.count == bytes.count
          lines += Self.options(token) + ["output = \"/dev/null\""]
          lines += [
            "header = \"Content-Type: \(RelayMedia.entry)\"", "header = \"Expect:\"",
            "header = \"Content-Digest: \(RelayDigest.field(SHA256.hash(piece)))\"",
            "url = \"\(base)/\(isWhole ? "entries" : "uploads")/\(Self.entry(name))\"",
            "request = \(isWhole ? "PUT" : "PATCH")", "data-binary = \"@\(file.path)\"",
          ]
          if !isWhole {
            lines += ["header = \"Upload-Offset: \(start)\"", "header = \"Upload-Length: \(bytes.count)\""]
          }
          lines.append("next")
        }
      }
      return try curl(lines.dropLast())
    }

    // MARK: Kills

    /// A device is killed again and again, each time after a random number of bytes, and goes on.
    /// - Returns: the most bytes that had passed since the last start and are not stored: they pass again.
    private func killed(
      _ direction: CountingProxy.Direction, _ source: URL, _ names: [AssetName], _ relay: RelayUnderLoad
    ) async throws -> Int {
      var random = SplitMix64(seed: seed &+ (direction == .up ? 1 : 2))
      let token = try await relay.token()
      let proxy = try CountingProxy(to: relay.port)
      defer { proxy.stop() }
      let place = try RelayMailbox("http://127.0.0.1:\(relay.port)/s/\(token.space)", token: token.token)
      let device = direction == .up ? source : folder.appendingPathComponent("killed.tally")
      if direction == .down { _ = try outcome(AssetDevice(source, port: relay.port, token)) }
      func stored() async throws -> Int {
        direction == .up ? Int(try await place.status().bytes) : try Self.bytes(in: Self.assets(device))
      }
      let total = names.reduce(0) { $0 + $1.byteCount }
      var most = 0
      for number in 0..<Self.kills {
        let before = try await stored()
        let byte = Int.random(in: 1...max(1, total / Self.kills), using: &random)
        proxy.count(upTo: byte, direction)
        let running = try AssetDevice(device, port: proxy.port, token)
        let hasEnded = proxy.waitForEnd(.seconds(120))
        kill(running.pid, SIGKILL)
        guard try running.wait() == nil, hasEnded else {
          throw LoadConnection.Failure(call: "kill \(number) of a device")
        }
        // The relay may still be taking in what it has got.
        try await Task.sleep(for: .milliseconds(500))
        most = max(most, proxy.passed(direction) - (try await stored() - before))
      }
      proxy.count()
      _ = try outcome(AssetDevice(device, port: proxy.port, token))
      if direction == .down { try check(names, device) }
      return most
    }

    /// The bytes of all files in a folder of assets that are whole or on their way.
    private static func bytes(in folder: URL) throws -> Int {
      guard let paths = FileManager.default.enumerator(atPath: folder.path) else { return 0 }
      return try paths.reduce(0) { sum, path in
        guard let path = path as? String, path.hasSuffix(".jpg") else { return sum }
        let size = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + path)[.size] as? Int
        return sum + (size ?? 0)
      }
    }
  }
#endif
