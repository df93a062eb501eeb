#if Relay
  import Foundation
  import Synchronization

  /// Answers requests with bytes that are known beforehand, whatever they ask for.
  final class CannedServer: Sendable {
    let port: Int
    private let listener: Int32
    private let heads = Mutex<[String]>([])

    convenience init(port: Int = 0, _ answer: [UInt8]) throws { try self.init(port: port) { _ in answer } }

    /// Listens on a port, or on any that is free if it is 0. `answer` gives the answer to a request with such a head.
    /// If `holds`, connections stay open until whoever asks goes away.
    ///   - answer: what to answer to a request with such a head.
    init(port: Int = 0, holds: Bool = false, _ answer: @escaping @Sendable (_ head: String) -> [UInt8]) throws {
      (listener, self.port) = try RawHTTP.listen(port: port)
      Thread.detachNewThread { [listener] in
        while case let client = accept(listener, nil, nil), client >= 0 {
          guard holds else {
            self.serve(client, answer)
            close(client)
            continue
          }
          Thread.detachNewThread {
            self.serve(client, answer)
            var byte: UInt8 = 0
            while recv(client, &byte, 1, 0) > 0 {}
            close(client)
          }
        }
        close(listener)
      }
    }

    /// What was asked for.
    var requests: [String] { heads.withLock { $0 } }

    /// Takes no more connections.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func serve(_ client: Int32, _ answer: (String) -> [UInt8]) {
      var (head, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 14))
      while !String(decoding: head, as: UTF8.self).contains("\r\n\r\n") {
        let count = recv(client, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        head += buffer[..<count]
      }
      let text = String(decoding: head, as: UTF8.self)
      heads.withLock { $0.append(text) }
      _ = answer(text).withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
  }
#endif
