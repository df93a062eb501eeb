import TallyCRDT
import TallyStore

extension World {
  /// Performs random steps: edits, syncs, and the given kinds of fault.
  public func run(steps: Int, faults: Faults = .all) throws {
    var weather = Weather(faults, &random)
    if faults.contains(.purges) { try beginRemovals() }
    if weather.faults.contains(.versions) { try makeSomeOlder() }
    for _ in 0..<steps { try step(&weather) }
  }

  /// The device that only ever reads and syncs, so that it has no id of its own; in a sixteenth of the runs.
  var reader: Int? { seed % 16 == 15 ? 1 : nil }

  /// A device writes; one that only reads looks at what is there.
  private func edit(_ replica: SimulatedReplica) throws {
    guard replica.index != reader else { return try check(replica, thoroughly: false) }
    try RandomEdits(schema: replica.schema).edit(replica, &random)
  }

  /// The faults that may happen in one run. Most runs have few, so that each shows on its own.
  private struct Weather {
    let faults: Faults

    init(_ asked: Faults, _ random: inout SplitMix64) {
      var some: Faults = []
      if !random.chance(20) {
        for bit in 0..<UInt32(10) where random.chance(45) { some.insert(Faults(rawValue: 1 << bit)) }
      }
      faults = asked.intersection(some)
    }
  }

  private func makeSomeOlder() throws {
    guard let older = schema.older(&random) else { return }
    for index in replicas.indices.dropFirst() where random.chance(50) {
      let replica = try SimulatedReplica(index, self, Storage(onDisk: onDisk), older, replicas[index].compaction)
      note("replica \(index) has an older version of the app")
      replace(replica)
    }
  }

  private func step(_ weather: inout Weather) throws {
    try checkCuts()
    try removeSomething(weather.faults)
    let present = present
    let replica = random.pick(present)
    let other = random.pick(present)
    switch random.below(100) {
    case 0..<40: try edit(replica)
    case 40..<75 where relay != nil: try useRelay(replica)
    case 40..<52: if replica !== other { try sync(replica.index, other.index) }
    case 52..<60: try openConnection(replica.index, other.index)
    case 60..<82: try moveConnections()
    case 82..<84: try check(replica, thoroughly: random.chance(20))
    default: try fault(weather.faults, replica, other)
    }
  }

  // MARK: Connections

  private func openConnection(_ one: Int, _ other: Int) throws {
    guard one != other, connections.count < 4 else { return }
    note("\(one) and \(other) connect")
    connections.append(
      SimulatedConnection(
        replicas[one], replicas[other], isLive: random.chance(50), chunkLimit: random.chance(50) ? 40 : .max,
        capacity: random.chance(30) ? 1 : .max))
  }

  /// Some messages arrive, some stores work, some tasks go on, in any order; and sometimes time passes.
  private func moveConnections() throws {
    if random.chance(15) { passTime() }
    for _ in 0..<1 + random.below(150) {
      let open = connections.filter { !$0.isOver && !$0.moves.isEmpty }
      guard !open.isEmpty else { break }
      let connection = random.pick(open)
      let move = random.pick(connection.moves)
      if case .delivery(let isFirst) = move {
        let way = connection.way(first: isFirst)
        if network.isSlow(way.from, way.to), random.chance(80) { continue }
      }
      try make(move, connection)
    }
    for connection in connections {
      try connection.checkEnds()
      try connection.checkRest()
    }
    connections.removeAll { $0.isOver }
  }

  /// Seconds, as between two looks at the file, or heartbeats, or so long that no side waits any more.
  private func passTime() {
    guard !connections.isEmpty else { return }
    let seconds = random.pick([1, 1, 1, 5, 10, 61])
    note("\(seconds) seconds pass")
    time.pass(.seconds(seconds))
  }

  // MARK: Faults

  private func fault(_ faults: Faults, _ replica: SimulatedReplica, _ other: SimulatedReplica) throws {
    let kinds = (0..<UInt32(10)).map { Faults(rawValue: 1 << $0) }.filter(faults.contains)
    guard !kinds.isEmpty else { return try edit(replica) }
    switch random.pick(kinds) {
    case .network: disturbNetwork(replica.index, other.index)
    case .files: try sendFile(replica, other)
    case .mailbox: try useMailbox(replica)
    case .clocks:
      replica.clock.milliseconds = random.pick(SimulatedClock.odd)
      note("the clock of replica \(replica.index) says \(replica.clock.milliseconds)")
      replica.noteDay()
    case .newcomers: if replicas.count < 6 { try addReplica() }
    case .losses: if present.count > 2, random.chance(30) { replica.lose() }
    case .versions: try replica.upgrade(to: schema)
    case .seeds: try bringSeeds(replica)
    default: try hardship(faults, replica, other)
    }
  }

