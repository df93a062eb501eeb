import TallyCRDT
import TallyStore

/// What a search for a record has found so far.
package struct SearchReport: Sendable, Codable {
  /// A record that fits.
  package struct Hit: Sendable, Codable {
    /// The record's name.
    package var name: String
    /// The store in which it was found, by its place among those that are open.
    package var store: Int
    /// The first texts of its row, to recognize it by.
    package var title: String
    /// Whether the app sees it in that store.
    package var isVisible: Bool
  }

  /// The hits of this step.
  package var hits: [Hit]
  /// What to ask for the next step with; nil once everything was looked through.
  package var next: String?
}

/// A search for a record by its name, a part of its key, or a text in it, through several stores.
///
/// Names are found through the index at once. Texts are searched for row by row, in steps that end when their time is
/// over, so that a store of any size answers at once.
package struct RecordSearch {
  private let stores: [Store]
  private let text: String

  /// A search through stores.
  package init(_ text: String, in stores: [Store]) { (self.stores, self.text) = (stores, text) }

  /// One thing to look through: the rows of a type in a store, or its hidden records.
  private struct Part {
    var store: Int
    var type: String
    var isHidden: Bool
  }

  /// Searches from the beginning or from where the last step has ended.
  /// - Throws: what reading the stores throws; `StoreError.invalidName` for a place that no step has given.
  package func step(from place: String? = nil, limit: Int = 50, until isOver: () -> Bool) throws -> SearchReport {
    guard !text.isEmpty else { return SearchReport(hits: [], next: nil) }
    guard let place else { return SearchReport(hits: try named(limit), next: "0:") }
    let parts = try self.parts()
    let pieces = place.split(separator: ":", omittingEmptySubsequences: false)
    guard pieces.count == 2, var number = Int(pieces[0]), number >= 0, pieces[1].isEmpty || Int64(pieces[1]) != nil
    else {
      throw StoreError(.invalidName, "the place is none that a search has given")
    }
    var after = Int64(pieces[1])
    var report = SearchReport(hits: [], next: nil)
    while number < parts.count {
      let page = try look(parts[number], after, limit - report.hits.count, until: isOver, &report)
      (number, after) = page.map { (number, $0) } ?? (number + 1, nil)
      if report.hits.count >= limit || isOver() { break }
    }
    if number < parts.count { report.next = "\(number):\(after.map { "\($0)" } ?? "")" }
    return report
  }

  private func parts() throws -> [Part] {
    try stores.enumerated().flatMap { number, store in
      let types = try store.schema.entities.map(\.type)
      return types.map { Part(store: number, type: $0, isHidden: false) }
        + types.map { Part(store: number, type: $0, isHidden: true) }
    }
  }

  private func look(
    _ part: Part, _ after: Int64?, _ limit: Int, until isOver: () -> Bool, _ report: inout SearchReport
  ) throws -> Int64? {
    let query = RowQuery(part.type, columns: 0..<8, text: text, after: after, limit: limit)
    let store = stores[part.store]
    let page = try part.isHidden ? store.hiddenRows(query, until: isOver) : store.rows(query, until: isOver)
    report.hits += page.rows.map { row in
      .init(name: row.name, store: part.store, title: Self.title(row.values), isVisible: !part.isHidden)
    }
    return page.next
  }

  private func named(_ limit: Int) throws -> [SearchReport.Hit] {
    try stores.enumerated().flatMap { number, store in
      try store.names(withKey: text, limit: limit).map { name in
        let fields = try store.history(of: name)?.fields.map { ValuePreview($0.value, limit: 80) } ?? []
        let isVisible = try store.presence(of: name).isVisible
        return SearchReport.Hit(name: name.text, store: number, title: Self.title(fields), isVisible: isVisible)
      }
    }
  }

  private static func title(_ values: [ValuePreview]) -> String {
    let texts = values.filter { $0.kind == .text && !$0.text.contains("|~|") && !$0.text.isEmpty }
    return texts.prefix(2).map { $0.text.prefix(80) }.joined(separator: " · ")
  }
}
