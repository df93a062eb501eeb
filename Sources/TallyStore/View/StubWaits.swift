import TallyCRDT
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

/// Which stubs are listed in `tally_wait` under their owners.
///
/// A stub cannot be shown, so it need not be looked at when its owner appears, and a row would take more than the stub.
/// But what is above it may have to find it, or something below it through it. So a stub is listed if
///
/// - something waits for it that it may own: a record below it that is no stub, or a stub that is listed; or a row
///   names it as its owner, which has just come and has not been settled;
/// - it gave way to a seed, which owns what it owned;
/// - a record above it, however far, has deletes that had not seen all edits and members of the stub. They may keep
///   that record alive, or may have kept it, which its window depends on (`Hiding`). With one owner that is rare, since
///   the delete that hid the stub had seen them; of two owners the other may be kept so.
///
/// A stub is looked at when it is written, and when something begins or ceases to wait for it. What is above it can
/// also change later, by a delete or a move that comes late. Nothing leads from there to stubs that are not listed. So
/// the file keeps a vector that covers all their edits. A delete that has seen as much, as almost every one has,
/// concerns none of them; for any other all stubs are looked at once.
extension StateWriter {
  /// Whether a stub must be listed for `targets`, its owners and the seed that it gave way to.
  func mustBeListed(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ targets: Set<AnyRecordName>
  ) throws -> Bool {
    guard !targets.isEmpty else { return false }
    #if PlantedFaults
      // What is not hollow may show, and must be found.
      if reader.planted.contains(.noHollow) { return true }
    #endif
    if let forward = kind.forwardField, state[forward] != nil { return true }
    if try reader.isAwaited(name) { return true }
    let edits = try reader.editsAndMembers(of: name, state)
    if try !(seenAbove?.covers(edits, above: targets) ?? reader.haveSeen(edits, above: targets)) { return true }
    if let known = facts.stubTouches, !known.covers(edits) {
      facts.stubTouches = known.merging(edits)
      facts.areStubTouchesChanged = true
    }
    return false
  }

  /// Notes that a record of a kind has begun or ceased to wait for another.
  func noteWaiting(_ target: AnyRecordName, _ kind: KindNumber) {
    guard reader.catalog.hasStubs, reader.catalog.records[kind] != nil else { return }
    awaited.append(target)
  }

  /// Lists the stubs for which something has begun to wait, and no longer lists those for which nothing waits any more;
  /// so on upwards.
  func listAwaited() throws {
    guard !isListing else { return }
    isListing = true
    defer { isListing = false }
    while let name = awaited.popLast() { try listStub(name) }
  }

  /// Sees to it that a record is listed as it must be, if it is a stub.
  func listStub(_ name: AnyRecordName, isAwaited: Bool = false) throws {
    guard let kind = reader.catalog.kind(of: name.type), let stored = try reader.record(stub: name, kind) else {
      return
    }
    try putWaits(for: name, kind, stored.state, nil, stored, isAwaited: isAwaited)
    try listAwaited()
  }

  /// Lists the stubs that a row begins to name as its owners. A row that shows its owner waits for nothing, but until
  /// all is settled it may name one that is hidden, and all that is above that has to find the row. Afterwards the row
  /// is hidden and waits, or the stub has become an ordinary record.
  func listOwners(of shown: [Value], _ kind: RecordKind, before: [Value]) throws {
    for (index, column) in kind.columns.enumerated() where column.reference?.isOwning == true {
      guard !before.indices.contains(index) || before[index] != shown[index],
        let target = column.target(of: shown[index])
      else { continue }
      try listStub(target, isAwaited: true)
    }
  }

  /// Keeps in the file what the edits of stubs are covered by.
  func putStubTouches() throws {
    guard facts.areStubTouchesChanged, let touches = facts.stubTouches else { return }
    var writer = ByteWriter()
    try StateCoding.encode(touches, to: &writer, numbers.number(of:))
    let update = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('stubs', ?)")
    update.bind(1, writer.bytes)
    try update.run()
    facts.areStubTouchesChanged = false
  }
}

