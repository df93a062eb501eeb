#if Relay
  import Foundation
  import TallyRelayProtocol
  import TallyWire

  /// Many devices that come to a relay at the same moment: a third follow a space, one in twelve puts an entry, the
  /// others ask for its first page. One that is told that the relay is busy comes again.
  ///
  /// Used from one thread at a time.
  final class ReturningDevices {
    private enum Wish {
      case events, page, entry

      init(of number: Int) { self = number % 3 == 0 ? .events : ReturningDevices.isWriter(number) ? .entry : .page }
    }

    /// Whether the device of a number puts an entry.
    static func isWriter(_ number: Int) -> Bool { number % 12 == 2 }

    private struct Device {
      let wish: Wish
      let request: [UInt8]
      var peer: Int32 = -1
      var answer: [UInt8] = []
      var isServed = false
      /// Whether a follower has been told of the entry that all wait for.
      var hasHeard = false
      /// When one that was sent away comes again.
      var next: ContinuousClock.Instant?
    }

    private static let body = [UInt8](repeating: 7, count: 320)
    /// So much of a stream is kept that what is looked for in it may be cut in two.
    private static let tailBytes = 32
    private let port: Int
    /// What stands in the event of the entry that all followers wait for.
    private let awaited: String
    private var devices: [Device]
    /// How often one was told that the relay is busy.
    private(set) var refusals = 0

    /// So many devices of a space, of which each sixteen have a token of their own. What they put begins with a word;
    /// what they wait for in the end is the entry at a position.
    init(_ count: Int, _ port: Int, _ space: String, tokens: [String], _ word: String, awaiting position: Int = 0) {
      (self.port, awaited) = (port, "id: \(position).")
      let digest = RelayDigest.field(SHA256.hash(Self.body))
      devices = (0..<count).map { number in
        let wish = Wish(of: number)
        let end = "HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer \(tokens[number / 16])\r\n"
        let place = "/v1/spaces/\(space)"
        let text =
          switch wish {
          case .events: "GET \(place)/events \(end)\r\n"
          case .page: "GET \(place)/changes \(end)\r\n"
          case .entry:
            "PUT \(place)/entries/\(word)-\(number) \(end)Content-Digest: \(digest)\r\n"
              + "Content-Length: \(Self.body.count)\r\n\r\n"
          }
        return Device(wish: wish, request: Array(text.utf8) + (wish == .entry ? Self.body : []))
      }
    }

    deinit { for device in devices where device.peer >= 0 { close(device.peer) } }

    /// Connects all, and sends what they want. Needs no more of the relay than that it listens.
    func come() throws {
      for index in devices.indices { try come(index) }
    }

    private func come(_ index: Int) throws {
      let peer = try RawHTTP.connect(port, isCrowd: true)
      (devices[index].peer, devices[index].answer, devices[index].next) = (peer, [], nil)
      try RawHTTP.sendAll(devices[index].request, peer)
    }

    /// Reads until all have what they want, and calls a body several times a second.
    /// - Returns: how many have not when the time is over.
    /// - Throws: `Failure` if one gets something else.
    func serve(within limit: Duration, meanwhile: () -> Void = {}) throws -> Int {
      let end = ContinuousClock.now + limit
      while ContinuousClock.now < end {
        let waiting = devices.indices.filter { !devices[$0].isServed }
        guard !waiting.isEmpty else { return 0 }
        for index in waiting { if let next = devices[index].next, next <= .now { try come(index) } }
        // Those who follow go on reading.
        try read(devices.indices.filter { devices[$0].peer >= 0 }, look)
        meanwhile()
      }
      return devices.count { !$0.isServed }
    }

    /// Reads until each follower has been told of the entry that all wait for.
    /// - Returns: how many have not when the time is over.
    func hear(within limit: Duration) throws -> Int {
      let end = ContinuousClock.now + limit
      func isDeaf(_ device: Device) -> Bool { device.wish == .events && !device.hasHeard }
      while ContinuousClock.now < end, devices.contains(where: isDeaf) {
        try read(devices.indices.filter { devices[$0].peer >= 0 }, look)
      }
      return devices.count(where: isDeaf)
    }

    /// Waits until the relay has closed all streams.
    /// - Returns: how many are open when the time is over.
    func end(within limit: Duration) throws -> Int {
      let end = ContinuousClock.now + limit
      while ContinuousClock.now < end, devices.contains(where: { $0.peer >= 0 }) {
        try read(devices.indices.filter { devices[$0].peer >= 0 }) { _, _ in }
      }
      return devices.count { $0.peer >= 0 }
    }

    private static func has(_ text: String, _ bytes: [UInt8]) -> Bool { Data(bytes).range(of: Data(text.utf8)) != nil }

    /// What has come for some of them, if anything comes within a quarter of a second. `look` is told of each, and
    /// whether its connection has ended.
    private func read(_ some: [Int], _ look: (Int, _ isEnd: Bool) throws -> Void) throws {
      var polled = some.map { pollfd(fd: devices[$0].peer, events: Int16(POLLIN), revents: 0) }
      // Also without any: one that was sent away comes again.
      guard poll(&polled, nfds_t(polled.count), 250) > 0 else { return }
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      for (index, peer) in zip(some, polled) where peer.revents != 0 {
        let count = recv(peer.fd, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { devices[index].answer += buffer[..<count] }
        let isEnd = count == 0 || count < 0 && errno != EAGAIN
        if isEnd {
          close(peer.fd)
          devices[index].peer = -1
        }
        if count > 0 || isEnd { try look(index, isEnd) }
      }
    }

    /// Looks whether a device has what it wants now.
    private func look(_ index: Int, _ isEnd: Bool) throws {
      let device = devices[index]
      if device.wish == .events, !isEnd {
        if !device.isServed {
          devices[index].isServed = Self.has("\r\n\r\n", device.answer) && Self.has(":\n\n", device.answer)
        }
        if Self.has(awaited, device.answer) { devices[index].hasHeard = true }
        if devices[index].isServed { devices[index].answer = Array(device.answer.suffix(Self.tailBytes)) }
      }
      guard isEnd else { return }
      guard !device.isServed else { throw RawHTTP.Failure(call: "a stream has ended", number: 0) }
      let answer = RawHTTP.Answer(device.answer)
      switch (answer.status, device.wish) {
      case (200, .page) where answer.body.count == Int(answer.field("content-length") ?? ""):
        devices[index].isServed = true
      // The second is what an entry gets that was put before the answer was lost.
      case (201, .entry), (200, .entry): devices[index].isServed = true
      case (503, _), (429, _):
        refusals += 1
        devices[index].next = .now + .seconds(Int(answer.field("retry-after") ?? "") ?? 1)
      default:
        throw RawHTTP.Failure(call: "\(device.wish): \(answer.head.first ?? "closed")", number: 0)
      }
    }
  }
#endif
