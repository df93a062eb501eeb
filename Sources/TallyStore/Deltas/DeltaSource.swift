import TallyCRDT
import TallyWire

/// Reads a delta out of one snapshot, block by block.
struct DeltaSource {
  let reader: StateReader
  let base: StateVector
  /// Whether records may go into blocks packed; not for who wants to look at them.
  let isPacking: Bool
  /// Sums what is read, if that is everything.
  let sum: ContentSum?
  /// The app's recent edits; nil unless they were recorded for the content of this snapshot.
  let edits: EditLog?
  private var catalog: Catalog { reader.catalog }

  /// With more changed items than this, reading the tables once is cheaper than looking each item up.
  private static let lookupLimit = 50_000

  init(reader: StateReader, base: StateVector, isPacking: Bool = false, sum: ContentSum? = nil, edits: EditLog? = nil) {
    (self.isPacking, self.sum, self.edits) = (isPacking, sum, edits)
    self.reader = reader
    #if PlantedFaults
      self.base = reader.planted.base(base)
    #else
      self.base = base
    #endif
  }

  /// Hands out the blocks of everything that `base` does not cover of `own`, the store's vector.
  /// - Returns: whether everything was read, and summed.
  @discardableResult
  func forEachBlock(of own: StateVector, _ body: (BlockDraft) throws -> Void) throws -> Bool {
    var builder = BlockBuilder(catalog: catalog, base: base, target: own)
    let isEverything = own.entries.allSatisfy { base[$0.replica] == 0 }
    #if PlantedFaults
      let body = { try body(spoiled($0, isEverything: isEverything)) }
    #endif
    if !isEverything, let items = try changedItems(own) {
      try readItems(items, &builder, body)
      try builder.handOut(body)
      return false
    }
    try readTables(&builder, body)
    try builder.handOut(body)
    return true
  }

  // MARK: Everything

