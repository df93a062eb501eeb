import TallyCRDT
import TallyWire

/// The records that a transaction touches, for `Store.events()`. They are gathered only where there is a listener.
///
/// Reported are states that change and rows that appear, disappear or show something else as a consequence. After the
/// limit only tables are.
final class Touches {
  private var tables = Set<String>()
  private var names = Set<AnyRecordName>()
  private(set) var isFull = false

  func note(_ name: AnyRecordName) {
    tables.insert(name.type)
    add(name)
  }

  func note(_ key: RecordKey, _ kind: RecordKind) throws {
    tables.insert(kind.type)
    if !isFull { add(try key.name(type: kind.type)) }
  }

  func note(_ key: LinkKey, _ kind: LinkKind) {
    tables.insert(kind.table)
    add(key.source)
    add(key.target)
  }

  /// Notes that anything may be different.
  func noteAll(_ catalog: Catalog) {
    tables.formUnion(catalog.orderedKinds.map(\.type))
    tables.formUnion(catalog.knownLinks.map(\.table))
    (names, isFull) = ([], true)
  }

  /// Takes what was noted; nil if there is nothing.
  func take(_ origin: StoreEvent.Origin) -> StoreEvent? {
    defer { (tables, names, isFull) = ([], [], false) }
    guard !tables.isEmpty else { return nil }
    return StoreEvent(origins: [origin], tables: tables, records: isFull ? .many : .these(names))
  }

  private func add(_ name: AnyRecordName) {
    guard !isFull else { return }
    names.insert(name)
    if names.count > StoreEvent.nameLimit { (names, isFull) = ([], true) }
  }
}

/// The state of the file that has been reported, so that a commit of another process, captured by a store of its own,
/// is reported once.
struct ToldStanding {
  /// The state of the file at the end of the last transaction that is known to be committed.
  private var told: Standing?
  /// The state of the file if the last transaction has been committed.
  private var finished: Standing?

  /// Notes the end of a transaction. Whether SQLite commits it shows later.
  mutating func finish(_ standing: Standing) { finished = standing }

  /// Notes that the last transaction was committed.
  mutating func confirm() {
    if let finished { told = finished }
    finished = nil
  }

  /// Notes that it was not, or that it is not known.
  mutating func doubt() { finished = nil }

  /// Whether the file held something that a state does not have: older content was put in its place.
  func hasMore(than standing: Standing) -> Bool { told.map { !standing.vector.covers($0.vector) } ?? false }

  /// Finds out whether others have committed anything that replicates. They are reported again unless the transaction
  /// that begins here is committed (`confirm`).
  mutating func follow(_ standing: Standing, _ reader: StateReader, _ touches: Touches?) -> Bool {
    guard let told else {
      self.told = standing
      return false
    }
    guard standing.vector != told.vector || standing.fingerprint != told.fingerprint else { return false }
    // The change log says which records another store's transactions wrote to, and not what followed from them, such
    // as records that went with their owner.
    touches?.noteAll(reader.catalog)
    return true
  }
}
