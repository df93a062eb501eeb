import GRDB
import TallyCRDT
import TallyWire

/// What applying a delta did.
public struct ApplyResult: Sendable, Equatable {
  /// Records and links whose state changed.
  public var changes = 0
  /// Concurrent writes that lost, now in the conflict journal.
  public var conflicts = 0
  /// Whether the sender's fingerprint contradicts ours although both vectors are equal: one of the two has lost or altered
  /// something. Exchange full states to repair it.
  public var fingerprintMismatch = false

  /// A result of nothing.
  public init() {}

  init(changes: Int, conflicts: Int) {
    self.changes = changes
    self.conflicts = conflicts
  }
}

/// Joining what peers wrote.
extension Engine {
  /// Applies a delta; the caller's transaction makes it all or nothing.
  /// - Parameter isRepair: joins cells even if the vector says they are here.
  func apply(_ delta: inout DeltaReader, isRepair: Bool) throws -> ApplyResult {
    try capture(isForeign: true)
    let header = delta.header
    try checkBase(header)
    var result = ApplyResult()
    if vector.covers(header.target), !isRepair, !environment.planted.contains(.duplicateCountedTwice) {
      while try delta.nextBlock() != nil {}
    } else {
      try noticeRestore(header)
      var merge = Merge(
        header: header, before: vector, logged: isRepair ? StateVector() : vector, isRepair: isRepair,
        clock: environment.now())
      while let block = try delta.nextBlock() {
        if environment.planted.contains(.vectorPerChunk) { try raiseVector(to: header.target) }
        try apply(block, &merge)
      }
      try raiseVector(to: counted(header))
      try settle()
      try checkReferences()
      try trimConflicts()
      if merge.isCopy { try renewReplica(because: "another copy of this store has written under its replica id") }
      (result.changes, result.conflicts) = (merge.changes, merge.conflicts)
    }
    if let theirs = header.fingerprint, header.target == vector { result.fingerprintMismatch = theirs != fingerprint }
    return result
  }

  /// Applies blocks that are here already; the caller's transaction makes it all or nothing.
  func apply(_ header: DeltaHeader, _ blocks: [DeltaBlock]) throws -> ApplyResult {
    try capture(isForeign: true)
    try checkBase(header)
    try noticeRestore(header)
    var merge = Merge(header: header, before: vector, logged: vector, isRepair: false, clock: environment.now())
    for block in blocks { try apply(block, &merge) }
    try raiseVector(to: header.target)
    try settle()
    try checkReferences()
    try trimConflicts()
    return ApplyResult(changes: merge.changes, conflicts: merge.conflicts)
  }

  /// What a delta brings the vector to.
  private func counted(_ header: DeltaHeader) -> StateVector {
    guard environment.planted.contains(.duplicateCountedTwice), vector.covers(header.target) else {
      return header.target
    }
    return StateVector(
      header.target.entries.map { ($0.replica, vector[$0.replica] + $0.sequence - header.base[$0.replica]) })
  }

  private func checkBase(_ header: DeltaHeader) throws {
    guard header.zone == .default else { throw StoreError(.wrongZone, "the delta belongs to another zone") }
    guard vector.covers(header.base) || environment.planted.contains(.baseNotChecked) else {
      throw StoreError(
        .baseNotCovered, "the delta starts after what is here; ask for one since \(vector)", vector: vector)
    }
  }

  /// What stays the same while one delta is joined.
  struct Merge {
    let header: DeltaHeader
    let before: StateVector
    /// What the change log has entries for already.
    let logged: StateVector
    var isRepair = false
    let clock: HybridTime
    var changes = 0
    var conflicts = 0
    /// Whether another copy of this file has written under its replica id.
    var isCopy = false

    /// The dots that the change log may not have for an item: those that the vector does not cover, and those that it covers although
    /// the item had no cell of them, because some peer's vector claimed more than it had.
    func unlisted(_ received: Set<Dot>, _ old: () -> Set<Dot>) -> Set<Dot> {
      let covered = received.filter(logged.covers)
      guard !covered.isEmpty else { return received }
      return received.subtracting(covered.intersection(old()))
    }
  }

  func apply(_ block: DeltaBlock, _ merge: inout Merge) throws {
    let block = environment.planted.contains(.partialBatch) ? block.withoutItsEnd : block
    for group in block.records {
      let number = try kind(source: group.type)
      let fields = try group.fields.map { try field($0, kind: number) }
      guard let kind = catalog.records[number] else { continue }
      for item in group.items {
        var state = item.state
        state.renumberFields { fields[Int($0.rawValue)] }
        try join(item.name, kind, state, &merge)
        if log.isFull { try log.flush(self) }
      }
    }
    for group in block.links {
      let number = try kind(source: group.source, relationship: group.relationship, target: group.target)
      guard let kind = catalog.links[number] else { continue }
      for item in group.items {
        try join(LinkKey(source: item.source, target: item.target), kind, item.element, &merge)
        if log.isFull { try log.flush(self) }
      }
    }
  }

  // MARK: Records

