import GRDB
import TallyStore
import TallySync
import TallyTesting

extension DamageStory {
  /// How often all sync until nothing is left to say.
  private static let rounds = 8

  /// Some sync.
  func meetAny() throws {
    switch route {
    case .session:
      let one = random.below(Self.count)
      _ = try meet(one, (one + 1 + random.below(Self.count - 1)) % Self.count)
    case .folder:
      if twin != nil, stores.count == Self.count, random.chance(25) {
        log.append("\(Self.count) comes to the folder")
        stores.append(try open(Self.count))
      }
      _ = try pass(random.below(stores.count))
    }
  }

  /// All sync with all until there is nothing left to say.
  func meetAll() throws {
    for _ in 0..<Self.rounds {
      var isMoving = false
      switch route {
      case .session:
        for one in stores.indices { for other in 0..<one where try meet(one, other) { isMoving = true } }
      case .folder:
        for place in stores.indices where try pass(place) { isMoving = true }
      }
      guard isMoving else { return }
    }
    throw Failure(description: "after \(Self.rounds) rounds of syncs there is still something to say")
  }

  // MARK: One sync

  /// Two sync in a session.
  /// - Returns: whether that did anything.
  private func meet(_ one: Int, _ other: Int) throws -> Bool {
    guard let first = stores[one], let second = stores[other] else { return false }
    var hasChanged = false
    do {
      let report = try first.sync(with: second)
      log.append(
        "\(one) and \(other) meet\(report.repaired ? ", repaired" : "")\(report.isConverged ? "" : ", not equal")")
      for result in [report.first, report.second] where result.isHealed { noteHealing(result.inDoubt) }
      hasChanged = report.first.changes + report.second.changes > 0 || !report.isConverged
    } catch {
      log.append("\(one) and \(other) cannot meet: \(words(error))")
      hasChanged = try note(error, isVictim: one == victim || other == victim)
    }
    try checkIntact([one, other])
    return hasChanged
  }

  /// One syncs through the folder.
  /// - Returns: whether that did anything.
  private func pass(_ place: Int) throws -> Bool {
    guard let store = stores[place] else { return false }
    var hasChanged = false
    do {
      let report = try store.sync(through: mailbox, settings)
      log.append(
        "\(place) takes \(report.taken), puts \(report.written)\(report.repaired ? ", repaired" : ""), removes \(report.removed)"
      )
      for issue in report.pending + report.refused { log.append("\(issue.name) \(issue.reason): \(issue.message)") }
      if report.isHealed { noteHealing(report.inDoubt) }
      hasChanged = report.changes > 0 || !report.written.isEmpty || !report.removed.isEmpty
    } catch {
      log.append("\(place) cannot sync: \(words(error))")
      hasChanged = try note(error, isVictim: place == victim)
    }
    try checkIntact([place])
    return hasChanged
  }

  private func noteHealing(_ inDoubt: [String]) {
    log.append("healed, in doubt: \(inDoubt)")
    // What does not match its checksum goes to nobody, and is as it was in the end if another device has it.
    for line in inDoubt where !line.contains("does not match its checksum") {
      doubtful.formUnion(
        line.prefix { $0 != ":" }.replacing(" with ", with: "\n").split(separator: "\n").map(String.init))
    }
    outcomes.insert("healed")
  }

  /// A device that is damaged may refuse to sync, and whoever syncs with it.
  /// - Returns: whether it has another store now.
  private func note(_ error: any Error, isVictim: Bool) throws -> Bool {
    guard twin != nil, isVictim else { throw error }
    outcomes.insert("refused")
    guard error is DatabaseError || (error as? StoreError)?.code == .corrupt else { return false }
    try recover()
    return true
  }

  // MARK: The end

  /// All meet. What `verify` complains of heals at the next sync, is rebuilt, or is given up.
  func settle() throws {
    try meetAll()
    if isSound() { return }
    attempt("looks at its sum") { _ = try stores[victim]?.fitsItsSum() }
    try meetAll()
    if isSound() { return }
    attempt("is rebuilt") {
      let report = try stores[victim]?.rebuild()
      log.append("rebuilt: \(report?.losses ?? []), sum was another: \(report?.hadOtherFingerprint ?? false)")
      // Whoever rebuilds has been told which these are.
      for loss in report?.losses ?? [] { doubtful.formUnion(loss.split(separator: "'").prefix(1).map(String.init)) }
      outcomes.insert("rebuilt")
    }
    if !isSound() { try recover() }
    try meetAll()
  }

  private func isSound() -> Bool {
    var isSound = false
    attempt("is verified") {
      guard let store = stores[victim] else { return }
      let report = try store.verify()
      isSound = try report.isSound && !store.checkDamage()
      if !report.isSound { log.append("\(victim) is verified: \(report.problems)") }
    }
    return isSound
  }
}
