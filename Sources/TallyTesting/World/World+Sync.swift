import TallySync

extension World {
  // MARK: Sync

  /// Syncs all devices that can reach each other until each has what the others had.
  /// - Throws: `Finding` if a session fails or does not end although its connection holds.
  public func sync() throws {
    // Twice: what the last brings, the first must get. What is said again on the way takes another round.
    for _ in 0..<(oracle.hasPurges ? 4 : 2) {
      for one in present.indices {
        for other in present.indices where one < other { try sync(present[one].index, present[other].index) }
      }
    }
  }

  /// Syncs two devices if they can reach each other.
  /// - Returns: whether both finished the sync.
  @discardableResult
  public func sync(_ one: Int, _ other: Int) throws -> Bool {
    guard one != other, !replicas[one].isLost, !replicas[other].isLost else { return false }
    note("\(one) and \(other) sync")
    let connection = SimulatedConnection(
      replicas[one], replicas[other], messagesLeft: network.messagesBeforeCut)
    connections.append(connection)
    defer { connections.removeAll { $0 === connection } }
    for _ in 0..<100_000 {
      guard !connection.isOver, let move = connection.moves.first else { break }
      try make(move, connection)
    }
    if !connection.isOver, network.connects(one, other), connection.messagesLeft == nil {
      throw Finding("the sync of \(one) and \(other) does not go on")
    }
    let isDone = !connection.isCut && connection.isOver
    connection.cut()
    try connection.checkEnds()
    return isDone
  }

  func make(_ move: StepLink.Step, _ connection: SimulatedConnection) throws {
    try connection.make(move)
    if connection.isCut {
      note("the connection of \(connection.one.replica.index) and \(connection.other.replica.index) breaks")
    }
  }

  /// Cuts every connection of a device.
  func disconnect(_ index: Int) {
    relay?.forget(index)
    for connection in connections where connection.involves(index) {
      connection.stop(index)
      noteEnds(of: connection)
    }
    connections.removeAll { $0.isCut }
  }

  /// Breaks a connection.
  package func cut(_ connection: SimulatedConnection) {
    connection.cut()
    noteEnds(of: connection)
    connections.removeAll { $0.isCut }
  }

  private func noteEnds(of connection: SimulatedConnection) {
    do { try connection.checkEnds() } catch { failureAtCut = failureAtCut ?? error }
  }

  func checkCuts() throws { if let failureAtCut { throw failureAtCut } }

  // MARK: Peace

  /// Ends all faults: the network is whole, files arrive, and every app is up to date.
  public func heal() throws {
    for connection in connections { cut(connection) }
    try checkCuts()
    network.heal()
    shelf.isSlow = false
    shelf.log?.faults = MemoryLog.Faults()
    for replica in present { try replica.upgrade(to: schema) }
  }

  /// All devices visit the mailbox until none finds anything, and then each has all that any has: it needs no other
  /// way.
  func settleThroughMailbox() throws {
    if let relay { try settle(through: relay) } else { try visitUntilQuiet() }
    let all = present.reduce(EventSet()) { $0.union($1.seen) }
    for replica in present where !replica.seen.isSuperset(of: all) {
      throw Finding("replica \(replica.index) has not got everything through the mailbox")
    }
  }

  private func visitUntilQuiet() throws {
    for _ in 0..<6 {
      var isQuiet = true
      for replica in present {
        let report = try visitMailbox(replica.index)
        if !report.taken.isEmpty || !report.written.isEmpty { isQuiet = false }
      }
      if isQuiet { break }
    }
  }

  /// Everybody looks once, and from then on only who is told that there is something.
  private func settle(through relay: any WorldRelay) throws {
    for replica in present { try visitMailbox(replica.index) }
    for _ in 0..<20 {
      let told = try relay.tellAll().filter { !replicas[$0].isLost }
      guard !told.isEmpty else { return }
      for device in told { try visitMailbox(device) }
    }
    throw Finding("the relay tells of news without an end")
  }

  // MARK: Checking

  /// Checks one device: it shows what it must, its vector counts what it has seen, and its file is sound.
  func check(_ replica: SimulatedReplica, thoroughly: Bool = true) throws {
    do {
      if !oracle.hasCopies { try oracle.check(try replica.store.vector, seen: replica.seen) }
      let rows = try replica.rows()
      try oracle.check(rows, seen: replica.seen, replica.schema, replica.store)
      try oracle.check(try replica.contested(), beside: rows, seen: replica.seen, replica.schema)
      guard thoroughly else { return }
      let report = try replica.store.verify()
      guard report.isSound else { throw Finding(report.problems.joined(separator: "; ")) }
    } catch let finding as Finding {
      throw Finding("replica \(replica.index): \(finding)")
    }
  }

  /// Checks that all devices hold the same, show what they must, and that a new one gets the same.
  func checkConvergence() throws {
    let all = present.reduce(EventSet()) { $0.union($1.seen) }
    guard let first = present.first else { return }
    let summary = try first.store.summary()
    for replica in present {
      guard replica.seen.isSuperset(of: all) else {
        throw Finding("replica \(replica.index) has not got what others have")
      }
      try check(replica)
      let other = try replica.store.summary()
      guard other.vector == summary.vector, other.fingerprint == summary.fingerprint else {
        throw Finding("replicas \(first.index) and \(replica.index) differ in vector or fingerprint")
      }
      guard try replica.rows() == first.rows() else {
        throw Finding("replicas \(first.index) and \(replica.index) show different rows")
      }
    }
    try checkJournals()
    try checkPurged()
    let late = try Storage(onDisk: false).open(schema, options(SimulatedClock(0)))
    try late.apply(try first.store.delta())
    guard try late.dumped() == first.store.dumped() else {
      throw Finding("a device that joins late holds something else than replica \(first.index)")
    }
  }
}
