/// How a figure's cost for each record changes from one number of records to a larger one.
struct Growth {
  var small: Finding
  var large: Finding
  var smallRecords: Int
  var largeRecords: Int

  /// What moves every record once.
  private static let figures = ["W2.one", "W3.c", "W4.one", "W5.known", "W5.repair"]
  /// From so many records on, a full delta and its application may cost this much more for each.
  private static let (limit, limitedFrom, limited) = (1.1, 1_000_000, ["W3.c", "W4.one"])

  /// 1 where the cost grows as the number of records does.
  var factor: Double { perRecord(large.tally, small.tally) }
  /// The same for the plain database: trees become deeper and caches too small for it, too.
  var plainFactor: Double? {
    guard let large = large.plain, let small = small.plain else { return nil }
    return perRecord(large, small)
  }
  var limit: Double? {
    largeRecords >= Self.limitedFrom && Self.limited.contains(large.figure.id) ? Self.limit : nil
  }

  private func perRecord(_ large: Double, _ small: Double) -> Double {
    large / small * Double(smallRecords) / Double(largeRecords)
  }

  /// Each number of records beside the one before it.
  static func all(_ sections: [Section]) -> [Growth] {
    zip(sections, sections.dropFirst()).flatMap { small, large in
      figures.compactMap { id in
        guard let before = small.finding(id), let after = large.finding(id) else { return nil }
        return Growth(small: before, large: after, smallRecords: small.records, largeRecords: large.records)
      }
    }
  }

  // MARK: The table

  static let headings = [
    "", "what", "against", "records", "for each record", "target", "its baseline", "peak memory before", "peak memory",
  ]

  var cells: [String] {
    let figure = large.figure
    let records = "\(Format.count(smallRecords)) to \(Format.count(largeRecords))"
    let target = limit.map { "≤ × \(Format.number($0)), \(factor <= $0 ? "met" : "missed")" }
    let memory = [small, large].map { $0.memory.map(Format.memory) ?? "" }
    return [
      figure.id, figure.name, figure.baseline, records, "× \(Format.ratio(factor))", target ?? "",
      plainFactor.map { "× \(Format.ratio($0))" } ?? "",
    ] + memory
  }
}
