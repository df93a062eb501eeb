#if Relay
  import Foundation
  import Synchronization

  /// Entries of 320 bytes from several connections, each with one request under way.
  struct WriterThreads {
    static let body = (0..<320).map { UInt8(truncatingIfNeeded: $0 &* 37) }

    let port: Int
    let token: RelayUnderLoad.Token
    let digest: String

    private final class Failures: Sendable {
      private let value = Mutex(0)
      var count: Int { value.withLock { $0 } }
      func add() { value.withLock { $0 += 1 } }
    }

    /// Puts so many entries in all, some in each request. Their names begin with a word.
    func run(_ writers: Int, count: Int, _ word: String = "w", batch: Int = 1) async throws {
      let failures = Failures()
      await withCheckedContinuation { continuation in
        let group = DispatchGroup()
        for writer in 0..<writers {
          group.enter()
          Thread.detachNewThread { [self] in
            do {
              let connection = try LoadConnection(port)
              for number in 0..<count / writers / batch {
                let name = "\(word)\(batch)-\(writers)-\(writer)-\(number)"
                guard batch > 1 else {
                  try connection.put(name, Self.body, digest: digest, token)
                  continue
                }
                try connection.put((0..<batch).map { ("\(name)-\($0)", Self.body) }, token)
              }
            } catch { failures.add() }
            group.leave()
          }
        }
        group.notify(queue: .global()) { continuation.resume() }
      }
      guard failures.count == 0 else { throw LoadConnection.Failure(call: "append") }
    }
  }
#endif
