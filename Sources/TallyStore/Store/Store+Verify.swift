import GRDB
import TallyCRDT
import TallyWire

/// What `verify` found: every way in which the file contradicts itself.
public struct VerifyReport: Sendable, Equatable {
  /// One line a problem; empty if all is well. At most a hundred.
  public var problems: [String] = []
  /// Records and links whose rows this database does not take as the state says: see `StoreStatus.setAside`. No problem
  /// of the store's.
  public var setAside: [String] = []
  /// Records and links looked at.
  public var checked = 0
  /// Whether all is well.
  public var isSound: Bool { problems.isEmpty }
}

extension Store {
  /// Checks the file against itself, in one snapshot: SQLite's integrity and foreign keys; the view rebuilt from the
  /// state equals the view; the fingerprint recomputed equals the one kept; the vector covers every dot; the change log
  /// finds every dot, and lists nothing that is not there.
  ///
  /// Reads everything; changes nothing. Cost: several passes over the store.
  public func verify() throws -> VerifyReport {
    try capturedSnapshot { reader in
      var verifier = Verifier(reader)
      try verifier.run()
      return verifier.report
    }
  }
}

private struct Verifier {
  private let reader: StateReader
  private let visibility: Visibility<SnapshotFacts>
  private let vector: StateVector
  private var sum = Fingerprint()
  private var logged: [Dot: Set<String>] = [:]
  private var waits = Set<String>()
  private var found = Set<String>()
  private(set) var report = VerifyReport()
  private var catalog: Catalog { reader.catalog }

  init(_ reader: StateReader) {
    self.reader = reader
    visibility = Visibility(SnapshotFacts(reader))
    vector = (try? reader.vector()) ?? StateVector()
  }

