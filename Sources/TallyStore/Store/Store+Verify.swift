import GRDB
import TallyCRDT
import TallyWire

/// The findings of `verify`: the ways in which the file contradicts itself.
public struct VerifyReport: Sendable, Equatable {
  /// The problems, at most a hundred, one line each; empty if everything is in order.
  public var problems: [String] = []
  /// The records and links whose rows this database refuses to write or to remove as the state requires: see
  /// `StoreStatus.setAside`. They are not a problem of the store.
  public var setAside: [String] = []
  /// The number of records and links that were checked.
  public var checked = 0
  /// Whether no contradictions were found.
  public var isSound: Bool { problems.isEmpty }
}

extension Store {
  /// Checks the consistency of the file in one snapshot: SQLite's integrity and foreign keys hold; the view equals a
  /// view rebuilt from the state; each state matches its checksum, and all of them together the fingerprint; the vector
  /// covers every dot; the change log finds every dot and lists nothing that does not exist.
  ///
  /// It reads everything. It changes nothing unless the content cannot be read or does not match its fingerprint: then
  /// the store, if it is writable, records that it is damaged (`doubt()`) and sends nothing to others until it is
  /// healed. Cost: several passes over the store, and one more if problems were found.
  /// - Parameter onProgress: called with the number of records and links that have been checked: first with 0, while
  ///   SQLite checks the file, then after each thousand.
  /// - Returns: the contradictions that were found, if any.
  /// - Throws: `StoreError.notCaptured` if another program's writes have not been captured and the store is read-only;
  ///   GRDB's `DatabaseError`.
  public func verify(onProgress: ((Int) -> Void)? = nil) throws -> VerifyReport {
    try verify(onProgress) { try $0.run() }
  }

  /// Checks the file as `verify(onProgress:)` does, as long as a task waits for it.
  /// - Parameter isOver: asked again and again; the check ends once it is true.
  /// - Returns: the contradictions that were found, if any.
  /// - Throws: `CancellationError` if it was ended; nothing has been noted then. What `verify(onProgress:)` throws.
  package func verify(until isOver: @escaping () -> Bool) throws -> VerifyReport {
    do {
      return try verify(nil) { verifier in
        try verifier.reader.connection.interrupting(when: isOver, every: Verifier.instructions) { try verifier.run() }
      }
    } catch is SQLInterruption {
      throw CancellationError()
    }
  }

  private func verify(_ onProgress: ((Int) -> Void)?, _ run: (Verifier) throws -> Void) throws -> VerifyReport {
    let report = try capturedSnapshot { reader in
      let verifier = Verifier(reader, onProgress)
      try run(verifier)
      return verifier.report
    }
    // Most problems are in what is derived from the content. Whether it is the content itself, its sum says.
    if !report.isSound, !options.isReadOnly { _ = try fitsItsSum() }
    return report
  }
}

private final class Verifier {
  fileprivate let reader: StateReader
  /// SQLite's instructions between two looks at whether anybody still waits.
  static let instructions: Int32 = 1_000
  /// The visibility computed from the states. It remembers, so it is rebuilt now and then.
  private var visibility: Visibility<SnapshotFacts>
  private let vector: StateVector
  private var sum = Fingerprint()
  private var logged = ListedItems()
  /// Sums of hashes, which tell whether the same waits are listed as there must be.
  private var (neededWaits, listedWaits): (UInt64, UInt64) = (0, 0)
  private static let renewal = 2_000
  private static let step = 1000
  private let onProgress: ((Int) -> Void)?
  private(set) var report = VerifyReport()
  private var catalog: Catalog { reader.catalog }

  init(_ reader: StateReader, _ onProgress: ((Int) -> Void)?) {
    self.reader = reader
    self.onProgress = onProgress
    visibility = Visibility(SnapshotFacts(reader))
    vector = (try? reader.vector()) ?? StateVector()
  }

