import TallyCRDT
import TallyWire

/// The bytes in `tally_extra`, `tally_hidden` and `tally_cut`: the state of one record or link, with local numbers for
/// replicas and fields.
///
/// A value that the record's row shows is left out here. What a delete or a life had seen is in `tally_context`, which
/// all of a transaction share; here only if another copy of the store has written something else under the same stamp.
/// The first byte is the kind of body, the next three are the state's checksum.
enum StateCoding {
  static let record: UInt8 = 1
  private static let seededRecord: UInt8 = 3
  /// Added to the kind of body of a record that has a life.
  private static let life: UInt8 = 4

  /// Encodes a record's state without what the row shows; without a row, all of it. `isShared` says whether
  /// `tally_context` holds what a delete had seen.
  static func encode(
    _ state: RecordState, _ sum: StateSum, row: RowValues?, isShared: (StateVector, Stamp) -> Bool,
    replicaNumber: (ReplicaID) throws -> ReplicaNumber
  ) rethrows -> [UInt8] {
    let row = row?.withoutSums(state.fields)
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(64)
    writer.byte((state.seed == nil ? record : seededRecord) + (state.life == nil ? 0 : life))
    writer.append(sum)
    var stamps = StampTable()
    if let existence = state.existence { stamps.note(existence) }
    for cell in state.fields { stamps.note(cell.stamp) }
    for delete in state.deletes { stamps.note(delete.stamp) }
    if let seed = state.seed { stamps.note(seed) }
    if let life = state.life { stamps.note(life.stamp) }
    try stamps.encode(to: &writer, replicaNumber)
    writer.varint(state.existence.map { stamps.number(of: $0) + 1 } ?? 0)
    encode(state.fields, to: &writer, stamps, row)
    try encode(state.supersededTouches, to: &writer, replicaNumber)
    writer.varint(state.deletes.count)
    for delete in state.deletes {
      let hasOwn = !isShared(delete.context, delete.stamp)
      writer.varint(stamps.number(of: delete.stamp) << 1 | (hasOwn ? 1 : 0))
      if hasOwn { try encode(delete.context, to: &writer, replicaNumber) }
    }
    if let seed = state.seed { encode(seed, to: &writer, stamps, row) }
    if let life = state.life {
      let hasOwn = !isShared(life.context, life.stamp)
      writer.varint(stamps.number(of: life.stamp) << 1 | (hasOwn ? 1 : 0))
      if hasOwn { try encode(life.context, to: &writer, replicaNumber) }
      try encode(life, of: state, to: &writer, replicaNumber)
    }
    return writer.bytes
  }

  /// Lists the cells, but for those that the row implies: it shows their values, and they have the first stamp.
  private static func encode(
    _ fields: [FieldCell], to writer: inout ByteWriter, _ stamps: StampTable, _ row: RowValues?
  ) {
    var listed = fields
    if let row, stamps.count > 0 {
      listed = fields.filter { $0.stamp != stamps[0] || !row.implies($0) }
      if !row.isComplete(with: listed, implying: fields.count - listed.count) { listed = fields }
    }
    writer.varint(listed.count << 1 | (listed.count < fields.count ? 1 : 0))
    for cell in listed {
      let isOmitted = row?.shows(cell) ?? false
      writer.varint(UInt64(cell.field.rawValue) << 1 | (isOmitted ? 0 : 1))
      writer.varint(stamps.number(of: cell.stamp))
      if !isOmitted { writer.value(cell.value) }
    }
  }

  private static func decodeFields(
    _ reader: inout ByteReader, _ stamps: StampTable, _ states: StateReader, _ row: RowValues?
  ) throws -> [FieldCell] {
    // A cell takes at least two bytes.
    let head = try reader.count(limit: reader.remaining + 1, "fields")
    var listed: [FieldCell] = []
    listed.reserveCapacity(head >> 1)
    for _ in 0..<head >> 1 {
      let (field, shown) = try decodeField(&reader, states, row)
      let stamp = try stamps.at(try reader.varint())
      listed.append(FieldCell(field: field, stamp: stamp, value: try shown ?? reader.value()))
    }
    guard head & 1 == 1 else { return listed }
    guard let row else { throw StoreError(.corrupt, "a stored state lacks its values") }
    return row.withoutSums(listed).completing(listed, stamp: try stamps.at(0))
  }

  /// How the registers of a life travel: by the dots of their stamps, all by the life's own, or by dots that are
  /// listed.
  private enum Travel {
    static let byStamps = 0
    static let byLife = 1
    static let listed = 2
  }

