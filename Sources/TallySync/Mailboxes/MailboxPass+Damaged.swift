import Synchronization

extension MailboxPass {
  /// What was removed from each mailbox by this process.
  private static let removed = Mutex<[String: Set<String>]>([:])
  /// The most entries that a process removes from a mailbox: what looks damaged may be changed on the way, each time.
  private static let mostRemovals = 16

  /// Removes entries of a log that nobody can read, so that whoever has what they held puts it again. A log is taken
  /// at its word, so nobody else would notice: its writer least of all, who never reads its own entry.
  ///
  /// An entry is damaged if it was read twice, in two ways where it had come with the list, and was whole, and both
  /// times was not what its name says. Where that is not so, or the entry cannot be removed, it stays and is pending.
  mutating func removeDamaged() async {
    guard mailbox.kind == .log else { return }
    for (item, name) in doubtful {
      guard !Task.isCancelled, Self.mayRemove(item.name, from: mailbox.identity) else { continue }
      var alone = item
      alone.content = nil
      do {
        guard try await !reader.isWhole(alone, check: name.check) else { continue }
        try await mailbox.remove([item.name])
      } catch {
        // It is pending, and says so; another pass comes.
        continue
      }
      memory[item.name] = nil
      report.removed.append(item.name)
    }
  }

  private static func mayRemove(_ name: String, from mailbox: String) -> Bool {
    removed.withLock { removed in
      guard removed[mailbox, default: []].count < mostRemovals else { return false }
      return removed[mailbox, default: []].insert(name).inserted
    }
  }
}
