import TallyCRDT

extension DeltaBlock {
  /// Reads the canonical bytes of a block whose replica numbers are places in `limits`, of a version of the format.
  /// - Throws: `WireError`.
  package init(live bytes: [UInt8], limits: [Dot], version: UInt8) throws(WireError) {
    self = try BlockDraft(canonical: bytes, limits: limits, packs: false, version: version).block
  }
}

extension BlockDraft {
  /// Reads the canonical bytes of a block. `limits` are the replicas by number, each with the highest sequence that a
  /// cell may have. With `packs`, records that need no states are left packed. `version` is that of the format.
  package init(
    canonical bytes: [UInt8], limits: [Dot], packs: Bool, version: UInt8 = DeltaHeader.versions.upperBound
  ) throws(WireError) {
    self = try bytes.withUnsafeBufferPointer { buffer throws(WireError) in
      try BlockDraft(decoding: UnsafeRawBufferPointer(buffer), limits: limits, packs: packs, version: version)
    }
    // Unused dictionary entries and roundabout flags decode to the same items; only their shortest form is accepted.
    let isCanonical = bytes.withUnsafeBytes { isEncoded(as: $0, replicas: limits.map { $0.replica }) }
    guard isCanonical else { throw WireError(.malformed, "a block is not in its canonical form") }
  }