  func run() throws {
    onProgress?(0)
    try checkSQLite()
    try reporting("the change log") { try readLog() }
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) { try check(kind) }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) {
      try reporting(kind.table) {
        if kind.isKnown { try reader.forEachRow(kind) { try check($0, kind, $1) } }
        try reader.forEachHiddenLink(kind) { try check($0, kind, $1) }
      }
    }
    try reporting("tally_unique") { for line in try UniqueCheck(reader).problems() { problem(line) } }
    try reporting("tally_extra") {
      for row in try SharedBodies(reader).strangers { problem("\(row.label) points to the state of another row") }
    }
    try reporting("the vector") {
      if try reader.fingerprint() != sum { problem("the fingerprint does not match the content") }
      if try !reader.vectorFitsItsSum() { problem("the vector is not what was last written") }
    }
    try reporting("tally_meta") {
      for line in try MetaKeys.problems(reader.connection) { problem(line) }
      try ImportStanding.check(reader.connection)
      if let doubt = try reader.doubt(), doubt.level == .damaged { problem("the store is damaged: \(doubt.reason)") }
    }
    try reporting("what waits for a record") {
      try readWaits()
      if neededWaits != listedWaits { try compareWaits() }
    }
    try reporting("the change log") { try checkOrphans() }
  }

  private func check(_ kind: RecordKind) throws {
    if kind.isKnown {
      try reader.forEachRow(kind) { (row: SQLStatement) in
        try reporting("\(kind.type), row \(row.int(0))") {
          if let name = try reader.name(in: row) { try check(name, kind, try reader.record(in: row, kind)) }
        }
      }
    }
    try reporting("\(kind.type), hidden records") {
      try reader.forEachHiddenRecord(kind.number) { try check($0, kind, $1) }
    }
  }

  /// Runs the body and reports what it cannot read as a problem like any other, so that the rest is still looked at.
  private func reporting(_ place: String, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error where StoreError.isDamage(error) {
      let line = "\(place): \((error as? StoreError)?.message ?? "\(error)")"
      if !report.problems.contains(line) { problem(line) }
    }
  }

  /// Counts what is looked at, and forgets now and then what was found out on the way.
  private func count() {
    report.checked += 1
    if report.checked % Self.step == 0 { onProgress?(report.checked) }
    guard report.checked % Self.renewal == 0 else { return }
    visibility = Visibility(SnapshotFacts(reader))
    reader.forget()
  }

  private func problem(_ text: String) {
    if report.problems.count < 100 { report.problems.append(text) }
  }

  // MARK: SQLite

  private func checkSQLite() throws {
    let integrity = try SQLStatement(reader.connection, "PRAGMA integrity_check(20)")
    while try integrity.step() {
      if let line = integrity.text(0), line != "ok" { problem("SQLite: \(line)") }
    }
    let keys = try SQLStatement(reader.connection, "PRAGMA foreign_key_check")
    while try keys.step() {
      problem("\(keys.text(0) ?? "").\(keys.int(1)) refers to a \(keys.text(2) ?? "") that is not there")
    }
  }

  private func readLog() throws {
    defer { logged.sort() }
    if try reader.logHasOtherZones() { problem("the change log has rows of a zone that there is not") }
    try reader.forEachLogEntry { entry in
      guard let replica = catalog.replicas[entry.replica] else { return problem("the log names an unknown replica") }
      try reporting("the change log") {
        try ChangeLog.decode(entry.items, catalog) { kind, name, target in
          logged.add(replica, entry.sequence, ListedItems.address(kind, name, target))
        }
      }
    } unreadable: { error in
      try self.reporting("the change log") { throw error }
    }
  }

  private func readWaits() throws {
    let query = try SQLStatement(reader.connection, "SELECT target, kind, key FROM tally_wait")
    while try query.step() {
      listedWaits &+= SipHash.hash("\(query.int(1)) \(query.text(2) ?? "") waits for \(query.text(0) ?? "")")
    }
  }

  private func checkOrphans() throws {
    // A row that a connection without our triggers removed leaves only its place in the log.
    try reader.forEachLogEntry { entry in
      let items = entry.items
      // What a damaged row lists may be there or not; `readLog` has said that it is damaged.
      guard (try? ChangeLog.decode(items, catalog) { _, _, _ in }) != nil else { return }
      try ChangeLog.decode(items, catalog) { number, name, target in
        guard report.problems.count < 100, try !isStored(number, name, target) else { return }
        let line = "the log lists \(name.text)\(target.map { " with \($0.text)" } ?? ""), of which nothing is stored"
        if !report.problems.contains(line) { problem(line) }
      }
    } unreadable: { _ in
    }
    let rejected = try reader.connection.integer("SELECT count(*) FROM tally_pending") ?? 0
    if rejected > 0 { problem("\(rejected) rows were written that cannot be replicated") }
  }

  private func isStored(_ number: KindNumber, _ name: AnyRecordName, _ target: AnyRecordName?) throws -> Bool {
    if let target, let kind = catalog.links[number] {
      let key = LinkKey(source: name, target: target)
      return try reader.hasRow(key, kind) || reader.isHidden(key, number)
    }
    guard let kind = catalog.records[number] else { return false }
    return try reader.isBesidesStubs(name, kind) || reader.isStub(RecordKey(name), number)
  }

  /// Says which waits differ. Only where some do, since it remembers them all.
  private func compareWaits() throws {
    var needed = Set<String>()
    try AllStates(reader).forEachRecord { name, kind, stored in
      for target in try kind.isKnown ? waits(of: name, kind, stored) : [] {
        needed.insert("\(kind.number) \(name.text) waits for \(target.text)")
      }
    }
    var listed = Set<String>()
    let query = try SQLStatement(reader.connection, "SELECT target, kind, key FROM tally_wait")
    while try query.step() { listed.insert("\(query.int(1)) \(query.text(2) ?? "") waits for \(query.text(0) ?? "")") }
    for line in needed.subtracting(listed).sorted() { problem("\(line), but is not listed") }
    for line in listed.subtracting(needed).sorted() { problem("\(line) without need") }
  }

  private func check(_ dots: Set<Dot>, listed: Set<Dot>, _ address: String, _ label: String) {
    for dot in dots {
      if !vector.covers(dot) { problem("\(label) has a cell of \(dot), which the vector does not cover") }
      if listed.contains(dot), !logged.lists(dot, address) {
        problem("\(label) has a cell of \(dot), which the log does not list")
      }
    }
  }

  private func note(waits targets: Set<AnyRecordName>, _ kind: KindNumber, _ key: String) {
    for target in targets { neededWaits &+= SipHash.hash("\(kind) \(key) waits for \(target.text)") }
  }

  // MARK: Records

  private func check(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws {
    count()
    if stored.state.isEmpty { return problem("\(name) has no state") }
    let dots = stored.state.dots
    check(
      dots, listed: try reader.listedDots(stored.state), ListedItems.address(kind.number, name), name.text)
    let part = stored.state.fingerprint(name: SipHash13.hash(name.text)) { catalog.hash(of: $0) }
    sum += part
    if StateSum(part) != stored.sum { problem("\(name): what is stored does not match its checksum") }
    try checkPlace(name, kind, stored)
    if !catalog.marks.accept(stored.state, catalog.fields) {
      problem("\(name): a field of numbers holds what no such field can hold")
    }
    guard kind.isKnown else { return }
    if !reader.aside.isEmpty, reader.aside[RowAddress(kind: kind.number, key: name.text)] != nil {
      return try noteAside(name, kind, stored)
    }
    let isVisible = try visibility.isShown(name)
    guard isVisible == stored.place.isVisible else {
      return problem("\(name) is \(isVisible ? "hidden but should be seen" : "seen but should be hidden")")
    }
    note(waits: try waits(of: name, kind, stored), kind.number, name.text)
    guard isVisible else { return }
    var expected = try visibility.values(of: name, kind, stored.state)
    if !reader.aside.isEmpty {
      let address = RowAddress(kind: kind.number, key: name.text)
      expected = reader.aside.contested.shown(expected, over: stored.values, address, kind)
    }
    for (index, column) in kind.columns.enumerated() where expected[index] != stored.values[index] {
      problem("\(name).\(column.name) does not show what the state says")
    }
  }

  /// A hidden record is a stub if its state is one, and is nowhere else then.
  private func checkPlace(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws {
    guard !stored.place.isVisible else { return }
    let isStub = stored.place == .stub
    if StubCoding.isStub(stored.state) != isStub {
      problem("\(name) is \(isStub ? "kept as a stub and is none" : "a stub and is not kept as one")")
    }
    if try isStub && reader.isBesidesStubs(name, kind) { problem("\(name) is a stub and is stored twice") }
  }

  /// A row that SQLite did not take is as it should be under the circumstances.
  private func noteAside(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws {
    report.setAside.append(name.text)
    note(waits: try waits(of: name, kind, stored), kind.number, name.text)
  }

  /// What a record must be listed for. A stub may be listed or not, unless something waits for it.
  private func waits(
    of name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord
  ) throws -> Set<AnyRecordName> {
    let shown = stored.place.isVisible ? stored.values : nil
    let waits = kind.waits(stored.state, shown: shown, forward: kind.forwardField)
    guard stored.place == .stub, try !reader.isListed(name, kind, stored.state), try !reader.isAwaited(name) else {
      return waits
    }
    return []
  }

  // MARK: Links

  private func check(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink) throws {
    count()
    let label = "\(key.source).\(kind.relationship) of \(key.target)"
    if stored.element.isEmpty { return problem("\(label) has no state") }
    let dots = stored.element.dots
    check(dots, listed: dots, ListedItems.address(kind.number, key.source, key.target), label)
    let hashes = linkHashes(key, kind)
    let part = stored.element.fingerprint(link: hashes.link, target: hashes.target)
    sum += part
    if StateSum(part) != stored.sum { problem("\(label): what is stored does not match its checksum") }
    guard kind.isKnown else { return }
    if !reader.aside.isEmpty, reader.aside[RowAddress(kind: kind.number, key: key.text)] != nil {
      return report.setAside.append(key.text)
    }
    let isShown =
      try reader.isMember(key, stored.element) && visibility.isShown(key.source) && visibility.isShown(key.target)
    if isShown != stored.place.isVisible {
      problem("\(label) is \(isShown ? "hidden but should be seen" : "seen but should be hidden")")
    } else if kind.isOrdered, isShown, stored.shown != stored.element.place?.position {
      problem("\(label) stands elsewhere in the list than its state says")
    }
  }
}
