import Foundation
import TallyCRDT
import TallyWire

/// The types, fields and replicas that the file knows. Entries are only ever added.
package struct Catalog: Sendable {
  package struct Field: Sendable {
    package var kind: KindNumber
    /// The field's key (`FieldKey`), and its hash.
    package let key: String
    let hash: UInt64

    /// The wire name.
    package var name: String { FieldKey.name(in: key) }
    /// Whether it is what one replica has added to a counter.
    var isTotal: Bool { if case .total = FieldKey.kind(of: key) { true } else { false } }

    init(kind: KindNumber, key: String) {
      (self.kind, self.key, hash) = (kind, key, SipHash13.hash(key))
    }
  }

  package var version = -1
  package var schema = Schema()
  /// Whether the file has entities and says nothing of them. An empty schema would hide all records, and what was
  /// written meanwhile would count as captured.
  private(set) var isSchemaLost = false
  package var records: [KindNumber: RecordKind] = [:]
  package var links: [KindNumber: LinkKind] = [:]
  package var fields: [FieldID: Field] = [:]
  package init() {}

  /// What the fields' keys say of them.
  package private(set) var marks = FieldMarks()
  package var replicas = ReplicaTable()
  /// Whether the file has stubs, or has had some. In one that never had any, they are not looked for.
  package var hasStubs = false
  /// The kinds in whose rows clocks cannot be written in place; see `StateWriter`.
  var updatesClocks = Set<KindNumber>()
  /// The kinds whose tables say what SQLite does about a conflict.
  var resolvesConflicts = Set<KindNumber>()
  /// The columns of a unique index that the app added, each with its collation.
  typealias UniqueIndex = [(column: String, collation: String)]
  /// The columns of the app's unique indexes on a kind's table, those on all of its rows.
  var uniqueIndexes: [KindNumber: [UniqueIndex]] = [:]
  /// The columns of a kind's table that stand in any unique index of the app's; nil for any column, where an index is
  /// on an expression.
  var uniqueColumns: [KindNumber: Set<String>] = [:]

  /// Kinds whose table the app has rebuilt without a foreign key for each reference, so that SQLite does not count
  /// dangling ones.
  var uncheckedReferences = Set<KindNumber>()

  package private(set) var kindOfType: [String: KindNumber] = [:]
  private(set) var linkOfName: [String: KindNumber] = [:]
  private(set) var fieldOfKey: [KindNumber: [String: FieldID]] = [:]
  package private(set) var replicaNumbers: [ReplicaID: ReplicaNumber] = [:]
  /// For each type the columns that refer to it, each with what selects the names of the rows that refer to one record.
  private(set) var referrers: [String: [(kind: KindNumber, column: Column, rows: RowSQL)]] = [:]
  /// Whether records of a type can refer to others of the same type.
  var hasSelfReferences: Bool {
    referrers.contains { type, columns in columns.contains { records[$0.kind]?.type == type } }
  }
  /// The kinds to whose records others refer, or which have relationships.
  private(set) var referredKinds = Set<KindNumber>()
  private(set) var linksFrom: [String: [KindNumber]] = [:]
  private(set) var linksTo: [String: [KindNumber]] = [:]

  package func kind(of type: String) -> RecordKind? { kindOfType[type].flatMap { records[$0] } }
  func hash(of field: FieldID) -> UInt64 { fields[field]?.hash ?? 0 }

  /// Kinds with a table, those that others refer to first, so that a receiver meets a target before what refers to it.
  package private(set) var orderedKinds: [RecordKind] = []

  private func inOrder() -> [RecordKind] {
    var order: [RecordKind] = []
    var seen = Set<String>()
    func visit(_ type: String) {
      guard seen.insert(type).inserted, let kind = kind(of: type), kind.isKnown else { return }
      for reference in kind.columns.compactMap(\.reference) { visit(reference.to) }
      order.append(kind)
    }
    for entity in schema.entities { visit(entity.type) }
    return order
  }

  /// The app's table of a kind; nil if the schema has none.
  func table(of number: KindNumber) -> String? {
    if let kind = records[number] { return kind.isKnown ? kind.type : nil }
    return links[number].flatMap { $0.isKnown ? $0.table : nil }
  }

  package var knownLinks: [LinkKind] { links.values.filter(\.isKnown).sorted { $0.number < $1.number } }
}

