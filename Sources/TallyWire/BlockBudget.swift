/// The budget that a block has left. A few bytes on the wire become many in memory, so their number is limited as
/// well.
struct BlockBudget {
  private var items = WireLimits.blockItems
  private var cells = WireLimits.blockCells
  private var names = WireLimits.blockFieldNames

  mutating func take(items count: Int) throws(WireError) {
    items -= count
    guard items >= 0 else { throw WireError(.limitExceeded, "a block has more than \(WireLimits.blockItems) items") }
  }

  mutating func take(cells count: Int) throws(WireError) {
    cells -= count
    guard cells >= 0 else { throw WireError(.limitExceeded, "a block has more than \(WireLimits.blockCells) cells") }
  }

  mutating func take(names count: Int) throws(WireError) {
    names -= count
    guard names >= 0 else {
      throw WireError(.limitExceeded, "a block has more than \(WireLimits.blockFieldNames) names of fields")
    }
  }

  /// Checks a number of stamps, which are shared and not used up.
  func check(stamps count: Int) throws(WireError) {
    guard count <= WireLimits.blockCells else {
      throw WireError(.limitExceeded, "a block has more than \(WireLimits.blockCells) stamps")
    }
  }
}
