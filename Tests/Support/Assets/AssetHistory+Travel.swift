import TallyAssets
import TallyCRDT
import TallySchema
import TallyStore
import TallySync
import TallyTesting

extension AssetHistory {
  /// A pass, in which the place may end, or give other bytes than it has.
  func pass(_ device: Int, mayFail: Bool) throws {
    let before = entries()
    if mayFail {
      place.fail(specification.names, &random)
      specification.devices[device].deceived = time.value
    }
    // What must have come at the end, if the place has it, has never had anything else, and tells nothing wrong.
    let missing = try shown(device, eagerOnly: true).filter { name in
      try before.contains(name) && !specification.harmedEntries.contains(name)
        && time.value - (specification.doubtful[name] ?? -.infinity) > 3_700 && assets(device).url(of: name) == nil
    }
    let isCertain = !mayFail && !endsDisk && time.value - specification.devices[device].deceived > 3_700
    var isComplete = false
    try watch(device, mayPutAside: true) {
      defer { place.heal() }
      do {
        let report = try devices[device].store.blockingSync(through: place.mailbox)
        log.append(
          "\(device) passes: took \(report.assets.taken.map(\.text)), put \(report.assets.written.map(\.text)), "
            + "removed \(report.assets.removed.map(\.text)), \(report.assets.issues.map(\.message)) "
            + "\(report.assets.failure ?? "")")
        devices[device].synced = time.value
        isComplete = !report.assets.isUnfinished
        let gone = try Set(shown(device)).intersection(report.assets.removed)
        guard gone.isEmpty else { throw AssetFailure("\(device) has removed \(gone) from the place") }
        if hasPurged || hasCompacted { specification.excused.formUnion(report.assets.removed) }
      } catch let error as MailboxError where mayFail {
        log.append("\(device) passes until \(error.code)")
      }
    }
    for name in before.union(entries()) { specification.devices[device].seen[name] = time.value }
    try checkPlace()
    guard isCertain, isComplete else { return }
    for name in missing where try assets(device).url(of: name) == nil {
      // What a row has come to name meanwhile, or no longer names, is not waited for.
      guard try !shown(device, eagerOnly: true).contains(name) else {
        throw AssetFailure("\(name) has not come to \(device), and the place has it")
      }
    }
  }

  /// The files that the place has, whole or not.
  private func entries() -> Set<AssetName> { Set(specification.names.filter { place.bytes(of: $0) != nil }) }

  /// What the place has is what its name says, unless the place itself has changed it.
  private func checkPlace() throws {
    for name in specification.names {
      let bytes = place.bytes(of: name)
      if bytes == nil || bytes == specification.contents[name].map(Array.init) {
        if specification.harmedEntries.remove(name) != nil { specification.doubtful[name] = time.value }
      } else if !specification.harmedEntries.contains(name) {
        throw AssetFailure("the place was given something else as \(name)")
      }
    }
  }

  /// A session of two devices, which may end after any message, and whose pieces of files may be changed on their way.
  func meet(_ device: Int, _ other: Int, mayFail: Bool) throws {
    let limit = mayFail && random.chance(50) ? random.below(40) : 100_000
    let changed = mayFail && random.chance(25) ? 1 + random.below(3) : 0
    var pieces = 0
    let (mine, theirs) = (devices[device].store, devices[other].store)
    var outcome = SteppedSession.Outcome()
    try watch(other) {
      try watch(device) {
        outcome = try SteppedSession.play(mine, theirs, limit: limit, &random) { message in
          guard case .piece(let number, let offset, var bytes) = message else { return message }
          pieces += 1
          if pieces == changed { bytes[bytes.count / 2] ^= 1 }
          return .piece(number, offset: offset, bytes: bytes)
        }
      }
    }
    log.append(
      "\(device) meets \(other), \(outcome.messages) messages: took "
        + outcome.assets.map { "\($0?.taken.map(\.text) ?? []) \($0?.issues.map(\.message) ?? [])" }
        .joined(separator: ", "))
    guard outcome.isFinished || outcome.messages == limit else {
      throw AssetFailure("a session of \(device) and \(other) stands still")
    }
    guard outcome.isFinished, changed == 0, !endsDisk else { return }
    guard try mine.summary().fingerprint == theirs.summary().fingerprint else {
      throw AssetFailure("\(device) and \(other) differ after they met")
    }
    // What one of both has, eager fields bring to the other.
    for (taker, giver) in [(device, other), (other, device)] {
      let (store, peer) = (devices[taker].store, devices[giver].store)
      let wrong = try store.assets.places().wrong(at: "peer-\(peer.summary().replica.map { "\($0)" } ?? "")", store.now)
      let harmed = specification.devices[giver].harmed
      for name in try shown(taker, eagerOnly: true) where try store.assets.url(of: name) == nil {
        guard try wrong.contains(name) || harmed[name] != nil || peer.assets.url(of: name) == nil else {
          throw AssetFailure("\(name) did not come with the records")
        }
      }
    }
  }
}
