import TallyTesting

/// Ownership, presence and rows.
extension SeedSpecification {
  /// The owner references; while some form a cycle, the earliest of those that do is left out.
  package func owners(_ past: Past) -> [Register: String] {
    var edges: [Register: String] = [:]
    var orders: [Register: Order] = [:]
    for record in past.records {
      for field in SeedField.of(record) where field.isOwner {
        let register = Register(record: record, field: field)
        guard let winner = value(register, past), let target = winner.value else { continue }
        edges[register] = forward(target, past) ?? target
        orders[register] = winner.order
      }
    }
    while true {
      let cyclic = edges.filter { edge in ancestors(of: edge.value, edges).contains(edge.key.record) }
      let weakest = cyclic.keys.min { a, b in
        guard let first = orders[a], let second = orders[b] else { return false }
        return first != second ? first < second : (a.record, a.field.rawValue) < (b.record, b.field.rawValue)
      }
      guard let weakest else { return edges }
      edges[weakest] = nil
    }
  }

  private func ancestors(of record: String, _ edges: [Register: String]) -> Set<String> {
    var found: Set<String> = [record]
    while true {
      let more = edges.filter { found.contains($0.key.record) && !found.contains($0.value) }.values
      if more.isEmpty { return found }
      found.formUnion(more)
    }
  }

  /// Whether the newest edition has the seed and nobody ever deleted it.
  package func isOffered(_ record: String, _ past: Past) -> Bool {
    past.layers[record]?.last?.content != nil && past.deletes[record] == nil
  }

  /// Whether a person's delete has the last word, where deletes win.
  private func isBeaten(_ record: String, _ past: Past) -> Bool {
    guard mode == .deleteWins, SeedWorld.type(record) == "Kind", let deletes = past.personal[record] else {
      return false
    }
    guard let life = past.lives[record] else { return true }
    return deletes.contains { covers($0, life.event) }
  }

  /// The events that keep a record alive: what a person wrote to it or to what it owns, that no delete of it had in
  /// front of it.
  package func living(_ record: String, _ past: Past) -> Set<Int> {
    if isBeaten(record, past) { return [] }
    var events = past.touches[record] ?? []
    for (link, added) in past.added where link.source == record { events.formUnion(added) }
    for (register, owner) in past.owners where owner == record { events.formUnion(living(register.record, past)) }
    return events.filter { !isDeleted(record, $0, past) }
  }

  /// Whether a record is there, its owners aside.
  func isAlive(_ record: String, _ past: Past) -> Bool { isOffered(record, past) || !living(record, past).isEmpty }

  package func isVisible(_ record: String, _ past: Past) -> Bool {
    guard isAlive(record, past) else { return false }
    return past.owners.filter { $0.key.record == record }.allSatisfy { isVisible($0.value, past) }
  }

  package func view(_ past: Past) -> SeedView {
    let visible = past.records.filter { isVisible($0, past) }
    var view: SeedView = [:]
    for record in visible {
      var row = SeedRow()
      for field in SeedField.of(record) {
        let register = Register(record: record, field: field)
        guard let value = value(register, past)?.value else {
          row.fields[field] = field.defaultValue
          continue
        }
        if !field.isReference {
          row.fields[field] = value
        } else if !field.isOwner || past.owners[register] != nil {
          row.fields[field] = ([value] + (forward(value, past).map { [$0] } ?? [])).first(where: visible.contains)
        }
      }
      if let newest = past.layers[record]?.last {
        row.version = Int((shown(record, past) ?? newest).order.time)
        row.belongsToUser = belongsToUser(record, past)
      }
      view[record] = row
    }
    for link in Set(past.added.keys).union(past.carried.keys).union(past.offered.keys)
    where visible.contains(link.source) && visible.contains(link.target) && isMember(link, past) {
      view[link.source]?.members.insert(link.target)
    }
    return view
  }

  package func belongsToUser(_ record: String, _ past: Past) -> Bool {
    past.bases[record] != nil || past.touches[record] != nil
  }
}
