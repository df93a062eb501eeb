/// A number that means something within one file only. Each idea has a type of its own, so that none can stand for
/// another.
protocol FileNumber: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible where RawValue == Int {
  init(rawValue: Int)
}

extension FileNumber {
  static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
  var description: String { String(rawValue) }
}

/// The number of a type of records, or of a relationship: `tally_kind.n`.
struct KindNumber: FileNumber { let rawValue: Int }

/// The number of a replica: `tally_replica.n`.
struct ReplicaNumber: FileNumber {
  let rawValue: Int

  /// The largest that a stored state can name.
  static let largest = ReplicaNumber(rawValue: Int(Int32.max))
}

/// The `rowid` of a row in one of the app's tables. VACUUM may change it, so nothing that is kept holds one.
struct RowID: FileNumber { let rawValue: Int }

extension SQLStatement {
  func bind(_ index: Int, _ number: some FileNumber) { bind(index, number.rawValue) }

  /// A column that holds a number of the file's.
  func number<Number: FileNumber>(_ column: Int, as type: Number.Type = Number.self) -> Number {
    Number(rawValue: int(column))
  }
}