  private func join(_ name: AnyRecordName, _ kind: RecordKind, _ received: RecordState, _ merge: inout Merge) throws {
    var received = received
    if environment.planted.contains(.receiverClampsStamps) { received.clamp(to: merge.clock) }
    if environment.planted.contains(.referenceToAbsentDropped) {
      let references = kind.columns.filter { $0.reference != nil }
      received.fields.removeAll { cell in
        guard let column = references.first(where: { $0.field == cell.field }) else { return false }
        guard let target = column.target(of: cell.value) else { return false }
        return (try? hasRow(target)) == false
      }
    }
    let stored = try reader.record(name, kind)
    guard let stored else {
      return try receive(name, kind, received, &merge)
    }
    var state = stored.state
    var lost: [LostWrite] = []
    state.merge(received, lost: &lost, planted: environment.planted)
    guard state != stored.state || merge.isRepair else { return }
    noticeCopy(&merge) { stored.state.contradicts($0, by: received) }
    for write in lost { try journal(write, name, kind, &merge) }
    guard state != stored.state else { return }
    merge.changes += 1
    try storeMerged(name, kind, state, stored)
    noteDots(of: received, over: stored.state, name, kind, merge)
    updateFingerprint(name, kind, from: stored.state, to: state)
    try markDirty(name, kind, from: stored.state, to: state)
  }

  /// A record that was not here. It is written as if it were visible; what may not be is looked at when all is in.
  private func receive(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ merge: inout Merge) throws {
    merge.changes += 1
    noticeCopy(&merge) { RecordState().contradicts($0, by: state) }
    let mayBeVisible = kind.isKnown && state.deletes.isEmpty && state.seed?.newest?.isRetired != true
    let shown = mayBeVisible ? try plainValues(name, kind, state) : nil
    try put(name, kind, state, previous: nil, shown: shown)
    noteDots(of: state, over: nil, name, kind, merge)
    updateFingerprint(name, kind, from: nil, to: state)
    try markDirty(name, kind, from: nil, to: state)
    if shown != nil, hasWaits { try markWaitingDirty(name) }
  }

  /// The registers' values as they are; a reference to something that is not there yet marks the record for another look.
  private func plainValues(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState) throws -> [Value] {
    var rest = state.fields[...]
    return try kind.columns.map { column in
      while let first = rest.first, first.field < column.field { rest.removeFirst() }
      let own = rest.first.flatMap { $0.field == column.field ? $0 : nil }
      let cell = state.seed == nil ? own : state.cell(column.field, followsNewest: kind.followsNewest)
      guard let cell, column.accepts(cell.value) else { return column.defaultValue }
      if let target = column.target(of: cell.value), try !hasRow(target) { dirty.insert(name) }
      return cell.value
    }
  }

  private func hasRow(_ name: AnyRecordName) throws -> Bool {
    guard let kind = catalog.kind(of: name.type), kind.isKnown else { return false }
    let query = try connection.statement(kind.exists)
    query.bind(1, name.text)
    defer { query.reset() }
    return try query.step()
  }

  private func storeMerged(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ stored: StoredRecord)
    throws
  {
    guard stored.place.isVisible else {
      dirty.insert(name)
      return try put(name, kind, state, previous: stored, shown: nil)
    }
    var shown = stored.values
    for (index, column) in kind.columns.enumerated() {
      let old = stored.state.cell(column.field, followsNewest: kind.followsNewest)
      let new = state.cell(column.field, followsNewest: kind.followsNewest)
      guard old?.value != new?.value else { continue }
      if column.reference != nil { dirty.insert(name) }
      shown[index] = if let new, column.accepts(new.value) { new.value } else { column.defaultValue }
    }
    try put(name, kind, state, previous: stored, shown: shown)
  }

  private func noteDots(
    of received: RecordState, over old: RecordState?, _ name: AnyRecordName, _ kind: RecordKind, _ merge: Merge
  ) {
    if let only = received.uniformStamp?.dot, !merge.logged.covers(only) {
      return log.note(only, kind: kind.number, name)
    }
    for dot in merge.unlisted(received.dots, { old?.dots ?? [] }) { log.note(dot, kind: kind.number, name) }
  }

  // MARK: Links

  private func join(_ key: LinkKey, _ kind: LinkKind, _ received: ORSetElement, _ merge: inout Merge) throws {
    let stored = try reader.link(key, kind)
    let old = stored?.element ?? ORSetElement()
    let element =
      stored == nil
      ? received
      : {
        var joined = old
        joined.merge(received, planted: environment.planted)
        return joined
      }()
    guard element != old else { return }
    merge.changes += 1
    noticeCopy(&merge) { old.contradicts($0, by: received) }
    let isShown =
      try kind.isKnown && reader.isMember(key, element) && hasRow(key.source) && hasRow(key.target)
    try put(key, kind, element, previous: stored, isShown: isShown)
    if kind.isKnown, element.mayBeMember, !isShown { dirty.insert(kind.number, key) }
    for dot in merge.unlisted(received.dots, { old.dots }) { log.note(dot, kind: kind.number, key) }
    updateFingerprint(key, kind, from: old, to: element)
    if hasDeletes { try climb(from: [key.source]) }
  }
}

extension RecordState {
  fileprivate mutating func clamp(to limit: HybridTime) {
    func clamped(_ stamp: Stamp) -> Stamp { Stamp(rank: stamp.rank, time: min(stamp.time, limit), dot: stamp.dot) }
    existence = existence.map(clamped)
    for index in fields.indices { fields[index].stamp = clamped(fields[index].stamp) }
  }
}

extension DeltaBlock {
  /// The planted fault of a batch that is applied in part.
  fileprivate var withoutItsEnd: DeltaBlock {
    var result = self
    if let last = result.links.indices.last {
      result.links[last].items.removeLast()
    } else if let last = result.records.indices.last, result.records[last].items.count > 1 {
      result.records[last].items.removeLast()
    }
    return result
  }
}