// MARK: - Reading

extension Catalog {
  /// The catalog as this connection sees it; `cached` if that is still right.
  static func load(_ connection: Connection, cached: Catalog?) throws -> Catalog {
    guard let version = try connection.meta("catalog", { $0.int(0) }) else {
      throw StoreError(.corrupt, "the catalog is missing")
    }
    if let cached, cached.version == version { return cached }
    var catalog = Catalog()
    catalog.version = version
    let schema = try connection.meta("schema") { Data($0.blob(0)) }
    if let schema { catalog.schema = try Schema(json: schema) }
    try catalog.loadRows(connection)
    catalog.hasStubs = try connection.hasStubs()
    catalog.isSchemaLost = schema == nil && version > 0 && !catalog.records.isEmpty
    catalog.index()
    return catalog
  }

  private mutating func loadRows(_ connection: Connection) throws {
    var names = Set<String>()
    let kinds = try NumberedTable.kind.scan(connection)
    while try kinds.step() {
      try NumberedTable.kind.check(kinds)
      let (number, source) = (kinds.number(0, as: KindNumber.self), kinds.text(1) ?? "")
      if let relationship = kinds.text(2), !relationship.isEmpty {
        let target = kinds.text(3) ?? ""
        let link = LinkKind(
          number: number, source: source, relationship: relationship, target: target,
          declared: declared(source, relationship, target))
        guard names.insert(link.wireName).inserted else { throw StoreError(.corrupt, "a relationship is there twice") }
        links[number] = link
      } else {
        guard names.insert(source).inserted else { throw StoreError(.corrupt, "a type is there twice") }
        records[number] = RecordKind(number: number, type: source, entity: schema[source])
      }
    }
    let rows = try NumberedTable.field.scan(connection)
    // Totals are fields of their counter, which must be known by then.
    var totals: [(Field, UInt32)] = []
    while try rows.step() {
      try NumberedTable.field.check(rows)
      guard let number = UInt32(exactly: rows.int(0)) else {
        throw StoreError(.corrupt, "a field's number is out of range")
      }
      let field = Field(kind: rows.number(1), key: rows.text(2) ?? "")
      if field.isTotal { totals.append((field, number)) } else { add(field, number) }
    }
    for (field, number) in totals { add(field, number) }
    let replicas = try NumberedTable.replica.scan(connection)
    var ids = Set<[UInt8]>()
    while try replicas.step() {
      try NumberedTable.replica.check(replicas)
      let bytes = replicas.blob(1)
      // The column is unique, and what has sixteen bytes stays so as an id.
      guard bytes.count == 16 else { throw StoreError(.corrupt, "a replica has \(bytes.count) bytes") }
      guard ids.insert(bytes).inserted else { throw StoreError(.corrupt, "a replica is there twice") }
      self.replicas[replicas.number(0)] = ReplicaID(bytes)
    }
  }

  /// Fills in what follows from the rows.
  package mutating func index() {
    kindOfType = Dictionary(uniqueKeysWithValues: records.values.map { ($0.type, $0.number) })
    linkOfName = Dictionary(uniqueKeysWithValues: links.values.map { ($0.wireName, $0.number) })
    replicaNumbers = replicas.numbers
    fieldOfKey = [:]
    for (id, field) in fields { fieldOfKey[field.kind, default: [:]][field.key] = id }
    referrers = [:]
    for number in records.keys.sorted() {
      let columns = columns(of: number)
      for column in columns {
        guard let reference = column.reference, let type = records[number]?.type else { continue }
        let rows = RowSQL("SELECT id FROM main.\"\(type)\" WHERE \"\(column.name)\" = ?")
        referrers[reference.to, default: []].append((number, column, rows))
      }
      records[number] = records[number].map { kind in
        RecordKind(
          number: number, type: kind.type, entity: kind.entity, columns: columns, mayCycle: ownershipReaches(number),
          forwardField: fieldOfKey[number]?[SeedAdoption.forwardKey])
      }
    }
    orderedKinds = inOrder()
    linksFrom = Dictionary(grouping: knownLinks.map(\.number)) { links[$0]?.source ?? "" }
    linksTo = Dictionary(grouping: knownLinks.map(\.number)) { links[$0]?.target ?? "" }
    let referred = Set(referrers.keys).union(linksFrom.keys).union(linksTo.keys)
    referredKinds = Set(referred.compactMap { kindOfType[$0] })
  }

