import TallyCRDT

/// Unique values that several records have: for each record that does not hold the one it has, what it shows instead.
/// In the file that is `tally_unique`, which apps may observe.
///
/// All of it follows from the states and the schema. It is kept because a row that shows something else than its state
/// must be told from one that the disk has changed, and because others wait for a value that is given up.
package struct ContestedValues: Sendable {
  package struct Entry: Equatable, Sendable {
    /// The value that the record's register holds.
    package var wanted: Value
    /// The value that its row shows.
    package var shown: Value
    /// The record whose row shows the wanted value; nil as long as that is not decided, and where it is none that the
    /// store shows.
    package var holder: AnyRecordName?
  }

  private struct Wanted: Hashable {
    var kind: KindNumber
    var column: String
    var value: Value
  }

  /// For each record, by the name of the column.
  package private(set) var entries: [RowAddress: [String: Entry]] = [:]
  private var waiting: [Wanted: Set<RowAddress>] = [:]
  /// The records that others wait for, each with how often.
  private var holders: [RowAddress: Int] = [:]
  /// The kinds of the records, and those among them that show a text which is not their first one.
  private var kinds: [KindNumber: Int] = [:]
  private var lengthened: [KindNumber: Int] = [:]
  /// The groups that are to be looked at.
  private var marks = Set<UniqueKey>()

  init() {}

  init(_ connection: Connection) throws {
    let query = try connection.statement("SELECT kind, name, field, wanted, shown, holder FROM tally_unique")
    while try query.step() {
      let address = RowAddress(kind: query.number(0), key: query.text(1) ?? "")
      let holder = query.text(5).flatMap { try? AnyRecordName($0) }
      set(address, query.text(2) ?? "", Entry(wanted: query.value(3), shown: query.value(4), holder: holder))
    }
  }

  var isEmpty: Bool { entries.isEmpty && marks.isEmpty }

  package subscript(address: RowAddress) -> [String: Entry]? { entries[address] }

  /// Whether a record shows something else than it has, or holds what others have.
  func contains(_ address: RowAddress) -> Bool { entries[address] != nil || holders[address] != nil }

  /// Whether any write to a kind's records can matter to others: one of them goes by a longer text than its first.
  func isLengthened(_ kind: KindNumber) -> Bool { lengthened[kind] != nil }

  // MARK: Changing

  /// Notes what a record shows instead of what it has.
  mutating func insert(_ address: RowAddress, _ column: String, _ entry: Entry, _ connection: Connection) throws {
    guard entries[address]?[column] != entry else { return }
    let insert = try connection.statement("INSERT OR REPLACE INTO tally_unique VALUES(?, ?, ?, ?, ?, ?)")
    insert.bind(1, address.kind)
    insert.bind(2, address.key)
    insert.bind(3, column)
    insert.bind(4, entry.wanted)
    insert.bind(5, entry.shown)
    insert.bind(6, Value(text: entry.holder?.text))
    try insert.run()
    forget(address, column)
    set(address, column, entry)
  }

  /// Notes that a record shows what it has.
  mutating func remove(_ address: RowAddress, _ column: String, _ connection: Connection) throws {
    guard entries[address]?[column] != nil else { return }
    let delete = try connection.statement("DELETE FROM tally_unique WHERE kind = ? AND name = ? AND field = ?")
    delete.bind(1, address.kind)
    delete.bind(2, address.key)
    delete.bind(3, column)
    try delete.run()
    forget(address, column)
  }

  private mutating func set(_ address: RowAddress, _ column: String, _ entry: Entry) {
    entries[address, default: [:]][column] = entry
    waiting[Wanted(kind: address.kind, column: column, value: entry.wanted), default: []].insert(address)
    if let holder = entry.holder { holders.add(1, to: RowAddress(kind: address.kind, key: holder.text)) }
    kinds.add(1, to: address.kind)
    if entry.isLengthened { lengthened.add(1, to: address.kind) }
  }

  private mutating func forget(_ address: RowAddress, _ column: String) {
    guard let entry = entries[address]?.removeValue(forKey: column) else { return }
    if entries[address]?.isEmpty == true { entries[address] = nil }
    let wanted = Wanted(kind: address.kind, column: column, value: entry.wanted)
    waiting[wanted]?.remove(address)
    if waiting[wanted]?.isEmpty == true { waiting[wanted] = nil }
    if let holder = entry.holder { holders.add(-1, to: RowAddress(kind: address.kind, key: holder.text)) }
    kinds.add(-1, to: address.kind)
    if entry.isLengthened { lengthened.add(-1, to: address.kind) }
  }

  /// The records that have a value in a column and show another.
  func names(wanting value: Value, _ kind: KindNumber, _ column: String) -> [AnyRecordName] {
    guard let found = waiting[Wanted(kind: kind, column: column, value: value)] else { return [] }
    return found.compactMap { try? AnyRecordName($0.key) }
  }

  /// Whether a record shows one value in a column instead of another, which it has.
  func isShown(_ shown: Value, for wanted: Value, _ kind: KindNumber, _ column: String) -> Bool {
    waiting[Wanted(kind: kind, column: column, value: wanted)]?.contains { entries[$0]?[column]?.shown == shown }
      ?? false
  }

  /// As apps see it, ordered by record and column.
  package var list: [ContestedValue] {
    entries.sorted { $0.key < $1.key }.flatMap { address, columns in
      columns.sorted { $0.key < $1.key }.map { column, entry in
        ContestedValue(
          name: address.key, field: column, wanted: entry.wanted, shown: entry.shown, holder: entry.holder?.text)
      }
    }
  }

  // MARK: What rows show

  /// The values that a row shows, from those that its record has; `before` are those that it shows now.
  func shown(_ values: [Value], over before: [Value], _ address: RowAddress, _ kind: RecordKind) -> [Value] {
    guard let own = entries[address] else { return values }
    var shown = values
    for unique in UniquePlaces.contested(of: kind) {
      guard let entry = own[unique.column], entry.wanted == values[unique.last],
        before.isEmpty || unique.places.dropLast().allSatisfy({ before[$0] == values[$0] })
      else { continue }
      shown[unique.last] = entry.shown
    }
    return shown
  }

  /// The values that a record has, from those that its row shows.
  func wanted(_ shown: [Value], _ address: RowAddress, _ kind: RecordKind) -> [Value] {
    guard let own = entries[address] else { return shown }
    var values = shown
    for unique in UniquePlaces.contested(of: kind) {
      if let entry = own[unique.column], entry.shown == shown[unique.last] { values[unique.last] = entry.wanted }
    }
    return values
  }

  /// Why a row does not show what its record has, for people; nil where that is not for another record's sake.
  func reason(_ cell: FieldCell, _ shown: Value?, _ kind: RecordKind, _ name: AnyRecordName) -> String? {
    guard let own = entries[RowAddress(kind: kind.number, key: name.text)], shown != cell.value,
      let column = kind.columns.first(where: { $0.field == cell.field }), let entry = own[column.name],
      entry.wanted == cell.value
    else { return nil }
    return "\(entry.holder.map { "\($0)" } ?? "a row that SQLite does not let go") has the value, which is unique"
  }

  /// Whether a value is what a row shows instead of what its record has.
  func shows(_ value: Value, _ column: Column, _ kind: RecordKind, _ name: String) -> Bool {
    entries[RowAddress(kind: kind.number, key: name)]?[column.name]?.shown == value
  }

  // MARK: Marking

  /// Marks a group to be looked at.
  mutating func mark(_ key: UniqueKey) { marks.insert(key) }

  /// Takes a group that is to be looked at; nil if there is none.
  mutating func takeMark() -> UniqueKey? { marks.min().flatMap { marks.remove($0) } }

  /// Marks the groups that another state of a record, or its row, can matter to. Nothing waits where no record shows
  /// something else than it has: then all is as SQLite admits it.
  mutating func noteChange(_ kind: RecordKind, from old: RecordState?, to new: RecordState) {
    guard kinds[kind.number] != nil else { return }
    for unique in UniquePlaces.contested(of: kind) {
      for key in [old.flatMap(unique.key(of:)), unique.key(of: new)].compactMap({ $0 }) {
        marks.insert(key)
        guard unique.policy.isRenaming, case .text(let text) = key.values[0],
          let value = UniqueName.value(behind: text)
        else { continue }
        marks.insert(UniqueKey(kind: kind.number, rule: unique.rule, values: [.text(value)]))
      }
    }
  }
}

