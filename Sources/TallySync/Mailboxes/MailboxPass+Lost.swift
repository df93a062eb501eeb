import TallyWire

/// Contents that a log has lost: it lists the entry, and has nothing to give.
///
/// In a folder each device reads the files, so that one with the content notices by itself, and puts it again. Those
/// who have read an entry of a log do not read it again. So who misses the content asks for it; everybody is given the
/// entry once more, and looks; and who has all that was in it removes what is left of it, and puts it again. Nobody
/// else removes anything: what one device cannot read, another may.
extension MailboxPass {
  /// Whether somebody has asked for an entry that is known, and it has not been looked at since.
  func isAskedFor(_ item: MailboxItem) -> Bool {
    guard mailbox.kind == .log, let known = memory[item.name] else { return false }
    return known.content != nil && known.version != nil
  }

  /// Looks whether an entry that somebody has asked for can be read.
  /// - Throws: the fault if its content is lost; `CancellationError`.
  mutating func lookAgain(_ item: MailboxItem) async throws {
    do {
      _ = try await reader.header(of: try await ahead.item(item))
    } catch let fault as MailboxReader.Fault {
      if fault.isLost { throw fault }
      // Any other fault says nothing of what is there. The next pass looks again.
      return
    }
    memory[item.name]?.version = nil
  }

  /// Removes what is left of entries whose content is lost and is here, so that `put` puts it again, and asks for the
  /// content of the others. `shelf` holds what can be read.
  /// - Throws: `CancellationError`.
  mutating func replaceLost(besides shelf: MailboxShelf) async throws {
    guard mailbox.kind == .log, !lost.isEmpty else { return }
    let isAllElsewhere = shelf.reach().covers(own.vector)
    var asked: [String] = []
    for item in lost {
      // It is looked at twice: a place may only seem to have lost something.
      guard try await reader.isLost(item) else { continue }
      guard isHeld(item) else {
        asked.append(item.name)
        if isAllElsewhere, isOld(item) { report.pending.removeAll { $0.name == item.name } }
        continue
      }
      do {
        try await mailbox.remove([item.name])
      } catch {
        // It is pending, and says so; another pass comes.
        try Task.checkCancellation()
        unremoved.insert(item.name)
        continue
      }
      memory[item.name] = nil
      report.removed.append(item.name)
    }
    guard !asked.isEmpty else { return }
    do {
      try await mailbox.ask(for: asked)
    } catch {
      // As above.
      try Task.checkCancellation()
      store.options.logger.warning(
        "lost contents cannot be asked for", metadata: ["mailbox": "\(mailbox.name)", "error": "\(error)"])
    }
  }

  /// Whether this store has what the writer of an entry had written by then. What else the writer knew may have been in
  /// it, so that it is asked for all the same; but nobody need wait for it.
  private func isOld(_ item: MailboxItem) -> Bool {
    guard case .file(let name) = MailboxFileName.parse(item.name) else { return false }
    return name.sequence <= own.vector[name.replica]
  }

  /// Whether all that was in an entry is here: by what it was read to hold, or, of one that was forgotten since newer
  /// ones replace it, because this store has put it.
  private func isHeld(_ item: MailboxItem) -> Bool {
    if let content = memory[item.name]?.content { return own.vector.covers(content.header.target) }
    guard let replica = own.replica, replica == formerReplica,
      case .file(let name) = MailboxFileName.parse(item.name)
    else { return false }
    return name.replica == replica && name.sequence <= own.vector[replica]
  }
}
