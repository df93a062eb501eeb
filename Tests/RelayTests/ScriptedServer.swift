#if Relay
  import Foundation
  import Synchronization

  /// A server that does what a test says, byte by byte: each connection is left to a script, on a thread of its own.
  final class ScriptedServer: Sendable {
    /// One connection, counted from zero.
    typealias Script = @Sendable (_ client: Connection, _ number: Int) -> Void

    /// A connection, as its script has it.
    final class Connection {
      struct Request: Sendable {
        var head: String
        var body: [UInt8]
      }

      private let descriptor: Int32
      private var waiting: [UInt8] = []

      fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

      /// The next request; nil if the client has gone.
      func request() -> Request? {
        let separator = Array("\r\n\r\n".utf8)
        while true {
          if let end = waiting.firstRange(of: separator) {
            let head = String(decoding: waiting[..<end.upperBound], as: UTF8.self)
            let count = Self.length(head)
            if waiting.count - end.upperBound >= count {
              let body = Array(waiting[end.upperBound..<end.upperBound + count])
              waiting.removeFirst(end.upperBound + count)
              return Request(head: head, body: body)
            }
          }
          guard receive() else { return nil }
        }
      }

      /// How long the body of the next request is to be, which stays where it is; nil if the client has gone.
      func nextLength() -> Int? {
        let separator = Array("\r\n\r\n".utf8)
        while true {
          if let end = waiting.firstRange(of: separator) {
            return Self.length(String(decoding: waiting[..<end.upperBound], as: UTF8.self))
          }
          guard receive() else { return nil }
        }
      }

      private static func length(_ head: String) -> Int {
        let field = head.lowercased().components(separatedBy: "content-length: ").dropFirst().first
        return field.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
      }

      /// The next message of PostgreSQL's protocol, whose first has no kind; nil if the client has gone.
      func message(hasKind: Bool) -> (kind: UInt8, content: [UInt8])? {
        let head = hasKind ? 5 : 4
        while true {
          let length = waiting.prefix(head).suffix(4).reduce(0) { $0 << 8 | Int($1) }
          let end = head - 4 + length
          if waiting.count >= head, waiting.count >= end {
            defer { waiting.removeFirst(end) }
            return (hasKind ? waiting[0] : 0, Array(waiting[head..<end]))
          }
          guard receive() else { return nil }
        }
      }

      /// Sends bytes.
      /// - Returns: whether they went.
      @discardableResult func send(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
          let count = bytes[sent...].withUnsafeBytes {
            Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
          guard count > 0 else { return false }
          sent += count
        }
        return true
      }

      @discardableResult func send(_ text: String) -> Bool { send(text.utf8) }

      /// Waits until the client has gone, for so many milliseconds at most. What it says meanwhile is thrown away.
      /// - Returns: whether it has gone.
      @discardableResult func waitForEnd(_ milliseconds: Int32 = 30_000) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&state, 1, milliseconds) > 0 { if !receive() { return true } }
        return false
      }

      private func receive() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        waiting += buffer[..<count]
        return true
      }
    }

    let port: Int
    private let listener: Int32
    private let count = Mutex(0)

    init(_ script: @escaping Script) throws {
      (listener, port) = try RawHTTP.listen()
      Thread.detachNewThread { [listener] in
        while case let client = accept(listener, nil, nil), client >= 0 {
          let number = self.count.withLock { count in
            defer { count += 1 }
            return count
          }
          Thread.detachNewThread {
            script(Connection(client), number)
            close(client)
          }
        }
        close(listener)
      }
    }

    /// How many connections there were.
    var connections: Int { count.withLock { $0 } }
    var base: String { "http://127.0.0.1:\(port)" }

    /// Takes no more connections.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
  }
#endif