  private init(
    decoding bytes: UnsafeRawBufferPointer, limits: [Dot], packs: Bool, version: UInt8
  ) throws(WireError) {
    self.init(DeltaBlock())
    var reader = ByteReader(bytes)
    var budget = BlockBudget()
    let dictionaries = try BlockDictionaries.decode(&reader, limits: limits, &budget)
    var lastType: String?
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 4, "types")) {
      let (group, packed) = try Self.decodeRecords(&reader, dictionaries, limits, &budget, packs, version)
      if let lastType, !lastType.utf8.lexicographicallyPrecedes(group.type.utf8) {
        throw WireError(.malformed, "the types are not ascending")
      }
      lastType = group.type
      if !group.items.isEmpty { block.records.append(group) }
      if let packed, !packed.items.isEmpty { self.packed.append(packed) }
    }
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 4, "relationships")) {
      let group = try Self.decodeLinks(&reader, dictionaries, &budget, version)
      if let last = block.links.last, !Self.id(last).utf8.lexicographicallyPrecedes(Self.id(group).utf8) {
        throw WireError(.malformed, "the relationships are not ascending")
      }
      block.links.append(group)
    }
    guard reader.remaining == 0 else { throw WireError(.malformed, "bytes follow the end of a block") }
    guard !isEmpty else { throw WireError(.malformed, "a block has nothing in it") }
  }

  private static func id(_ group: DeltaBlock.Links) -> String {
    "\(group.source).\(group.relationship).\(group.target)"
  }

  private static func decodeRecords(
    _ reader: inout ByteReader, _ dictionaries: BlockDictionaries, _ limits: [Dot], _ budget: inout BlockBudget,
    _ packs: Bool, _ version: UInt8
  ) throws(WireError) -> (DeltaBlock.Records, PackedRecords?) {
    let type = try reader.identifier("a type")
    let (fields, kinds, columns) = try decodeColumns(&reader, limits, &budget, version)
    let keys = try decodeKeys(&reader, type: type, &budget)
    var decoder = RecordDecoder(
      columns: columns, kinds: kinds, dictionaries: dictionaries, limits: limits, budget: budget)
    var group = DeltaBlock.Records(type: type, fields: fields, items: [])
    var packed: PackedRecords?
    if packs, keys.count >= PackedRecords.fewest, fields.count <= PackedRecords.maximumFields {
      packed = PackedRecords(type: type, fields: fields, byteCount: columns.reduce(0) { $0 + $1.remaining })
    } else {
      group.items.reserveCapacity(keys.count)
    }
    for key in keys {
      if case .uuid(let high, let low) = key {
        if try decoder.pack(&reader, (high, low), into: &packed) { continue }
        if try decoder.packDelete(&reader, (high, low), into: &packed) { continue }
      }
      group.items.append(DeltaBlock.Record(name: try key.name(type: type), state: try decoder.decode(&reader)))
    }
    guard decoder.columns.allSatisfy({ $0.remaining == 0 }) else {
      throw WireError(.malformed, "a field has more values than cells")
    }
    budget = decoder.budget
    return (group, packed)
  }

  /// The names of the fields, what these say of them, and where their values stand.
  private static func decodeColumns(
    _ reader: inout ByteReader, _ limits: [Dot], _ budget: inout BlockBudget, _ version: UInt8
  ) throws(WireError) -> (fields: [String], kinds: [FieldKey.Kind], columns: [ByteReader]) {
    var fields: [String] = []
    var kinds: [FieldKey.Kind] = []
    var lengths: [Int] = []
    let count = try reader.count(limit: WireLimits.fields, "fields")
    try budget.take(names: count)
    for _ in 0..<count {
      let (field, kind) = try reader.fieldKey(limits, version: version)
      if let last = fields.last, !last.utf8.lexicographicallyPrecedes(field.utf8) {
        throw WireError(.malformed, "the fields are not ascending")
      }
      fields.append(field)
      kinds.append(kind)
      lengths.append(try reader.count(limit: WireLimits.blockBytes, "the values of a field"))
    }
    var columns: [ByteReader] = []
    for length in lengths { columns.append(ByteReader(try reader.take(length))) }
    return (fields, kinds, columns)
  }

  private static func decodeKeys(
    _ reader: inout ByteReader, type: String, _ budget: inout BlockBudget
  ) throws(WireError) -> [RecordKey] {
    var keys: [RecordKey] = []
    for isText in [false, true] {
      let count = try reader.count(ofElementsWithAtLeast: isText ? 2 : 16, "records")
      try budget.take(items: count)
      keys.reserveCapacity(keys.count + count)
      for _ in 0..<count {
        let key =
          isText
          ? try reader.recordName(type: type, isText: true).0
          : RecordKey.uuid(high: try reader.fixed(), low: try reader.fixed())
        if let last = keys.last, !(last < key) { throw WireError(.malformed, "the records are not ascending") }
        keys.append(key)
      }
    }
    guard !keys.isEmpty else { throw WireError(.malformed, "a type has no records") }
    return keys
  }

  private static func decodeLinks(
    _ reader: inout ByteReader, _ dictionaries: BlockDictionaries, _ budget: inout BlockBudget, _ version: UInt8
  ) throws(WireError) -> DeltaBlock.Links {
    var group = DeltaBlock.Links(
      source: try reader.identifier("a type"), relationship: try reader.identifier("a relationship"),
      target: try reader.identifier("a type"), items: [])
    var last: (source: RecordKey, name: AnyRecordName, target: RecordKey)?
    let count = try reader.count(ofElementsWithAtLeast: 4, "links")
    try budget.take(items: count)
    let known = LinkFlags.known(in: version)
    for _ in 0..<count {
      let flags = try reader.byte()
      guard flags & ~known == 0 else { throw WireError(.malformed, "unknown flags of a link") }
      let source: (RecordKey, AnyRecordName)
      if flags & LinkFlags.sameSource != 0 {
        guard let last, flags & LinkFlags.sourceIsText == 0 else {
          throw WireError(.malformed, "a link without a source")
        }
        source = (last.source, last.name)
      } else {
        source = try reader.recordName(type: group.source, isText: flags & LinkFlags.sourceIsText != 0)
        if let last, !(last.source < source.0) { throw WireError(.malformed, "the links are not ascending") }
      }
      let target = try reader.recordName(type: group.target, isText: flags & LinkFlags.targetIsText != 0)
      if let last, last.source == source.0, !(last.target < target.0) {
        throw WireError(.malformed, "the links are not ascending")
      }
      last = (source.0, source.1, target.0)
      let element = try reader.element(flags, dictionaries, &budget)
      group.items.append(DeltaBlock.Link(source: source.1, target: target.1, element: element))
    }
    guard !group.items.isEmpty else { throw WireError(.malformed, "a relationship has no links") }
    return group
  }
}

private struct RecordDecoder {
  /// The values that are left of each field.
  var columns: [ByteReader]
  /// For each field what its key says of it.
  private let kinds: [FieldKey.Kind]
  /// Whether any of them is one whose values are numbers alone.
  private let hasNumbers: Bool
  let dictionaries: BlockDictionaries
  let limits: [Dot]
  private(set) var budget: BlockBudget
  /// The values of the record that is being packed.
  private var values: [UnsafeRawBufferPointer] = []

  init(
    columns: [ByteReader], kinds: [FieldKey.Kind], dictionaries: BlockDictionaries, limits: [Dot], budget: BlockBudget
  ) {
    (self.columns, self.kinds, self.dictionaries) = (columns, kinds, dictionaries)
    hasNumbers = kinds.contains { $0 != .field && $0 != .reference }
    (self.limits, self.budget) = (limits, budget)
  }