  private func disturbNetwork(_ one: Int, _ other: Int) {
    switch random.below(6) {
    case 0:
      let all = present.map(\.index)
      let some = all.filter { _ in random.chance(50) }
      network.partition(some, all.filter { !some.contains($0) })
    case 1: if one != other { network.block(from: one, to: other) }
    case 2: if one != other { network.slow(from: one, to: other) }
    case 3: network.messagesBeforeCut = random.below(8)
    case 4: network.heal()
    default:
      guard !connections.isEmpty else { return }
      let connection = random.pick(connections)
      let (one, other) = connection.way(first: true)
      if random.chance(50) {
        note("the connection of \(one) and \(other) breaks")
        cut(connection)
      } else {
        note("the app of \(one) cancels its sync with \(other)")
        connection.one.cancel()
      }
    }
  }

  /// A delta is written to a file, or a file arrives, perhaps for the second time, perhaps at a device for which it was
  /// not meant.
  private func sendFile(_ from: SimulatedReplica, _ to: SimulatedReplica) throws {
    if parcels.isEmpty || random.chance(40) {
      let base = random.chance(30) ? StateVector() : try to.store.vector
      let seen = oracle.sent(from.seen, since: base)
      let own = try from.store.vector
      let lowered = StateVector(own.entries.map { ($0.replica, min($0.sequence, base[$0.replica])) })
      parcels.append(Parcel(bytes: try from.store.delta(since: base), seen: seen, base: lowered))
      note("replica \(from.index) writes file \(parcels.count - 1) for \(to.index)")
      return
    }
    let number = random.below(parcels.count)
    try deliver(number, to)
  }

  private func deliver(_ number: Int, _ to: SimulatedReplica) throws {
    let parcel = parcels[number]
    let isCovered = try to.store.vector.covers(parcel.base)
    let watch = try to.watch()
    note("file \(number) arrives at replica \(to.index)")
    do {
      try to.store.apply(parcel.bytes)
    } catch let error as StoreError where error.code == .baseNotCovered {
      guard !isCovered else { throw Finding("replica \(to.index) refuses a file that it can take: \(error)") }
      return
    }
    guard isCovered else { throw Finding("replica \(to.index) takes a file that builds on what it lacks") }
    try to.learn(parcel.seen)
    try watch?.end(of: to)
  }

  /// A device looks by itself, or something happens to the relay or on the way from it. Who is told of news mostly
  /// looks at once.
  private func useRelay(_ replica: SimulatedReplica) throws {
    guard let relay, random.chance(70) else {
      try visitMailbox(replica.index)
      return
    }
    let event = try relay.happen(&random)
    note(event.text)
    if let device = event.device, !replicas[device].isLost, random.chance(80) { try visitMailbox(device) }
  }

  private func useMailbox(_ replica: SimulatedReplica) throws {
    if relay != nil { return try useRelay(replica) }
    let names = shelf.names
    if let log = shelf.log {
      switch random.below(8) {
      case 0: setBack(log, to: random.below(log.count + 1))
      case 1, 2: log.faults.cutAfter = random.pick([nil, 1, 40, 1_000])
      default: try visitMailbox(replica.index)
      }
      return
    }
    switch random.below(4) {
    case 0 where !names.isEmpty:
      shelf.isSlow = true
      shelf.arrive(random.pick(names), replica.index)
    case 1:
      shelf.isSlow = random.chance(70)
    default: try visitMailbox(replica.index)
    }
  }

  private func bringSeeds(_ replica: SimulatedReplica) throws {
    do {
      try replica.seed(replica.schema.sampleSeeds(version: 1 + random.below(4)))
    } catch let error as StoreError where error.code == .seedVersionBackwards {
      note("replica \(replica.index) has newer seeds")
    }
  }

  private func hardship(_ faults: Faults, _ replica: SimulatedReplica, _ other: SimulatedReplica) throws {
    if faults.contains(.power), !faults.contains(.copies) || random.chance(50) {
      return random.chance(30) ? try replica.restart() : try replica.powerCut()
    }
    switch random.below(5) {
    case 0, 1: try replica.backUp()
    case 2, 3: try replica.restoreBackup()
    default: try replica.become(copyOf: other)
    }
  }
}
