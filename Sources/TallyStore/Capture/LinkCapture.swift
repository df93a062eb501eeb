import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// Turns what was written to a join table into tags and places.
///
/// In an ordered relationship a link that comes without a position goes behind all others of its list; one that had a
/// place and shows none, as after `REPLACE`, keeps it.
struct LinkCapture {
  /// A link whose place follows from where the others stand when all are captured.
  struct Appended {
    var kind: LinkKind
    var key: LinkKey
    var row: RowID
    var hidden: StoredLink?
  }

  private let capture: Capture
  private var transaction: WriteTransaction { capture.transaction }
  private var reader: StateReader { capture.transaction.reader }
  private var writer: StateWriter { capture.transaction.writer }
  private var catalog: Catalog { capture.catalog }
  private var keys: ListKeys { capture.transaction.session.applying.lists }

  init(_ capture: Capture) { self.capture = capture }

  func capture(_ write: PendingWrite, _ kind: LinkKind) throws {
    let before = kind.isOrdered ? try write.before?.read : write.before
    let after = try row(write, kind)
    if let after, write.except.contains(Array(after.key.utf8)) { return }
    guard let text = after?.key ?? write.key, after != nil || before != nil else { return }
    guard let key = try? LinkKey(text) else {
      if capture.origin != .app, let after { try writer.unstamp(kind.number, kind.table, row: after.id) }
      throw StoreError(.invalidName, "\(kind.table): source and target must be record names")
    }
    guard key.source.type == kind.source, key.target.type == kind.target else {
      if capture.origin != .app, let after { try writer.unstamp(kind.number, kind.table, row: after.id) }
      throw StoreError(
        .invalidName, "\(kind.table): the source must be a \(kind.source) and the target a \(kind.target)")
    }
    if capture.origin != .app { transaction.view.mark(kind.number, key) }
    if let after { try check(after, key, kind) }
    switch (before, after) {
    case (nil, nil): return
    case (let before?, let after?): try captureMove(key, kind, before, after, isUnnoted: write.isUnnoted)
    case (let before?, nil): try captureRemoval(key, kind, before)
    case (nil, let after?):
      if let namesBefore = capture.namesBefore { try capture.checkEnds(key, kind, whereThereWere: namesBefore) }
      let hidden = transaction.facts.hiddenKinds.contains(kind.number) ? try reader.link(hidden: key, kind) : nil
      let new = Appended(kind: kind, key: key, row: after.id, hidden: hidden)
      guard kind.isOrdered, after.position == nil else {
        return try captureAdd(new, at: after.position, after.position)
      }
      capture.progress.appended.append(new)
    }
  }

  /// - Throws: `StoreError.typeMismatch` for a position that is none, if the app has written it. Of another program's
  ///   it counts as left out.
  private func check(_ row: WrittenRow, _ key: LinkKey, _ kind: LinkKind) throws {
    guard row.position == nil, row.hasBytes else { return }
    let error = StoreError(.typeMismatch, "\(kind.table).position of \(key.target) is not a position")
    guard capture.origin != .app else { throw error }
    capture.environment.logger.warning(
      "a position written by another connection is passed over", metadata: ["reason": "\(error)"])
  }

  // MARK: What was written

  private func captureAdd(_ new: Appended, at position: ListPosition?, _ shown: ListPosition?) throws {
    let old = new.hidden?.element ?? ORSetElement()
    var element = old
    let stamp: Stamp
    if let position {
      stamp = try transaction.stamp(over: [old.latestTime, old.place?.stamp.time].compactMap { $0 }.max())
      element.move(stamp, to: position)
    } else {
      stamp = try transaction.stamp(over: old.latestTime)
    }
    element.add(stamp)
    let difference = catalog.fingerprint(new.key, new.kind, from: old, to: element)
    try writer.adopt(
      row: new.row, showing: shown, new.key, new.kind, element, hidden: new.hidden, difference: difference)
    try transaction.changed(
      new.key, new.kind, from: old, to: element, dots: CollectionOfOne(stamp.dot), fingerprint: difference)
  }

