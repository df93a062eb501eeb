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
    /// What it is called, or the first texts of its row, to recognize it by.
    package var title: String
    /// Whether the app sees it in that store.
    package var isVisible: Bool
  }

  /// A store that could not be looked through.
  package struct Failure: Sendable, Codable, Equatable {
    /// The store, by its place among those that are open.
    package var store: Int
    /// The error of reading it.
    package var message: String

    /// A store that could not be looked through, and why.
    package init(store: Int, message: String) { (self.store, self.message) = (store, message) }
  }

  /// The hits of this step.
  package var hits: [Hit]
  /// What to ask for the next step with; nil once everything was looked through.
  package var next: String?
  /// The stores that could not be read in this step.
  package var failures: [Failure] = []
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

  /// Where a step has ended: a store, one of its parts, and the last row that was looked at.
  private struct Place {
    var store = 0
    var part = 0
    var after: Int64?

    init() {}

    init(_ text: String) throws {
      let pieces = text.split(separator: ":", omittingEmptySubsequences: false)
      guard pieces.count == 3, let store = Int(pieces[0]), let part = Int(pieces[1]), store >= 0, part >= 0,
        pieces[2].isEmpty || Int64(pieces[2]) ?? .min > .min
      else { throw StoreError(.invalidName, "invalid position: it does not come from a search") }
      (self.store, self.part, after) = (store, part, Int64(pieces[2]))
    }

    var text: String { "\(store):\(part):\(after.map { "\($0)" } ?? "")" }
  }

  /// Searches from the beginning or from where the last step has ended. A store that cannot be read is passed over.
  /// A record that one store has is looked up in all others as well.
  /// - Throws: `StoreError.invalidName` for a place that no step has given.
  package func step(from place: String? = nil, limit: Int = 50, until isOver: () -> Bool) throws -> SearchReport {
    var report = try found(from: place, limit: limit, until: isOver)
    let hits = Dictionary(grouping: report.hits) { $0.name }
    for number in stores.indices where !report.failures.contains(where: { $0.store == number }) {
      _ = trying(number, &report) { report in
        for (text, known) in hits where !known.contains(where: { $0.store == number }) {
          let presence = try stores[number].presence(of: try AnyRecordName(text))
          guard ![.notReceived, .unknownType].contains(presence.code) else { continue }
          report.hits.append(.init(name: text, store: number, title: known[0].title, isVisible: presence.isVisible))
        }
        return true
      }
    }
    return report
  }

  private func found(from place: String?, limit: Int, until isOver: () -> Bool) throws -> SearchReport {
    guard !text.isEmpty else { return SearchReport(hits: [], next: nil) }
    var report = SearchReport(hits: [], next: nil)
    guard let start = try place.map({ try Place($0) }) else {
      for number in stores.indices {
        _ = trying(number, &report) { report in
          report.hits += try named(in: number, limit, until: isOver)
          return true
        }
      }
      report.next = Place().text
      return report
    }
    var place = start
    while place.store < stores.count {
      var isOverHere = false
      let isDone = trying(place.store, &report) { report in
        let parts = try self.parts(of: place.store)
        while place.part < parts.count, !isOverHere {
          place.after = try look(parts[place.part], place.after, limit - report.hits.count, until: isOver, &report)
          if place.after == nil { place.part += 1 }
          isOverHere = report.hits.count >= limit || isOver()
        }
        return place.part >= parts.count
      }
      if isDone { (place.store, place.part, place.after) = (place.store + 1, 0, nil) }
      if isOverHere || isOver() { break }
    }
    if place.store < stores.count { report.next = place.text }
    return report
  }

  /// Looks into a store; if it cannot be read, that is noted.
  /// - Returns: whether the store is done with.
  private func trying(_ store: Int, _ report: inout SearchReport, _ body: (inout SearchReport) throws -> Bool) -> Bool {
    do {
      return try body(&report)
    } catch {
      report.failures.append(SearchReport.Failure(store: store, message: "\(error)"))
      return true
    }
  }

  private func parts(of store: Int) throws -> [Part] {
    let types = try stores[store].schema.entities.map(\.type)
    return types.map { Part(store: store, type: $0, isHidden: false) }
      + types.map { Part(store: store, type: $0, isHidden: true) }
  }

  private func look(
    _ part: Part, _ after: Int64?, _ limit: Int, until isOver: () -> Bool, _ report: inout SearchReport
  ) throws -> Int64? {
    let store = stores[part.store]
    let entity = try store.schema[part.type]
    let columns = RecordTitle.columns(of: entity)
    let query = RowQuery(part.type, columns: columns, text: text, after: after, limit: limit)
    let page = try part.isHidden ? store.hiddenRows(query, until: isOver) : store.rows(query, until: isOver)
    let names = Array((entity?.columnNames ?? []).prefix(columns.upperBound))
    report.hits += page.rows.map { row in
      let title = RecordTitle.text(Array(zip(names, row.values)), entity)
      return .init(name: row.name, store: part.store, title: title, isVisible: !part.isHidden)
    }
    return page.next
  }

  /// The records whose key begins with the text; those for which the time is too short are found with their rows.
  private func named(in number: Int, _ limit: Int, until isOver: () -> Bool) throws -> [SearchReport.Hit] {
    let store = stores[number]
    var hits: [SearchReport.Hit] = []
    for name in try store.names(withKey: text, limit: limit) {
      let entity = try store.schema[name.type]
      let fields = try store.history(of: name)?.fields.map { field in
        (entity?.columnName(field.field) ?? field.field, ValuePreview(field.value, limit: ValuePreview.listLimit))
      }
      let isVisible = try store.presence(of: name).isVisible
      let title = RecordTitle.text(fields ?? [], entity)
      hits.append(.init(name: name.text, store: number, title: title, isVisible: isVisible))
      if isOver() { break }
    }
    return hits
  }
}
