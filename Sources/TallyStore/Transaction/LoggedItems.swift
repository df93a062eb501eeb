import TallyCRDT
import TallyWire

/// The items of one row of `tally_log`, of which each is read when it is asked for.
///
/// A transaction of a thousand records has a row of as many items, and a pack has the entries of many transactions.
/// Where items begin is found by their lengths alone; most of what reading an item takes is making its name.
struct LoggedItems {
  private let bytes: [UInt8]
  /// Where each item is.
  private var places: [Range<Int>] = []
  /// Of a pack, the heads of its entries and for each item the number of its entry.
  private var heads: [PackHead] = []
  private var entries: [Int] = []
  private let catalog: Catalog

  /// - Throws: `StoreError` of code `corrupt` if the lengths do not fit, or a kind is unknown.
  init(_ bytes: [UInt8], _ catalog: Catalog) throws {
    (self.bytes, self.catalog) = (bytes, catalog)
    places.reserveCapacity(bytes.count / 17)
    try bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      var last: (kind: KindNumber, isLink: Bool)?
      guard raw.first == LogEntry.packMark else { return try add(raw.count, &reader, &last) }
      while reader.remaining > 0 {
        do throws(WireError) { heads.append(try PackHead(&reader)) } catch { throw StoreError(stored: error) }
        try add(reader.offset + heads[heads.count - 1].byteCount, &reader, &last)
      }
    }
  }

  /// Notes the items up to an offset.
  private mutating func add(
    _ end: Int, _ reader: inout ByteReader, _ last: inout (kind: KindNumber, isLink: Bool)?
  ) throws(StoreError) {
    while reader.offset < end {
      let start = reader.offset
      try ChangeLog.skipItem(&reader, catalog, &last)
      places.append(start..<reader.offset)
      if !heads.isEmpty { entries.append(heads.count - 1) }
    }
    guard reader.offset == end else { throw StoreError(.corrupt, "an entry of the change log is too short") }
  }

  var count: Int { places.count }

  /// How many transactions it is of.
  var entryCount: Int { max(heads.count, 1) }

  /// Reads one item.
  func item(_ place: Int) throws -> ChangeLog.Item {
    try bytes[places[place]].withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      return try ChangeLog.decodeItem(&reader, catalog)
    }
  }

  /// By how much the sequence of the row is greater than that of an item's transaction.
  func sequenceBack(_ place: Int) -> UInt64 { heads.isEmpty ? 0 : heads[entries[place]].sequenceBack }

  /// The bytes of a row that lists only these items, which are in order.
  func bytes(of chosen: [Int]) -> [UInt8] {
    guard !heads.isEmpty else { return chosen.flatMap { bytes[places[$0]] } }
    var writer = ByteWriter()
    for (number, head) in heads.enumerated() {
      let items = chosen.filter { entries[$0] == number }.flatMap { bytes[places[$0]] }
      guard !items.isEmpty else { continue }
      PackHead.write(head.numberBack, head.sequenceBack, items.count, to: &writer)
      writer.bytes += items
    }
    return writer.bytes
  }
}