  private func columns(of number: KindNumber) -> [Column] {
    guard let entity = records[number]?.entity, let ids = fieldOfKey[number] else { return [] }
    let fields = entity.fields.compactMap { field in
      ids[field.key].map {
        Column(
          field: $0, name: field.name, wireName: field.wireName, defaultValue: field.defaultValue, kind: field.kind,
          key: field.key, oneOf: field.oneOf)
      }
    }
    let references = entity.references.compactMap { reference in
      ids[reference.key].map {
        Column(field: $0, name: reference.name, wireName: reference.name, defaultValue: .null, reference: reference)
      }
    }
    return (fields + references).sorted { $0.field < $1.field }
  }

  private func ownershipReaches(_ start: KindNumber) -> Bool {
    func owners(of type: String) -> [String] {
      schema[type]?.references.filter { $0.isOwning }.map(\.to) ?? []
    }
    guard let type = records[start]?.type else { return false }
    var seen = Set<String>()
    var stack = owners(of: type)
    while let next = stack.popLast() {
      if next == type { return true }
      if seen.insert(next).inserted { stack += owners(of: next) }
    }
    return false
  }
}

// MARK: - Adding

extension Catalog {
  package mutating func add(replica: ReplicaID, number: ReplicaNumber) {
    replicas[number] = replica
    replicaNumbers[replica] = number
  }

  package mutating func add(kind number: KindNumber, source: String, relationship: String, target: String) {
    if relationship.isEmpty {
      let kind = RecordKind(number: number, type: source, entity: schema[source])
      (records[number], kindOfType[source]) = (kind, number)
      if kind.isKnown { index() }
    } else {
      let link = LinkKind(
        number: number, source: source, relationship: relationship, target: target,
        declared: declared(source, relationship, target))
      (links[number], linkOfName[link.wireName]) = (link, number)
      if link.isKnown { index() }
    }
  }

  /// The field with a number. Bodies keep the number alone.
  func field(_ number: UInt32) -> FieldID {
    marks[number]
  }

  @discardableResult
  private mutating func add(_ field: Field, _ number: UInt32) -> FieldID {
    let id = marks.add(number, field)
    if links[field.kind] != nil { marks.hasPlaces = true }
    fields[id] = field
    return id
  }

  package mutating func add(field number: UInt32, kind: KindNumber, key: String) -> FieldID {
    let field = add(Field(kind: kind, key: key), number)
    fieldOfKey[kind, default: [:]][key] = field
    guard key == SeedAdoption.forwardKey, let known = records[kind] else { return field }
    let forwarding = RecordKind(
      number: kind, type: known.type, entity: known.entity, columns: known.columns, mayCycle: known.mayCycle,
      forwardField: field)
    records[kind] = forwarding
    if let place = orderedKinds.firstIndex(where: { $0.number == kind }) { orderedKinds[place] = forwarding }
    return field
  }

  /// - Throws: `StoreError.corrupt` if the file's schema is lost.
  func checkSchema() throws {
    guard isSchemaLost else { return }
    throw StoreError(
      .corrupt, "the schema is lost; opening the store with the app's schema, or tally schema upgrade, puts it back")
  }

  /// Follows a schema that has grown.
  mutating func adopt(_ schema: Schema) {
    (self.schema, isSchemaLost) = (schema, false)
    for (number, kind) in records {
      records[number] = RecordKind(number: number, type: kind.type, entity: schema[kind.type])
    }
    for (number, link) in links {
      let declared = declared(link.source, link.relationship, link.target)
      links[number] = LinkKind(
        number: number, source: link.source, relationship: link.relationship, target: link.target, declared: declared)
    }
    index()
  }

  private func declared(_ source: String, _ relationship: String, _ target: String) -> RelationshipSchema? {
    schema[source]?.relationships.first { $0.name == relationship && $0.to == target }
  }
}

extension Fingerprint {
  init(_ bytes: [UInt8]) {
    let id = ReplicaID(bytes)
    self.init(first: id.high, second: id.low)
  }

  var bytes: [UInt8] { ReplicaID(high: first, low: second).bytes }
}
