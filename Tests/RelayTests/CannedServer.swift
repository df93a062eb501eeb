#if Relay
  import Foundation
  import Synchronization

  /// Answers every request with the same bytes, whatever it is.
  final class CannedServer: Sendable {
    let port: Int
    private let listener: Int32
    private let heads = Mutex<[String]>([])

    init(_ answer: [UInt8]) throws {
      (listener, port) = try RawHTTP.listen()
      Thread.detachNewThread { [listener] in
        while case let client = accept(listener, nil, nil), client >= 0 {
          self.serve(client, answer)
          close(client)
        }
        close(listener)
      }
    }

    /// What was asked for.
    var requests: [String] { heads.withLock { $0 } }

    /// Takes no more connections.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func serve(_ client: Int32, _ answer: [UInt8]) {
      var (head, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 14))
      while !String(decoding: head, as: UTF8.self).contains("\r\n\r\n") {
        let count = recv(client, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        head += buffer[..<count]
      }
      heads.withLock { $0.append(String(decoding: head, as: UTF8.self)) }
      _ = answer.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
  }
#endif
