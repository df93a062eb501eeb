import TallyCRDT
import TallyWire

/// The stub of a record: what is left of it for good once a delete hides it and a shred has emptied it (decision 24).
///
/// A device that deletes for years has far more of these than of anything else, so they have a table of their own,
/// `tally_stub`, which is keyed by the record's key in its binary form, and bytes without what a stub lacks. Which
/// record is a stub follows from its state alone, and from the stub its state follows exactly.
enum StubCoding {
  private static let stub: UInt8 = 8
  /// Added to the kind of body for each part that most stubs lack, and for a delete that is not there.
  private static let ownDeleteContext: UInt8 = 1
  private static let ownLifeContext: UInt8 = 2
  private static let touches: UInt8 = 16
  private static let references: UInt8 = 32
  private static let noDelete: UInt8 = 64
  private static let allParts = ownDeleteContext | ownLifeContext | touches | references | noDelete

  /// Whether a record that is hidden in this state is kept as a stub: it has a life in which nothing is said, an
  /// insert, one delete at most, and no seed.
  static func isStub(_ state: RecordState) -> Bool {
    guard let life = state.life, life.said == nil, life.vias.isEmpty, state.existence?.rank == .user else {
      return false
    }
    return state.deletes.count <= 1 && state.seed == nil && !state.hasContent
  }

  // MARK: Encoding

  /// Encodes the state of a stub. `isShared` says whether `tally_context` holds what a delete or a life had seen.
  static func encode(
    _ state: RecordState, _ sum: StateSum, _ catalog: Catalog, isShared: (StateVector, Stamp) -> Bool,
    replicaNumber: (ReplicaID) throws -> ReplicaNumber
  ) throws -> [UInt8] {
    guard let existence = state.existence, let life = state.life else {
      throw StoreError(.corrupt, "what is no stub cannot be kept as one")
    }
    let delete = state.deletes.first
    let deleteContext = delete.flatMap { isShared($0.context, $0.stamp) ? nil : $0.context }
    let lifeContext = isShared(life.context, life.stamp) ? nil : life.context
    var head = stub
    if deleteContext != nil { head |= ownDeleteContext }
    if lifeContext != nil { head |= ownLifeContext }
    if !state.supersededTouches.isEmpty { head |= touches }
    if !state.fields.isEmpty { head |= references }
    if delete == nil { head |= noDelete }
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(64)
    writer.byte(head)
    writer.append(sum)
    var stamps = [existence] + (delete.map { [$0.stamp] } ?? []) + [life.stamp]
    var coding = StampCoding()
    for stamp in stamps { try coding.encode(stamp, to: &writer, replicaNumber) }
    if let deleteContext { try StateCoding.encode(deleteContext, to: &writer, replicaNumber) }
    if let lifeContext { try StateCoding.encode(lifeContext, to: &writer, replicaNumber) }
    if head & touches != 0 { try StateCoding.encode(state.supersededTouches, to: &writer, replicaNumber) }
    guard head & references != 0 else { return writer.bytes }
    writer.varint(state.fields.count)
    for cell in state.fields {
      writer.varint(UInt64(cell.field.rawValue) << 1 | (cell.value.isNull ? 0 : 1))
      if let number = stamps.firstIndex(of: cell.stamp) {
        writer.varint(number)
      } else {
        writer.varint(stamps.count)
        stamps.append(cell.stamp)
        try coding.encode(cell.stamp, to: &writer, replicaNumber)
      }
      if !cell.value.isNull { encode(cell.value, to: &writer, catalog) }
    }
    return writer.bytes
  }

  /// A name by the number of its type and its key; any other value, and a name of a type that has no number, as it is.
  private static func encode(_ value: Value, to writer: inout ByteWriter, _ catalog: Catalog) {
    guard case .text(let text) = value, let name = try? AnyRecordName(text), let kind = catalog.kindOfType[name.type]
    else {
      writer.varint(1)
      return writer.value(value)
    }
    let key = RecordKey(name)
    writer.varint(UInt64(kind.rawValue) << 1 | (key.isText ? 1 : 0))
    writer.key(key)
  }

  // MARK: Decoding

