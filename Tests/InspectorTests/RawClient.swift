#if Inspector
  import Foundation
  import TallyStore

  /// A client that says exactly what it is told, byte by byte, on a socket of this machine. It waits on threads of its
  /// own: the server's tasks need those that tasks share.
  struct RawClient: Sendable {
    struct Answer: Sendable {
      var status: Int
      var headers: [String: String]
      var body: String
    }

    struct Failure: Error {}

    let port: Int

    /// Sends bytes, and reads until the server closes the connection.
    func send(_ request: String) async throws -> Answer {
      try await BlockingWork.run { try sendBlocking(request) }
    }

    /// As `send`, on the thread of whoever calls.
    func sendBlocking(_ request: String) throws -> Answer {
      let descriptor = try connected()
      defer { close(descriptor) }
      try Array(request.utf8).withUnsafeBytes { bytes in
        guard write(descriptor, bytes.baseAddress, bytes.count) == bytes.count else { throw Failure() }
      }
      return try Self.parsed(try Self.rest(descriptor))
    }

    /// Opens connections that say nothing, one after the other, until the server takes none any more.
    func knockUntilRefused() async throws {
      try await BlockingWork.run {
        while let descriptor = try? connected() { close(descriptor) }
      }
    }

    /// Opens a stream of events and reads until it has seen a text; then goes away.
    func follow(
      _ path: String, cookie: String, until text: String, _ body: @escaping @Sendable () throws -> Void
    ) async throws -> String {
      try await BlockingWork.run { try followBlocking(path, cookie, text, body) }
    }

    private func followBlocking(
      _ path: String, _ cookie: String, _ text: String, _ body: () throws -> Void
    ) throws -> String {
      let descriptor = try connected()
      defer { close(descriptor) }
      let request = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nCookie: \(cookie)\r\n\r\n"
      try Array(request.utf8).withUnsafeBytes { bytes in
        guard write(descriptor, bytes.baseAddress, bytes.count) == bytes.count else { throw Failure() }
      }
      var received = ""
      var hasBegun = false
      while !received.contains(text) {
        received += String(decoding: try Self.some(descriptor), as: UTF8.self)
        if !hasBegun, received.contains("event: hello") {
          hasBegun = true
          try body()
        }
      }
      return received
    }

    /// Sends bytes, and goes away without an answer after `body`.
    func abandon(_ request: String, after body: () async throws -> Void) async throws {
      let descriptor = try connected()
      defer { close(descriptor) }
      try Array(request.utf8).withUnsafeBytes { bytes in
        guard write(descriptor, bytes.baseAddress, bytes.count) == bytes.count else { throw Failure() }
      }
      try await body()
    }

    /// A request of a page that is let in.
    func get(_ path: String, cookie: String, extra: String = "") async throws -> Answer {
      try await send(
        "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nCookie: \(cookie)\r\n\(extra)Connection: close\r\n\r\n")
    }

    /// A change that a page of the server itself asks for.
    func post(_ path: String, _ body: String, cookie: String, origin: String? = nil) async throws -> Answer {
      try await send(change(path, body, cookie: cookie, origin: origin))
    }

    /// The bytes of such a change.
    func change(_ path: String, _ body: String, cookie: String, origin: String? = nil) -> String {
      let origin = origin ?? "http://127.0.0.1:\(port)"
      return """
        POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nOrigin: \(origin)\r\nCookie: \(cookie)\r\n\
        Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)
        """
    }

    private func connected() throws -> Int32 {
      #if canImport(Darwin)
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
      #else
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      #endif
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(port).bigEndian
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 else {
        close(descriptor)
        throw Failure()
      }
      return descriptor
    }

    private static func some(_ descriptor: Int32) throws -> [UInt8] {
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw Failure() }
      return Array(buffer.prefix(count))
    }

    private static func rest(_ descriptor: Int32) throws -> String {
      var bytes: [UInt8] = []
      while let more = try? some(descriptor) { bytes += more }
      return String(decoding: bytes, as: UTF8.self)
    }

    private static func parsed(_ text: String) throws -> Answer {
      let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
      let lines = parts.first?.split(separator: "\r\n") ?? []
      guard let line = lines.first, let status = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
      else {
        throw Failure()
      }
      var headers: [String: String] = [:]
      for line in lines.dropFirst() {
        let pair = line.split(separator: ":", maxSplits: 1)
        headers[pair[0].lowercased()] = pair.count == 2 ? pair[1].trimmingCharacters(in: .whitespaces) : ""
      }
      return Answer(status: status, headers: headers, body: parts.count == 2 ? String(parts[1]) : "")
    }
  }
#endif
