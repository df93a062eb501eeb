#if Relay
  import Foundation

  /// Connections that ask for something and do not read the answer. Used from one thread at a time.
  final class UnreadPeers {
    private var all: [Int32] = []
    /// Whether the client's system has little room, so that what is not read is soon the relay's to keep. Through
    /// little room what is read after all comes slowly.
    private let isTight: Bool

    init(isTight: Bool = true) { self.isTight = isTight }

    deinit { for peer in all { close(peer) } }

    /// Connects so many times, asks, and returns when each has the beginning of an answer.
    /// - Returns: the status of each answer.
    func ask(_ count: Int, _ path: String, _ token: String, port: Int) throws -> [Int] {
      try ask(Array(repeating: token, count: count), path, port: port)
    }

    /// Connects once for each token.
    func ask(_ tokens: [String], _ path: String, port: Int) throws -> [Int] {
      let peers = try tokens.map { token in
        let request = Array("GET \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token)\r\n\r\n".utf8)
        let peer = try RawHTTP.connect(port, isCrowd: true)
        all.append(peer)
        if isTight {
          var bytes: Int32 = 4_096
          setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        let sent = request.withUnsafeBytes { send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent == request.count else { throw RawHTTP.Failure(call: "send", number: errno) }
        return peer
      }
      return try peers.map { peer in
        var head = [UInt8](repeating: 0, count: 16)
        let count = recv(peer, &head, head.count, Int32(MSG_PEEK) | Int32(MSG_WAITALL))
        guard count == head.count else { throw RawHTTP.Failure(call: "recv", number: errno) }
        return RawHTTP.Answer(head).status
      }
    }

    /// Reads what one of them still gets, up to so many bytes at a time, with a pause after each, until its connection
    /// ends or has nothing more for a minute.
    /// - Returns: all of it.
    func read(_ index: Int, _ bytes: Int = 1 << 16, pause: Duration = .zero, until limit: Int = .max) -> [UInt8] {
      var (answer, buffer) = ([UInt8](), [UInt8](repeating: 0, count: bytes))
      while answer.count < limit {
        let count = recv(all[index], &buffer, buffer.count, 0)
        guard count > 0 else { break }
        answer += buffer[..<count]
        if pause > .zero { usleep(UInt32(pause / .microseconds(1))) }
      }
      return answer
    }
  }
#endif