  private static func encode(
    _ life: Life, of state: RecordState, to writer: inout ByteWriter,
    _ replicaNumber: (ReplicaID) throws -> ReplicaNumber
  ) rethrows {
    func encode(_ dot: Dot) throws {
      writer.varint(try replicaNumber(dot.replica).rawValue)
      writer.varint(dot.sequence)
    }
    // No replica has the number 0.
    if let said = life.said { try encode(said) } else { writer.varint(0) }
    guard !life.vias.isEmpty else { return writer.varint(Travel.byStamps) }
    guard life.vias != life.viasOfItsOwn(state.fields) else { return writer.varint(Travel.byLife) }
    writer.varint(Travel.listed)
    writer.varint(life.vias.count)
    for via in life.vias {
      writer.varint(UInt64(via.field.rawValue))
      try encode(via.dot)
    }
  }

  /// Reads a life; `fields` are the record's registers.
  private static func decodeLife(
    _ reader: inout ByteReader, _ stamps: StampTable, _ states: StateReader, _ fields: [FieldCell]
  ) throws -> Life {
    let head = try reader.varint()
    let stamp = try stamps.at(head >> 1)
    let context = try head & 1 == 1 ? decodeVector(&reader, states.catalog.replicas) : states.context(of: stamp)
    var life = Life(time: stamp.time, dot: stamp.dot, context: context)
    life.said = try decodeDot(&reader, states.catalog.replicas)
    switch try reader.count(limit: Travel.listed, "ways to travel") {
    case Travel.byStamps: break
    case Travel.byLife: life.vias = life.viasOfItsOwn(fields)
    default:
      for _ in 0..<(try reader.count(ofElementsWithAtLeast: 3, "dots to travel by")) {
        let field = states.catalog.field(UInt32(truncatingIfNeeded: try reader.varint()))
        guard let dot = try decodeDot(&reader, states.catalog.replicas) else {
          throw StoreError(.corrupt, "a register travels by no dot")
        }
        life.vias.append(Life.Via(field: field, dot: dot))
      }
    }
    return life
  }

  private static func decodeDot(_ reader: inout ByteReader, _ replicas: ReplicaTable) throws -> Dot? {
    let number = try reader.count(limit: ReplicaNumber.largest.rawValue, "a replica number")
    guard number > 0 else { return nil }
    guard let replica = replicas[ReplicaNumber(rawValue: number)] else {
      throw StoreError(.corrupt, "a replica is not known")
    }
    return Dot(replica: replica, sequence: try reader.sequence())
  }

  private static func encode(
    _ seed: SeedState, to writer: inout ByteWriter, _ stamps: StampTable, _ row: RowValues?
  ) {
    writer.varint(seed.layers.count)
    for layer in seed.layers {
      writer.varint(stamps.number(of: layer.stamp) << 1 | (layer.isRetired ? 1 : 0))
      guard !layer.isRetired else { continue }
      writer.varint(layer.fields.count)
      for cell in layer.fields {
        let isOmitted = row?.shows(cell) ?? false
        writer.varint(UInt64(cell.field.rawValue) << 1 | (isOmitted ? 0 : 1))
        if !isOmitted { writer.value(cell.value) }
      }
    }
    writer.varint(seed.basis.map { stamps.number(of: $0.stamp) + 1 } ?? 0)
    if let basis = seed.basis { writer.varint(stamps.number(of: basis.layer)) }
  }

