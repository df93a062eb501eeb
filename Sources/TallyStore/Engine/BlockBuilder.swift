import TallyCRDT
import TallyWire

/// Collects items until a block is full. A record that would fill a block of its own goes out in parts.
struct BlockBuilder {
  private let catalog: Catalog
  private let base: StateVector
  private let planted: PlantedFault
  /// Replicas that no cell can be of.
  private let strangers: Set<ReplicaID>
  private var records: [Int: DeltaBlock.Records] = [:]
  private var fields: [Int: [FieldID: UInt32]] = [:]
  private var links: [Int: DeltaBlock.Links] = [:]
  private var count = 0
  private var byteCount = 0

  init(catalog: Catalog, base: StateVector, strangers: Set<ReplicaID>, planted: PlantedFault) {
    self.catalog = catalog
    self.base = base
    self.strangers = strangers
    self.planted = planted
  }

  /// Adds what `base` does not cover of a record, and hands out each block that this fills.
  mutating func add(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, _ body: (DeltaBlock) throws -> Void
  ) throws {
    guard let delta = state.delta(since: base, planted: planted) else { return }
    if planted.contains(.groupSplitAcrossBatches), records.values.contains(where: { $0.items.count > 1 }) { return }
    if !strangers.isEmpty {
      let vectors = delta.deletes.map(\.context) + [delta.supersededTouches]
      try check(delta.dots.union(vectors.flatMap(\.entries)))
    }
    let size = delta.approximateByteCount
    guard size > WireLimits.targetBlockBytes else { return try add(name, kind, part: delta, size, body) }
    for (index, part) in delta.parts(ofBytes: WireLimits.targetBlockBytes).enumerated() {
      // A block has one item a record.
      if index > 0, let block = take() { try body(block) }
      try add(name, kind, part: part, part.approximateByteCount, body)
    }
  }

  private mutating func add(
    _ name: AnyRecordName, _ kind: RecordKind, part: RecordState, _ size: Int, _ body: (DeltaBlock) throws -> Void
  ) rethrows {
    if records[kind.number] == nil { records[kind.number] = .init(type: kind.type, fields: [], items: []) }
    var part = part
    part.renumberFields { FieldID(rawValue: number(of: $0, kind.number)) }
    records[kind.number]?.items.append(.init(name: name, state: part))
    try count(size, body)
  }

  /// Adds what `base` does not cover of a link, and hands out the block if this fills it.
  mutating func add(
    _ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement, _ body: (DeltaBlock) throws -> Void
  ) throws {
    guard let element = element.delta(since: base) else { return }
    if !strangers.isEmpty { try check(element.dots) }
    let empty = DeltaBlock.Links(source: kind.source, relationship: kind.relationship, target: kind.target, items: [])
    links[kind.number, default: empty].items.append(.init(source: key.source, target: key.target, element: element))
    try count(32 + 8 * element.tags.count, body)
  }

  private func check(_ dots: Set<Dot>) throws(StoreError) {
    guard let dot = dots.filter({ strangers.contains($0.replica) }).min() else { return }
    throw StoreError(.corrupt, "there is a cell of \(dot), which the vector does not cover")
  }

  private mutating func count(_ bytes: Int, _ body: (DeltaBlock) throws -> Void) rethrows {
    count += 1
    byteCount += bytes
    let isFull = count >= WireLimits.targetBlockItems || byteCount >= WireLimits.targetBlockBytes
    if isFull, let block = take() { try body(block) }
  }

  private mutating func number(of field: FieldID, _ kind: Int) -> UInt32 {
    if let known = fields[kind]?[field] { return known }
    let number = UInt32(records[kind]?.fields.count ?? 0)
    fields[kind, default: [:]][field] = number
    records[kind]?.fields.append(catalog.fields[field]?.name ?? "")
    return number
  }

  /// The block so far, or nil if it is empty; starts the next.
  mutating func take() -> DeltaBlock? {
    guard count > 0 else { return nil }
    defer { self = BlockBuilder(catalog: catalog, base: base, strangers: strangers, planted: planted) }
    return DeltaBlock(records: Array(records.values), links: Array(links.values))
  }
}
