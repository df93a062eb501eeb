/// By how many rows the counted tables have grown since the counts were last kept; negative if they have shrunk.
struct RowChanges {
  /// The counted kinds; usually none.
  var kinds = Set<KindNumber>()
  private(set) var numbers: [KindNumber: Int] = [:]

  /// Returns the changes, and starts again from zero.
  mutating func take() -> [KindNumber: Int] {
    defer { numbers = [:] }
    return numbers
  }

  fileprivate mutating func count(_ kind: KindNumber, _ number: Int) {
    if !kinds.isEmpty, kinds.contains(kind) { numbers[kind, default: 0] += number }
  }
}

extension StateWriter {
  /// Records that rows of a kind were inserted, or deleted if the number is negative.
  func count(_ kind: KindNumber, _ number: Int) { rowChanges.count(kind, number) }
}
