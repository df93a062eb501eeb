import TallyCRDT
import TallyStore

/// Replacing files that this store has put and that hold content which was removed for good since (decision 24).
///
/// A file is *stale* if it does not cover the transactions that emptied records. A snapshot takes the place of stale
/// files once per restore window at most, so that a store which compacts every day does not put a snapshot every day; a
/// purge does not wait. In a folder the stale files stay for another day, as a drive may carry their removal to the
/// others before it carries the snapshot.
extension MailboxPass {
  /// Notes since when files of this store are stale.
  mutating func noteStale() {
    let (today, due) = (today, today - window)
    for file in files where isOwn(file.name) && isReadable(file) {
      let target = file.content.header.target
      let known = memory[file.item.name]?.staleSince
      var since: Int?
      if !target.covers(removals.purges) {
        since = min(known ?? due, due)
      } else if !target.covers(removals.all) {
        since = min(known ?? today, today)
      }
      memory[file.item.name]?.staleSince = since
    }
  }

  /// Whether this store sees to a file: it has put it, under this id or one that it has given up, or a device without
  /// an id yet has, perhaps this store itself.
  func isOwn(_ name: MailboxFileName) -> Bool {
    let author = name.replica
    return author == writer || author == ReplicaID(high: 0, low: 0) || removals.former[author] > 0
  }

  /// Whether a snapshot has to be put because no other replaces stale files whose time has come.
  func isSnapshotOwed(_ shelf: MailboxShelf) -> Bool {
    // One that is on its way to this device, or one that this store cannot give, replaces nothing here.
    let newest = removals.all[writer]
    guard !elsewhere.contains(where: { $0.replica == writer && $0.kind != .delta && $0.sequence >= newest }) else {
      return false
    }
    return stale(for: window).contains { file in
      own.vector.covers(file.content.header.target) && replacement(of: file, on: shelf) == nil
    }
  }

  /// Notes that a snapshot has been put, which takes the place of all files that are stale by now: from now on it must
  /// be there for a day.
  mutating func noteSnapshot() {
    let due = today - window
    for file in files where memory[file.item.name]?.staleSince != nil { memory[file.item.name]?.staleSince = due }
  }

  /// The names of stale files that are replaced and may go.
  func replacedStale(on shelf: MailboxShelf) -> [String] {
    let days = mailbox.kind == .log ? window : window + 1
    return stale(for: days).filter { replacement(of: $0, on: shelf) != nil }.map(\.item.name)
  }

  /// The files of this store that have been stale for so many days.
  private func stale(for days: Int) -> [Found] {
    files.filter { file in memory[file.item.name]?.staleSince.map { $0 + days <= today } ?? false }
  }

  /// A snapshot that covers a file, and that is not stale itself or became so later than the file.
  private func replacement(of file: Found, on shelf: MailboxShelf) -> MailboxShelf.File? {
    let since = memory[file.item.name]?.staleSince ?? .max
    return shelf.files.first { other in
      guard other.isFull, other.check != file.content.check, other.header.target.covers(file.content.header.target)
      else { return false }
      if other.header.target.covers(removals.all) { return true }
      return other.name.replica == writer && memory[other.name.text]?.staleSince.map { $0 > since } ?? false
    }
  }

  private var today: Int { store.today }
  private var window: Int { store.restoreWindow.days }
}
