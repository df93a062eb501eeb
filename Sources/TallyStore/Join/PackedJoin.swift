import GRDBSQLite
import TallyCRDT
import TallyWire

/// The fast path of a join, for records that one transaction wrote and that were not changed since. Inserts a record
/// that the store lacks, or compares one that it has, straight from the block's bytes. The result is that of `Join`,
/// which handles everything else.
final class PackedJoin {
  enum Outcome {
    /// The record was not here, and its row has been written.
    case inserted(Inserted)
    /// The record is here just as it came.
    case unchanged(Fingerprint)
    /// Not handled; nothing was changed.
    case notHandled
  }

  /// A record whose row has been written.
  struct Inserted {
    var key: RecordKey
    var dot: Dot
    /// What it adds to the fingerprint.
    var sum: Fingerprint
    /// The records that own it, where that matters.
    var owners: [AnyRecordName]
    /// Whether it refers to a record that has no row.
    var dangles: Bool
  }

  /// A column that has a value in the record.
  private struct Cell {
    /// The column's place in the table.
    var place: Int
    /// A name stands here as the text that the row shows.
    var value: PackedValue
  }

  private let transaction: WriteTransaction
  private let kind: RecordKind
  private let packed: PackedRecords
  /// For each field of the packed records the place of its column; -1 if it has none.
  private let places: [Int]
  /// The fields that have no column.
  private let unplaced: UInt64
  /// For each column its field in the packed records, or nil.
  private let fields: [Int?]
  /// The columns whose default is not null.
  private let defaults: [Int]
  /// For each stamp of the packed records its clock, without a checksum; nil if it has none.
  private let clocks: [InlineClock?]
  /// nil if nothing may be inserted this way. Valid for the whole group: within a join no trigger of the app's appears.
  private let insert: SQLStatement?
  private let enforcesKeys: Bool
  private let names: NameBuffer
  private var cells: [Cell] = []
  /// Whether the next record is likely to be here.
  private var readsFirst: Bool

  /// `enforcesKeys` says whether SQLite knows of references to what is not there.
  /// - Returns: nil if none of the records can go the short way.
  init?(
    _ transaction: WriteTransaction, _ kind: RecordKind, _ packed: PackedRecords, isRepair: Bool,
    enforcesKeys: Bool
  ) throws {
    guard transaction.plain.takes(kind) else { return nil }
    var places: [Int] = []
    var unplaced: UInt64 = 0
    for (number, field) in packed.fields.enumerated() {
      let place = kind.columns.firstIndex { $0.key == field }
      if place == nil { unplaced |= 1 << UInt64(number) }
      places.append(place ?? -1)
    }
    (self.transaction, self.kind, self.packed, self.places) = (transaction, kind, packed, places)
    self.unplaced = unplaced
    self.enforcesKeys = enforcesKeys
    defaults = kind.columns.indices.filter { !kind.columns[$0].defaultValue.isNull }
    clocks = try packed.stamps.map { $0.rank == .user ? try transaction.writer.clock(of: $0) : nil }
    names = NameBuffer(count: 1 + kind.columns.count)
    fields = kind.columns.indices.map { places.firstIndex(of: $0) }
    // A trigger of the app's may run before SQLite finds the row that is there already.
    let mayInsert =
      try !isRepair && !transaction.writer.announcesRows
      && !transaction.catalog.resolvesConflicts.contains(kind.number) && !transaction.session.mayRunTriggers()
    insert = mayInsert ? try transaction.connection.statement(kind.insertIfNew) : nil
    readsFirst = insert == nil
  }

