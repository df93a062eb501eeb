#if Relay
  import Foundation
  import TallyRelayProtocol
  import TallyWire

  /// A connection that makes one request after the other, in the thread that asks.
  final class LoadConnection {
    struct Failure: Error { let call: String }

    let descriptor: Int32
    private var buffer: [UInt8] = []

    /// A connection to a port of this machine. With `receiveBytes` the system keeps little of what is not read.
    init(_ port: Int, receiveBytes: Int32? = nil) throws {
      descriptor = try Self.socket(to: port)
      guard var bytes = receiveBytes else { return }
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

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

    /// Uploads a piece of an entry, and waits until the relay has it.
    func put(
      piece: [UInt8], at offset: Int, of length: Int, _ name: String, digest: String, _ token: RelayUnderLoad.Token
    ) throws {
      let head = """
        PATCH /v1/spaces/\(token.space)/uploads/\(name) HTTP/1.1\r
        Host: a\r
        Authorization: Bearer \(token.token)\r
        Content-Digest: \(digest)\r
        Upload-Offset: \(offset)\r
        Upload-Length: \(length)\r
        Content-Length: \(piece.count)\r
        \r

        """
      try send(Array(head.utf8) + piece)
      let status = offset + piece.count == length ? "201" : "204"
      guard try answer().head.hasPrefix("HTTP/1.1 \(status)") else { throw Failure(call: "PATCH") }
    }

    /// Removes an entry, and waits until it is gone for everyone.
    func remove(_ name: String, _ token: RelayUnderLoad.Token) throws {
      try ask("/v1/spaces/\(token.space)/entries/\(name)", token, "DELETE")
      guard try answer().head.hasPrefix("HTTP/1.1 204") else { throw Failure(call: "DELETE") }
    }

    /// Reads an entry of so many bytes.
    func read(_ name: String, _ count: Int, _ token: RelayUnderLoad.Token) throws {
      try ask("/v1/spaces/\(token.space)/entries/\(name)", token)
      let answer = try answer()
      guard answer.head.hasPrefix("HTTP/1.1 200"), answer.body.count == count else { throw Failure(call: "GET") }
    }

    /// Makes a request without a body, and reads nothing.
    func ask(_ path: String, _ token: RelayUnderLoad.Token, _ method: String = "GET") throws {
      try send(
        Array("\(method) \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token.token)\r\n\r\n".utf8))
    }

    /// Waits for the beginning of an answer, and leaves it unread.
    /// - Throws: `Failure` if the relay closes, or answers with something else than 200 or 503.
    func waitForAnswer() throws {
      var head = [UInt8](repeating: 0, count: 12)
      let count = recv(descriptor, &head, head.count, Int32(MSG_PEEK) | Int32(MSG_WAITALL))
      let text = String(decoding: head, as: UTF8.self)
      guard count == head.count, ["HTTP/1.1 200", "HTTP/1.1 503"].contains(text) else { throw Failure(call: "GET") }
    }

    /// Asks for events from the log's beginning on; what comes is for others to read.
    func follow(_ token: RelayUnderLoad.Token, after cursor: String?) throws {
      try ask("/v1/spaces/\(token.space)/events\(cursor.map { "?after=\($0)" } ?? "")", token)
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
