import GRDB
import TallyCRDT

extension Store {
  /// Brings a deleted record back, complete: its fields, relationships, and what it owns. A record that disappeared with its
  /// owner brings the owner back as well.
  ///
  /// A restore is a write: it wins over every delete that it has seen, on all devices.
  /// - Returns: the dot of the restore.
  /// - Throws: `StoreError.noSuchRecord` if nothing is known of the record, `.notDeleted` if it is there.
  @discardableResult
  public func restore(_ name: AnyRecordName) throws -> Dot? {
    try perform { db in try transact(db) { try $0.restore(name) }.value }
  }

  /// Brings a deleted record back. See `restore(_:)` of any name.
  @discardableResult
  public func restore<Record>(_ name: RecordName<Record>) throws -> Dot? { try restore(name.name) }
}

extension Engine {
  func restore(_ name: AnyRecordName) throws -> Dot {
    guard let kind = catalog.kind(of: name.type), let stored = try reader.record(name, kind) else {
      throw StoreError(.noSuchRecord, "nothing is known of \(name)")
    }
    guard !stored.place.isVisible else { throw StoreError(.notDeleted, "\(name) is not deleted") }
    var transaction = LocalTransaction(now: environment.now())
    let stamp = try transaction.stamp(self, over: stored.state.existence?.time)
    var state = stored.state
    var written = RecordState(inserted: stamp, fields: [])
    written.seed = state.basis(for: stamp, kind)
    state.merge(written)
    try put(name, kind, state, previous: stored, shown: nil)
    log.note(stamp.dot, kind: kind.number, name)
    try updateFingerprint(name, from: stored.state, to: state)
    try markDirty(name, kind, from: stored.state, to: state)
    dirty.insert(name)
    var target = StateVector()
    target.include(stamp.dot)
    try raiseVector(to: target)
    try settle()
    return stamp.dot
  }
}