  /// Packs a record that has one stamp and nothing but registers, with or without existence.
  /// - Returns: false for any other, of which nothing has been read then.
  mutating func pack(
    _ reader: inout ByteReader, _ key: (high: UInt64, low: UInt64), into packed: inout PackedRecords?
  ) throws(WireError) -> Bool {
    guard packed != nil, let flags = reader.next, flags & ~RecordFlags.existence == RecordFlags.oneStamp else {
      return false
    }
    _ = try reader.byte()
    let stamp = try reader.stamp(dictionaries)
    let bytes = try reader.take((columns.count + 7) / 8)
    let mask = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard mask != 0 else { throw WireError(.malformed, "one stamp of no fields") }
    guard UInt64.bitWidth - mask.leadingZeroBitCount <= columns.count else {
      throw WireError(.malformed, "a field number is out of range")
    }
    try budget.take(cells: mask.nonzeroBitCount)
    values.removeAll(keepingCapacity: true)
    var rest = mask
    while rest != 0 {
      let field = rest.trailingZeroBitCount
      let value = try columns[field].valueBytes()
      if hasNumbers { try check(field, stamp, value[0]) }
      values.append(value)
      rest &= rest - 1
    }
    let limit = values.reduce(0) { $0 + $1.count }
    _ = packed?.append(key, stamp, flags & RecordFlags.existence != 0 ? .insert : .edit, limit: limit) { packer in
      for value in values { packer.value(value) }
      return mask
    }
    return true
  }

  /// Packs a record that has one delete and nothing else.
  /// - Returns: false for any other, of which nothing has been read then.
  mutating func packDelete(
    _ reader: inout ByteReader, _ key: (high: UInt64, low: UInt64), into packed: inout PackedRecords?
  ) throws(WireError) -> Bool {
    guard packed != nil, reader.next == RecordFlags.deletes else { return false }
    var ahead = reader
    _ = try ahead.byte()
    guard try ahead.take((columns.count + 7) / 8).allSatisfy({ $0 == 0 }), ahead.next == 1 else { return false }
    _ = try ahead.byte()
    try budget.take(cells: 1)
    let delete = try delete(&ahead)
    packed?.append(key, delete)
    reader = ahead
    return true
  }

  mutating func decode(_ reader: inout ByteReader) throws(WireError) -> RecordState {
    var state = RecordState()
    let flags = try reader.byte()
    guard flags & ~RecordFlags.all == 0 else { throw WireError(.malformed, "unknown flags of a record") }
    var shared: Stamp?
    if flags & RecordFlags.oneStamp != 0 { shared = try reader.stamp(dictionaries) }
    if flags & RecordFlags.existence != 0 {
      state.existence = if let shared { shared } else { try reader.stamp(dictionaries) }
    }
    state.fields = try decodeFields(&reader, shared: shared)
    if flags & RecordFlags.superseded != 0 {
      state.supersededTouches = try reader.vector(limits, &budget)
      guard state.supersededTouches == state.supersededTouches.beyond(state.cellTouches) else {
        throw WireError(.malformed, "a superseded touch is not superseded")
      }
    }
    if flags & RecordFlags.deletes != 0 { state.deletes = try decodeDeletes(&reader) }
    if flags & (RecordFlags.layers | RecordFlags.basis) != 0 { state.seed = try decodeSeed(&reader, flags) }
    if flags & RecordFlags.life != 0 { state.life = try decodeLife(&reader, of: state.fields) }
    guard !state.isEmpty else { throw WireError(.malformed, "a record without cells") }
    return state
  }

  private mutating func decodeLife(_ reader: inout ByteReader, of cells: [FieldCell]) throws(WireError) -> Life {
    let stamp = try reader.stamp(dictionaries)
    guard stamp.rank == .user else { throw WireError(.malformed, "a life has the wrong rank") }
    guard let context = dictionaries.lifeContexts[stamp] else { throw WireError(.malformed, "a life has no context") }
    // Records share it, and what is made of a record's life they do not.
    try budget.take(cells: 1 + context.count)
    var life = Life(time: stamp.time, dot: stamp.dot, context: context)
    life.said = try reader.dot(in: life, limits)
    for cell in cells where !kinds[Int(cell.field.rawValue)].isPresence {
      guard let dot = try reader.dot(in: life, limits) else { continue }
      try budget.take(cells: 1)
      life.vias.append(Life.Via(field: cell.field, dot: dot))
    }
    return life
  }

