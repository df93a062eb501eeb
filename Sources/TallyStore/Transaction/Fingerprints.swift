import GRDBSQLite
import TallyCRDT

extension Catalog {
  /// Returns the change to the fingerprint for a changed record.
  package func fingerprint(_ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState)
    -> Fingerprint
  {
    let hash = SipHash13.hash(name.text)
    guard let old else { return new.fingerprint(name: hash) { self.hash(of: $0, kind) } }
    return new.fingerprint(replacing: old, name: hash) { self.hash(of: $0, kind) }
  }

  /// The hash of a field's wire name.
  func hash(of field: FieldID, _ kind: RecordKind) -> UInt64 {
    kind.index(of: field).map { kind.columns[$0].hash } ?? hash(of: field)
  }

  /// Returns the change to the fingerprint for a changed link.
  package func fingerprint(_ key: LinkKey, _ kind: LinkKind, from old: ORSetElement, to new: ORSetElement)
    -> Fingerprint
  {
    let hashes = linkHashes(key, kind)
    return new.fingerprint(replacing: old, link: hashes.link, target: hashes.target)
  }
}

/// Returns the hashes of a link in the fingerprint: the hash of relationship and source, and that of the target.
func linkHashes(_ key: LinkKey, _ kind: LinkKind) -> (link: UInt64, target: UInt64) { linkHashes(key, kind.wireName) }

/// The same, by the wire name of the relationship.
func linkHashes(_ key: LinkKey, _ wireName: String) -> (link: UInt64, target: UInt64) {
  var hash = SipHash13()
  hash.combine(text: wireName)
  hash.combine(byte: 0)
  hash.combine(text: key.source.text)
  return (hash.finalized(), SipHash13.hash(key.target.text))
}

extension RecordKind {
  /// Returns the contribution to the fingerprint of a row that one transaction inserted, from SQLite's memory. `mask`
  /// has a bit for each place in `wireOrder`, which is set if the column has a cell; the values in `older` are still to
  /// be written into the row.
  func fingerprint(
    _ query: SQLStatement, _ stamp: Stamp, _ mask: UInt64, besides older: [(place: Int, value: Value)]
  ) -> Fingerprint {
    let places = wireOrder.indices.lazy.filter { mask & 1 << UInt64($0) != 0 }
    var sum = CellHasher.sum(of: columns, at: places.map { self.wireOrder[$0] }, in: query, stamp)
    guard !older.isEmpty else { return sum }
    let hasher = CellHasher(name: query.hash(ofText: 1), stamp: stamp)
    for (place, value) in older where !columns[place].isDefault(value) {
      sum += hasher.field(columns[place].hash, value)
    }
    return sum
  }

  /// Returns the contribution to the fingerprint of a row whose cells all have one stamp: each value that is not the
  /// default has a cell.
  func fingerprint(_ query: SQLStatement, _ stamp: Stamp) -> Fingerprint {
    let hasCell = columns.indices.lazy.filter { index in
      let value = self.columns[index].defaultValue
      return value.isNull ? !query.isNull(3 + index) : query.value(3 + index) != value
    }
    return CellHasher.sum(of: columns, at: hasCell, in: query, stamp)
  }
}

extension CellHasher {
  /// What a row whose cells all have one stamp adds, with a cell for each of these columns.
  @inline(__always)
  fileprivate static func sum(
    of columns: [Column], at cells: some Sequence<Int>, in query: SQLStatement, _ stamp: Stamp
  ) -> Fingerprint {
    let hasher = CellHasher(name: query.hash(ofText: 1), stamp: stamp)
    var sum = hasher.existence()
    for index in cells { sum += hasher.field(columns[index].hash, in: query, 3 + index) }
    return sum
  }

  /// The hash of a field cell whose value is in a column of a query.
  fileprivate func field(_ field: UInt64, in query: SQLStatement, _ column: Int) -> Fingerprint {
    switch query.type(column) {
    case SQLITE_TEXT:
      query.withBytes(ofText: column) { self.field(field, bytes: UnsafeRawBufferPointer($0), isText: true) }
    case SQLITE_BLOB: query.withBlob(column) { self.field(field, bytes: $0, isText: false) }
    case SQLITE_INTEGER: self.field(field, integer: query.int64(column))
    default: self.field(field, query.value(column))
    }
  }
}

/// How what is stored compares with the sums that are kept of it.
enum Soundness {
  case sound
  /// The content fits the sum of the whole; only what follows from it is another: the checksum that is stored with some
  /// state, or an index.
  case derivedOnly
  case unsound
}

extension StateReader {
  /// Whether what is stored can be read and fits the sums that are kept of it. Cost: reads the whole store.
  func fitsItsSum() throws -> Bool { try soundness() == .sound }

  /// Compares what is stored with the sums that are kept of it, and indexes with their tables. Cost: reads the whole
  /// store.
  func soundness() throws -> Soundness {
    do {
      let content = try recomputedContent()
      guard try vectorFitsItsSum(), try content.fingerprint == fingerprint() else { return .unsound }
      return try content.hasSoundStates && indexesMatch() ? .sound : .derivedOnly
    } catch let error as StoreError where error.code == .corrupt {
      return .unsound
    }
  }

  /// The sum over everything in the state, from the state itself. Cost: reads the whole store, one state at a time.
  func recomputedFingerprint() throws -> Fingerprint { try recomputedContent().fingerprint }

  /// The sum over everything in the state, and whether each state fits the checksum that is stored with it. Cost: reads
  /// the whole store, one state at a time.
  func recomputedContent() throws -> (fingerprint: Fingerprint, hasSoundStates: Bool) {
    var sum = Fingerprint()
    var hasSoundStates = true
    func count(_ part: Fingerprint, _ stored: StateSum) {
      sum += part
      if StateSum(part) != stored { hasSoundStates = false }
    }
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) {
      func add(_ name: AnyRecordName, _ stored: StoredRecord) {
        count(catalog.fingerprint(name, kind, from: nil, to: stored.state), stored.sum)
      }
      if kind.isKnown {
        try forEachRow(kind) { query in
          let clock = try query.clock(2)
          if case .uniform(let uniform) = clock, query.withBytes(ofText: 1, kind.uuid) != nil,
            let stamp = try stamp(clock)
          {
            count(kind.fingerprint(query, stamp), uniform.sum)
          } else if let name = try name(in: query) {
            add(name, try record(in: query, kind))
          }
        }
      }
      try forEachHiddenRecord(kind.number, add)
    }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) {
      func add(_ key: LinkKey, _ stored: StoredLink) {
        count(catalog.fingerprint(key, kind, from: ORSetElement(), to: stored.element), stored.sum)
      }
      if kind.isKnown { try forEachRow(kind, add) }
      try forEachHiddenLink(kind, add)
    }
    return (sum, hasSoundStates)
  }
}