extension StateReader {
  /// Whether anything waits for a record that it may own.
  func isAwaited(_ name: AnyRecordName) throws -> Bool {
    try waiting(for: name).contains { kind, key in
      guard key != name.text, let waiting = catalog.records[kind] else { return false }
      return waiting.forwardField != nil && name.hasType(waiting.type)
        || waiting.ownerColumns.contains { $0.reference.map { name.hasType($0.to) } ?? false }
    }
  }

  /// A vector that covers a record's touches and the members that it has and had.
  func editsAndMembers(of name: AnyRecordName, _ state: RecordState) throws -> StateVector {
    var edits = state.touches
    guard catalog.links.values.contains(where: { name.hasType($0.source) }) else { return edits }
    for link in try links(from: name) {
      for tag in link.link.element.tags where tag.added.rank >= .user { edits.include(tag.added.dot) }
    }
    return edits
  }

  /// Whether all deletes of these records, of their owners and so on, and of the seeds that any of them gave way to,
  /// had seen these edits.
  func haveSeen(_ edits: StateVector, above names: Set<AnyRecordName>) throws -> Bool {
    let facts = SnapshotFacts(self, countsRefusals: false)
    var (open, known) = (Array(names), names)
    while let next = open.popLast() {
      guard let found = try facts.facts(of: next) else { continue }
      guard found.hasSeen(edits) else { return false }
      for above in found.owners.map(\.target) + (found.forward.map { [$0] } ?? []) where known.insert(above).inserted {
        open.append(above)
      }
    }
    return true
  }
}

/// For each record, as far as anybody asked, the part that is common to the contexts of its own deletes and of all
/// deletes above it. Each of thousands of records that own each other asks for it when they are emptied, here or by a
/// peer. A delete or an owner that changes makes it forget everything.
final class SeenAbove {
  /// Of a record above which nothing is deleted, nil.
  private var known: [AnyRecordName: StateVector?] = [:]
  private let facts: SnapshotFacts

  /// Whether anybody has asked since it forgot everything.
  var isInUse: Bool { !known.isEmpty }

  /// Forgets everything: deletes or owners have changed.
  func forget() { if isInUse { known = [:] } }

  /// `earlier` is of a transaction since which nothing else was written.
  init(_ reader: StateReader, goingOnFrom earlier: SeenAbove? = nil) {
    facts = SnapshotFacts(reader, countsRefusals: false)
    known = earlier?.known ?? [:]
  }

  /// Whether all deletes of these records and above them had seen these edits, as `StateReader.haveSeen` finds; nil if
  /// owners go in a circle.
  func covers(_ edits: StateVector, above names: Set<AnyRecordName>) throws -> Bool? {
    for name in names {
      guard try look(at: name) else { return nil }
      if let seen = known[name] ?? nil, !seen.covers(edits) { return false }
    }
    return true
  }

  /// - Returns: false if owners go in a circle.
  private func look(at name: AnyRecordName) throws -> Bool {
    var (stack, waiting) = ([name], Set<AnyRecordName>())
    while let top = stack.last {
      guard known[top] == nil else {
        stack.removeLast()
        continue
      }
      let found = try facts.facts(of: top)
      let above = (found?.owners.map(\.target) ?? []) + [found?.forward].compactMap { $0 }
      let open = above.filter { known[$0] == nil }
      if open.isEmpty {
        known[top] = .some(above.reduce(found?.seenByDeletes) { Self.common($0, known[$1] ?? nil) })
      } else {
        guard waiting.insert(top).inserted else { return false }
        stack += open
      }
    }
    return true
  }

