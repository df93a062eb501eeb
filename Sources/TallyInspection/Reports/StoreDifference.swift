import TallyCRDT
import TallyStore

/// What one store has and another lacks, record by record, a page of it.
package struct StoreDifference: Sendable, Codable {
  /// Transactions of one replica that a store lacks.
  package struct Gap: Sendable, Codable {
    /// The replica's id.
    package var replica: String
    /// The first and the last transaction that is lacking.
    package var first: UInt64, last: UInt64
  }

  /// The difference of one record.
  package struct Record: Sendable, Codable {
    /// A field that differs.
    package struct Field: Sendable, Codable {
      /// The column.
      package var field: String
      /// What the first store has; nil if the field was never written there.
      package var first: RecordReport.Field?
      /// What the second store has.
      package var second: RecordReport.Field?
    }

    /// The record's name.
    package var name: String
    /// Whether the app sees it in the first store, and why not.
    package var first: PresenceReport
    /// Whether the app sees it in the second store, and why not.
    package var second: PresenceReport
    /// The fields that differ, the first fifty of them.
    package var fields: [Field]
    /// How many more there are.
    package var otherFields: Int
    /// What differs, in words.
    package var sentence: String
    /// Records that one store shows and the other does not because of this one, the first twenty of them.
    package var followers: [Follower]
    /// Whether there are more of those.
    package var hasMoreFollowers: Bool
  }

  /// The names under which the stores are open.
  package var first: String, second: String
  /// Whether both have seen the same transactions.
  package var isSameVector: Bool
  /// Whether both hold the same content.
  package var isSameContent: Bool
  /// What the first store lacks of the second.
  package var firstLacks: [Gap]
  /// What the second store lacks of the first.
  package var secondLacks: [Gap]
  /// The outcome in words.
  package var sentence: String
  /// The records of this page.
  package var records: [Record]
  /// What to ask for the next page with; nil at the end.
  package var next: String?
}

