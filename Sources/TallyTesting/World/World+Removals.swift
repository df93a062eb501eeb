import GRDB
import TallyCRDT
import TallyStore

/// Deleting for good, by any device at any time.
extension World {
  /// In half of the runs devices remove what is deleted, and each device has a restore window of its own.
  func beginRemovals() throws {
    guard removals == nil, var some = RandomRemovals(seed: seed) else { return }
    for replica in replicas where try replica.store.vector.isEmpty { try replica.begin(some.drawCompaction()) }
    removals = some
  }

  /// Now and then a device deletes something, removes what is deleted, or days pass.
  func removeSomething(_ faults: Faults) throws {
    guard var some = removals else { return }
    defer { removals = some }
    guard some.random.chance(30) else { return }
    let replica = some.random.pick(present.filter { $0.index != reader })
    switch some.random.below(100) {
    case 0..<20: try deleteSomething(replica, &some.random)
    case 20..<32: try writeCanary(replica, &some)
    case 32..<56: try purgeSomething(replica, &some.random)
    case 56..<64: try restoreSomething(replica, &some.random)
    case 64..<72: try useAgain(replica, &some.random)
    case 72..<86:
      let window = some.random.pick([nil, nil, 0, 0, 1, 30]).map(RestoreWindow.days)
      let vacuum = some.random.pick([Vacuum.off, .automatic, .incremental, .full])
      try replica.compact(window, vacuum, isRehearsed: some.random.chance(30))
    case 86..<91: try replica.compactIfDue()
    default: passDays(replica, &some.random)
    }
    guard faults.contains(.power), some.random.chance(15) else { return }
    try some.random.chance(50) ? replica.powerCut() : replica.restart()
  }

  private func deleteSomething(_ replica: SimulatedReplica, _ random: inout SplitMix64) throws {
    let names = try replica.rows().keys.sorted()
    guard !names.isEmpty else { return }
    let name = try AnyRecordName(random.pick(names))
    do {
      try replica.write { try $0.execute(sql: "DELETE FROM \"\(name.type)\" WHERE id = ?", arguments: [name.text]) }
    } catch let error as StoreError where error.code == .deleteDenied {
      note("replica \(replica.index) may not: \(error.code.rawValue)")
    }
  }

  /// Writes a value that is written once, so that it can be looked for.
  private func writeCanary(_ replica: SimulatedReplica, _ some: inout RandomRemovals) throws {
    let names = try replica.rows().keys.sorted()
    guard !names.isEmpty else { return }
    let name = try AnyRecordName(some.random.pick(names))
    let fields = replica.schema.entities.first { $0.type == name.type }?.fields.filter { $0.kind == .text } ?? []
    guard !fields.isEmpty else { return }
    let (field, canary) = (some.random.pick(fields), some.canary(for: name.text))
    try replica.write {
      try $0.execute(
        sql: "UPDATE \"\(name.type)\" SET \"\(field.name)\" = ? WHERE id = ?", arguments: [canary, name.text])
    }
  }

  /// Purges a deleted record, now and then one that is not deleted or not there.
  private func purgeSomething(_ replica: SimulatedReplica, _ random: inout SplitMix64) throws {
    var names = oracle.deleted(replica.seen, replica.schema)
    if names.isEmpty {
      try deleteSomething(replica, &random)
      names = oracle.deleted(replica.seen, replica.schema)
    }
    if names.isEmpty || random.chance(15) { names = oracle.known(replica.seen, replica.schema).sorted() }
    guard !names.isEmpty else { return }
    do {
      try replica.purge(AnyRecordName(random.pick(names)))
    } catch let error as StoreError where error.code == .notDeleted || error.code == .noSuchRecord {}
  }

  /// Restores a deleted record, if it is not purged.
  private func restoreSomething(_ replica: SimulatedReplica, _ random: inout SplitMix64) throws {
    let names = oracle.deleted(replica.seen, replica.schema)
    guard !names.isEmpty else { return }
    do {
      try replica.restore(AnyRecordName(random.pick(names)))
    } catch let error as StoreError where [.noSuchRecord, .notDeleted, .purged].contains(error.code) {}
  }

  /// Inserts a record under the name of one that was purged.
  private func useAgain(_ replica: SimulatedReplica, _ random: inout SplitMix64) throws {
    let shown = try replica.rows()
    let types = Set(replica.schema.entities.map(\.type))
    let names = try oracle.specification.emptied(in: replica.seen).keys.sorted()
      .filter { try shown[$0] == nil && types.contains(AnyRecordName($0).type) }
    guard !names.isEmpty else { return }
    let name = try AnyRecordName(random.pick(names))
    try replica.write { try $0.execute(sql: "INSERT INTO \"\(name.type)\"(id) VALUES(?)", arguments: [name.text]) }
  }

  /// On all devices, or on one whose clock is then ahead.
  private func passDays(_ replica: SimulatedReplica, _ random: inout SplitMix64) {
    let days: UInt64 = random.pick([1, 1, 2, 8, 31, 40, 500])
    let some = random.chance(70) ? present : [replica]
    note("\(days) days pass on \(some.map(\.index))")
    for replica in some {
      replica.clock.advance(milliseconds: days * 86_400_000)
      replica.noteDay()
    }
  }

  // MARK: The end

  /// A device removes everything that is deleted.
  func emptyAll() throws { try present.first?.emptyAll() }

  /// Of what was purged by a device that had seen everything, and was not said again since, no device holds a value.
  func checkPurged() throws {
    guard oracle.hasPurges else { return }
    for replica in present {
      let gone = oracle.gone(replica.seen, replica.schema)
      let contents = try replica.store.contents(of: Set(gone))
      for name in gone where contents[name]?.holds == true {
        throw Finding("replica \(replica.index) still holds \(name), which is purged")
      }
    }
  }

  /// After everything deleted was removed, no device holds a value of it, nor in a journal, nor in a byte of a disk.
  func checkNothingStays() throws {
    for replica in present {
      let deleted = Set(oracle.deleted(replica.seen, replica.schema))
      for (name, content) in try replica.store.contents(of: deleted) where content.holds {
        throw Finding("replica \(replica.index) still holds \(name), which is deleted")
      }
      let shown = Set(try replica.rows().values.flatMap(\.fields.values))
      let (dump, conflicts) = (try replica.store.dumped(), try replica.store.conflicts(limit: .max))
      let unsure = oracle.unsure(replica.seen)
      for (text, name) in removals?.canaries ?? [:] where !unsure.contains(name) {
        guard !dump.contains(text) || shown.contains(Value.text(text).specified ?? "") else {
          throw Finding("replica \(replica.index) still holds \"\(text)\" of \(name), which does not show")
        }
        let isNoted = conflicts.contains { $0.loserValue == .text(text) || $0.winnerValue == .text(text) }
        guard !isNoted || !deleted.contains(name) else {
          throw Finding("the journal of replica \(replica.index) still holds \"\(text)\" of \(name), which is deleted")
        }
        guard deleted.contains(name), let file = replica.storage.disk?.image.file(with: text) else { continue }
        throw Finding("\(file) of replica \(replica.index) still has \"\(text)\" of \(name), which is deleted")
      }
    }
  }
}

extension DiskImage {
  /// A file that has the bytes of a text; nil if none has.
  fileprivate func file(with text: String) -> String? {
    let wanted = Array(text.utf8)
    return fileNames.first { name in
      guard let bytes = self[name] else { return false }
      return bytes.indices.contains { bytes[$0] == wanted[0] && bytes[$0...].starts(with: wanted) }
    }
  }
}
