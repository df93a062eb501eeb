import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting
import TallyWire

/// Plays a history of raw SQL on stores on files, and checks them on the way and at the end.
package struct RawPlay {
  struct Parcel {
    var bytes: [UInt8]
    var known: EventSet
  }

  let history: RawHistory
  let folder: URL
  let devices: [RawDevice]
  var ledger: RawLedger
  private var parcels: [Int: Parcel] = [:]
  var live: RawLive?
  var reached: Set<RawSituation> = []

  /// What each file of the mailbox holds for certain.
  private var shelved: [String: EventSet] = [:]

  private init(_ history: RawHistory, _ planted: PlantedFault) throws {
    self.history = history
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-raw-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: RawDevice.mailbox(in: folder), withIntermediateDirectories: true)
    let mint = RawMint(seed: history.seed)
    devices = try (0..<history.devices).map { [folder] in try RawDevice($0, in: folder, history, mint, planted) }
    ledger = RawLedger(history)
  }

  /// Plays the steps, lets everybody sync, and compares.
  /// - Returns: what went wrong, or nil; and what the history has reached.
  package static func play(
    _ history: RawHistory, planted: PlantedFault = []
  ) -> (failure: String?, reached: Set<RawSituation>) {
    var play: RawPlay
    do { play = try RawPlay(history, planted) } catch { return ("threw \(error)", []) }
    var failure: String?
    do {
      for (index, step) in history.steps.enumerated() {
        do { try play.perform(step) } catch { throw RawFinding("step \(index + 1): \(error)") }
      }
      try play.settle()
    } catch {
      failure = "\(error)"
    }
    do {
      if let live = play.live { _ = try live.end(expectsMeeting: false) }
      for device in play.devices { try device.end() }
      try FileManager.default.removeItem(at: play.folder)
    } catch {
      failure = failure ?? "closing threw \(error)"
    }
    return (failure, play.reached)
  }

  /// What a seed's history finds; nil if all is well.
  package static func failure(of history: RawHistory, planted: PlantedFault = []) -> String? {
    play(history, planted: planted).failure
  }

  /// What a seed finds, with the smallest history that shows it.
  package static func report(seed: UInt64) -> String? {
    let history = RawHistory.generate(seed: seed)
    guard let first = failure(of: history) else { return nil }
    // A smaller history may fail for another reason, which is not the one that is looked for.
    let kind = first.prefix { $0 != " " }
    let smallest = RawHistory.shrink(history) { failure(of: $0)?.prefix { $0 != " " } == kind }
    return "\(failure(of: smallest) ?? "passes when shrunk; it was: \(first)")\n\(smallest)"
  }

  // MARK: Steps

  private mutating func perform(_ step: RawStep) throws {
    switch step {
    case .write(let device, let writer, let transaction):
      if history.has(.quietReplace) { letTimePass(at: devices[device]) }
      if writer.isStore {
        try write(devices[device], writer, transaction)
      } else {
        try writeOutside(devices[device], writer, transaction)
      }
    case .vacuum, .backUp, .bringBack, .dropTrigger, .rebuild, .recreate, .addColumn, .drift: try tamper(step)
    case .visit(let device): try visit(devices[device])
    case .churn(let device, let count): try churn(devices[device], count)
    case .sync(let one, let other): try sync(devices[one], devices[other])
    case .prepare(let slot, let from, let since): try prepare(slot, devices[from], since.map { devices[$0] })
    case .deliver(let slot, let to): try deliver(slot, devices[to])
    case .connect(let one, let other):
      guard live == nil, let first = devices[one].store, let second = devices[other].store else { return }
      live = RawLive(devices[one], devices[other], first, second)
    case .disconnect: try hangUp()
    case .restore(let device, let name): try restore(devices[device], name)
    case .seed(let device, let version): try seed(devices[device], version)
    case .renew(let device):
      guard let store = devices[device].store else { return }
      try store.renewReplica(because: "a history says so")
      reached.insert(.done(.renewals))
      try check(devices[device])
    case .close(let device):
      if let live, [live.devices.0, live.devices.1].contains(device) { return }
      try devices[device].close()
    case .open(let device, let version): try open(devices[device], version)
    case .clock(let device, let milliseconds):
      devices[device].clock.milliseconds = milliseconds
      reached.insert(.done(.clocks))
    case .verify(let device): try verify(devices[device])
    }
  }

  /// Sets a device's clock ahead of all others.
  private func letTimePass(at device: RawDevice) {
    device.clock.milliseconds = 1000 + (devices.map(\.clock.milliseconds).max() ?? 0)
  }

  private mutating func write(_ device: RawDevice, _ writer: RawWriter, _ transaction: RawTransaction) throws {
    guard let main = device.store else { return }
    let store = writer == .secondStore ? try device.secondStore() : main
    var (failed, swallowed): ((any Error)?, Bool) = (nil, false)
    do {
      let (before, after) = try store.write { db in
        do {
          let before = try RawRows.records(db, device.version)
          swallowed = try Self.run(transaction, db)
          // Nothing can be read once OR ROLLBACK has ended the transaction, and nothing has changed. It ends none if it
          // went to a temporary table of the same name.
          let isOver = transaction.features.contains(.orRollback) && !db.isInsideTransaction
          return (before, isOver ? before : try RawRows.records(db, device.version))
        } catch {
          failed = error
          throw error
        }
      }
      ledger.note(device.index, from: before, to: after, restates: Self.restated(transaction))
      releaseUnnoticed(device, from: before, to: after)
      try RawVerdict.check(denials: before, after)
      note(transaction, swallowed)
      if writer == .secondStore { reached.insert(.done(.secondStore)) }
    } catch let finding as RawFinding where failed == nil {
      throw finding
    } catch {
      try judge(error, failed, transaction)
    }
    device.hasOutsideWrites = false
    try check(device)
  }

  private mutating func churn(_ device: RawDevice, _ count: Int) throws {
    guard let store = device.store else { return }
    for number in 0..<count {
      let (before, after) = try store.write { db in
        let before = try RawRows.records(db, device.version)
        try db.execute(sql: "UPDATE main.F SET name = 'churn \(number)' WHERE id = (SELECT min(id) FROM main.F)")
        return (before, try RawRows.records(db, device.version))
      }
      ledger.note(device.index, from: before, to: after)
    }
    device.hasOutsideWrites = false
    reached.insert(.done(.churn))
    try check(device)
  }

  private mutating func writeOutside(_ device: RawDevice, _ writer: RawWriter, _ transaction: RawTransaction) throws {
    let (queue, schema) =
      if case .outside(let number) = writer {
        (try device.outside(number), "main")
      } else {
        (try device.attached(), RawDevice.attachedName)
      }
    var (failed, swallowed): ((any Error)?, Bool) = (nil, false)
    do {
      let (before, after) = try queue.write { db in
        do {
          let before = try RawRows.records(db, device.version, in: schema)
          swallowed = try Self.run(transaction, db)
          // Nothing can be read once OR ROLLBACK has ended the transaction, and nothing has changed. It ends none if it
          // went to a temporary table of the same name.
          let isOver = transaction.features.contains(.orRollback) && !db.isInsideTransaction
          return (before, isOver ? before : try RawRows.records(db, device.version, in: schema))
        } catch {
          failed = error
          throw error
        }
      }
      ledger.note(
        device.index, from: before, to: after, isOutside: true, isFirst: !device.hasOutsideWrites,
        restates: Self.restated(transaction))
      releaseUnnoticed(device, from: before, to: after)
      note(transaction, swallowed)
      reached.insert(.done(.outside))
      if writer == .attached { reached.insert(.done(.attached)) }
      if history.has(.unenforcedKeys) { reached.insert(.done(.unenforcedKeys)) }
      if history.has(.recursiveTriggers) { reached.insert(.done(.recursiveTriggers)) }
      device.hasOutsideWrites = true
    } catch let error as DatabaseError where failed == nil {
      // The commit of a plain connection: a reference to nothing.
      try RawVerdict.check(statement: error, transaction)
      reached.insert(.refusedWrite)
    } catch {
      try judge(error, failed, transaction)
    }
  }

  /// Lets go of what was removed from a damaged store where that may go unnoticed: it returns as a peer has it.
  private mutating func releaseUnnoticed(_ device: RawDevice, from before: RawRows, to after: RawRows) {
    guard device.hasDrifted, history.hasOpaqueIndex else { return }
    for (table, id) in before.differences(to: after) where after.tables[table]?[id] == nil { ledger.release(id) }
  }

  /// The table whose rows the transaction may have deleted unnoticed and inserted again.
  private static func restated(_ transaction: RawTransaction) -> String? {
    transaction.features.contains(.quietReplace) ? "P" : nil
  }

  /// - Returns: whether a statement failed and was swallowed.
  private static func run(_ transaction: RawTransaction, _ db: Database) throws -> Bool {
    var hasSwallowed = false
    for statement in transaction.statements {
      do {
        try db.execute(sql: statement.sql)
      } catch  where statement.isSwallowed {
        try RawVerdict.check(statement: error, transaction)
        hasSwallowed = true
      }
    }
    if transaction.isAbandoned { throw RawAbandoned() }
    return hasSwallowed
  }

  private mutating func judge(_ error: any Error, _ failed: (any Error)?, _ transaction: RawTransaction) throws {
    reached.insert(.refusedWrite)
    switch failed {
    case is RawAbandoned: reached.insert(.done(.rollbacks))
    case let finding as RawFinding: throw finding
    case let failed?: try RawVerdict.check(statement: failed, transaction)
    case nil: try RawVerdict.check(commit: error, transaction, history.features)
    }
    if transaction.features.contains(.orRollback) { reached.insert(.done(.orRollback)) }
    if let error = error as? StoreError, error.code == .deleteDenied { reached.insert(.denied) }
    if let error = error as? StoreError, error.code == .typeMismatch { reached.insert(.refusedValue) }
  }

  private mutating func note(_ transaction: RawTransaction, _ swallowed: Bool) {
    for feature in transaction.features where feature != .failures { reached.insert(.done(feature)) }
    if swallowed { reached.formUnion([.done(.failures), .swallowedError]) }
    let text = transaction.statements.map(\.sql).joined(separator: "\n")
    if text.contains(" OR REPLACE INTO") || text.contains("REPLACE INTO") { reached.insert(.done(.conflictClauses)) }
    if text.contains("char(") { reached.insert(.done(.oddText)) }
    for (feature, sign) in Self.signs where text.contains(sign) { reached.insert(.done(feature)) }
  }

  private static let signs: [(RawFeature, String)] = [
    (.ownRowTrigger, "TRIGGER app_own "), (.loopTrigger, "TRIGGER app_loop "), (.countTrigger, "TRIGGER app_count_in "),
    (.fullText, "TRIGGER app_text_in "), (.audit, "TRIGGER app_audit_in "), (.validation, "TRIGGER app_no_INSERT "),
    (.undead, "TRIGGER app_undead "), (.linkIndex, "INDEX app_link "), (.expressionIndex, "CREATE INDEX app_"),
    (.insteadOf, "TRIGGER app_view_in "), (.uniqueIndex, "INDEX app_one "), (.quietReplace, "INDEX app_mine "),
    (.referringTable, "TABLE app_fav("),
  ]

  // MARK: Sync

  private mutating func sync(_ one: RawDevice, _ other: RawDevice) throws {
    try exchange(one, other)
    try check(one)
    try check(other)
  }

  mutating func exchange(_ one: RawDevice, _ other: RawDevice) throws {
    guard let first = one.store, let second = other.store else { return }
    if one.hasOutsideWrites || other.hasOutsideWrites { reached.insert(.pendingAtSync) }
    do {
      try accepting(one, other) { _ = try first.sync(with: second) }
    } catch {
      throw RawFinding("synchronize threw \(error)")
    }
    (one.hasOutsideWrites, other.hasOutsideWrites) = (false, false)
    ledger.meet(one.index, other.index)
  }

  /// Runs something again after what the error of a damaged store tells a person to do.
  private func accepting(_ devices: RawDevice..., body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as StoreError where error.code == .damaged && devices.contains(where: \.hasDrifted) {
      try rebuildDrifted(devices)
      try body()
    }
  }

  private func rebuildDrifted(_ devices: [RawDevice]) throws {
    for device in devices where device.hasDrifted {
      _ = try device.store?.rebuild()
      device.hasDrifted = false
    }
  }

  private mutating func prepare(_ slot: Int, _ from: RawDevice, _ since: RawDevice?) throws {
    guard let store = from.store else { return }
    var base = StateVector()
    if let since {
      guard let other = since.store else { return }
      base = try other.vector
      since.hasOutsideWrites = false
    }
    var bytes: [UInt8] = []
    try accepting(from) { bytes = try store.delta(since: base) }
    parcels[slot] = Parcel(bytes: bytes, known: ledger.knowledge(of: from.index))
    from.hasOutsideWrites = false
  }

  private mutating func deliver(_ slot: Int, _ to: RawDevice) throws {
    guard let store = to.store, let parcel = parcels[slot] else { return }
    if to.hasOutsideWrites { reached.insert(.pendingAtDelivery) }
    if parcel.bytes.count.isMultiple(of: 2) { try deliverCutOff(parcel, to, store) }
    do {
      try accepting(to) { _ = try store.apply(parcel.bytes) }
      ledger.learn(to.index, parcel.known)
      reached.insert(.done(.parcels))
      to.hasOutsideWrites = false
      try check(to)
    } catch let error as StoreError where error.code == .baseNotCovered {
      reached.insert(.refusedDelta)
    }
  }

  /// A delta that ends too early changes nothing, wherever it was when it ended.
  private mutating func deliverCutOff(_ parcel: Parcel, _ to: RawDevice, _ store: Store) throws {
    do {
      _ = try store.apply(Array(parcel.bytes.dropLast()))
    } catch is WireError {
      reached.insert(.cutOff)
    } catch let error as StoreError where [.baseNotCovered, .damaged].contains(error.code) {
      return
    }
    try check(to)
  }

  private mutating func visit(_ device: RawDevice) throws {
    guard let store = device.store else { return }
    var report = MailboxReport()
    var settings = MailboxSettings()
    if history.seed % 2 == 1 { settings.namesBases = .always }
    do { try accepting(device) { report = try store.sync(through: device.mailbox, settings) } } catch {
      throw RawFinding("a pass over the folder threw \(error)")
    }
    for name in report.taken { ledger.learn(device.index, shelved[name] ?? EventSet()) }
    for name in report.written { shelved[name, default: EventSet()].formUnion(ledger.knowledge(of: device.index)) }
    device.hasOutsideWrites = false
    if !report.taken.isEmpty { reached.insert(.done(.mailbox)) }
    try check(device)
  }

  mutating func hangUp() throws {
    guard let session = live else { return }
    live = nil
    let (one, other) = (devices[session.devices.0], devices[session.devices.1])
    // Looping triggers can keep both answering each other. After a deletion that went unnoticed the states differ until
    // the next connection: a live session does not repair.
    do {
      if try session.end(expectsMeeting: !history.has(.loopTrigger) && !history.hasOpaqueIndex) {
        ledger.meet(one.index, other.index)
        reached.insert(.metLive)
      }
    } catch is RawDamaged {
      guard one.hasDrifted || other.hasDrifted else { throw RawFinding("a live session says that a store is damaged") }
      try rebuildDrifted([one, other])
    }
    reached.insert(.done(.live))
    (one.hasOutsideWrites, other.hasOutsideWrites) = (false, false)
    try check(one)
    try check(other)
  }

  // MARK: The store

  private mutating func restore(_ device: RawDevice, _ text: String) throws {
    guard let store = device.store else { return }
    let wasPending = device.hasOutsideWrites
    do {
      try store.restore(AnyRecordName(text))
      ledger.release(text)
      reached.insert(.done(.restores))
      if wasPending { reached.insert(.pendingAtRestore) }
      device.hasOutsideWrites = false
    } catch let error as StoreError where error.code == .noSuchRecord || error.code == .notDeleted {}
    try check(device)
  }

  private mutating func seed(_ device: RawDevice, _ version: Int) throws {
    guard let store = device.store else { return }
    do {
      _ = try store.seed(RawVersion.seeds(version))
      reached.insert(.done(.seeds))
      device.hasOutsideWrites = false
    } catch let error as StoreError where error.code == .seedVersionBackwards {}
    try check(device)
  }

  mutating func open(_ device: RawDevice, _ version: RawVersion?) throws {
    guard device.store == nil else { return }
    let (old, wasPending) = (device.version, device.hasOutsideWrites)
    do {
      try device.open(version)
    } catch {
      throw RawFinding("store \(device.index) cannot be opened: \(error)")
    }
    reached.insert(.done(.reopening))
    if device.hasDrifted, device.version != old { device.hasUpgradedInDoubt = true }
    if device.version.cascades != old.cascades { reached.insert(.done(.rules)) }
    if device.version.isLater != old.isLater {
      reached.insert(.done(.upgrades))
      if wasPending { reached.insert(.pendingAtUpgrade) }
    }
    try check(device)
  }

  // MARK: Checks

  /// Looks at a device after a step, unless a look would take in what waits there and change what comes next.
  func check(_ device: RawDevice) throws {
    guard !device.hasOutsideWrites, live == nil else { return }
    try verify(device)
  }

  func verify(_ device: RawDevice) throws {
    guard let store = device.store else { return }
    let report: VerifyReport
    do { report = try store.verify() } catch { throw RawFinding("verify of store \(device.index) threw \(error)") }
    device.hasOutsideWrites = false
    var problems = report.problems.filter { !RawVerdict.isTolerated($0, history.features) }
    // The first look that finds it notes it, which the next one reports.
    if device.hasDrifted {
      problems.removeAll {
        $0 == "the fingerprint does not match the content"
          || $0 == "the store is damaged: the stored content does not match its checksum"
          // Such a store captures no row that went unnoticed: by REPLACE, or with its table.
          || (history.hasOpaqueIndex || history.has(.recreation)) && $0.hasPrefix("the log lists ")
            && $0.hasSuffix(", of which nothing is stored")
          // What another version of the schema shows is made when the store has healed.
          || device.hasUpgradedInDoubt
            && ($0.hasSuffix("does not show what the state says") || $0.contains(" waits for ")
              || $0.hasSuffix("seen but should be hidden") || $0.hasSuffix("hidden but should be seen"))
      }
    }
    guard problems.isEmpty else {
      throw RawFinding("verify of store \(device.index): \(problems.prefix(5).joined(separator: "; "))")
    }
  }
}

/// The app changes its mind.
struct RawAbandoned: Error {}
