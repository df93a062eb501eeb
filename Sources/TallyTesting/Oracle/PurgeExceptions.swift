import TallyStore

/// The values and records that a device may lack because some were emptied: E1 and E2 of Contract.md, section 11, as
/// predicates. What they do not excuse is lost.
struct PurgeExceptions {
  typealias View = Specification<SchemaField>.View

  private let history: Specification<SchemaField>
  private let seen: EventSet
  private let past: Specification<SchemaField>.Past
  private let schema: SpecifiedSchema<SchemaField>
  private let presence: Presence<SchemaField>
  /// Records of which the specification does not know everything.
  private let unsure: Set<String>

  init(
    _ history: Specification<SchemaField>, _ seen: EventSet, _ past: Specification<SchemaField>.Past,
    _ schema: SpecifiedSchema<SchemaField>, _ unsure: Set<String>
  ) {
    (self.history, self.seen, self.past, self.schema) = (history, seen, past, schema)
    self.unsure = unsure
    presence = Presence(history, past, schema)
  }

  /// The rows that must show: all that are visible, without what is missing and may be.
  func expected(beside shown: View, in store: Store) throws -> View {
    var expected = history.view(past, schema)
    guard !past.emptied.isEmpty else { return expected }
    let contents = try store.contents(of: past.known.union(shown.keys))
    for name in shown.keys.sorted() where contents[name]?.saysNothing == true {
      throw Finding("\(name) shows, and its life says nothing of it")
    }
    let missing = expected.keys.filter { shown[$0] == nil && !unsure.contains($0) && isBelowHollow($0, contents) }
    for name in missing { expected[name] = nil }
    for (name, row) in expected {
      expected[name]?.links = row.links.filter { !missing.contains($0.target) }
      for (field, value) in row.fields where field.isReference && missing.contains(value) {
        // Below what is not there nothing shows.
        guard past.owners[.init(record: name, field: field)] == nil else { continue }
        expected[name]?.fields[field] = nil
      }
      guard let mine = shown[name], !unsure.contains(name) else { continue }
      for field in schema.fields(name) where !field.isReference && mine.fields[field] != row.fields[field] {
        let permitted = history.permitted(.init(record: name, field: field), seen, past)
        if permitted.contains(mine.fields[field]) { expected[name]?.fields[field] = mine.fields[field] }
      }
    }
    return expected
  }

  /// E2: the record or an owner above it, and all that lives below that one, has no content in its life, and the device
  /// that emptied each of them had seen everything that keeps it alive.
  private func isBelowHollow(_ name: String, _ contents: [String: StoredContent]) -> Bool {
    isHollow(name, contents) || past.owners(of: name).contains { isBelowHollow($0, contents) }
  }

  private func isHollow(_ name: String, _ contents: [String: StoredContent]) -> Bool {
    guard contents[name]?.saysNothing == true,
      presence.surviving(name).allSatisfy({ history.isPurged($0, of: name, past) })
    else { return false }
    return past.owned(by: name).allSatisfy { presence.living($0).isEmpty || isHollow($0, contents) }
  }
}
