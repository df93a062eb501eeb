import TallyCRDT

/// Turning what the app wrote to relationships into tags and their removals.
extension Engine {
  func captureLink(_ write: PendingWrite, _ kind: LinkKind, _ transaction: inout LocalTransaction) throws {
    guard let key = try? LinkKey(write.key) else {
      throw StoreError(.invalidName, "\(kind.table) links what are no record names")
    }
    guard key.source.type == kind.source, key.target.type == kind.target else {
      throw StoreError(.invalidName, "\(kind.table) links a \(kind.source) with a \(kind.target)")
    }
    let after = try linkRow(key, write.row, kind)
    let old: ORSetElement
    var element: ORSetElement
    switch (write.before, after) {
    case (nil, nil): return
    case (let before?, let after?):
      guard before.clock != after.clock else { return }
      old = try reader.element(before.clock)
      let previous = StoredLink(element: old, place: .row(id: after.id, clock: before.clock))
      return try put(key, kind, old, previous: previous, isShown: true)
    case (let before?, nil):
      old = try reader.element(before.clock)
      element = old
      element.remove(try transaction.stamp(self, over: old.latestTime))
      if case .extra(let number, _) = before.clock { try deleteExtra(number) }
      try put(key, kind, element, previous: StoredLink(element: old, place: .nowhere), isShown: false)
    case (nil, let after?):
      if let records = transaction.recordsBefore { try checkEnds(key, kind, whereThereWere: records) }
      let hidden = hiddenKinds.contains(kind.number) ? try reader.link(hidden: key, kind) : nil
      old = hidden?.element ?? ORSetElement()
      element = old
      element.add(try transaction.stamp(self, over: old.latestTime))
      try adopt(row: after.id, key, kind, element, hidden: hidden)
    }
    if let dot = transaction.dot { log.note(dot, kind: kind.number, key) }
    updateFingerprint(key, kind, from: old, to: element)
    if hasDeletes { try climb(from: [key.source]) }
  }

  private func linkRow(_ key: LinkKey, _ number: Int?, _ kind: LinkKind) throws -> (id: Int, clock: InlineClock)? {
    if let number {
      let query = try connection.statement(kind.rowByNumber)
      query.bind(1, number)
      query.bind(2, key.source.text)
      query.bind(3, key.target.text)
      defer { query.reset() }
      if try query.step() { return (query.int(0), try query.clock(3)) }
    }
    let query = try connection.statement(kind.row)
    query.bind(1, key.source.text)
    query.bind(2, key.target.text)
    defer { query.reset() }
    return try query.step() ? (query.int(0), try query.clock(3)) : nil
  }

  /// A record that begins a new life starts with empty relationships, on both sides.
  func endMemberships(of name: AnyRecordName, _ transaction: inout LocalTransaction) throws {
    var ended = try reader.links(from: name)
    for waiting in try reader.waiting(for: name) {
      guard let kind = catalog.links[waiting.kind], let key = try? LinkKey(waiting.key), key.target == name,
        let link = try reader.link(hidden: key, kind), key.source != name
      else { continue }
      ended.append((kind, key, link))
    }
    for (kind, key, link) in ended where link.element.mayBeMember && !link.place.isVisible {
      var element = link.element
      let stamp = try transaction.stamp(self, over: element.latestTime)
      element.remove(stamp)
      try put(key, kind, element, previous: link, isShown: false)
      log.note(stamp.dot, kind: kind.number, key)
      updateFingerprint(key, kind, from: link.element, to: element)
      // The tag may have been all that kept its source.
      if hasDeletes { try climb(from: [key.source]) }
    }
  }
}
