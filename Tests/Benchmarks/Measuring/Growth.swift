import Foundation

/// How a workload's cost for each record changes with ten times the records.
struct Growth: Codable {
  var small: Finding
  var large: Finding
  var smallRecords: Int
  var largeRecords: Int

  /// 1 where the cost grows as the number of records does.
  var factor: Double { large.tally / small.tally * Double(smallRecords) / Double(largeRecords) }
  /// The same for the plain database: trees become deeper and caches too small for it, too.
  var plainFactor: Double? {
    guard let large = large.plain, let small = small.plain else { return nil }
    return large / small * Double(smallRecords) / Double(largeRecords)
  }

  static let workloads: Set = ["W2", "W3", "W4", "W5"]

  /// One round of each size.
  static func measure(from records: Int, in folder: URL) throws -> [Growth] {
    let folder = folder.appendingPathComponent("growth")
    var (small, large): ([Finding], [Finding]) = ([], [])
    try Benchmarks.measure(records, 1, workloads, folder) { small = $1 }
    try Benchmarks.measure(records * 10, 1, workloads, folder) { large = $1 }
    return zip(small, large).filter { $0.0.figure.quantity == .cpu }.map {
      Growth(small: $0.0, large: $0.1, smallRecords: records, largeRecords: records * 10)
    }
  }
}
