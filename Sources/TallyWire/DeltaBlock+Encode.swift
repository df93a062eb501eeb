import TallyCRDT

extension DeltaBlock {
  /// The canonical bytes. `replicas` are those of the delta's header, ascending.
  package func encoded(replicas: [ReplicaID]) -> [UInt8] { BlockDraft(self).encoded(replicas: replicas) }
}

extension BlockDraft {
  /// The canonical bytes. `replicas` are those of the delta's header, ascending.
  package func encoded(replicas: [ReplicaID]) -> [UInt8] { output(replicas: replicas).writer.bytes }

  /// The canonical bytes, and whether a reader would accept the keys.
  func output(replicas: [ReplicaID]) -> BlockOutput {
    var output = BlockOutput()
    encode(to: &output, replicas: replicas)
    return output
  }

  /// Whether `bytes` are the canonical bytes. Cost: makes them piece by piece.
  func isEncoded(as bytes: UnsafeRawBufferPointer, replicas: [ReplicaID]) -> Bool {
    var output = BlockOutput(comparingWith: bytes)
    encode(to: &output, replicas: replicas)
    return output.isSame
  }

  private func encode(to output: inout BlockOutput, replicas: [ReplicaID]) {
    let numbers = ReplicaPlaces(replicas)
    var dictionaries = BlockDictionaries()
    for group in block.records { for item in group.items { dictionaries.note(item.state) } }
    for group in packed { dictionaries.note(group) }
    for group in block.links { for item in group.items { dictionaries.note(item.element) } }
    dictionaries.seal()
    if !packed.isEmpty { output.reserve(WireLimits.targetBlockBytes) }
    dictionaries.encode(to: &output.writer, replicas: numbers)
    encodeRecords(to: &output, &dictionaries, numbers)
    block.encodeLinks(to: &output, &dictionaries, numbers)
  }

  private func encodeRecords(
    to output: inout BlockOutput, _ dictionaries: inout BlockDictionaries, _ replicas: ReplicaPlaces
  ) {
    var groups = block.records.filter { !$0.items.isEmpty }
    for packed in packed where !packed.items.isEmpty && !groups.contains(where: { $0.type == packed.type }) {
      groups.append(.init(type: packed.type, fields: [], items: []))
    }
    groups.sort { $0.type.utf8.lexicographicallyPrecedes($1.type.utf8) }
    output.writer.varint(groups.count)
    for group in groups {
      let packed = packed.first { $0.type == group.type && !$0.items.isEmpty }
      if packed == nil, let edit = SingleEdit(group) {
        #if PlantedFaults
          edit.check(group, dictionaries, replicas)
        #endif
        edit.encode(to: &output.writer, &dictionaries, replicas)
        if FieldKey.needsThirdVersion(edit.field) { output.needsThirdVersion = true }
      } else {
        RecordEncoder(group, packed, &dictionaries).encode(to: &output, &dictionaries, replicas)
      }
      output.flush()
    }
  }
}

/// The records of one type if they are one, of which one field is known and nothing else: the usual live change. Its
/// bytes are those that `RecordEncoder` makes, without an array for each part.
private struct SingleEdit {
  private let type: String
  let field: String
  private let key: RecordKey
  private let cell: FieldCell

  init?(_ group: DeltaBlock.Records) {
    guard group.items.count == 1, let state = group.items.first?.state, let cell = state.onlyField else { return nil }
    (type, field) = (group.type, group.fields[Int(cell.field.rawValue)])
    (key, self.cell) = (RecordKey(group.items[0].name), cell)
  }

  func encode(to writer: inout ByteWriter, _ dictionaries: inout BlockDictionaries, _ replicas: ReplicaPlaces) {
    var value = ByteWriter()
    value.value(cell.value)
    writer.text(type)
    writer.varint(1)
    writer.fieldKey(field, replicas)
    writer.varint(value.bytes.count)
    writer.bytes.append(contentsOf: value.bytes)
    switch key {
    case .uuid(let high, let low):
      writer.varint(1)
      writer.fixed(high)
      writer.fixed(low)
      writer.varint(0)
    case .text(let text):
      writer.varint(0)
      writer.varint(1)
      writer.text(text)
    }
    writer.byte(RecordFlags.oneStamp)
    writer.varint(dictionaries.number(of: cell.stamp))
    writer.byte(1)
  }

  #if PlantedFaults
    /// Builds for tests make the bytes in both ways.
    func check(_ group: DeltaBlock.Records, _ dictionaries: BlockDictionaries, _ replicas: ReplicaPlaces) {
      var (writer, output, dictionaries) = (ByteWriter(), BlockOutput(), dictionaries)
      encode(to: &writer, &dictionaries, replicas)
      RecordEncoder(group, nil, &dictionaries).encode(to: &output, &dictionaries, replicas)
      precondition(writer.bytes == output.writer.bytes, "an edit of one field is written as any record is")
    }
  #endif
}