  private static func decodeSeed(
    _ reader: inout ByteReader, _ stamps: StampTable, _ states: StateReader, _ row: RowValues?
  ) throws -> SeedState {
    var layers: [SeedLayer] = []
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 1, "layers")) {
      let head = try reader.varint()
      let stamp = try stamps.at(head >> 1)
      var fields: [FieldCell] = []
      if head & 1 == 0 {
        for _ in 0..<(try reader.count(ofElementsWithAtLeast: 1, "fields")) {
          let (field, shown) = try decodeField(&reader, states, row)
          fields.append(FieldCell(field: field, stamp: stamp, value: try shown ?? reader.value()))
        }
      }
      layers.append(SeedLayer(stamp: stamp, isRetired: head & 1 == 1, fields: fields))
    }
    let number = try reader.varint()
    guard number > 0 else { return SeedState(layers: layers) }
    let stamp = try stamps.at(number - 1)
    return SeedState(layers: layers, basis: SeedBasis(stamp: stamp, layer: try stamps.at(try reader.varint())))
  }

  /// Reads the number of a field and finds what the row shows of it; nil if its value comes next.
  private static func decodeField(
    _ reader: inout ByteReader, _ states: StateReader, _ row: RowValues?
  ) throws -> (FieldID, shown: Value?) {
    let head = try reader.varint()
    let field = states.catalog.field(UInt32(truncatingIfNeeded: head >> 1))
    if head & 1 == 1 { return (field, nil) }
    guard let known = row?[field] else { throw StoreError(.corrupt, "a stored state lacks a value") }
    return (field, known)
  }

  /// Reads a record. `row` has the values that were left out, `states` knows replicas and what deletes had seen.
  static func decodeRecord(
    _ bytes: UnsafeRawBufferPointer, _ states: StateReader, row: RowValues?
  ) throws -> (state: RecordState, sum: StateSum) {
    var reader = ByteReader(bytes)
    do {
      return try decodeRecord(&reader, states, row)
    } catch let error as WireError {
      throw StoreError(stored: error)
    }
  }

  private static func decodeRecord(
    _ reader: inout ByteReader, _ states: StateReader, _ row: RowValues?
  ) throws -> (state: RecordState, sum: StateSum) {
    let tag = try reader.byte()
    let kind = tag & ~life
    guard kind == record || kind == seededRecord else { throw StoreError(.corrupt, "a stored state is not a record") }
    let sum = try reader.stateSum()
    let stamps = try StampTable.decode(&reader, states.catalog.replicas)
    var state = RecordState()
    let existence = try reader.count(limit: stamps.count, "a stamp number")
    if existence > 0 { state.existence = stamps[existence - 1] }
    state.fields = try decodeFields(&reader, stamps, states, row)
    state.supersededTouches = try decodeVector(&reader, states.catalog.replicas)
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 1, "deletes")) {
      let head = try reader.varint()
      let stamp = try stamps.at(head >> 1)
      let context = try head & 1 == 1 ? decodeVector(&reader, states.catalog.replicas) : states.context(of: stamp)
      state.deletes.append(Delete(stamp: stamp, context: context))
    }
    if kind == seededRecord { state.seed = try decodeSeed(&reader, stamps, states, row) }
    if tag & life != 0 {
      state.life = try decodeLife(&reader, stamps, states, state.fields)
      guard state.brokenInvariants.isEmpty else {
        throw StoreError(.corrupt, "the life of a stored state is malformed")
      }
    }
    return (state, sum)
  }

  // MARK: Vectors

  static func encode(
    _ vector: StateVector, to writer: inout ByteWriter, _ replicaNumber: (ReplicaID) throws -> ReplicaNumber
  ) rethrows {
    guard !vector.isEmpty else { return writer.varint(0) }
    if vector.count == 1, let dot = vector.entries.first {
      writer.varint(1)
      writer.varint(try replicaNumber(dot.replica).rawValue)
      return writer.varint(dot.sequence)
    }
    let entries = try vector.entries.map { (try replicaNumber($0.replica), $0.sequence) }.sorted { $0.0 < $1.0 }
    writer.varint(entries.count)
    for (number, sequence) in entries {
      writer.varint(number.rawValue)
      writer.varint(sequence)
    }
  }

  /// Reads what a delete had seen.
  static func decodeContext(_ bytes: [UInt8], _ replicas: ReplicaTable) throws -> StateVector {
    try bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      do {
        return try decodeVector(&reader, replicas)
      } catch let error as WireError {
        throw StoreError(stored: error)
      }
    }
  }

  static func decodeVector(_ reader: inout ByteReader, _ replicas: ReplicaTable) throws -> StateVector {
    var vector = StateVector()
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 2, "vector entries")) {
      let number = try reader.count(limit: ReplicaNumber.largest.rawValue, "a replica number")
      guard let replica = replicas[ReplicaNumber(rawValue: number)] else {
        throw StoreError(.corrupt, "a replica is not known")
      }
      vector[replica] = try reader.sequence()
    }
    return vector
  }
}

extension StoreError {
  /// Creates the error for stored bytes that cannot be read. A join must not take that for a fault of the delta's.
  init(stored error: WireError) {
    self.init(.corrupt, "what is stored cannot be read: \(error.message)", cause: error)
  }
}

extension Life {
  /// The value of `vias` if the transaction that began this life said everything in it.
  fileprivate func viasOfItsOwn(_ fields: [FieldCell]) -> [Via] {
    fields.compactMap { cell in
      cell.field.isPresence || cell.stamp.dot == dot ? nil : Via(field: cell.field, dot: dot)
    }
  }
}

extension ByteWriter {
  mutating func append(_ sum: StateSum) {
    byte(sum.bytes.0)
    byte(sum.bytes.1)
    byte(sum.bytes.2)
  }
}

extension ByteReader {
  /// The checksum of a stored state.
  mutating func stateSum() throws(WireError) -> StateSum {
    StateSum(rawValue: UInt32(try byte()) << 16 | UInt32(try byte()) << 8 | UInt32(try byte()))
  }

  /// The sequence of a dot: SQLite's integers are signed.
  mutating func sequence() throws -> UInt64 {
    let sequence = try varint()
    guard sequence <= UInt64(Int64.max) else { throw StoreError(.corrupt, "a sequence is out of range") }
    return sequence
  }
}
