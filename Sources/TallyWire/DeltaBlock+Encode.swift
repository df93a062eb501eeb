import TallyCRDT

extension DeltaBlock {
  /// The canonical bytes. `replicas` are those of the delta's header, ascending.
  package func encoded(replicas: [ReplicaID]) -> [UInt8] {
    let numbers = Dictionary(uniqueKeysWithValues: replicas.enumerated().map { ($0.element, $0.offset) })
    var dictionaries = BlockDictionaries()
    for group in records { for item in group.items { dictionaries.note(item.state) } }
    for group in links { for item in group.items { dictionaries.note(item.element) } }
    dictionaries.seal()
    var writer = ByteWriter()
    dictionaries.encode(to: &writer, replicas: numbers)
    encodeRecords(to: &writer, &dictionaries, numbers)
    encodeLinks(to: &writer, &dictionaries, numbers)
    return writer.bytes
  }

  private func encodeRecords(
    to writer: inout ByteWriter, _ dictionaries: inout BlockDictionaries, _ replicas: [ReplicaID: Int]
  ) {
    let groups = records.filter { !$0.items.isEmpty }.sorted { $0.type.utf8.lexicographicallyPrecedes($1.type.utf8) }
    writer.varint(groups.count)
    for group in groups {
      var encoder = RecordEncoder(group)
      writer.text(group.type)
      writer.varint(encoder.fields.count)
      for field in encoder.fields { writer.text(field) }
      let keyed = group.items.map { (RecordKey($0.name), $0.state) }.sorted { $0.0 < $1.0 }
      let split = keyed.firstIndex { $0.0.isText } ?? keyed.count
      for part in [keyed[..<split], keyed[split...]] {
        writer.varint(part.count)
        for (key, state) in part {
          writer.key(key)
          encoder.encode(state, to: &writer, &dictionaries, replicas)
        }
      }
    }
  }

  private func encodeLinks(
    to writer: inout ByteWriter, _ dictionaries: inout BlockDictionaries, _ replicas: [ReplicaID: Int]
  ) {
    func id(_ group: Links) -> String { "\(group.source).\(group.relationship).\(group.target)" }
    let groups = links.filter { !$0.items.isEmpty }.sorted { id($0).utf8.lexicographicallyPrecedes(id($1).utf8) }
    writer.varint(groups.count)
    for group in groups {
      writer.text(group.source)
      writer.text(group.relationship)
      writer.text(group.target)
      let keyed = group.items.map { (RecordKey($0.source), RecordKey($0.target), $0.element) }
        .sorted { $0.0 != $1.0 ? $0.0 < $1.0 : $0.1 < $1.1 }
      writer.varint(keyed.count)
      var previous: RecordKey?
      for (source, target, element) in keyed {
        writer.link(source == previous ? nil : source, target, element, &dictionaries)
        previous = source
      }
    }
  }
}

/// What the flags of a record say.
enum RecordFlags {
  static let existence: UInt8 = 1
  /// All cells, existence included, have one stamp.
  static let oneStamp: UInt8 = 2
  static let superseded: UInt8 = 4
  static let deletes: UInt8 = 8
  static let layers: UInt8 = 16
  static let basis: UInt8 = 32
  static let all: UInt8 = 63
}

/// What the flags of a link say.
enum LinkFlags {
  static let sourceIsText: UInt8 = 1
  static let targetIsText: UInt8 = 2
  static let sameSource: UInt8 = 4
  /// One tag that is not removed.
  static let simple: UInt8 = 8
  static let all: UInt8 = 15
}

private struct RecordEncoder {
  /// The names of the fields in use, ascending.
  let fields: [String]
  /// For each field of the group its place in `fields`.
  private let places: [Int]
  private let isIdentity: Bool

  init(_ group: DeltaBlock.Records) {
    var used = [Bool](repeating: false, count: group.fields.count)
    for item in group.items {
      for cell in item.state.fields { used[Int(cell.field.rawValue)] = true }
      for layer in item.state.seed?.layers ?? [] {
        for cell in layer.fields { used[Int(cell.field.rawValue)] = true }
      }
    }
    let order = group.fields.indices.filter { used[$0] }
      .sorted { group.fields[$0].utf8.lexicographicallyPrecedes(group.fields[$1].utf8) }
    fields = order.map { group.fields[$0] }
    var places = [Int](repeating: -1, count: group.fields.count)
    for (place, field) in order.enumerated() { places[field] = place }
    self.places = places
    isIdentity = order.elementsEqual(0..<order.count)
  }

