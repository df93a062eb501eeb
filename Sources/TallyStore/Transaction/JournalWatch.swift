import TallyCRDT
import TallyWire

/// What a transaction must look at for the conflict journal once all is settled: records that were kept although a
/// delete of theirs is known, references that no longer show, and records that an entry may be about.
///
/// Gathering costs little, and nothing is looked up before the end. Each set is bounded: beyond, the journal either
/// keeps no more entries anyway, or is looked at as a whole.
final class JournalWatch {
  /// A reference that reads null, though its register names a record.
  struct Cleared: Hashable, Comparable {
    var name: AnyRecordName
    var field: FieldID

    static func < (lhs: Cleared, rhs: Cleared) -> Bool { (lhs.name, lhs.field) < (rhs.name, rhs.field) }
  }

  static let limit = 10_000
  /// Whether the transaction joins a delta: what one replica does alone is no conflict.
  var isJoining = false
  private(set) var kept = Set<AnyRecordName>()
  private(set) var cleared = Set<Cleared>()
  /// Each once, in the order in which they were noted.
  private(set) var touched: [AnyRecordName] = []
  private var known = Set<AnyRecordName>()
  /// Whether more was touched than is gathered.
  private(set) var isFull = false
  /// Whether the journal may have entries of any record, and not just of those that have got one in this transaction.
  private(set) var hasEntries: Bool
  /// The keys of the latter, of any type.
  @exclusivity(unchecked) private var entered = Set<RecordKey>()

  /// `hasEntries` says whether the journal has any before the transaction.
  init(hasEntries: Bool) { self.hasEntries = hasEntries }

  #if PlantedFaults
    /// Records that have changed and are not looked at, though the journal has entries: none can be of them.
    private(set) var passedOver: [AnyRecordName] = []
  #endif

  /// Notes a record that has changed, or shows something else.
  func note(_ name: AnyRecordName) {
    if hasEntries || !entered.isEmpty && entered.contains(RecordKey(name)) { return touch(name) }
    #if PlantedFaults
      passedOver.append(name)
    #endif
  }

  /// Notes a record that has changed.
  func note(_ key: RecordKey, _ kind: RecordKind) throws {
    #if PlantedFaults
      return note(try key.name(type: kind.type))
    #else
      if hasEntries || !entered.isEmpty && entered.contains(key) { touch(try key.name(type: kind.type)) }
    #endif
  }

  /// Notes that the journal has got an entry of a record. `isOpen` says that the record shows what won: only what
  /// changes it later can decide the entry.
  func noteEntry(of name: AnyRecordName, isOpen: Bool) {
    if !hasEntries { entered.insert(RecordKey(name)) }
    if entered.count > Self.limit { (entered, hasEntries) = ([], true) }
    if !isOpen { touch(name) }
  }

  private func touch(_ name: AnyRecordName) {
    guard !isFull, known.insert(name).inserted else { return }
    touched.append(name)
    if touched.count > Self.limit { (touched, known, isFull) = ([], [], true) }
  }

  /// Notes a record that is visible, as its row was and as it will be.
  func note(_ name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord, _ shown: [Value]) {
    guard isJoining else { return }
    if !stored.state.deletes.isEmpty, kept.count < Self.limit { kept.insert(name) }
    for (index, column) in kind.columns.enumerated() where column.reference != nil && shown[index].isNull {
      guard stored.values.isEmpty || !stored.values[index].isNull, cleared.count < Self.limit,
        let cell = stored.state.cell(column.field, followsNewest: kind.followsNewest), cell.stamp.rank >= .user,
        column.target(of: cell.value) != nil
      else { continue }
      cleared.insert(Cleared(name: name, field: column.field))
    }
  }
}