  mutating func run() throws {
    try checkSQLite()
    try readLog()
    for kind in catalog.records.values.sorted(by: { $0.number < $1.number }) {
      var found: [(AnyRecordName, StoredRecord)] = []
      if kind.isKnown { try reader.forEachRow(kind) { found.append(($0, $1)) } }
      try reader.forEachHiddenRecord(kind.number) { found.append(($0, $1)) }
      for (name, stored) in found { try check(name, kind, stored) }
    }
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) {
      var found: [(LinkKey, StoredLink)] = []
      if kind.isKnown { try reader.forEachRow(kind) { found.append(($0, $1)) } }
      try reader.forEachHiddenLink(kind.number) { found.append(($0, $1)) }
      for (key, stored) in found { try check(key, kind, stored) }
    }
    if try reader.fingerprint() != sum { problem("the fingerprint does not match the content") }
    try checkOrphans()
  }

  private mutating func problem(_ text: String) {
    if report.problems.count < 100 { report.problems.append(text) }
  }

  // MARK: SQLite

  private mutating func checkSQLite() throws {
    let integrity = try SQLStatement(reader.connection.handle, "PRAGMA integrity_check(20)")
    while try integrity.step() {
      if let line = integrity.text(0), line != "ok" { problem("SQLite: \(line)") }
    }
    let keys = try SQLStatement(reader.connection.handle, "PRAGMA foreign_key_check")
    while try keys.step() {
      problem("\(keys.text(0) ?? "").\(keys.int(1)) refers to a \(keys.text(2) ?? "") that is not there")
    }
  }

  private mutating func readLog() throws {
    let query = try SQLStatement(reader.connection.handle, "SELECT replica, sequence, items FROM tally_log")
    while try query.step() {
      guard let replica = catalog.replicas[query.number(0)] else {
        problem("the log names an unknown replica")
        continue
      }
      let dot = Dot(replica: replica, sequence: try query.sequence(1))
      try ChangeLog.decode(query.blob(2), catalog) { kind, name, target in
        logged[dot, default: []].insert("\(kind) \(name.text)\(target.map { "\n" + $0.text } ?? "")")
      }
    }
  }

  private mutating func checkOrphans() throws {
    let query = try SQLStatement(reader.connection.handle, "SELECT target, kind, key FROM tally_wait")
    var found = Set<String>()
    while try query.step() { found.insert("\(query.int(1)) \(query.text(2) ?? "") waits for \(query.text(0) ?? "")") }
    for line in waits.subtracting(found) { problem("\(line), but is not listed") }
    for line in found.subtracting(waits) { problem("\(line) without need") }
    // A row that a connection without our triggers removed leaves only its place in the log.
    let listed = logged.values.reduce(into: Set()) { $0.formUnion($1) }
    for address in listed.subtracting(self.found).sorted() {
      let name = address.drop { $0 != " " }.dropFirst().split(separator: "\n")
      problem("the log lists \(name.joined(separator: " with ")), of which nothing is stored")
    }
    let rejected = try reader.connection.integer("SELECT count(*) FROM tally_pending") ?? 0
    if rejected > 0 { problem("\(rejected) rows were written that cannot be replicated") }
  }

  private mutating func check(_ dots: Set<Dot>, _ address: String, _ label: String) {
    found.insert(address)
    for dot in dots {
      if !vector.covers(dot) { problem("\(label) has a cell of \(dot), which the vector does not cover") }
      if logged[dot]?.contains(address) != true {
        problem("\(label) has a cell of \(dot), which the log does not list")
      }
    }
  }

  private mutating func note(waits targets: Set<AnyRecordName>, _ kind: KindNumber, _ key: String) {
    for target in targets { waits.insert("\(kind) \(key) waits for \(target.text)") }
  }

  // MARK: Records

  private mutating func check(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws {
    report.checked += 1
    if stored.state.isEmpty { return problem("\(name) has no state") }
    check(stored.state.dots, "\(kind.number) \(name.text)", name.text)
    sum += stored.state.fingerprint(name: SipHash.hash(name.text)) { catalog.hash(of: $0) }
    guard kind.isKnown else { return }
    if !reader.aside.isEmpty, reader.aside[RowAddress(kind: kind.number, key: name.text)] != nil {
      return noteAside(name, kind, stored)
    }
    let isVisible = try visibility.isVisible(name)
    guard isVisible == stored.place.isVisible else {
      return problem("\(name) is \(isVisible ? "hidden but should be seen" : "seen but should be hidden")")
    }
    note(
      waits: kind.waits(stored.state, shown: isVisible ? stored.values : nil, forward: kind.forwardField),
      kind.number, name.text)
    guard isVisible else { return }
    let expected = try visibility.values(of: name, kind, stored.state)
    for (index, column) in kind.columns.enumerated() where expected[index] != stored.values[index] {
      problem("\(name).\(column.name) does not show what the state says")
    }
  }

  /// A row that SQLite did not take is as it should be under the circumstances.
  private mutating func noteAside(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) {
    report.setAside.append(name.text)
    note(
      waits: kind.waits(
        stored.state, shown: stored.place.isVisible ? stored.values : nil, forward: kind.forwardField),
      kind.number, name.text)
  }

  // MARK: Links

  private mutating func check(_ key: LinkKey, _ kind: LinkKind, _ stored: StoredLink) throws {
    report.checked += 1
    let label = "\(key.source).\(kind.relationship) of \(key.target)"
    if stored.element.tags.isEmpty { return problem("\(label) has no state") }
    check(stored.element.dots, "\(kind.number) \(key.text)", label)
    let hashes = linkHashes(key, kind)
    sum += stored.element.fingerprint(link: hashes.link, target: hashes.target)
    let isWaiting = !stored.place.isVisible && stored.element.mayBeMember
    note(waits: isWaiting ? [key.source, key.target] : [], kind.number, key.text)
    guard kind.isKnown else { return }
    if !reader.aside.isEmpty, reader.aside[RowAddress(kind: kind.number, key: key.text)] != nil {
      return report.setAside.append(key.text)
    }
    let isShown =
      try reader.isMember(key, stored.element) && visibility.isVisible(key.source) && visibility.isVisible(key.target)
    if isShown != stored.place.isVisible {
      problem("\(label) is \(isShown ? "hidden but should be seen" : "seen but should be hidden")")
    }
  }
}