  /// Joins a record, if that is simple. `isNew` says whether the change log has nothing of its transaction.
  func join(_ item: PackedRecords.Item, isNew: Bool) throws -> Outcome {
    let key = RecordKey.uuid(high: item.high, low: item.low)
    guard item.content == .insert, item.mask & unplaced == 0, let clock = clocks[item.stamp],
      transaction.plain.takes(kind),
      try transaction.plain.isPlain(key, kind)
    else { return .notHandled }
    let stamp = packed.stamps[item.stamp]
    names.removeAll()
    let name = names.add(kind.typePrefix, item.high, item.low)
    let hasher = CellHasher(name: SipHash13.hash(UnsafeRawBufferPointer(name)), stamp: stamp)
    var sum = hasher.existence()
    return try packed.withValues { values in
      readCells(item, values, hasher, &sum)
      let clock = clock.with(StateSum(sum))
      if readsFirst || !isNew, let outcome = try look(item, name, clock, sum) { return outcome }
      guard isNew, let insert, transaction.plain.takesPresence(kind), isAcceptable(), let owners = owners(name),
        try transaction.plain.isUnknown(name, key, kind)
      else { return .notHandled }
      bind(insert, name, clock)
      defer { insert.clearBindings() }
      guard let isInserted = try transaction.writer.insert(insert, kind) else { return .notHandled }
      if isInserted {
        readsFirst = false
        let dangles = try transaction.plain.mayDangle(kind, enforcesKeys: enforcesKeys) && dangles()
        return .inserted(Inserted(key: key, dot: stamp.dot, sum: sum, owners: owners, dangles: dangles))
      }
      readsFirst = true
      return try look(item, name, clock, sum) ?? .notHandled
    }
  }

  /// Reads the values, and adds what they add to the fingerprint.
  private func readCells(
    _ item: PackedRecords.Item, _ values: PackedRecords.Values, _ hasher: CellHasher, _ sum: inout Fingerprint
  ) {
    cells.removeAll(keepingCapacity: true)
    values.forEach(of: item) { field, bytes in
      let place = places[field]
      var value = PackedValue(bytes)
      if case .name(let type, let high, let low) = value { value = .text(names.add(type, high, low)) }
      let hash = kind.columns[place].hash
      switch value {
      case .null: sum += hasher.field(hash, .null)
      case .integer(let number): sum += hasher.field(hash, integer: number)
      case .real(let number): sum += hasher.field(hash, .real(number))
      case .text(let text): sum += hasher.field(hash, bytes: UnsafeRawBufferPointer(text), isText: true)
      case .blob(let bytes): sum += hasher.field(hash, bytes: bytes, isText: false)
      case .name: break
      }
      cells.append(Cell(place: place, value: value))
    }
  }

  /// Looks whether the record is here.
  /// - Returns: nil if it has no row.
  private func look(
    _ item: PackedRecords.Item, _ name: UnsafeBufferPointer<UInt8>, _ clock: InlineClock, _ sum: Fingerprint
  ) throws -> Outcome? {
    let found = try transaction.connection.row(kind.rowByName, name) { query in
      try query.clock(2) == clock
        && kind.columns.indices.allSatisfy { isShown(value(at: $0, of: item), in: query, $0) }
    }
    guard let found else {
      // The next records are probably missing too, so try inserting first, if that is possible.
      readsFirst = insert == nil
      return nil
    }
    return found ? .unchanged(sum) : .notHandled
  }

  /// The value that the record has for a column. Cells ascend by field, not by column.
  private func value(at place: Int, of item: PackedRecords.Item) -> PackedValue? {
    guard let field = fields[place], item.mask >> UInt64(field) & 1 != 0 else { return nil }
    let before = item.mask & (1 << UInt64(field) - 1)
    return cells[before.nonzeroBitCount].value
  }

  /// Whether a row shows a value, or the default where there is none.
  private func isShown(_ value: PackedValue?, in query: SQLStatement, _ place: Int) -> Bool {
    let type = query.type(3 + place)
    switch value {
    case nil:
      if type == SQLITE_NULL { return kind.columns[place].defaultValue.isNull }
      return !kind.columns[place].defaultValue.isNull && query.value(3 + place) == kind.columns[place].defaultValue
    case .integer(let number): return type == SQLITE_INTEGER && query.int64(3 + place) == number
    case .real(let number): return type == SQLITE_FLOAT && query.double(3 + place).bitPattern == number.bitPattern
    case .text(let text): return type == SQLITE_TEXT && query.withBytes(ofText: 3 + place) { $0.hasSameBytes(as: text) }
    case .blob(let bytes):
      return type == SQLITE_BLOB
        && query.withBlob(3 + place) { blob in
          blob.bindMemory(to: UInt8.self).hasSameBytes(as: bytes.bindMemory(to: UInt8.self))
        }
    case .null, .name: return false
    }
  }

