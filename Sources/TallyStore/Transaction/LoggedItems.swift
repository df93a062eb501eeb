import TallyCRDT
import TallyWire

/// The items of one row of `tally_log`, of which each is read when it is asked for.
///
/// A transaction of a thousand records has a row of as many items. Where they begin is found by their lengths alone;
/// most of what reading an item takes is making its name.
struct LoggedItems {
  private let bytes: [UInt8]
  /// Where each item begins.
  private let starts: [Int]
  private let catalog: Catalog

  /// - Throws: `StoreError` of code `corrupt` if the lengths do not fit, or a kind is unknown.
  init(_ bytes: [UInt8], _ catalog: Catalog) throws {
    var starts: [Int] = []
    starts.reserveCapacity(bytes.count / 17)
    try bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      var last: (kind: KindNumber, isLink: Bool)?
      while reader.remaining > 0 {
        starts.append(reader.offset)
        try ChangeLog.skipItem(&reader, catalog, &last)
      }
    }
    (self.bytes, self.starts, self.catalog) = (bytes, starts, catalog)
  }

  var count: Int { starts.count }

  /// Reads one item.
  func item(_ place: Int) throws -> ChangeLog.Item {
    try bytes[range(of: place)].withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      return try ChangeLog.decodeItem(&reader, catalog)
    }
  }

  /// The bytes of a row that lists only these items.
  func bytes(of places: [Int]) -> [UInt8] { places.flatMap { bytes[range(of: $0)] } }

  private func range(of place: Int) -> Range<Int> {
    starts[place]..<(place + 1 < starts.count ? starts[place + 1] : bytes.count)
  }
}
