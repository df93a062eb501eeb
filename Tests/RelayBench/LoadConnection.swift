#if Relay
  import Foundation
  import TallyRelayProtocol
  import TallyWire

  /// A connection that makes one request after the other, in the thread that asks.
  final class LoadConnection {
    struct Failure: Error { let call: String }

    let descriptor: Int32
    private var buffer: [UInt8] = []

    init(_ port: Int) throws { descriptor = try Self.socket(to: port) }

    /// A socket that is connected to a port of this machine.
    static func socket(to port: Int) throws -> Int32 {
      let descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(UInt16(port).bigEndian)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      let isConnected = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      guard descriptor >= 0, isConnected else { throw Failure(call: "connect") }
      var one: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
      return descriptor
    }

    deinit { close(descriptor) }

    /// Puts an entry, and waits until the relay has it.
    func put(_ name: String, _ body: [UInt8], digest: String, _ token: RelayUnderLoad.Token) throws {
      let head = """
        PUT /v1/spaces/\(token.space)/entries/\(name) HTTP/1.1\r
        Host: a\r
        Authorization: Bearer \(token.token)\r
        Content-Digest: \(digest)\r
        Content-Length: \(body.count)\r
        \r

        """
      try send(Array(head.utf8) + body)
      guard try answer().head.hasPrefix("HTTP/1.1 201") else { throw Failure(call: "PUT") }
    }

    /// Puts several entries in one request, and waits until the relay has them.
    func put(_ entries: [(name: String, body: [UInt8])], _ token: RelayUnderLoad.Token) throws {
      let body = RelayWrites(entries.map { .put(name: $0.name, content: $0.body) }).bytes()
      let head = """
        POST /v1/spaces/\(token.space)/entries HTTP/1.1\r
        Host: a\r
        Authorization: Bearer \(token.token)\r
        Content-Digest: \(RelayDigest.field(SHA256.hash(body)))\r
        Content-Length: \(body.count)\r
        \r

        """
      try send(Array(head.utf8) + body)
      let answer = try answer()
      let results = try RelayResults(answer.body).results
      guard answer.head.hasPrefix("HTTP/1.1 200"), results.allSatisfy({ if case .put = $0 { true } else { false } })
      else { throw Failure(call: "POST") }
    }

    /// Asks for events from the log's beginning on; what comes is for others to read.
    func follow(_ token: RelayUnderLoad.Token, after cursor: String?) throws {
      let query = cursor.map { "?after=\($0)" } ?? ""
      try send(
        Array(
          "GET /v1/spaces/\(token.space)/events\(query) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token.token)\r\n\r\n"
            .utf8))
    }

    private func send(_ bytes: [UInt8]) throws {
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
          Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { throw Failure(call: "send") }
        sent += count
      }
    }

    /// An answer whose body has a length.
    private func answer() throws -> (head: String, body: [UInt8]) {
      var piece = [UInt8](repeating: 0, count: 4_096)
      while true {
        if let end = buffer.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) {
          let head = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
          let length =
            head.lowercased().components(separatedBy: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
          if buffer.count >= end.upperBound + length {
            defer { buffer.removeFirst(end.upperBound + length) }
            return (head, Array(buffer[end.upperBound..<end.upperBound + length]))
          }
        }
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { throw Failure(call: "recv") }
        buffer += piece[..<count]
      }
    }
  }
#endif
