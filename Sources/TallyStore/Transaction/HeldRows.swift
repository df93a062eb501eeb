/// The rows that the end of an app's transaction looks at: it fails if the database refuses its writes there.
struct HeldRows {
  /// The rows that were set aside before the app wrote; nil if it has not.
  private(set) var before: SetAside?
  /// Rows in which a write of the app's is also one of a column that it has not named.
  private(set) var lensed = Set<RowAddress>()

  /// Notes that a write of the app's is captured.
  mutating func begin(_ aside: SetAside) {
    if before == nil { before = aside }
  }

  /// Notes a row whose older columns get what newer ones say.
  mutating func note(lensed row: RowAddress) { lensed.insert(row) }
}
