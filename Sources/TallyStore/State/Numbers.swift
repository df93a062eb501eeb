/// A number that means something within one file only. Each idea has a type of its own, so that none can stand for
/// another.
package protocol FileNumber: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible
where RawValue == Int {
  init(rawValue: Int)
}

extension FileNumber {
  package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
  package var description: String { String(rawValue) }
}

/// The number of a type of records, or of a relationship: `tally_kind.n`.
package struct KindNumber: FileNumber {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }
}

/// The number of a replica: `tally_replica.n`.
package struct ReplicaNumber: FileNumber {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// The largest that a stored state can name.
  static let largest = ReplicaNumber(rawValue: Int(Int32.max))
}

/// The `rowid` of a row in one of the app's tables. VACUUM may change it, so nothing that is kept holds one.
struct RowID: FileNumber { let rawValue: Int }

extension SQLBindable where Self: FileNumber {
  func bind(to statement: SQLStatement, _ index: Int) { statement.bind(index, rawValue) }
}
extension KindNumber: SQLBindable {}
extension ReplicaNumber: SQLBindable {}
extension RowID: SQLBindable {}

extension SQLStatement {
  package func bind(_ index: Int, _ number: some FileNumber) { bind(index, number.rawValue) }

  /// A column that holds a number of the file's.
  package func number<Number: FileNumber>(_ column: Int, as type: Number.Type = Number.self) -> Number {
    Number(rawValue: int(column))
  }
}
