import Synchronization
import TallyCRDT
import TallyStore
import TallyWire

/// What passes remember of the files in a mailbox while the process runs. Without it everything is read again, nothing
/// else.
public final class MailboxNotes: Sendable {
  /// What a verified file holds.
  struct Content: Sendable {
    var header: DeltaHeader
    var check: UInt64
    var byteCount: Int
  }

  private struct Entry {
    var version: String
    var content: Content
  }

  private struct Joined {
    weak var store: Store?
    var checks: Set<UInt64>
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var joined: [Joined] = []
  }

  private let state = Mutex(State())

  /// Notes with nothing in them.
  public init() {}

  /// What was in a file, if it is still the same file.
  func content(of item: MailboxItem) -> Content? {
    guard let version = item.version else { return nil }
    return state.withLock { state in
      state.entries[item.name].flatMap { $0.version == version ? $0.content : nil }
    }
  }

  /// Remembers the files of a pass and forgets those that are gone.
  func replace(_ contents: [(item: MailboxItem, content: Content)]) {
    var entries: [String: Entry] = [:]
    for (item, content) in contents {
      if let version = item.version { entries[item.name] = Entry(version: version, content: content) }
    }
    let checks = Set(contents.map(\.content.check))
    state.withLock { state in
      state.entries = entries
      state.joined.removeAll { $0.store == nil }
      for index in state.joined.indices { state.joined[index].checks.formIntersection(checks) }
    }
  }

  /// Whether a store has joined all of a content, whatever its vector said.
  func hasJoined(_ check: UInt64, _ store: Store) -> Bool {
    state.withLock { $0.joined.first { $0.store === store }?.checks.contains(check) ?? false }
  }

  /// Remembers that a store has joined all of a content.
  func join(_ check: UInt64, _ store: Store) {
    state.withLock { state in
      if let index = state.joined.firstIndex(where: { $0.store === store }) {
        state.joined[index].checks.insert(check)
      } else {
        state.joined.append(Joined(store: store, checks: [check]))
      }
    }
  }
}