  /// Whether the row can show all values as they are, and none of them is a default, which has no cell in a row with
  /// one stamp.
  private func isAcceptable() -> Bool {
    guard kind.lenses.isEmpty || showsNothingThroughLenses() else { return false }
    return cells.allSatisfy { cell in
      let column = kind.columns[cell.place]
      let isAccepted =
        switch (column.kind, cell.value) {
        case (.integer, .integer), (.counter, .integer), (.real, .real), (.blob, .blob), (.text, .text): true
        case (.date, .text(let text)): FieldSyntax.isDate(text)
        case (nil, .text(let text)): RecordKey.uuid(in: text, after: column.targetPrefix) != nil
        default: column.accepts(Value(cell.value))
        }
      guard isAccepted else { return false }
      if column.defaultValue.isNull { if case .null = cell.value { return false } else { return true } }
      return Value(cell.value) != column.defaultValue
    }
  }

  /// Whether each newer column of a lens has a value of its own where the older one has one.
  private func showsNothingThroughLenses() -> Bool {
    kind.lenses.pairs.allSatisfy { pair in
      cells.contains { $0.place == pair.newer } || !cells.contains { $0.place == pair.older }
    }
  }

  /// The records that own the record of this name, where that matters; nil if that is not sure, or if it owns itself.
  private func owners(_ name: UnsafeBufferPointer<UInt8>) -> [AnyRecordName]? {
    guard kind.mayCycle || transaction.plain.needsOwners(kind) else { return [] }
    var owners: [AnyRecordName] = []
    for cell in cells where kind.columns[cell.place].reference?.isOwning == true {
      guard case .text(let text) = cell.value, !text.hasSameBytes(as: name),
        let owner = kind.columns[cell.place].target(of: Value(cell.value)),
        transaction.catalog.kind(of: owner.type)?.forwardField == nil
      else { return nil }
      owners.append(owner)
    }
    return transaction.plain.needsOwners(kind) ? owners : []
  }

  /// Whether a value refers to a record that has no row.
  private func dangles() throws -> Bool {
    for cell in cells {
      guard let reference = kind.columns[cell.place].reference, case .text(let text) = cell.value else { continue }
      guard let target = transaction.catalog.kind(of: reference.to), target.isKnown,
        try transaction.connection.row(target.numberByName, text, { _ in }) != nil
      else { return true }
    }
    return false
  }

  private func bind(_ insert: SQLStatement, _ name: UnsafeBufferPointer<UInt8>, _ clock: InlineClock) {
    insert.bindInPlace(1, text: name)
    insert.bind(2, clock)
    for place in defaults { insert.bind(3 + place, kind.columns[place].defaultValue) }
    for cell in cells {
      switch cell.value {
      case .null, .name: insert.bindNull(3 + cell.place)
      case .integer(let number): insert.bind(3 + cell.place, number)
      case .real(let number): insert.bind(3 + cell.place, Value.real(number))
      case .text(let text): insert.bindInPlace(3 + cell.place, text: text)
      case .blob(let bytes): insert.bindInPlace(3 + cell.place, blob: bytes)
      }
    }
  }
}

/// Memory for the names that are needed of one record: its own, and those that it refers to.
final class NameBuffer {
  private let memory: UnsafeMutableBufferPointer<UInt8>
  private var count = 0

  /// - Parameter count: how many names there are at most.
  init(count: Int) {
    memory = .allocate(capacity: count * (AnyRecordName.maximumTypeLength + 3 + 36))
  }

  deinit { memory.deallocate() }

  /// Forgets all names.
  func removeAll() { count = 0 }

  /// The name of a type and a UUID, until all are forgotten.
  func add(_ type: UnsafeBufferPointer<UInt8>, _ high: UInt64, _ low: UInt64) -> UnsafeBufferPointer<UInt8> {
    let start = count
    append(type)
    append(AnyRecordName.delimiter.utf8)
    return end(start, high, low)
  }

  /// The same for a type that the delimiter follows already.
  func add(_ prefix: [UInt8], _ high: UInt64, _ low: UInt64) -> UnsafeBufferPointer<UInt8> {
    let start = count
    append(prefix)
    return end(start, high, low)
  }

  private func append(_ bytes: some Collection<UInt8>) {
    _ = UnsafeMutableBufferPointer(rebasing: memory[count...]).update(fromContentsOf: bytes)
    count += bytes.count
  }

  private func end(_ start: Int, _ high: UInt64, _ low: UInt64) -> UnsafeBufferPointer<UInt8> {
    RecordKey.write(high, low, to: UnsafeMutableBufferPointer(rebasing: memory[count..<count + 36]))
    count += 36
    return UnsafeBufferPointer(rebasing: memory[start..<count])
  }
}