  private func captureRemoval(_ key: LinkKey, _ kind: LinkKind, _ before: PendingWrite.Image) throws {
    let (old, sum) = try reader.element(before.clock, shown: before.position)
    var element = old
    let stamp = try transaction.stamp(over: old.latestTime)
    element.remove(stamp)
    let difference = catalog.fingerprint(key, kind, from: old, to: element)
    if let extra = before.clock.extra { capture.progress.orphans.append(extra.number) }
    try writer.put(
      key, kind, element, previous: StoredLink(element: old, place: .nowhere, sum: sum), isShown: false,
      difference: difference)
    try transaction.changed(
      key, kind, from: old, to: element, dots: CollectionOfOne(stamp.dot), fingerprint: difference)
  }

  /// A row that was there and is there: it may show another position, or carry another clock.
  private func captureMove(
    _ key: LinkKey, _ kind: LinkKind, _ before: PendingWrite.Image, _ after: WrittenRow, isUnnoted: Bool
  ) throws {
    let shown = !kind.isOrdered || isUnnoted || before.written.isEmpty ? after.position : before.position
    guard before.clock != after.clock || after.position != shown || after.hasBytes && after.position == nil || isUnnoted
    else { return }
    var (old, sum) = try reader.element(before.clock, shown: shown)
    // The checksum is of a place that only peers know.
    if isUnnoted { sum = StateSum(catalog.fingerprint(key, kind, from: ORSetElement(), to: old)) }
    let previous = StoredLink(
      element: old, place: .row(id: after.id, clock: before.clock), sum: sum, shown: after.position)
    guard let position = after.position, position != shown || isUnnoted else {
      try writer.put(key, kind, old, previous: previous, isShown: true)
      return
    }
    try move(key, kind, previous, to: position)
  }

  /// Gives a link that is seen another place.
  private func move(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink, to position: ListPosition) throws {
    let stamp = try transaction.stamp(over: stored.element.place?.stamp.time)
    var element = stored.element
    #if PlantedFaults
      let planted = capture.environment.planted
      if planted.contains(.moveIsRemoveAdd) { element.remove(try transaction.stamp(over: element.latestTime)) }
      if !planted.isDisjoint(with: [.moveIsTouch, .moveIsRemoveAdd]) { element.add(stamp) }
    #endif
    element.move(stamp, to: position)
    let difference = catalog.fingerprint(key, kind, from: stored.element, to: element)
    try writer.put(key, kind, element, previous: stored, isShown: true, difference: difference)
    try transaction.changed(
      key, kind, from: stored.element, to: element, dots: CollectionOfOne(stamp.dot), fingerprint: difference)
  }

  // MARK: Behind all others

  /// Gives places to the links that came without one: behind all others of their list, in the order of their rows.
  /// Those that have been there without a place get one before that, in the order in which they are shown. Cost: reads
  /// the rows of each list.
  func append() throws {
    let appended = capture.progress.appended.sorted { ($0.kind.number, $0.row) < ($1.kind.number, $1.row) }
    capture.progress.appended = []
    var lists: [KindNumber: [AnyRecordName: [Appended]]] = [:]
    for link in appended { lists[link.kind.number, default: [:]][link.key.source, default: []].append(link) }
    for number in lists.keys.sorted() {
      for (source, links) in (lists[number] ?? [:]).sorted(by: { $0.key < $1.key }) {
        var last = try placeOthers(of: source, links[0].kind)
        if try !hasRoom(behind: last) { last = try renewPlaces(of: source, links[0].kind) }
        for link in links {
          let position = try between(last, nil, link.kind)
          try captureAdd(link, at: position, nil)
          last = position ?? last
        }
      }
    }
  }

  /// Gives places to the links of a list that have none and are captured.
  /// - Returns: the last position of the list; nil if it is empty.
  private func placeOthers(of source: AnyRecordName, _ kind: LinkKind) throws -> ListPosition? {
    var bare: [(key: LinkKey, link: StoredLink)] = []
    var ends: (first: ListPosition?, last: ListPosition?)
    let query = try transaction.connection.statement(kind.rowsFrom)
    query.bind(1, source.text)
    defer { query.reset() }
    while try query.step() {
      guard (try? query.clock(3)) != .unstamped else { continue }
      var position = ListPosition(bytes: query.blob(4))
      if position == nil, let key = try reader.key(in: query) {
        let link = try reader.link(in: query, kind)
        position = link.element.place?.position
        if position == nil { bare.append((key, link)) }
      }
      guard let position else { continue }
      ends = (ends.first.map { min($0, position) } ?? position, ends.last.map { max($0, position) } ?? position)
    }
    query.reset()
    #if PlantedFaults
      if capture.environment.planted.contains(.bareStay) { return ends.last }
    #endif
    var left: ListPosition?
    for (key, link) in bare.sorted(by: { $0.key.target < $1.key.target }) {
      guard let position = try between(left, ends.first, kind) else { break }
      try move(key, kind, link, to: position)
      left = position
    }
    return ends.last ?? left
  }