extension ContestedValues.Entry {
  fileprivate var isLengthened: Bool {
    guard case .text(let wanted) = wanted, case .text(let shown) = shown else { return false }
    return UniqueName.isLengthened(shown, for: wanted)
  }
}

extension Dictionary where Value == Int {
  fileprivate mutating func add(_ count: Int, to key: Key) {
    let sum = self[key, default: 0] + count
    self[key] = sum == 0 ? nil : sum
  }
}

/// Lets rows wait whose unique values others show.
struct UniqueParking {
  let writer: StateWriter

  /// What a row shows for the time being in the place of a value that another row shows: where the rule renames a text
  /// that no row shows, since the column need not admit null. `others` are texts that will be shown.
  static func standIn(
    for wanted: Value, of name: AnyRecordName, _ unique: UniquePlaces, _ connection: Connection,
    besides others: Set<Value> = []
  ) throws -> Value {
    guard unique.policy.isRenaming, case .text(let text) = wanted else { return .null }
    let free = try UniqueName.first(for: text, of: name) { text in
      let key = UniqueKey(kind: unique.kind.number, rule: unique.rule, values: [.text(text)])
      return try others.contains(.text(text))
        || UniqueRows(connection: connection).names(showing: key, unique)
          .contains { $0 != name }
    }
    return .text(free)
  }

  /// The values that a row can show while others show its unique ones. Which of them shows what in the end is decided
  /// once all states are in.
  /// - Returns: nil if no rule is in the way, but an index of the app's.
  func cleared(_ shown: [Value], _ name: AnyRecordName, _ kind: RecordKind) throws -> [Value]? {
    var values = shown
    let address = RowAddress(kind: kind.number, key: name.text)
    for unique in UniquePlaces.contested(of: kind) {
      guard let key = unique.key(of: shown),
        try UniqueRows(connection: writer.connection).names(showing: key, unique).contains(where: { $0 != name })
      else { continue }
      // It may have been what the record showed instead of what it has.
      var wanted = shown[unique.last]
      if let known = writer.reader.aside.contested[address]?[unique.column], known.shown == wanted {
        wanted = known.wanted
      }
      let value = try Self.standIn(for: wanted, of: name, unique, writer.connection)
      values[unique.last] = value
      try writer.reader.aside.contested.insert(
        address, unique.column, ContestedValues.Entry(wanted: wanted, shown: value), writer.connection)
      writer.touch(ContestedValue.databaseTableName)
      writer.reader.aside.contested.mark(key)
      var own = key
      own.values[own.values.count - 1] = wanted
      writer.reader.aside.contested.mark(own)
    }
    return values == shown ? nil : values
  }
}
