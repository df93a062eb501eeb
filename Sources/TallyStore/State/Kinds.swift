import TallyCRDT
import TallyWire

/// One column of an entity's table, as the store handles it.
package final class Column: Sendable {
  package let field: FieldID
  package let name: String
  let wireName: String
  /// The field's key, on the wire and in the file (`FieldKey`).
  let key: String
  /// The hash of the key, for the fingerprint.
  let hash: UInt64
  let defaultValue: Value
  /// Nil for a reference.
  let kind: FieldKind?
  /// Whether it is a counter, whose field is that of the offset.
  let isCounter: Bool
  let reference: ReferenceSchema?
  /// The prefix of the record names that this reference accepts.
  let targetPrefix: [UInt8]
  /// The values other than null that this app may write; nil for any that the column accepts.
  let oneOf: Set<Value>?

  init(
    field: FieldID, name: String, wireName: String, defaultValue: Value, kind: FieldKind? = nil,
    reference: ReferenceSchema? = nil, key: String? = nil, oneOf: [Value]? = nil
  ) {
    (self.field, self.name, self.wireName) = (field, name, wireName)
    self.key = key ?? FieldKey.key(of: wireName, reference == nil ? .field : .reference)
    hash = SipHash13.hash(self.key)
    (self.defaultValue, self.kind, self.reference, self.oneOf) = (defaultValue, kind, reference, oneOf.map(Set.init))
    isCounter = if case .counter = kind { true } else { false }
    targetPrefix = reference.map { Array("\($0.to)\(AnyRecordName.delimiter)".utf8) } ?? []
  }

  /// Whether a row that has no cell for the column shows this.
  func isDefault(_ value: Value) -> Bool { value == defaultValue }

  /// Whether the app may write a value that the record does not have yet. Others come from newer versions of it.
  func lists(_ value: Value) -> Bool { oneOf.map { value.isNull || $0.contains(value) } ?? true }

  /// Whether a value can stand in the column. References are checked by type; whether the target is there is another
  /// matter.
  func accepts(_ value: Value) -> Bool {
    if value.isNull { return defaultValue.isNull }
    if let kind { return kind.accepts(value) }
    if case .text(var text) = value, text.withUTF8({ RecordKey.uuid(in: $0, after: targetPrefix) }) != nil {
      return true
    }
    return target(of: value) != nil
  }

  /// Whether a value that the app has written can be replicated.
  func admits(_ value: Value) -> Bool {
    value.byteCount <= WireLimits.valueBytes && (value.isNull || accepts(value))
  }

  /// The record that a reference's value names, or nil.
  func target(of value: Value) -> AnyRecordName? {
    guard let reference, case .text(let text) = value, let name = try? AnyRecordName(text), name.hasType(reference.to)
    else { return nil }
    return name
  }
}

/// A type of records. Types that only a newer app knows have a number as well, but no table.
///
/// A class, so that handing it on costs one reference count and not one for each of its parts.
package final class RecordKind: Sendable {
  package let number: KindNumber
  package let type: String
  /// The prefix of the names of its records: `SBGame|~|`.
  let typePrefix: [UInt8]
  /// Nil for a type that the schema does not have.
  package let entity: EntitySchema?
  /// In the order of the table's columns after `id` and `tally_clock`.
  package let columns: [Column]
  let ownerColumns: [Column]
  let hasReferences: Bool
  let counters: CounterColumns
  let lenses: LensColumns
  /// Whether records of the type go on following seeds after an edit.
  package let followsNewest: Bool
  /// Whether ownership could form a cycle through this type.
  let mayCycle: Bool
  /// The field by which a duplicate says for which record it gave way; nil if no record of the type ever did.
  let forwardField: FieldID?
  /// Selects row id, name, clock and the kind's columns: of all rows, of one name, and of one row.
  package let rowSQL: String
  let rowByName: KeyedSQL
  let rowByNumber: KeyedSQL
  /// Selects number, body and name of what `tally_hidden` has of one name.
  let hiddenByName: KeyedSQL
  /// Selects row id, name, clock and one column, of one row: for each column.
  let columnByNumber: [RowSQL]
  /// Selects the clock of one name.
  let clockByName: RowSQL
  /// Selects the row id: tells whether a name has a row, and whether a number has one.
  let numberByName: KeyedSQL
  let numberByNumber: KeyedSQL
  let deleteByNumber: RowSQL
  /// Binds name, clock and all columns.
  let insert: RowSQL
  /// Like `insert`, but leaves an existing row of that name alone.
  let insertIfNew: RowSQL
  /// The places of the columns, ascending by the bytes of their keys: the order of the wire format.
  let wireOrder: [Int]
  let updates: UpdateSQL

  package let isKnown: Bool

  /// The UUID in a record name; nil if the key is not a UUID or the record is of another type.
  func uuid(in name: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
    RecordKey.uuid(in: name, after: typePrefix)
  }

  /// The place of a field among the columns; nil if the table has no such column.
  func index(of field: FieldID) -> Int? {
    for (index, column) in columns.enumerated() where column.field >= field {
      return column.field == field ? index : nil
    }
    return nil
  }

  init(
    number: KindNumber, type: String, entity: EntitySchema?, columns: [Column] = [], mayCycle: Bool = false,
    forwardField: FieldID? = nil
  ) {
    (self.number, self.type, self.entity, self.columns) = (number, type, entity, columns)
    (self.mayCycle, self.forwardField) = (mayCycle, forwardField)
    isKnown = entity != nil
    typePrefix = Array("\(type)\(AnyRecordName.delimiter)".utf8)
    ownerColumns = columns.filter { $0.reference?.isOwning == true }
    hasReferences = columns.contains { $0.reference != nil }
    counters = CounterColumns(columns)
    lenses = LensColumns(columns, entity)
    followsNewest = entity?.follows == .perField
    let list = columns.map { ", \"\($0.name)\"" }.joined()
    let marks = String(repeating: ", ?", count: columns.count)
    rowSQL = "SELECT rowid, id, tally_clock\(list) FROM main.\"\(type)\""
    let all = "r.rowid, r.id, r.tally_clock" + columns.map { ", r.\"\($0.name)\"" }.joined()
    rowByName = KeyedSQL(all, of: type, by: .text("id"))
    rowByNumber = KeyedSQL(all, of: type, by: .number("rowid"))
    numberByName = KeyedSQL("r.rowid", of: type, by: .text("id"))
    numberByNumber = KeyedSQL("r.rowid", of: type, by: .number("rowid"))
    hiddenByName = KeyedSQL(
      "r.n, r.body, r.key", of: "tally_hidden", by: .text("key", where: "r.kind = \(number) AND "))
    columnByNumber = columns.map {
      RowSQL("SELECT rowid, id, tally_clock, \"\($0.name)\" FROM main.\"\(type)\" WHERE rowid = ?")
    }
    clockByName = RowSQL("SELECT tally_clock FROM main.\"\(type)\" WHERE id = ?")
    deleteByNumber = RowSQL("DELETE FROM main.\"\(type)\" WHERE rowid = ?")
    insert = RowSQL("INSERT INTO main.\"\(type)\"(id, tally_clock\(list)) VALUES(?, ?\(marks))")
    insertIfNew = RowSQL(
      "INSERT INTO main.\"\(type)\"(id, tally_clock\(list)) VALUES(?, ?\(marks)) ON CONFLICT(id) DO NOTHING")
    wireOrder = columns.indices.sorted {
      columns[$0].key.utf8.lexicographicallyPrecedes(columns[$1].key.utf8)
    }
    updates = UpdateSQL(type, columns)
  }
}