  /// Whether there are positions behind one. Those of a store are never so deep that there are none.
  private func hasRoom(behind last: ListPosition?) throws -> Bool {
    guard let last, last.bytes.count > ListPosition.byteLimit / 2 else { return true }
    return (try? keys.between(last, nil)) != nil
  }

  /// Gives all links of a list that are captured new places, of one run, in the order in which they are shown.
  /// - Returns: the last position of the list.
  private func renewPlaces(of source: AnyRecordName, _ kind: LinkKind) throws -> ListPosition? {
    var links: [(key: LinkKey, link: StoredLink)] = []
    let query = try transaction.connection.statement(kind.rowsFrom)
    query.bind(1, source.text)
    defer { query.reset() }
    while try query.step() {
      guard (try? query.clock(3)) != .unstamped, let key = try reader.key(in: query) else { continue }
      links.append((key, try reader.link(in: query, kind)))
    }
    query.reset()
    func isBefore(_ a: (key: LinkKey, link: StoredLink), _ b: (key: LinkKey, link: StoredLink)) -> Bool {
      let (one, other) = (a.link.element.place?.position, b.link.element.place?.position)
      guard let one, let other, one != other else { return one == other ? a.key.target < b.key.target : one == nil }
      return one < other
    }
    var last: ListPosition?
    for (key, link) in links.sorted(by: isBefore) {
      guard let position = try between(last, nil, kind) else { break }
      try move(key, kind, link, to: position)
      last = position
    }
    return last
  }

  /// - Returns: nil if there is no room and it is not the app that writes: a merge goes on.
  /// - Throws: `StoreError.positionTooDeep`.
  private func between(_ left: ListPosition?, _ right: ListPosition?, _ kind: LinkKind) throws -> ListPosition? {
    do throws(ListPositionError) {
      return try keys.between(left, right)
    } catch {
      guard capture.origin == .app else { return nil }
      throw StoreError(
        .positionTooDeep, "there is no room for a position at this place of \(kind.table); use setOrder")
    }
  }

  // MARK: Rows

  private struct WrittenRow {
    var id: RowID
    var key: String
    var clock: InlineClock
    /// Nil for none, and in a relationship without an order.
    var position: ListPosition?
    /// Whether the column of positions is not empty.
    var hasBytes = false

    init(_ query: SQLStatement, _ kind: LinkKind) throws {
      guard let source = query.text(1), let target = query.text(2) else {
        throw StoreError(.invalidName, "\(kind.table): source and target must be record names")
      }
      (id, key) = (query.number(0), "\(source)\n\(target)")
      clock = (try? query.clock(3)) ?? .leaving
      guard kind.isOrdered else { return }
      hasBytes = query.byteCount(4) > 0
      position = ListPosition(bytes: query.blob(4))
    }
  }

  private func row(_ write: PendingWrite, _ kind: LinkKind) throws -> WrittenRow? {
    let connection = transaction.connection
    if let number = write.row {
      let query = try connection.statement(kind.rowByNumber)
      query.bind(1, number)
      defer { query.reset() }
      if try query.step() {
        let found = try WrittenRow(query, kind)
        if write.key == nil || write.key == found.key { return found }
      }
    }
    guard let key = write.key else { return nil }
    let query = try connection.statement(kind.row)
    defer { query.reset() }
    // The key is two names with a line feed between them. Text that is not a name can contain line feeds of its own, so
    // each of them is tried.
    for end in key.unicodeScalars.indices where key.unicodeScalars[end] == "\n" {
      query.reset()
      query.bind(1, String(key.unicodeScalars[..<end]))
      query.bind(2, String(key.unicodeScalars[end...].dropFirst()))
      if try query.step() { return try WrittenRow(query, kind) }
    }
    return nil
  }
}

extension PendingWrite.Image {
  /// The position that the row of a link showed before; nil for none.
  fileprivate var position: ListPosition? {
    guard case .blob(let bytes)? = written.first(where: { $0.place == 0 })?.value else { return nil }
    return ListPosition(bytes: bytes)
  }
}