/// Compares two stores.
package struct StoreComparison {
  private let first: (name: String, store: Store)
  private let second: (name: String, store: Store)
  private let directory: ReplicaDirectory

  /// A comparison of two stores that are open under names.
  package init(
    _ first: (name: String, store: Store), _ second: (name: String, store: Store), _ directory: ReplicaDirectory
  ) {
    (self.first, self.second, self.directory) = (first, second, directory)
  }

  /// Compares, from the beginning or from where a page has ended. Cost: what the two do not have in common. A page ends
  /// when it has so many records, or once `isOver` says that it has taken long enough, with or without records.
  /// - Throws: what reading the stores throws; `StoreError.invalidName` for a place that no page has given.
  package func page(
    from place: String? = nil, limit: Int = 50, until isOver: () -> Bool = { false }
  ) throws -> StoreDifference {
    let (one, other) = (try first.store.summary(), try second.store.summary())
    var result = StoreDifference(
      first: first.name, second: second.name, isSameVector: one.vector == other.vector,
      isSameContent: one.fingerprint == other.fingerprint, firstLacks: Self.gaps(of: other.vector, beyond: one.vector),
      secondLacks: Self.gaps(of: one.vector, beyond: other.vector), sentence: "", records: [])
    result.sentence = try sentence(result)
    let start = try place.map { try Place($0) } ?? Place(isSecond: false, place: nil)
    try fill(&result, one.vector, other.vector, from: start, limit, until: isOver)
    return result
  }

  private func fill(
    _ result: inout StoreDifference, _ one: StateVector, _ other: StateVector, from start: Place, _ limit: Int,
    until isOver: () -> Bool
  ) throws {
    var (place, hasLooked) = (start, false)
    let search = FollowerSearch(first: first.store, second: second.store, vectors: (one, other))
    while true {
      let (store, base) = place.isSecond ? (second.store, one) : (first.store, other)
      // To find the place in a row of the log costs reading that from its beginning, for however few records.
      let wanted = max(Self.leastNames, limit - result.records.count + 1)
      let page = try store.names(beyond: base, from: place.place, limit: wanted, until: isOver)
      for (name, spot) in zip(page.names, page.places) {
        if result.records.count >= limit || hasLooked && isOver() {
          result.next = Place(isSecond: place.isSecond, place: spot).text
          return
        }
        hasLooked = true
        // What both have changed is listed once, with the first store's.
        if place.isSecond, try isTouched(name, in: first.store, beyond: other) { continue }
        if let record = try record(name, search) { result.records.append(record) }
      }
      if let next = page.next {
        place = Place(isSecond: place.isSecond, place: next)
        if isOver() {
          result.next = place.text
          return
        }
      } else if !place.isSecond {
        place = Place(isSecond: true, place: nil)
      } else {
        return
      }
    }
  }

  /// So many names at least are looked for at a time.
  private static let leastNames = 20

  private func isTouched(_ name: AnyRecordName, in store: Store, beyond base: StateVector) throws -> Bool {
    try store.dots(of: name).contains { !base.covers($0) }
  }

  private func record(_ name: AnyRecordName, _ search: FollowerSearch) throws -> StoreDifference.Record? {
    var one = try RecordReport(of: name, in: first.store, directory)
    var two = try RecordReport(of: name, in: second.store, directory)
    try one.presence.explain(lackIn: first.store, of: name, besides: [second], directory)
    try two.presence.explain(lackIn: second.store, of: name, besides: [first], directory)
    let fields = Self.fields(one, two)
    let (shown, rest) = (fields.prefix(Self.fieldLimit), max(0, fields.count - Self.fieldLimit))
    let sentence = self.sentence(one, two, shown.map(\.field) + (rest > 0 ? ["\(rest) more"] : []))
    let following = try search.followers(of: name)
    return StoreDifference.Record(
      name: name.text, first: one.presence, second: two.presence, fields: Array(shown), otherFields: rest,
      sentence: sentence, followers: following.followers, hasMoreFollowers: following.hasMore)
  }

  /// The most fields of one record that a page has.
  private static let fieldLimit = 50

  private static func fields(_ one: RecordReport, _ two: RecordReport) -> [StoreDifference.Record.Field] {
    let names = Set(one.fields.map(\.field)).union(two.fields.map(\.field)).sorted()
    return names.compactMap { name in
      let (mine, theirs) = (one.fields.first { $0.field == name }, two.fields.first { $0.field == name })
      guard mine?.written != theirs?.written || mine?.value != theirs?.value else { return nil }
      return StoreDifference.Record.Field(field: name, first: mine, second: theirs)
    }
  }

  // MARK: Words

  private func sentence(_ one: RecordReport, _ two: RecordReport, _ fields: [String]) -> String {
    switch (one.presence.isVisible, two.presence.isVisible) {
    case (true, false): "\(first.name) shows it, \(second.name) does not. \(two.presence.sentence)"
    case (false, true): "\(second.name) shows it, \(first.name) does not. \(one.presence.sentence)"
    case (false, false):
      "Neither shows it. \(first.name): \(one.presence.sentence) \(second.name): \(two.presence.sentence)"
    case (true, true):
      fields.isEmpty
        ? "Both show it; its links or what it owns differ."
        : "Both show it, with other values of \(ReplicaDirectory.joined(fields))."
    }
  }

  private func sentence(_ result: StoreDifference) throws -> String {
    if result.isSameVector {
      return result.isSameContent
        ? "Both have seen the same and hold the same." + (try notShown(first) + notShown(second))
        : "Both have seen the same and hold something else. One of them is damaged: verify both; the next sync repairs."
    }
    var parts: [String] = []
    for (name, gaps) in [(first.name, result.firstLacks), (second.name, result.secondLacks)] where !gaps.isEmpty {
      let words = gaps.map { gap in
        let replica = ReplicaID(gap.replica).map(directory.name) ?? gap.replica
        return gap.first == gap.last ? "\(replica) #\(gap.last)" : "\(replica) #\(gap.first)–#\(gap.last)"
      }
      parts.append("\(name) lacks \(ReplicaDirectory.joined(words)).")
    }
    return parts.joined(separator: " ")
  }

  /// Rows that a store holds and its app may not show. Two stores with equal content can differ in these.
  private func notShown(_ one: (name: String, store: Store)) throws -> String {
    let sizes = try one.store.sizes()
    let unknown = sizes.tables.filter { !$0.isKnown }
    let newer = unknown.map(\.hidden).reduce(0, +)
    let least = unknown.allSatisfy(\.isHiddenExact) ? "" : "more than "
    let parts = [
      ("", sizes.setAside, "are set aside, since its database does not take them"),
      ("", sizes.rejectedWrites, "of other programs cannot be replicated"),
      (least, newer, "are of types that its version of the app does not have"),
    ]
    let words = parts.filter { $0.1 > 0 }.map { least, count, words in
      "\(least)\(count) \(count == 1 ? "row" : "rows") \(Self.agreeing(words, count))"
    }
    return words.isEmpty ? "" : " Not all of it shows the same: of \(one.name), \(ReplicaDirectory.joined(words))."
  }

  private static func agreeing(_ words: String, _ count: Int) -> String {
    guard count == 1 else { return words }
    return words.replacing("are ", with: "is ", maxReplacements: 1).replacing("take them", with: "take it")
  }

  private static func gaps(of vector: StateVector, beyond base: StateVector) -> [StoreDifference.Gap] {
    vector.beyond(base).entries.map { dot in
      StoreDifference.Gap(replica: "\(dot.replica)", first: base[dot.replica] + 1, last: dot.sequence)
    }
  }
}

/// Where a page has ended.
private struct Place {
  var isSecond: Bool
  var place: TouchedNames.Place?

  init(isSecond: Bool, place: TouchedNames.Place?) { (self.isSecond, self.place) = (isSecond, place) }

  var text: String {
    let rest = place.map { "\($0.dot):\($0.row):\($0.done):\($0.count)" } ?? ""
    return "\(isSecond ? 2 : 1):\(rest)"
  }

  init(_ text: String) throws {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard let side = parts.first, side == "1" || side == "2" else { throw Self.malformed }
    isSecond = side == "2"
    if parts.count == 2, parts[1].isEmpty { return }
    guard parts.count == 6, let replica = ReplicaID(String(parts[1])), let sequence = UInt64(parts[2]), sequence > 0,
      sequence <= UInt64(Int64.max), let row = Int64(parts[3]), row >= 0, let done = Int(parts[4]), done >= 0,
      let count = Int(parts[5]), count >= 0
    else { throw Self.malformed }
    place = TouchedNames.Place(dot: Dot(replica: replica, sequence: sequence), row: row, done: done, count: count)
  }

  private static let malformed = StoreError(.invalidName, "the place is none that a page has given")
}