  /// Reads a stub. `states` knows types, replicas and what deletes and lives had seen.
  static func decode(
    _ bytes: UnsafeRawBufferPointer, _ states: StateReader
  ) throws -> (state: RecordState, sum: StateSum) {
    var reader = ByteReader(bytes)
    do {
      return try decode(&reader, states)
    } catch let error as WireError {
      throw StoreError(stored: error)
    }
  }

  private static func decode(
    _ reader: inout ByteReader, _ states: StateReader
  ) throws -> (state: RecordState, sum: StateSum) {
    let replicas = states.catalog.replicas
    let head = try reader.byte()
    guard head & stub != 0, head & ~(stub | allParts) == 0, head & noDelete == 0 || head & ownDeleteContext == 0 else {
      throw StoreError(.corrupt, "a stored state is no stub")
    }
    let sum = try reader.stateSum()
    var coding = StampCoding()
    var stamps: [Stamp] = []
    for _ in 0..<(head & noDelete == 0 ? 3 : 2) { stamps.append(try coding.decode(&reader, replicas)) }
    func context(_ part: UInt8, of stamp: Stamp) throws -> StateVector {
      try head & part != 0 ? StateCoding.decodeVector(&reader, replicas) : states.context(of: stamp)
    }
    var state = RecordState()
    state.existence = stamps[0]
    if head & noDelete == 0 {
      state.deletes = [Delete(stamp: stamps[1], context: try context(ownDeleteContext, of: stamps[1]))]
    }
    guard let begun = stamps.last, begun.rank == .user else { throw StoreError(.corrupt, "a stub has no life") }
    state.life = Life(time: begun.time, dot: begun.dot, context: try context(ownLifeContext, of: begun))
    if head & touches != 0 { state.supersededTouches = try StateCoding.decodeVector(&reader, replicas) }
    if head & references != 0 { state.fields = try decodeReferences(&reader, states.catalog, &stamps, &coding) }
    guard reader.remaining == 0, isStub(state), state.brokenInvariants.isEmpty else {
      throw StoreError(.corrupt, "a stub is malformed")
    }
    return (state, sum)
  }

  private static func decodeReferences(
    _ reader: inout ByteReader, _ catalog: Catalog, _ stamps: inout [Stamp], _ coding: inout StampCoding
  ) throws -> [FieldCell] {
    var cells: [FieldCell] = []
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 2, "references")) {
      let head = try reader.varint()
      let number = try reader.count(limit: stamps.count, "a stamp number")
      if number == stamps.count { stamps.append(try coding.decode(&reader, catalog.replicas)) }
      let value = head & 1 == 1 ? try decodeValue(&reader, catalog) : .null
      let field = catalog.field(UInt32(truncatingIfNeeded: head >> 1))
      cells.append(FieldCell(field: field, stamp: stamps[number], value: value))
    }
    return cells
  }

  private static func decodeValue(_ reader: inout ByteReader, _ catalog: Catalog) throws -> Value {
    let head = try reader.count(limit: Int(Int32.max), "the number of a type")
    guard head != 1 else { return try reader.value() }
    guard let kind = catalog.records[KindNumber(rawValue: head >> 1)] else {
      throw StoreError(.corrupt, "a stub refers to a type that is not known")
    }
    return .text(try reader.recordName(type: kind.type, isText: head & 1 == 1).1.text)
  }
}

/// A record's key as it stands in `tally_stub`: sixteen bytes for a UUID, a text for anything else.
extension SQLStatement {
  func bind(_ index: Int, key: RecordKey) {
    switch key {
    case .text(let text): bind(index, text)
    case .uuid:
      var writer = ByteWriter()
      writer.key(key)
      bind(index, writer.bytes)
    }
  }

  /// The name that a column's key gives, with the type of its kind; nil if the column holds no key.
  package func name(_ column: Int, _ type: String) -> AnyRecordName? {
    guard !isText(column) else {
      let name = text(column).flatMap { try? AnyRecordName(type: type, key: $0) }
      return name.flatMap { RecordKey($0).isText ? $0 : nil }
    }
    return withBlob(column) { bytes in
      guard bytes.count == 16 else { return nil }
      let id = ReplicaID(Array(bytes))
      return try? RecordKey.uuid(high: id.high, low: id.low).name(type: type)
    }
  }
}
