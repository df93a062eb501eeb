#if Relay
  import Foundation
  import TallyRelayProtocol
  import TallyWire

  /// Many connections, of which a third each sends half a header, a body byte by byte, and asks for events that it
  /// never reads. Used from one thread at a time.
  final class SlowPeers {
    private var all: [Int32] = []
    private var dribbling: [Int32] = []
    private var next = 0

    /// Connects to a relay so many times. `writer` is a token that may write to the space; `followers` has one for each
    /// that asks for events.
    init(_ count: Int, _ port: Int, _ space: String, writer: String, followers: [String]) throws {
      let digest = RelayDigest.field(SHA256.hash([]))
      for number in 0..<count {
        let peer = try RawHTTP.connect(port, isCrowd: true)
        all.append(peer)
        switch number % 3 {
        case 0: Self.send("GET /v1/spaces/\(space)/changes HTTP/1.1\r\nHost: a\r\nAuthoriza", peer)
        case 1:
          let head = "PUT /v1/spaces/\(space)/entries/d\(number) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(writer)"
          Self.send("\(head)\r\nContent-Digest: \(digest)\r\nContent-Length: 65536\r\n\r\n", peer)
          dribbling.append(peer)
        default:
          // Little room, so that what is not read is soon the relay's to keep.
          var bytes: Int32 = 4_096
          setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
          let head = "GET /v1/spaces/\(space)/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
          Self.send("\(head)\(followers[number / 3])\r\n\r\n", peer)
        }
      }
    }

    deinit { for peer in all { close(peer) } }

    /// A byte more on some of the connections.
    func dribble() {
      for _ in 0..<4 {
        Self.sendMore(dribbling[next % dribbling.count])
        next += 1
      }
    }

    /// How connections with a body that comes byte by byte have ended.
    struct Endings {
      /// With 400 `badRequest`.
      var refused = 0
      /// Otherwise: without a word, or with something else.
      var closed = 0
      /// Not at all.
      var open: Int
    }

    /// Sends a byte more on each of those connections, a few times a second, until all have ended.
    func endings(within limit: Duration) -> Endings {
      let end = ContinuousClock.now + limit
      var waiting = dribbling.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      var endings = Endings(open: waiting.count)
      while !waiting.isEmpty, ContinuousClock.now < end {
        for peer in waiting { Self.sendMore(peer.fd) }
        // Long enough that they stay too slow, unless one is answered.
        guard poll(&waiting, nfds_t(waiting.count), 200) > 0 else { continue }
        for peer in waiting where peer.revents != 0 {
          var buffer = [UInt8](repeating: 0, count: 4_096)
          let count = recv(peer.fd, &buffer, buffer.count, Int32(MSG_DONTWAIT))
          let answer = RawHTTP.Answer(Array(buffer[..<max(0, count)]))
          if answer.status == 400, answer.problem == "badRequest" { endings.refused += 1 } else { endings.closed += 1 }
        }
        waiting = waiting.filter { $0.revents == 0 }
        endings.open = waiting.count
      }
      return endings
    }

    /// Sends a byte more, unless there is an answer: more after that would be answered by a reset, which takes with it
    /// what was not read yet.
    private static func sendMore(_ peer: Int32) {
      var byte: UInt8 = 0
      if recv(peer, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) < 0 { send("x", peer) }
    }

    private static func send(_ text: String, _ peer: Int32) {
      let bytes = Array(text.utf8)
      _ = bytes.withUnsafeBytes { Foundation.send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
  }

  /// A client that puts one entry after the other on one connection, in the thread that asks.
  final class GoodClient {
    private let descriptor: Int32

    init(_ port: Int) throws { descriptor = try RawHTTP.connect(port) }

    deinit { close(descriptor) }

    /// Puts entries, and returns the 99th percentile of the time that one took, in milliseconds.
    func p99(_ count: Int, _ prefix: String, _ bytes: Int, _ space: String, _ token: String, meanwhile: () -> Void)
      throws -> Double
    {
      let body = [UInt8](repeating: 7, count: bytes)
      let digest = RelayDigest.field(SHA256.hash(body))
      var times: [Duration] = []
      for number in 0..<count {
        meanwhile()
        let head = """
          PUT /v1/spaces/\(space)/entries/\(prefix)-\(number) HTTP/1.1\r
          Host: a\r
          Authorization: Bearer \(token)\r
          Content-Digest: \(digest)\r
          Content-Length: \(bytes)\r
          \r

          """
        let start = ContinuousClock.now
        try send(Array(head.utf8) + body)
        guard try answer().hasPrefix("HTTP/1.1 201 ") else { throw RawHTTP.Failure(call: "PUT", number: 0) }
        times.append(ContinuousClock.now - start)
      }
      times.sort()
      return times[count * 99 / 100] / .milliseconds(1)
    }

    private func send(_ bytes: [UInt8]) throws {
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
          Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { throw RawHTTP.Failure(call: "send", number: errno) }
        sent += count
      }
    }

    /// The head of an answer without a body.
    private func answer() throws -> String {
      var (head, piece) = ([UInt8](), [UInt8](repeating: 0, count: 4_096))
      while !head.ends(with: [0x0D, 0x0A, 0x0D, 0x0A]) {
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { throw RawHTTP.Failure(call: "recv", number: errno) }
        head += piece[..<count]
      }
      return String(decoding: head, as: UTF8.self)
    }
  }

  extension [UInt8] {
    fileprivate func ends(with end: [UInt8]) -> Bool { suffix(end.count).elementsEqual(end) }
  }
#endif