/// A relationship between two types.
package final class LinkKind: Sendable {
  package let number: KindNumber
  package let source: String
  package let relationship: String
  package let target: String
  /// Whether the schema has it.
  package let isKnown: Bool
  /// Whether its table says where members stand.
  package let isOrdered: Bool
  package let table: String
  let wireName: String
  /// Selects row id, ends and clock, and of an ordered relationship the position: of all rows, and of one.
  package let rowSQL: String
  let row: RowSQL
  let rowByNumber: RowSQL
  package let rowsFrom: RowSQL
  let insert: RowSQL
  /// Binds clock, position and row id.
  let move: RowSQL
  let deleteByNumber: RowSQL
  /// The name of the catalog's field that says that members of a relationship have had places.
  static let placeKey = "position"

  /// Returns the name that identifies a relationship everywhere.
  static func wireName(_ source: String, _ relationship: String, _ target: String) -> String {
    "\(source).\(relationship).\(target)"
  }

  /// `declared` is what the schema has of it; nil if it has nothing.
  init(number: KindNumber, source: String, relationship: String, target: String, declared: RelationshipSchema?) {
    (self.number, self.source, self.relationship, self.target) = (number, source, relationship, target)
    (isKnown, isOrdered) = (declared != nil, declared?.isOrdered == true)
    let table = Schema.joinTable(source, relationship)
    let (column, mark) = isOrdered ? (", position", ", ?") : ("", "")
    let rowSQL = "SELECT rowid, source, target, tally_clock\(column) FROM main.\"\(table)\""
    (self.table, self.rowSQL) = (table, rowSQL)
    wireName = Self.wireName(source, relationship, target)
    row = RowSQL(rowSQL + " WHERE source = ? AND target = ?")
    rowByNumber = RowSQL(rowSQL + " WHERE rowid = ?")
    rowsFrom = RowSQL(rowSQL + " WHERE source = ?")
    insert = RowSQL("INSERT INTO main.\"\(table)\"(source, target, tally_clock\(column)) VALUES(?, ?, ?\(mark))")
    move = RowSQL("UPDATE main.\"\(table)\" SET tally_clock = ?, position = ? WHERE rowid = ?")
    deleteByNumber = RowSQL("DELETE FROM main.\"\(table)\" WHERE rowid = ?")
  }
}

extension RecordKind {
  /// The values of a state's registers as they are, by column: what its row shows if no reference dangles.
  package func plainValues(of state: RecordState) -> [Value] {
    var rest = state.fields[...]
    var values = columns.map { column in
      while let first = rest.first, first.field < column.field { rest.removeFirst() }
      let own = rest.first.flatMap { $0.field == column.field ? $0 : nil }
      let cell = state.seed == nil ? own : state.cell(column.field, followsNewest: followsNewest)
      guard let cell, column.accepts(cell.value) else { return column.defaultValue }
      return cell.value
    }
    if !counters.isEmpty { counters.count(state, self, into: &values) }
    if !lenses.isEmpty { lenses.show(state, self, into: &values) }
    return values
  }
}

extension RecordState {
  /// The record that a duplicate in this state says it gave way to, whether it does or not.
  func forwardTarget(_ kind: RecordKind) -> AnyRecordName? {
    guard let field = kind.forwardField, case .text(let text) = self[field]?.value else { return nil }
    return try? AnyRecordName(text)
  }
}

extension ReferenceSchema {
  /// Whether the record that it names owns the one that has it. A pattern, since to compare cases of another module's
  /// enum is to compare their texts.
  var isOwning: Bool { if case .cascade = onDelete { true } else { false } }
}