  private func readTables(_ builder: inout BlockBuilder, _ body: (BlockDraft) throws -> Void) throws {
    let ordered = catalog.orderedKinds
    let unknown = catalog.records.values.filter { !$0.isKnown }.sorted { $0.number < $1.number }
    for kind in ordered {
      var packer = isPacking ? RowPacker(kind, reader, sum) : nil
      try reader.forEachRow(kind) { query in
        if let isPacked = try packer?.pack(query, into: &builder, body), isPacked { return }
        guard let name = try reader.name(in: query) else { return }
        let state = try reader.record(in: query, kind).state
        count(name, kind, state)
        try builder.add(name, kind, state, body)
      }
    }
    for kind in ordered + unknown {
      try reader.forEachHiddenRecord(kind.number) { name, stored in
        count(name, kind, stored.state)
        try builder.add(name, kind, stored.state, body)
      }
    }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) {
      func add(_ key: LinkKey, _ stored: StoredLink) throws {
        if let sum { sum += catalog.fingerprint(key, kind, from: ORSetElement(), to: stored.element) }
        try builder.add(key, kind, stored.element, body)
      }
      if kind.isKnown { try reader.forEachRow(kind, add) }
      try reader.forEachHiddenLink(kind, add)
    }
  }

  private func count(_ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState) {
    if let sum { sum += catalog.fingerprint(name, kind, from: nil, to: state) }
  }

  // MARK: Changes

  /// Returns the items that the change log has beyond `base`; nil if they are too many to look up one by one, or if
  /// the log is damaged: it only says where to look, and the tables hold everything.
  private func changedItems(_ own: StateVector) throws -> LoggedKeys? {
    do {
      return try loggedItems(own)
    } catch let error where StoreError.isDamage(error) {
      return nil
    }
  }

  private func loggedItems(_ own: StateVector) throws -> LoggedKeys? {
    var items = LoggedKeys(catalog, limit: Self.lookupLimit)
    let tail = try reader.tail()
    guard try !tail.isDamaged && !reader.logHasOtherZones() else { return nil }
    for dot in own.entries where dot.sequence > base[dot.replica] {
      guard let number = catalog.replicaNumbers[dot.replica] else { continue }
      let query = try reader.connection.statement(
        "SELECT items, sequence FROM tally_log WHERE zone = 0 AND replica = ? AND sequence > ?")
      query.bind(1, number)
      query.bind(2, Int64(base[dot.replica]))
      defer { query.reset() }
      while try query.step() {
        try query.withBlob(0) { try items.add(row: $0, number, query.int64(1), beyond: base[dot.replica]) }
        if items.isFull { return nil }
      }
      for entry in tail.entries where entry.replica == number && entry.sequence > base[dot.replica] {
        try entry.items.withUnsafeBytes { try items.add($0) }
      }
    }
    if items.isFull { return nil }
    items.sort()
    return items
  }

  private func check(_ body: () throws -> Void) throws {
    #if PlantedFaults
      if reader.planted.contains(.statesGivenUnchecked) { return }
    #endif
    try body()
  }

  /// Adds what `base` does not cover of a record.
  /// - Returns: false if nothing is known of it.
  private func add(
    _ name: LoggedName, _ kind: RecordKind, _ parts: inout NewParts, _ packer: inout RowPacker?,
    _ builder: inout BlockBuilder, _ body: (BlockDraft) throws -> Void
  ) throws -> Bool {
    let found = try reader.withStored(name.bytes, kind) { query in
      if let isPacked = try packer?.pack(query, into: &builder, body), isPacked { return RecordState() }
      switch try parts.inRow(query, kind) {
      case .edit(let edit):
        try compare(edit.state(in: query, kind), with: reader.record(in: query, kind), name)
        let isPacked = try packer?.pack(edit, query, into: &builder, body) ?? false
        return isPacked ? RecordState() : edit.state(in: query, kind)
      case .state(let new):
        try compare(new, with: reader.record(in: query, kind), name)
        return new
      case nil: return try newPart(of: try reader.record(in: query, kind), name, kind)
      }
    } orHidden: { number, stored in
      guard let new = parts.inBody(stored, name.bytes, kind) else {
        return try newPart(of: try reader.hiddenRecord(number, stored), name, kind)
      }
      try compare(new, with: reader.hiddenRecord(number, stored), name)
      guard packer != nil, let delete = new.onlyDelete, case .uuid(let high, let low) = name.key else { return new }
      try builder.pack((high, low), delete, kind, body)
      return RecordState()
    }
    let new = try found ?? reader.record(stub: name.name(), kind).map { try newPart(of: $0, name, kind) }
    guard let new else { return false }
    if !new.isEmpty { try builder.add(name.name(), kind, new: new, body) }
    return true
  }

  /// Adds an edit that is in memory, if that is all that `base` does not cover of a record.
  private func addRecent(
    _ high: UInt64, _ low: UInt64, _ kind: RecordKind, _ builder: inout BlockBuilder,
    _ body: (BlockDraft) throws -> Void
  ) throws -> Bool {
    guard let edits, let edit = edits.edit(high, low, kind, beyond: base) else { return false }
    #if PlantedFaults
      try compare(edit, of: edits, with: high, low, kind)
    #endif
    guard edit.total == nil else {
      let name = try RecordKey.uuid(high: high, low: low).name(type: kind.type)
      try builder.add(name, kind, new: RecordState(fields: edits.cells(of: edit, kind)), body)
      return true
    }
    return try builder.pack(edit, of: edits, (high, low), kind, body)
  }

  private func newPart(of stored: StoredRecord, _ name: LoggedName, _ kind: RecordKind) throws -> RecordState {
    // Nothing else tells before the receiver has joined it: the sum of the whole is for who reads everything.
    try check { try catalog.check(stored, name.name(), kind) }
    return stored.state.delta(since: base) ?? RecordState()
  }

  /// In all histories of the tests: the short way finds what the long one does.
  private func compare(
    _ new: @autoclosure () -> RecordState, with stored: @autoclosure () throws -> StoredRecord, _ name: LoggedName
  ) throws {
    #if PlantedFaults
      guard try new() == stored().state.delta(since: base) ?? RecordState() else {
        preconditionFailure("what is new of \(name.key) is not what its state says")
      }
    #endif
  }

  private func readItems(
    _ items: LoggedKeys, _ builder: inout BlockBuilder, _ body: (BlockDraft) throws -> Void
  ) throws {
    var isMissing = false
    var parts = NewParts(reader, since: base)
    let catalog = catalog
    let known = catalog.orderedKinds.map(\.number)
    let rest = items.kinds.filter { !known.contains($0) }.sorted()
    for kind in (known + rest).compactMap({ catalog.records[$0] }) {
      var packer = isPacking && kind.isKnown ? RowPacker(kind, reader, newBeyond: base) : nil
      #if PlantedFaults
        if !reader.planted.isEmpty { packer = nil }
      #endif
      try reader.connection.lookingUp {
        try items.forEachRecord(kind) { high, low in
          try packer != nil && addRecent(high, low, kind, &builder, body)
        } others: { name in
          if try !add(name, kind, &parts, &packer, &builder, body) { isMissing = true }
        }
      }
    }
    for kind in items.kinds.sorted().compactMap({ catalog.links[$0] }) {
      for key in items.links(kind.number) {
        guard let stored = try reader.link(key, kind) else {
          isMissing = true
          continue
        }
        try check { try catalog.check(stored, key, kind) }
        try builder.add(key, kind, stored.element, body)
      }
    }
    // What has changed is somewhere, unless the log is damaged.
    guard try !isMissing || reader.indexesMatch() else { throw StoreError(.corrupt, StoreError.wrongIndex) }
  }
}

extension RecordState {
  /// The delete of a state that is nothing else; nil for any other.
  fileprivate var onlyDelete: Delete? {
    guard deletes.count == 1, existence == nil, fields.isEmpty, supersededTouches.isEmpty, seed == nil, life == nil
    else { return nil }
    return deletes[0]
  }
}
