import Synchronization

extension MailboxPass {
  /// The names that this process has removed, by mailbox.
  private static let removed = Mutex<[String: Set<String>]>([:])
  /// The most entries that a process removes from a mailbox: what looks damaged may be changed on the way, each time.
  private static let mostRemovals = 16

  /// Removes damaged entries of a log, so that any device that has their changes puts them again. Entries of a log are
  /// not read again by a device that knows them, least of all by their writer, so no other device would notice.
  ///
  /// An entry counts as damaged if it was read twice (the second time by itself, if it had come with the list), had
  /// its full length, and had another checksum than its name says both times. Any other entry stays pending, and so
  /// does one that cannot be removed.
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