extension RecordState {
  /// The one register, if there is nothing else.
  fileprivate var onlyField: FieldCell? {
    guard fields.count == 1, existence == nil, deletes.isEmpty, seed == nil, life == nil, supersededTouches.isEmpty
    else { return nil }
    return fields[0]
  }
}

extension DeltaBlock {
  fileprivate func encodeLinks(
    to output: inout BlockOutput, _ dictionaries: inout BlockDictionaries, _ replicas: ReplicaPlaces
  ) {
    func id(_ group: Links) -> String { "\(group.source).\(group.relationship).\(group.target)" }
    let groups = links.filter { !$0.items.isEmpty }.sorted { id($0).utf8.lexicographicallyPrecedes(id($1).utf8) }
    output.writer.varint(groups.count)
    for group in groups {
      output.writer.text(group.source)
      output.writer.text(group.relationship)
      output.writer.text(group.target)
      // Typed, and in two steps: as one expression it takes the compiler seconds.
      var keyed: [(source: RecordKey, target: RecordKey, element: ORSetElement)] = []
      for item in group.items { keyed.append((RecordKey(item.source), RecordKey(item.target), item.element)) }
      keyed.sort { one, other in
        if one.source != other.source { return one.source < other.source }
        return one.target < other.target
      }
      output.writer.varint(keyed.count)
      var previous: (source: RecordKey, target: RecordKey)?
      for (source, target, element) in keyed {
        let isSameSource = source == previous?.source
        if isSameSource, target == previous?.target { output.repeatsKey = true }
        output.writer.link(isSameSource ? nil : source, target, element, &dictionaries)
        if element.place != nil { output.needsThirdVersion = true }
        previous = (source, target)
      }
      output.flush()
    }
  }
}

/// The flags of a record.
enum RecordFlags {
  static let existence: UInt8 = 1
  /// All cells, existence included, have one stamp.
  static let oneStamp: UInt8 = 2
  static let superseded: UInt8 = 4
  static let deletes: UInt8 = 8
  static let layers: UInt8 = 16
  static let basis: UInt8 = 32
  static let life: UInt8 = 64
  static let all: UInt8 = 127
}

/// The numbers that stand for a dot in a life; from `other` on the number of a replica, and a sequence follows.
enum LifeDots {
  /// None is said, or a register travels by its stamp's dot.
  static let none = 0
  /// The dot of the life itself.
  static let own = 1
  static let other = 2
}

/// The flags of a link.
enum LinkFlags {
  static let sourceIsText: UInt8 = 1
  static let targetIsText: UInt8 = 2
  static let sameSource: UInt8 = 4
  /// One tag that is not removed.
  static let simple: UInt8 = 8
  /// A place in an ordered relationship.
  static let place: UInt8 = 16
  /// The place has the stamp of the only tag.
  static let placeOfTag: UInt8 = 32

  /// Those that a version of the format knows.
  static func known(in version: UInt8) -> UInt8 { version < 3 ? 15 : 63 }
}

/// Writes the records of one type: states, and packed ones among them.
private struct RecordEncoder {
  /// The written parts of a group's records: a head for each, and the values of each field.
  private struct Parts {
    var heads = ByteWriter()
    var columns: [ByteWriter]
    private let maskBytes: Int

    init(fieldCount: Int) {
      columns = Array(repeating: ByteWriter(), count: fieldCount)
      maskBytes = (fieldCount + 7) / 8
    }

    /// Makes room for records that are there as bytes.
    mutating func reserve(for packed: PackedRecords, _ places: [Int]) {
      heads.bytes.reserveCapacity(packed.items.count * (maskBytes + 4))
      for (place, count) in zip(places, packed.byteCounts) where place >= 0 {
        columns[place].bytes.reserveCapacity(count)
      }
    }

    /// Writes a mask without fields, and tells where it stands.
    mutating func beginMask() -> Int {
      for _ in 0..<maskBytes { heads.byte(0) }
      return heads.bytes.count - maskBytes
    }
  }

  private let group: DeltaBlock.Records
  private let packed: PackedRecords?
  /// The names of the fields in use, ascending.
  private let fields: [String]
  /// For each field of the group, and of the packed records, its place in `fields`.
  private let places: [Int]
  private let packedPlaces: [Int]
  private let isIdentity: Bool
  /// For each stamp of the packed records its number in the block.
  private let packedStamps: [Int]

