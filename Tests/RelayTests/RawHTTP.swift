#if Relay
  import Foundation

  /// Requests byte by byte, as no client library would make them.
  enum RawHTTP {
    struct Answer: Sendable, Equatable {
      var status: Int
      /// The lines of the head, without `Date`, which no two answers have in common.
      var head: [String]
      var body: [UInt8]

      var text: String { String(decoding: body, as: UTF8.self) }
      var problem: String? { field("tally-problem") }

      func field(_ name: String) -> String? {
        head.first { $0.lowercased().hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
      }

      init(_ bytes: [UInt8]) {
        let separator = Array("\r\n\r\n".utf8)
        let end = bytes.indices.first { bytes[$0...].starts(with: separator) } ?? bytes.endIndex
        let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        status = lines.first.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") } ?? 0
        head = lines.filter { !$0.lowercased().hasPrefix("date: ") }
        body = Array(bytes[min(end + 4, bytes.endIndex)...])
      }
    }

    struct Failure: Error {
      let call: String
      let number: Int32
      /// Whether the other side has closed the connection.
      var isEnd: Bool { number == EPIPE || number == ECONNRESET }
    }

    /// Makes a request and reads until the server closes.
    static func send(
      _ method: String, _ path: String, _ fields: [String: String] = [:], _ body: [UInt8] = [], port: Int
    ) async throws -> Answer {
      var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
      for (name, value) in fields.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
      if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
      return Answer(try await exchange(Array("\(head)\r\n".utf8) + body, port: port))
    }

    /// Sends bytes and reads until the server closes, for a minute at most between two pieces. If `isLast`, the client
    /// closes its side with them.
    static func exchange(_ bytes: [UInt8], port: Int, isLast: Bool = false) async throws -> [UInt8] {
      try await onThread {
        let descriptor = try connect(port)
        defer { close(descriptor) }
        // It may refuse the rest and answer.
        do { try sendAll(bytes, descriptor, isLast: isLast) } catch let failure as Failure where failure.isEnd {}
        return try readAll(descriptor)
      }
    }

    /// The same on the thread that asks; nil if the connection breaks before anything has come.
    static func blockingExchange(_ bytes: [UInt8], port: Int) -> [UInt8]? {
      do {
        let descriptor = try connect(port)
        defer { close(descriptor) }
        try sendAll(bytes, descriptor)
        return try readAll(descriptor)
      } catch { return nil }
    }

    /// Makes a request, reads until its answer ends as said, and makes a second one on the same connection, with which
    /// the client closes its side.
    /// - Returns: the answer to the second.
    static func exchange(_ first: [UInt8], until end: String, then last: [UInt8], port: Int) async throws -> Answer {
      try await onThread {
        let descriptor = try connect(port)
        defer { close(descriptor) }
        try sendAll(first, descriptor)
        var (answer, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 14))
        while !String(decoding: answer, as: UTF8.self).hasSuffix(end) {
          let count = recv(descriptor, &buffer, buffer.count, 0)
          guard count > 0 else { throw Failure(call: "recv", number: errno) }
          answer += buffer[..<count]
        }
        try sendAll(last, descriptor, isLast: true)
        return Answer(try readAll(descriptor))
      }
    }

    /// Runs what blocks on a thread of its own, since the server's tasks need theirs.
    static func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
      }
    }

    /// Listens on a free port of this machine.
    static func listen(port: Int = 0) throws -> (listener: Int32, port: Int) {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var isReused: Int32 = 1
      setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(UInt16(port).bigEndian)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isListening = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          bind(listener, address, size) == 0 && Foundation.listen(listener, 64) == 0
            && getsockname(listener, address, &size) == 0
        }
      }
      guard isListening else { throw Failure(call: "listen", number: errno) }
      return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// A connection to a port of this machine, blocking. The system tries often, or once more if `tries` is 1. If it is
    /// one of a crowd, it comes from another address of this machine where there is one, since a relay that starts
    /// again at its port cannot if the system has given that to a client.
    static func connect(_ port: Int, tries: Int32? = nil, isCrowd: Bool = false) throws -> Int32 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      guard descriptor >= 0 else { throw Failure(call: "socket", number: errno) }
      #if os(Linux)
        if var tries {
          setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_SYNCNT, &tries, socklen_t(MemoryLayout<Int32>.size))
        }
      #endif
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(UInt16(port).bigEndian)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      #if os(Linux)
        if isCrowd {
          var own = sockaddr_in()
          own.sin_family = sa_family_t(AF_INET)
          own.sin_addr.s_addr = inet_addr("127.0.0.2")
          let isBound = withUnsafePointer(to: &own) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
              bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
          }
          guard isBound else {
            let number = errno
            close(descriptor)
            throw Failure(call: "bind", number: number)
          }
        }
      #endif
      var timeout = timeval(tv_sec: 60, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 else {
        let number = errno
        close(descriptor)
        throw Failure(call: "connect", number: number)
      }
      return descriptor
    }

    static func sendAll(_ bytes: [UInt8], _ descriptor: Int32, isLast: Bool = false) throws {
      // With MSG_MORE the end goes with the bytes.
      let flags = Int32(MSG_NOSIGNAL) | (isLast ? Int32(MSG_MORE) : 0)
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, flags) }
        guard count > 0 else { throw Failure(call: "send", number: errno) }
        sent += count
      }
      if isLast { shutdown(descriptor, Int32(SHUT_WR)) }
    }

    private static func readAll(_ descriptor: Int32) throws -> [UInt8] {
      var (answer, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else {
          guard count == 0 || !answer.isEmpty else { throw Failure(call: "recv", number: errno) }
          return answer
        }
        answer += buffer[..<count]
      }
    }
  }
#endif