  private mutating func decodeFields(
    _ reader: inout ByteReader, shared: Stamp?, mayBeEmpty: Bool = false
  ) throws(WireError) -> [FieldCell] {
    let mask = try reader.take((columns.count + 7) / 8)
    var cells: [FieldCell] = []
    // Not `columns.count`: many sparse records would reserve a thousand times what they hold.
    let count = mask.reduce(0) { $0 + $1.nonzeroBitCount }
    try budget.take(cells: count)
    cells.reserveCapacity(count)
    for field in 0..<mask.count * 8 where mask[field / 8] >> UInt8(field % 8) & 1 != 0 {
      guard field < columns.count else { throw WireError(.malformed, "a field number is out of range") }
      let stamp = if let shared { shared } else { try reader.stamp(dictionaries) }
      let value = try columns[field].value()
      if hasNumbers {
        try check(field, stamp, value.tag)
        // What seeds say is no addition.
        if mayBeEmpty, kinds[field].isPresence, kinds[field] != .reference {
          throw WireError(.malformed, "a seed adds to a counter")
        }
      }
      cells.append(FieldCell(field: FieldID(rawValue: UInt32(field)), stamp: stamp, value: value))
    }
    if shared != nil, cells.isEmpty, !mayBeEmpty { throw WireError(.malformed, "one stamp of no fields") }
    return cells
  }

  private func check(_ field: Int, _ stamp: Stamp, _ storageClass: UInt8) throws(WireError) {
    guard kinds[field].accepts(stamp, storageClass) else {
      throw WireError(.malformed, "a field of numbers has what no such field can have")
    }
  }

  private mutating func decodeSeed(_ reader: inout ByteReader, _ flags: UInt8) throws(WireError) -> SeedState {
    var layers: [SeedLayer] = []
    if flags & RecordFlags.layers != 0 {
      let count = try reader.count(ofElementsWithAtLeast: 1, "layers")
      try budget.take(cells: count)
      var dots = Set<Dot>()
      for _ in 0..<count {
        let head = try reader.varint()
        let stamp = try dictionaries.stamp(number: head >> 1)
        guard stamp.rank == .seed else { throw WireError(.malformed, "a layer has not the rank of a seed") }
        if let last = layers.last, !(last.stamp < stamp) {
          throw WireError(.malformed, "the layers are not ascending")
        }
        guard dots.insert(stamp.dot).inserted else {
          throw WireError(.malformed, "two layers have one dot")
        }
        let isRetired = head & 1 != 0
        let fields = isRetired ? [] : try decodeFields(&reader, shared: stamp, mayBeEmpty: true)
        layers.append(SeedLayer(stamp: stamp, isRetired: isRetired, fields: fields))
      }
      guard !layers.isEmpty else { throw WireError(.malformed, "a seed without layers") }
    }
    guard flags & RecordFlags.basis != 0 else { return SeedState(layers: layers) }
    let basis = SeedBasis(stamp: try reader.stamp(dictionaries), layer: try reader.stamp(dictionaries))
    guard basis.stamp.rank >= .user, basis.layer.rank == .seed else {
      throw WireError(.malformed, "a basis has the wrong rank")
    }
    return SeedState(layers: layers, basis: basis)
  }

  private mutating func decodeDeletes(_ reader: inout ByteReader) throws(WireError) -> [Delete] {
    var deletes: [Delete] = []
    let count = try reader.count(ofElementsWithAtLeast: 1, "deletes")
    try budget.take(cells: count)
    for _ in 0..<count {
      let delete = try delete(&reader)
      if let last = deletes.last, !(last.stamp.dot < delete.stamp.dot) {
        throw WireError(.malformed, "the deletes are not ascending")
      }
      deletes.append(delete)
    }
    try checkNoneSawAnother(deletes)
    return deletes
  }

  private mutating func delete(_ reader: inout ByteReader) throws(WireError) -> Delete {
    let stamp = try reader.stamp(dictionaries)
    guard let context = dictionaries.contexts[stamp] else { throw WireError(.malformed, "a delete has no context") }
    // Deletes share it, and what is made of a record's deletes they do not.
    try budget.take(cells: context.count)
    return Delete(stamp: stamp, context: context)
  }
}