  init(_ group: DeltaBlock.Records, _ packed: PackedRecords?, _ dictionaries: inout BlockDictionaries) {
    (self.group, self.packed) = (group, packed)
    var used = [Bool](repeating: false, count: group.fields.count)
    for item in group.items {
      for cell in item.state.fields { used[Int(cell.field.rawValue)] = true }
      for layer in item.state.seed?.layers ?? [] {
        for cell in layer.fields { used[Int(cell.field.rawValue)] = true }
      }
    }
    let packedFields = packed?.fields ?? []
    let packedUsed = packedFields.indices.filter { (packed?.used ?? 0) >> UInt64($0) & 1 != 0 }
    let names = group.fields.indices.filter { used[$0] }.map { group.fields[$0] } + packedUsed.map { packedFields[$0] }
    fields = Self.ascending(names)
    // Among few a name is found faster by looking.
    let known = fields.count > 16 ? Dictionary(uniqueKeysWithValues: zip(fields, fields.indices)) : [:]
    let inUse = fields
    func place(_ name: String) -> Int { (known.isEmpty ? inUse.firstIndex(of: name) : known[name]) ?? -1 }
    places = group.fields.map(place)
    packedPlaces = packedFields.map(place)
    isIdentity = places.elementsEqual(0..<places.count)
    packedStamps = packed?.stamps.map { dictionaries.number(of: $0) } ?? []
  }

