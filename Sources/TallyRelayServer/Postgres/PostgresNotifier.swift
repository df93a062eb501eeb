#if Postgres
  import Foundation
  import Synchronization

  /// Tells other processes of what was appended: `NOTIFY` after the commit, on a connection of its own. In the
  /// appending transaction it would hold a lock of the whole server until the commit is on the disk.
  final class PostgresNotifier: Sendable {
    /// The maximum number of bytes of a notification's text; PostgreSQL takes 7999.
    private static let textBytes = 7_900
    /// The time for which to gather what comes next, in seconds.
    private static let pause = 0.005

    private struct State {
      /// The positions of logs of which nobody was notified.
      var heads: [Int64: Int64] = [:]
      var isTelling = false
      /// The server's process for this connection.
      var processID: Int32?
    }

    private let state = Mutex(State())
    private let threads: PostgresThreads

    init(_ address: PostgresAddress) {
      threads = PostgresThreads(address, count: 1) { session in
        // Nobody waits for it to be on a disk.
        try session.script("SET synchronous_commit = off")
      }
    }

    /// Whether a notification came from here.
    func isOwn(_ processID: Int32) -> Bool { state.withLock { $0.processID == processID } }

    /// Tells others, soon. If that fails, they find out by comparing.
    func tell(_ heads: [Int64: Int64]) {
      let isTelling = state.withLock { state in
        defer { state.isTelling = true }
        state.heads.merge(heads) { max($0, $1) }
        return state.isTelling
      }
      if !isTelling { post() }
    }

    private func post() {
      threads.post { [self] session in
        let heads = state.withLock { state in
          defer { (state.heads, state.processID) = ([:], session.processID) }
          return state.heads
        }
        do {
          try session.execute(
            "SELECT pg_notify('\(PostgresSchema.channel)', text) FROM unnest($1::text[]) AS text",
            [.texts(Self.texts(heads))])
        } catch {
          // For when it is tried again on a new connection.
          state.withLock { $0.heads.merge(heads) { max($0, $1) } }
          throw error
        }
        // This thread has nothing else to do.
        Thread.sleep(forTimeInterval: Self.pause)
        goOn()
      } onFailure: { [self] in
        // Not again and again while there is no server.
        state.withLock { $0.heads = [:] }
        goOn()
      }
    }

    private func goOn() {
      let isMore = state.withLock { state in
        state.isTelling = !state.heads.isEmpty
        return state.isTelling
      }
      if isMore { post() }
    }

    /// `SPACE.HEAD,SPACE.HEAD`, in as many texts as needed.
    static func texts(_ heads: [Int64: Int64]) -> [String] {
      var texts: [String] = []
      var text = ""
      for (space, head) in heads.sorted(by: { $0.key < $1.key }) {
        let word = "\(space).\(head)"
        if !text.isEmpty, text.utf8.count + 1 + word.utf8.count > textBytes {
          texts.append(text)
          text = ""
        }
        text += text.isEmpty ? word : ",\(word)"
      }
      return text.isEmpty ? texts : texts + [text]
    }

    /// Returns the positions in a text; words that are none are left out, since anybody in the database can send a
    /// notification.
    static func heads(_ text: String) -> [Int64: Int64] {
      text.split(separator: ",").reduce(into: [:]) { heads, word in
        let numbers = word.split(separator: ".").map { Int64($0) }
        if numbers.count == 2, let space = numbers[0], let head = numbers[1] { heads[space] = head }
      }
    }

    func close() { threads.close() }
  }
#endif