  private static func common(_ one: StateVector?, _ other: StateVector?) -> StateVector? {
    guard let one, let other else { return one ?? other }
    return StateVector(one.entries.map { ($0.replica, min($0.sequence, other[$0.replica])) }.filter { $0.1 > 0 })
  }
}

extension RecordFacts {
  /// Whether all deletes of the record together had seen this; true also if it has none, and no seed that was retired.
  fileprivate func hasSeen(_ edits: StateVector) -> Bool { seenByDeletes?.covers(edits) ?? true }

  /// The context of the record's deletes; nil if it has none, and no seed that was retired.
  fileprivate var seenByDeletes: StateVector? {
    !deletedContext.isEmpty || isSeeded && !isOfferedBySeed ? deletedContext : nil
  }
}

extension ViewMaintainer {
  /// Notes a change by which a stub that is not listed may come to keep a record: other deletes or owners.
  func noteKeeping(_ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState) throws {
    guard !looksForStubs || writer.seenAbove?.isInUse == true, catalog.owns(name.type) else { return }
    let isPresenceAsBefore =
      old.map { old in
        old.deletes == new.deletes && old.seed == new.seed && owners(kind, old) == owners(kind, new)
          && kind.forwardField.map { old[$0] == new[$0] } ?? true
      } ?? (new.deletes.isEmpty && new.seed == nil && owners(kind, new).isEmpty)
    guard !isPresenceAsBefore else { return }
    writer.seenAbove?.forget()
    guard !looksForStubs else { return }
    guard let edits = writer.facts.stubTouches else {
      looksForStubs = true
      return
    }
    let own = RecordFacts(state: new)
    let above = kind.waits(new, shown: nil, forward: kind.forwardField)
    looksForStubs = try !own.hasSeen(edits) || !reader.haveSeen(edits, above: above)
  }

  /// Looks at all stubs, and lists those that must be.
  func listStubs() throws {
    looksForStubs = false
    // Computed again on the way.
    if writer.facts.stubTouches == nil {
      (writer.facts.stubTouches, writer.facts.areStubTouchesChanged) = (StateVector(), true)
    }
    changeVisibility()
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) where !kind.ownerColumns.isEmpty {
      var last: AnyRecordName?
      repeat {
        let names = try reader.stubs(of: kind, after: last, limit: 1000)
        last = names.last
        for name in names {
          guard let stored = try reader.record(stub: name, kind), try !reader.isListed(name, kind, stored.state) else {
            continue
          }
          try writer.putWaits(for: name, kind, stored.state, nil, stored)
          // What it keeps is found now.
          if try reader.isListed(name, kind, stored.state) { dirty.climb(from: owners(kind, stored.state)) }
        }
      } while last != nil
    }
  }
}

extension StateReader {
  /// Whether a hidden record waits for all that it can wait for.
  func isListed(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState) throws -> Bool {
    try kind.waits(state, shown: nil, forward: kind.forwardField).allSatisfy { target in
      let query = try connection.statement("SELECT 1 FROM tally_wait WHERE target = ? AND kind = ? AND key = ?")
      defer { query.reset() }
      query.bind(1, target.text)
      query.bind(2, kind.number)
      query.bind(3, name.text)
      return try query.step()
    }
  }
}

extension Catalog {
  /// Whether records of a type can own others.
  func owns(_ type: String) -> Bool {
    referrers[type]?.contains { $0.column.reference?.isOwning == true } ?? false
  }
}

/// What the file keeps for the sake of stubs that are not listed.
enum StubWaits {
  /// A vector that covers all their edits and members, from `tally_meta`.
  /// - Returns: nil if it cannot be read.
  static func touches(_ connection: Connection, _ catalog: Catalog) throws -> StateVector? {
    let query = try connection.statement("SELECT value FROM tally_meta WHERE key = 'stubs'")
    defer { query.reset() }
    guard try query.step() else { return nil }
    return try? StateCoding.decodeContext(query.blob(0), catalog.replicas)
  }
}
