import GRDB
import Tally
import TallyTesting

/// W2: as many updates of one field as there are records, each of a record chosen at random.
enum UpdateWorkload {
  static func run(_ round: Round) throws {
    let pair = try round.filled()
    let order = round.randomOrder(round.rows.items.count)
    let figure = Figure(
      "W2", "update one field, random records", against: "the same in a plain table", target: .ratio(2))
    try round.compare(figure) {
      try pair.plain.update(round.rows.items, order, from: 1_000_000)
    } tally: {
      try pair.store.update(round.rows.items, order, from: 1_000_000)
    }
    try FileSizeWorkload.measure(pair, in: round, after: "W2", target: 1.25)
  }
}

extension Round {
  /// So many numbers of items, drawn with repetition.
  func randomOrder(_ count: Int) -> [Int] {
    var random = SplitMix64(seed: UInt64(number))
    return (0..<count).map { _ in Int.random(in: living, using: &random) }
  }
}
