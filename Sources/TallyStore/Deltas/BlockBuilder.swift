import TallyCRDT
import TallyWire

/// Collects items until a block is full. A record that would fill a block of its own goes out in parts.
package struct BlockBuilder {
  private let fields: [FieldID: Catalog.Field]
  private let base: StateVector
  /// Replicas that no cell can be of.
  private let strangers: Set<ReplicaID>
  private var groups: [Group] = []
  /// The group of the record that was added last: they come kind by kind.
  private var current = 0
  private var links: [KindNumber: DeltaBlock.Links] = [:]
  private var packed: [(kind: KindNumber, records: PackedRecords)] = []
  /// The most tags of a link that travel in one block.
  private static let tagLimit = WireLimits.blockCells / 4
  /// The contexts of the deletes in the block, and of the lives.
  private var contexts: [Stamp: StateVector] = [:]
  private var recentContexts = RecentValues<StateVector>()
  private var lifeContexts: [Stamp: StateVector] = [:]
  private var count = 0
  private var byteCount = 0
  private var cellCount = 0
  private var nameCount = 0

  /// The records of one kind in the block, and the places of its fields' names.
  private struct Group {
    let kind: KindNumber
    var records: DeltaBlock.Records
    var numbers: [FieldID: UInt32] = [:]
    /// The field that was asked for last: often each record has an edit of the same.
    var last: (field: FieldID, number: UInt32)?
  }

  package init(catalog: Catalog, base: StateVector, strangers: Set<ReplicaID>) {
    (fields, self.base, self.strangers) = (catalog.fields, base, strangers)
  }

  /// A builder of what `base` does not cover in a store whose vector is `target`.
  init(catalog: Catalog, base: StateVector, target: StateVector) {
    // Cells can only be of replicas that the catalog has, so there is nothing to check unless one is not in the
    // vector.
    let strangers = catalog.replicas.values.filter { target[$0] == 0 }
    self.init(catalog: catalog, base: base, strangers: strangers.isEmpty ? [] : Set(strangers))
  }

  /// Adds what `base` does not cover of a record, and hands out each block that this fills.
  package mutating func add(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ body: (BlockDraft) throws -> Void
  ) throws {
    if let new = state.delta(since: base) { try add(name, kind, new: new, body) }
  }

  /// Adds what is known to be all of a record that `base` does not cover, and hands out each block that this fills.
  mutating func add(
    _ name: AnyRecordName, _ kind: RecordKind, new delta: RecordState, _ body: (BlockDraft) throws -> Void
  ) throws {
    if !strangers.isEmpty {
      let vectors = delta.deletes.map(\.context) + [delta.supersededTouches, delta.life?.context ?? StateVector()]
      try check(delta.dots.union(vectors.flatMap(\.entries)))
    }
    let size = delta.approximateByteCount
    guard size > WireLimits.targetBlockBytes || delta.fieldCount > WireLimits.fields else {
      return try add(name, kind, part: delta, size, body)
    }
    let parts = delta.parts(ofBytes: WireLimits.targetBlockBytes, fields: WireLimits.fields)
    for (index, part) in parts.enumerated() {
      // A block has one item a record.
      if index > 0 { try handOut(body) }
      try add(name, kind, part: part, part.approximateByteCount, body)
    }
  }

  private mutating func add(
    _ name: AnyRecordName, _ kind: RecordKind, part: RecordState, _ size: Int, _ body: (BlockDraft) throws -> Void
  ) rethrows {
    // A block has one context for each stamp. Two copies of one store can have deleted under one stamp and not have
    // seen the same.
    for delete in part.deletes where hasOther(context: delete) { try handOut(body) }
    if let life = part.life, lifeContexts[life.stamp].map({ $0 != life.context }) ?? false { try handOut(body) }
    // What is large by itself shares a block with nothing: beside a block that is nearly full it could be too much.
    if size > WireLimits.targetBlockBytes { try handOut(body) }
    var contexts = ContextCells()
    for delete in part.deletes { contexts.add(delete.context, isKnown: has(delete)) }
    if let life = part.life { contexts.add(life.context, isKnown: lifeContexts[life.stamp] != nil) }
    try makeRoom(cells: part.cellCount, contexts: contexts, names: newNames(of: part, kind), of: kind, body)
    for delete in part.deletes { note(delete) }
    if let life = part.life { lifeContexts[life.stamp] = life.context }
    turn(to: kind)
    var part = part
    part.renumberFields { FieldID(rawValue: number(of: $0)) }
    groups[current].records.items.append(.init(name: name, state: part))
    try count(size + name.text.utf8.count, body)
  }

  /// The cells that readers count for the contexts of an item beside those of the item: each context once a block.
  private struct ContextCells {
    /// Those that the block lacks, and all of them, for a block that has none yet.
    private(set) var new = 0
    private(set) var all = 0

    mutating func add(_ context: StateVector, isKnown: Bool) {
      all += context.count
      if !isKnown { new += context.count }
    }
  }

  /// Whether the block has the context of a delete's stamp.
  private func has(_ delete: Delete) -> Bool {
    recentContexts[delete.stamp] != nil || contexts[delete.stamp] != nil
  }

  private mutating func note(_ delete: Delete) {
    guard recentContexts[delete.stamp] == nil else { return }
    contexts[delete.stamp] = delete.context
    recentContexts[delete.stamp] = delete.context
  }

  /// Whether the block has another context for the stamp of a delete.
  private func hasOther(context delete: Delete) -> Bool {
    let known = recentContexts[delete.stamp] ?? contexts[delete.stamp]
    return known.map { $0 != delete.context } ?? false
  }

  /// Adds an insert or an edit of one stamp and at most `cells` cells, and hands out the block if this fills it. `fill`
  /// writes the values, at most `limit` bytes.
  /// - Returns: false if `fill` leaves the record out.
  mutating func pack(
    _ key: (high: UInt64, low: UInt64), _ stamp: Stamp, _ kind: RecordKind, _ content: PackedRecords.Content = .insert,
    cells: Int, limit: Int, _ body: (BlockDraft) throws -> Void, _ fill: (inout ValuePacker) -> UInt64?
  ) throws -> Bool {
    guard !base.covers(stamp.dot) else { return true }
    if !strangers.isEmpty { try check([stamp.dot]) }
    try makeRoom(packing: kind, cells: cells, ContextCells(), body)
    let size = packed[packed.count - 1].records.append(key, stamp, content, limit: limit, fill)
    guard let size else { return false }
    try count(size + 24, body)
    return true
  }

  /// Adds a delete, and hands out the block if this fills it.
  mutating func pack(
    _ key: (high: UInt64, low: UInt64), _ delete: Delete, _ kind: RecordKind, _ body: (BlockDraft) throws -> Void
  ) throws {
    if !strangers.isEmpty { try check(Set([delete.stamp.dot] + delete.context.entries)) }
    if hasOther(context: delete) { try handOut(body) }
    var contexts = ContextCells()
    contexts.add(delete.context, isKnown: has(delete))
    try makeRoom(packing: kind, cells: 2 + delete.context.count, contexts, body)
    note(delete)
    packed[packed.count - 1].records.append(key, delete)
    try count(24, body)
  }

  /// Makes room for a packed record of a kind. Rows come kind by kind.
  private mutating func makeRoom(
    packing kind: RecordKind, cells: Int, _ contexts: ContextCells, _ body: (BlockDraft) throws -> Void
  ) throws {
    let isNew = packed.last?.kind != kind.number
    try makeRoom(cells: cells, contexts: contexts, names: isNew ? kind.columns.count : 0, of: kind, body)
    guard isNew else { return }
    let fields = kind.wireOrder.map { kind.columns[$0].key }
    packed.append((kind.number, PackedRecords(type: kind.type, fields: fields)))
    nameCount += fields.count
  }

  /// Adds what `base` does not cover of a link, and hands out the block if this fills it.
  package mutating func add(
    _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement, _ body: (BlockDraft) throws -> Void
  ) throws {
    guard let element = element.delta(since: base) else { return }
    if !strangers.isEmpty { try check(element.dots) }
    let empty = DeltaBlock.Links(source: kind.source, relationship: kind.relationship, target: kind.target, items: [])
    var rest = element.tags[...]
    var place = element.place
    repeat {
      var part = ORSetElement()
      part.tags = Array(rest.prefix(Self.tagLimit))
      part.place = place
      // A block has one item a link.
      if rest.count < element.tags.count { try handOut(body) }
      rest = rest.dropFirst(part.tags.count)
      let (cells, bytes) = (part.tags.count + (place == nil ? 0 : 1), place?.position.bytes.count ?? 0)
      place = nil
      try makeRoom(cells: 2 * cells, body)
      links[kind.number, default: empty].items.append(.init(source: key.source, target: key.target, element: part))
      try count(key.source.text.utf8.count + key.target.text.utf8.count + 8 * cells + bytes, body)
    } while !rest.isEmpty
  }

  private func check(_ dots: Set<Dot>) throws(StoreError) {
    guard let dot = dots.filter({ strangers.contains($0.replica) }).min() else { return }
    throw StoreError(.corrupt, "there is a cell of \(dot), which the vector does not cover")
  }

  /// Returns the number of field names that an item adds to the block, or more.
  private func newNames(of part: RecordState, _ kind: RecordKind) -> Int {
    let most = part.fieldCount
    guard nameCount + most > WireLimits.blockFieldNames || nameCount(of: kind) + most > WireLimits.fields else {
      return most
    }
    let known = place(of: kind).map { groups[$0].numbers } ?? [:]
    let layers = part.seed?.layers.flatMap(\.fields) ?? []
    return Set((part.fields + layers).map(\.field)).count { known[$0] == nil }
  }

  private func nameCount(of kind: RecordKind) -> Int {
    (place(of: kind).map { groups[$0].records.fields.count } ?? 0)
      + (packed.last?.kind == kind.number ? kind.columns.count : 0)
  }

  /// Hands out the block if it would have more than readers take: cells, or names of fields, of the item's type and of
  /// all types. The next item can add at most `names` names.
  private mutating func makeRoom(
    cells: Int, contexts: ContextCells = ContextCells(), names: Int = 0, of kind: RecordKind? = nil,
    _ body: (BlockDraft) throws -> Void
  ) rethrows {
    let own = kind.map { nameCount(of: $0) + names } ?? 0
    let isFull =
      cellCount + cells + contexts.new > WireLimits.blockCells || nameCount + names > WireLimits.blockFieldNames
      || own > WireLimits.fields
    if isFull { try handOut(body) }
    cellCount += cells + (isFull ? contexts.all : contexts.new)
  }

  private mutating func count(_ bytes: Int, _ body: (BlockDraft) throws -> Void) rethrows {
    count += 1
    byteCount += bytes
    if count >= WireLimits.targetBlockItems || byteCount >= WireLimits.targetBlockBytes { try handOut(body) }
  }

  /// Where the kind's records are; nil if the block has none.
  private func place(of kind: RecordKind) -> Int? {
    if current < groups.count, groups[current].kind == kind.number { return current }
    return groups.firstIndex { $0.kind == kind.number }
  }

  private mutating func turn(to kind: RecordKind) {
    current = place(of: kind) ?? groups.count
    guard current == groups.count else { return }
    groups.append(Group(kind: kind.number, records: .init(type: kind.type, fields: [], items: [])))
  }

  private mutating func number(of field: FieldID) -> UInt32 {
    if let last = groups[current].last, last.field == field { return last.number }
    let number = groups[current].numbers[field] ?? add(field)
    groups[current].last = (field, number)
    return number
  }

  private mutating func add(_ field: FieldID) -> UInt32 {
    let number = UInt32(groups[current].records.fields.count)
    groups[current].numbers[field] = number
    groups[current].records.fields.append(fields[field]?.key ?? "")
    nameCount += 1
    return number
  }

  /// Hands out the block so far, unless it is empty, and starts the next.
  package mutating func handOut(_ body: (BlockDraft) throws -> Void) rethrows {
    guard count > 0 else { return }
    let block = DeltaBlock(records: groups.map(\.records), links: Array(links.values))
    try body(BlockDraft(block, packed: packed.map(\.records)))
    (groups, current, links, contexts, lifeContexts) = ([], 0, [:], [:], [:])
    recentContexts.removeAll()
    (count, byteCount, cellCount, nameCount) = (0, 0, 0, 0)
    // More rows of the last kind may come; their memory is used again.
    packed.removeFirst(max(0, packed.count - 1))
    nameCount = packed.first?.records.fields.count ?? 0
    if !packed.isEmpty { packed[0].records.removeAll() }
  }
}