  mutating func encode(
    _ state: RecordState, to writer: inout ByteWriter, _ dictionaries: inout BlockDictionaries,
    _ replicas: [ReplicaID: Int]
  ) {
    let shared = state.sharedStamp
    var flags: UInt8 = state.existence == nil ? 0 : RecordFlags.existence
    if shared != nil { flags |= RecordFlags.oneStamp }
    if !state.supersededTouches.isEmpty { flags |= RecordFlags.superseded }
    if !state.deletes.isEmpty { flags |= RecordFlags.deletes }
    if let seed = state.seed {
      if !seed.layers.isEmpty { flags |= RecordFlags.layers }
      if seed.basis != nil { flags |= RecordFlags.basis }
    }
    writer.byte(flags)
    if let stamp = shared ?? state.existence { writer.varint(dictionaries.number(of: stamp)) }
    encodeFields(state.fields, hasSharedStamp: shared != nil, to: &writer, &dictionaries)
    if !state.supersededTouches.isEmpty { writer.vector(state.supersededTouches, replicas) }
    if !state.deletes.isEmpty {
      writer.varint(state.deletes.count)
      for delete in state.deletes { writer.varint(dictionaries.number(of: delete.stamp)) }
    }
    if let seed = state.seed { encode(seed, to: &writer, &dictionaries) }
  }

  private func encode(_ seed: SeedState, to writer: inout ByteWriter, _ dictionaries: inout BlockDictionaries) {
    if !seed.layers.isEmpty { writer.varint(seed.layers.count) }
    for layer in seed.layers {
      writer.varint(dictionaries.number(of: layer.stamp) << 1 | (layer.isRetired ? 1 : 0))
      if !layer.isRetired { encodeFields(layer.fields, hasSharedStamp: true, to: &writer, &dictionaries) }
    }
    guard let basis = seed.basis else { return }
    writer.varint(dictionaries.number(of: basis.stamp))
    writer.varint(dictionaries.number(of: basis.layer))
  }

  private func encodeFields(
    _ cells: [FieldCell], hasSharedStamp: Bool, to writer: inout ByteWriter,
    _ dictionaries: inout BlockDictionaries
  ) {
    let start = writer.bytes.count
    for _ in 0..<(fields.count + 7) / 8 { writer.byte(0) }
    func encode(_ cell: FieldCell, at place: Int) {
      writer.bytes[start + place / 8] |= 1 << UInt8(place % 8)
      if !hasSharedStamp { writer.varint(dictionaries.number(of: cell.stamp)) }
      writer.value(cell.value)
    }
    if isIdentity {
      for cell in cells { encode(cell, at: Int(cell.field.rawValue)) }
    } else {
      let placed = cells.map { (places[Int($0.field.rawValue)], $0) }.sorted { $0.0 < $1.0 }
      for (place, cell) in placed { encode(cell, at: place) }
    }
  }
}

extension RecordState {
  /// The one stamp of all cells, existence included; nil if they differ or there are no fields.
  fileprivate var sharedStamp: Stamp? {
    guard let stamp = fields.first?.stamp, existence == nil || existence == stamp else {
      return nil
    }
    for cell in fields where cell.stamp != stamp { return nil }
    return stamp
  }
}

extension ByteWriter {
  fileprivate mutating func link(
    _ source: RecordKey?, _ target: RecordKey, _ element: ORSetElement, _ dictionaries: inout BlockDictionaries
  ) {
    var flags: UInt8 = target.isText ? LinkFlags.targetIsText : 0
    if let source { flags |= source.isText ? LinkFlags.sourceIsText : 0 } else { flags |= LinkFlags.sameSource }
    if element.uniformStamp != nil { flags |= LinkFlags.simple }
    byte(flags)
    if let source { key(source) }
    key(target)
    if let stamp = element.uniformStamp { return varint(dictionaries.number(of: stamp)) }
    varint(element.tags.count)
    for tag in element.tags {
      varint(dictionaries.number(of: tag.added))
      varint(tag.removed.map { dictionaries.number(of: $0) + 1 } ?? 0)
    }
  }
}
