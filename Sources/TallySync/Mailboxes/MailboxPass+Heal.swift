import TallyCRDT
import TallyStore
import TallyWire

/// Healing from what others have put.
extension MailboxPass {
  /// Lets a store that knows of its damage, or took what it has as it was found, take what others have put in the place
  /// of its own: all of it together, as if the mailbox were one intact device. A single file would leave what came
  /// later for the store's own, damaged as it may be.
  ///
  /// Costs a second store in a temporary file while it lasts. A store in doubt asks for it once for each file.
  /// - Throws: `StoreError.damaged` if no device has put a whole content; then nothing is put either.
  mutating func heal() async throws {
    let isDamaged = try store.checkDamage()
    guard try isDamaged || isUnheard() else { return }
    let all = try Store(scratchFor: store)
    let used = try await gather(into: all)
    if try !all.vector.isEmpty {
      let spool = DeltaSpool()
      defer { spool.discard() }
      try all.writeDelta(to: progress.preparing(spool.append))
      let result = try store.apply(
        from: progress.applying(spool.byteCount, try spool.reader()), isRepair: true, refusesMismatch: false,
        tell: progress.joined)
      report.changes += result.changes
      progress.took(result.changes)
      report.isHealed = report.isHealed || result.isHealed
      report.inDoubt += result.inDoubt
      own = try store.summary()
      try memory.followDoubt()
      for file in used.map({ files[$0] }) {
        memory.noteJoined(file.item, file.content, isVerified: file.state == .verified)
      }
    }
    guard try !isDamaged || !store.isDamaged else {
      throw StoreError(
        .damaged, "what this store holds is damaged, and nobody has put a whole content into \(mailbox.name)")
    }
  }

  /// Whether there is something that is vouched for and that the store has not been compared with since it is in doubt.
  private func isUnheard() throws -> Bool {
    guard try store.doubt()?.level == .unvouched else { return false }
    return files.contains { $0.content.header.fingerprint != nil && !memory.hasJoined($0.content.check) }
  }

  /// Applies what is vouched for to an empty store, as a new device would. What does not add up is left out.
  /// - Returns: the files whose content is in it.
  private mutating func gather(into all: Store) async throws -> [Int] {
    let vouched = inOrder(files.indices.filter { files[$0].content.header.fingerprint != nil })
    var used: [Int] = []
    // The snapshot that leads furthest, and then all that builds on what is there.
    var rest = vouched.filter(isFull).reversed() + vouched.filter { !isFull($0) }
    var isMoving = true
    while isMoving {
      isMoving = false
      var waiting: [Int] = []
      for index in rest {
        try Task.checkCancellation()
        let header = files[index].content.header
        let vector = try all.vector
        if vector.covers(header.target) {
          used.append(index)
        } else if !vector.covers(header.base) {
          waiting.append(index)
        } else if try await apply(index, to: all) {
          used.append(index)
          isMoving = true
        }
      }
      rest = waiting
    }
    return used
  }

  /// - Returns: whether it fits what is there.
  private mutating func apply(_ index: Int, to all: Store) async throws -> Bool {
    var spool = DeltaSpool()
    defer { spool.discard() }
    do {
      let content = try await read(index, to: &spool)
      files[index].content = content
      files[index].state = .verified
      _ = try all.apply(from: try spool.reader(), isRepair: false, refusesMismatch: true)
      return true
    } catch let fault as MailboxReader.Fault {
      fail(index, fault)
      return false
    } catch {
      // The pass itself takes it later, or says why not.
      guard error is StoreError || MailboxReader.Fault(applying: error) != nil else { throw error }
      return false
    }
  }
}