  /// Names in the order of their bytes, each once.
  private static func ascending(_ names: [String]) -> [String] {
    guard names.count > 1 else { return names }
    return Set(names).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// A record's key, and its place among the group's items or, after them, among the packed ones.
  private struct Entry {
    var high: UInt64
    var low: UInt64
    var place: Int

    static func < (lhs: Entry, rhs: Entry) -> Bool { lhs.high != rhs.high ? lhs.high < rhs.high : lhs.low < rhs.low }
  }

  /// The names, then the values field by field, the keys, and the heads: like beside like compresses better and faster.
  func encode(
    to output: inout BlockOutput, _ dictionaries: inout BlockDictionaries, _ replicas: ReplicaPlaces
  ) {
    let (uuids, texts) = sortedKeys()
    if zip(uuids, uuids.dropFirst()).contains(where: { $0.high == $1.high && $0.low == $1.low })
      || zip(texts, texts.dropFirst()).contains(where: { $0.key == $1.key })
    {
      output.repeatsKey = true
    }
    var parts = Parts(fieldCount: fields.count)
    if let packed { parts.reserve(for: packed, packedPlaces) }
    for entry in uuids {
      if entry.place < group.items.count {
        encode(group.items[entry.place].state, to: &parts, &dictionaries, replicas)
      } else if let packed {
        encode(packed.items[entry.place - group.items.count], of: packed, to: &parts)
      }
    }
    for (_, place) in texts { encode(group.items[place].state, to: &parts, &dictionaries, replicas) }
    output.writer.text(group.type)
    output.writer.varint(fields.count)
    for (field, column) in zip(fields, parts.columns) {
      output.writer.fieldKey(field, replicas)
      output.writer.varint(column.bytes.count)
      if FieldKey.needsThirdVersion(field) { output.needsThirdVersion = true }
    }
    output.reserve(parts.columns.reduce(parts.heads.bytes.count + 16 * uuids.count) { $0 + $1.bytes.count })
    for place in parts.columns.indices {
      output.append(parts.columns[place].bytes)
      parts.columns[place] = ByteWriter()
    }
    output.writer.varint(uuids.count)
    for entry in uuids {
      output.writer.fixed(entry.high)
      output.writer.fixed(entry.low)
    }
    output.writer.varint(texts.count)
    for (key, _) in texts { output.writer.text(key) }
    output.append(parts.heads.bytes)
  }

  private func sortedKeys() -> (uuids: [Entry], texts: [(key: String, place: Int)]) {
    var entries: [Entry] = []
    var texts: [(key: String, place: Int)] = []
    entries.reserveCapacity(group.items.count + (packed?.items.count ?? 0))
    for (place, item) in group.items.enumerated() {
      switch RecordKey(item.name) {
      case .uuid(let high, let low): entries.append(Entry(high: high, low: low, place: place))
      case .text(let key): texts.append((key, place))
      }
    }
    for (place, item) in (packed?.items ?? []).enumerated() {
      entries.append(Entry(high: item.high, low: item.low, place: group.items.count + place))
    }
    entries.sort(by: <)
    texts.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return (entries, texts)
  }

  private func encode(_ item: PackedRecords.Item, of packed: PackedRecords, to parts: inout Parts) {
    guard item.content != .delete else {
      parts.heads.byte(RecordFlags.deletes)
      _ = parts.beginMask()
      parts.heads.varint(1)
      return parts.heads.varint(packedStamps[item.stamp])
    }
    let existence = item.content == .insert ? RecordFlags.existence : 0
    parts.heads.byte(item.mask == 0 ? existence : existence | RecordFlags.oneStamp)
    parts.heads.varint(packedStamps[item.stamp])
    let mask = parts.beginMask()
    packed.forEachValue(of: item) { field, value in
      let place = packedPlaces[field]
      parts.heads.bytes[mask + place / 8] |= 1 << UInt8(place % 8)
      parts.columns[place].bytes.append(contentsOf: value)
    }
  }

  private func encode(
    _ state: RecordState, to parts: inout Parts, _ dictionaries: inout BlockDictionaries,
    _ replicas: ReplicaPlaces
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
    if state.life != nil { flags |= RecordFlags.life }
    parts.heads.byte(flags)
    if let stamp = shared ?? state.existence { parts.heads.varint(dictionaries.number(of: stamp)) }
    encodeFields(state.fields, hasSharedStamp: shared != nil, to: &parts, &dictionaries)
    if !state.supersededTouches.isEmpty { parts.heads.vector(state.supersededTouches, replicas) }
    if !state.deletes.isEmpty {
      parts.heads.varint(state.deletes.count)
      for delete in state.deletes { parts.heads.varint(dictionaries.number(of: delete.stamp)) }
    }
    if let seed = state.seed { encode(seed, to: &parts, &dictionaries) }
    if let life = state.life { encode(life, of: state, to: &parts, &dictionaries, replicas) }
  }

  /// The life's beginning, whether existence is said in it, and by what each register in it travels.
  private func encode(
    _ life: Life, of state: RecordState, to parts: inout Parts, _ dictionaries: inout BlockDictionaries,
    _ replicas: ReplicaPlaces
  ) {
    parts.heads.varint(dictionaries.number(of: life.stamp))
    if let said = life.said { parts.heads.dot(said, in: life, replicas) } else { parts.heads.varint(LifeDots.none) }
    let placed = zip(state.fields, state.fieldVias).map { (place: places[Int($0.field.rawValue)], cell: $0, via: $1) }
      .sorted { $0.place < $1.place }
    for (place, cell, via) in placed where !FieldKey.isPresence(fields[place]) {
      if via == cell.stamp.dot {
        parts.heads.varint(LifeDots.none)
      } else {
        parts.heads.dot(via, in: life, replicas)
      }
    }
  }

  private func encode(_ seed: SeedState, to parts: inout Parts, _ dictionaries: inout BlockDictionaries) {
    if !seed.layers.isEmpty { parts.heads.varint(seed.layers.count) }
    for layer in seed.layers {
      parts.heads.varint(dictionaries.number(of: layer.stamp) << 1 | (layer.isRetired ? 1 : 0))
      if !layer.isRetired { encodeFields(layer.fields, hasSharedStamp: true, to: &parts, &dictionaries) }
    }
    guard let basis = seed.basis else { return }
    parts.heads.varint(dictionaries.number(of: basis.stamp))
    parts.heads.varint(dictionaries.number(of: basis.layer))
  }

  private func encodeFields(
    _ cells: [FieldCell], hasSharedStamp: Bool, to parts: inout Parts, _ dictionaries: inout BlockDictionaries
  ) {
    let mask = parts.beginMask()
    func encode(_ cell: FieldCell, at place: Int) {
      parts.heads.bytes[mask + place / 8] |= 1 << UInt8(place % 8)
      if !hasSharedStamp { parts.heads.varint(dictionaries.number(of: cell.stamp)) }
      parts.columns[place].value(cell.value)
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
  fileprivate mutating func dot(_ dot: Dot, in life: Life, _ replicas: ReplicaPlaces) {
    guard dot != life.dot else { return varint(LifeDots.own) }
    varint(LifeDots.other + number(of: dot.replica, replicas))
    varint(dot.sequence)
  }

  fileprivate mutating func link(
    _ source: RecordKey?, _ target: RecordKey, _ element: ORSetElement, _ dictionaries: inout BlockDictionaries
  ) {
    var flags: UInt8 = target.isText ? LinkFlags.targetIsText : 0
    if let source { flags |= source.isText ? LinkFlags.sourceIsText : 0 } else { flags |= LinkFlags.sameSource }
    let (uniform, place) = (element.uniformStamp, element.place)
    if uniform != nil { flags |= LinkFlags.simple }
    if let place { flags |= place.stamp == uniform ? LinkFlags.place | LinkFlags.placeOfTag : LinkFlags.place }
    byte(flags)
    if let source { key(source) }
    key(target)
    if let uniform {
      varint(dictionaries.number(of: uniform))
    } else {
      varint(element.tags.count)
      for tag in element.tags {
        varint(dictionaries.number(of: tag.added))
        varint(tag.removed.map { dictionaries.number(of: $0) + 1 } ?? 0)
      }
    }
    guard let place else { return }
    if place.stamp != uniform { varint(dictionaries.number(of: place.stamp)) }
    varint(place.position.bytes.count)
    bytes.append(contentsOf: place.position.bytes)
  }
}
