import TallyCRDT
import TallyWire

/// The entries that one transaction adds to `tally_log`: for each dot the records and links with a cell of that dot.
///
/// The log finds what a delta must hold. It may list more than that: an entry whose cells have been superseded since
/// costs one look-up and nothing else, because the cells themselves say which dot they have. What it must list, and
/// when an entry goes, `LogSweep` says.
package struct ChangeLog {
  private var entries: [Dot: ByteWriter] = [:]
  /// Some that are in `entries` no more, or not yet: most notes of a transaction are of few dots, which take turns.
  private var recent: [(dot: Dot, items: ByteWriter)] = []
  private static let recentCount = 16
  private var byteCount = 0
  /// The bytes of items, roughly, that were listed before, and of those that were not.
  private(set) var listed = LogSweep.Listed()
  private static let recordBytes = 20
  private static let limit = 1 << 18

  /// Notes that the record has a cell of the dot.
  mutating func note(_ dot: Dot, kind: KindNumber, _ name: AnyRecordName, isNew: Bool) {
    note(dot, kind: kind, RecordKey(name), isNew: isNew)
  }

  /// Notes that the record with this key has a cell of the dot. `isNew` says that the log has not listed it yet.
  mutating func note(_ dot: Dot, kind: KindNumber, _ key: RecordKey, isNew: Bool) {
    Self.write(kind, key, to: &recent[place(of: dot)].items)
    byteCount += Self.recordBytes
    listed.add(Self.recordBytes, isNew: isNew)
  }

  /// Notes that the link has a tag or removal of the dot.
  mutating func note(_ dot: Dot, kind: KindNumber, _ key: LinkKey, isNew: Bool) {
    Self.write(kind, RecordKey(key.source), RecordKey(key.target), to: &recent[place(of: dot)].items)
    byteCount += 2 * Self.recordBytes
    listed.add(2 * Self.recordBytes, isNew: isNew)
  }

  private static func write(_ kind: KindNumber, _ key: RecordKey, to items: inout ByteWriter) {
    items.varint(kind.rawValue << 2 | (key.isText ? 1 : 0))
    items.key(key)
  }

  private static func write(_ kind: KindNumber, _ source: RecordKey, _ target: RecordKey, to items: inout ByteWriter) {
    items.varint(kind.rawValue << 2 | (source.isText ? 1 : 0) | (target.isText ? 2 : 0))
    items.key(source)
    items.key(target)
  }

  /// Where the items of a dot are among the recent ones, to which they move.
  private mutating func place(of dot: Dot) -> Int {
    for place in recent.indices where recent[place].dot == dot { return place }
    let items = entries.isEmpty ? nil : entries.removeValue(forKey: dot)
    guard recent.count == Self.recentCount else {
      recent.append((dot, items ?? ByteWriter()))
      return recent.count - 1
    }
    let place = Int(truncatingIfNeeded: dot.sequence) & (Self.recentCount - 1)
    entries[recent[place].dot] = recent[place].items
    recent[place] = (dot, items ?? ByteWriter())
    return place
  }

  /// Gives away all entries, ascending.
  private mutating func takeAll() -> [(dot: Dot, items: ByteWriter)] {
    defer { (entries, recent, byteCount) = ([:], [], 0) }
    guard !entries.isEmpty || recent.count > 1 else { return recent }
    for (dot, items) in recent { entries[dot] = items }
    return entries.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Whether the notes should be written before there are more of them.
  var isFull: Bool { byteCount > Self.limit }

  /// Writes the notes, and adds to `growth` the bytes that this took in the table.
  mutating func flush(_ log: Log, to growth: inout Int) throws {
    let entries = takeAll()
    guard !entries.isEmpty else { return }
    let isLittle = entries.reduce(0) { $0 + $1.items.bytes.count } <= LogTail.mostBytesOfOne
    if !isLittle { try log.flushEntries(to: &growth) }
    for (dot, writer) in entries {
      if isLittle {
        try log.list(writer.bytes, dot, to: &growth)
      } else {
        try log.insert(writer.bytes, dot, to: &growth)
      }
    }
  }

  /// Reads the items of one row: for each the kind and one or two names.
  package static func decode(
    _ bytes: [UInt8], _ catalog: Catalog, _ body: (KindNumber, AnyRecordName, AnyRecordName?) throws -> Void
  ) throws {
    try bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      while reader.remaining > 0 {
        let (kind, name, target) = try decodeItem(&reader, catalog)
        try body(kind, name, target)
      }
    }
  }

  /// An entry of a row: a record, or a link with its two ends.
  package typealias Item = (kind: KindNumber, name: AnyRecordName, target: AnyRecordName?)

  /// The items of one row.
  package static func items(_ bytes: [UInt8], _ catalog: Catalog) throws -> [Item] {
    var items: [Item] = []
    try decode(bytes, catalog) { items.append(($0, $1, $2)) }
    return items
  }

  /// Where the items of one entry are.
  static func ranges(of items: [UInt8], _ catalog: Catalog) throws -> [Range<Int>] {
    try items.withUnsafeBytes { raw in
      var (reader, ranges) = (ByteReader(raw), [Range<Int>]())
      var last: (kind: KindNumber, isLink: Bool)?
      while reader.remaining > 0 {
        let start = reader.offset
        try skipItem(&reader, catalog, &last)
        ranges.append(start..<reader.offset)
      }
      return ranges
    }
  }

  /// Goes to the next item without reading this one. `last` is what is known of the kind of the item before: most items
  /// of a row are of one kind.
  private static func skipItem(
    _ reader: inout ByteReader, _ catalog: Catalog, _ last: inout (kind: KindNumber, isLink: Bool)?
  ) throws(StoreError) {
    do throws(WireError) {
      let head = try reader.varint()
      let kind = KindNumber(rawValue: Int(truncatingIfNeeded: head >> 2))
      if last?.kind != kind {
        let isLink = catalog.links[kind] != nil
        guard isLink || catalog.records[kind] != nil else {
          throw WireError(.malformed, "the log names an unknown kind")
        }
        last = (kind, isLink)
      }
      try reader.skipKey(isText: head & 1 != 0)
      if last?.isLink == true { try reader.skipKey(isText: head & 2 != 0) }
    } catch {
      throw StoreError(stored: error)
    }
  }

  static func decodeItem(_ reader: inout ByteReader, _ catalog: Catalog) throws(StoreError)
    -> (KindNumber, AnyRecordName, AnyRecordName?)
  {
    do {
      let head = try reader.varint()
      let kind = KindNumber(rawValue: Int(truncatingIfNeeded: head >> 2))
      if let record = catalog.records[kind] {
        return (kind, try reader.recordName(type: record.type, isText: head & 1 != 0).1, nil)
      }
      if let link = catalog.links[kind] {
        let source = try reader.recordName(type: link.source, isText: head & 1 != 0).1
        return (kind, source, try reader.recordName(type: link.target, isText: head & 2 != 0).1)
      }
    } catch {
      throw StoreError(stored: error)
    }
    throw StoreError(.corrupt, "the log names an unknown kind")
  }
}