/// A delete that another one has seen is dropped by the join, so a state never has both.
private func checkNoneSawAnother(_ deletes: [Delete]) throws(WireError) {
  guard deletes.count > 1 else { return }
  var dots = StateVector()
  for delete in deletes {
    // A context covers its own replica's earlier deletes.
    guard dots[delete.stamp.dot.replica] == 0 else { throw WireError(.malformed, "a delete has seen another") }
    dots.include(delete.stamp.dot)
  }
  for delete in deletes {
    for seen in delete.context.entries where seen.replica != delete.stamp.dot.replica {
      let other = dots[seen.replica]
      guard other == 0 || other > seen.sequence else { throw WireError(.malformed, "a delete has seen another") }
    }
  }
}

extension BlockDictionaries {
  fileprivate func stamp(number: UInt64) throws(WireError) -> Stamp {
    guard number < UInt64(stamps.count) else { throw WireError(.malformed, "a stamp number is out of range") }
    return stamps[Int(number)]
  }
}

extension RecordState {
  fileprivate var cellTouches: StateVector {
    var result = StateVector()
    if let existence, existence.rank >= .user { result.include(existence.dot) }
    for cell in fields where cell.stamp.rank >= .user { result.include(cell.stamp.dot) }
    return result
  }
}

extension ByteReader {
  /// A dot in a life; nil for none.
  fileprivate mutating func dot(in life: Life, _ limits: [Dot]) throws(WireError) -> Dot? {
    let number = try varint()
    guard number >= UInt64(LifeDots.other) else { return number == UInt64(LifeDots.own) ? life.dot : nil }
    let limit = try limit(number: number - UInt64(LifeDots.other), limits)
    let sequence = try varint()
    guard sequence > 0, sequence <= limit.sequence else {
      throw WireError(.malformed, "a sequence is beyond the delta's vector")
    }
    return Dot(replica: limit.replica, sequence: sequence)
  }

  fileprivate mutating func stamp(_ dictionaries: BlockDictionaries) throws(WireError) -> Stamp {
    try dictionaries.stamp(number: try varint())
  }

  fileprivate mutating func element(
    _ flags: UInt8, _ dictionaries: BlockDictionaries, _ budget: inout BlockBudget
  ) throws(WireError) -> ORSetElement {
    var element: ORSetElement
    if flags & LinkFlags.simple != 0 {
      try budget.take(cells: 2)
      element = ORSetElement(added: try stamp(dictionaries))
    } else {
      element = try tags(dictionaries, &budget)
      guard element.uniformStamp == nil, !element.isEmpty || flags & LinkFlags.place != 0 else {
        throw WireError(.malformed, "a link is not in its shortest form")
      }
    }
    guard flags & (LinkFlags.place | LinkFlags.placeOfTag) != 0 else { return element }
    element.place = try place(flags, uniform: element.uniformStamp, dictionaries, &budget)
    return element
  }

  private mutating func place(
    _ flags: UInt8, uniform: Stamp?, _ dictionaries: BlockDictionaries, _ budget: inout BlockBudget
  ) throws(WireError) -> ORSetElement.Place {
    try budget.take(cells: 2)
    let stamp: Stamp
    if flags & LinkFlags.placeOfTag != 0 {
      guard flags & LinkFlags.place != 0, let uniform else {
        throw WireError(.malformed, "a place has the stamp of no tag")
      }
      stamp = uniform
    } else {
      stamp = try self.stamp(dictionaries)
      guard stamp != uniform else { throw WireError(.malformed, "a place is not in its shortest form") }
    }
    let count = try count(limit: ListPosition.byteLimit, "a position")
    guard let position = ListPosition(bytes: Array(try take(count))) else {
      throw WireError(.malformed, "a position has no bytes")
    }
    return ORSetElement.Place(stamp: stamp, position: position)
  }

  private mutating func tags(
    _ dictionaries: BlockDictionaries, _ budget: inout BlockBudget
  ) throws(WireError) -> ORSetElement {
    var element = ORSetElement()
    let count = try count(ofElementsWithAtLeast: 2, "tags")
    try budget.take(cells: 2 * count)
    for _ in 0..<count {
      var tag = ORSetElement.Tag(added: try stamp(dictionaries))
      let removal = try varint()
      guard removal <= UInt64(dictionaries.stamps.count) else {
        throw WireError(.malformed, "a stamp number is out of range")
      }
      if removal > 0 { tag.removed = dictionaries.stamps[Int(removal) - 1] }
      if let last = element.tags.last, !(last.added.dot < tag.added.dot) {
        throw WireError(.malformed, "the tags are not ascending")
      }
      element.tags.append(tag)
    }
    return element
  }
}
