import TallyCRDT

/// The values of a unique rule's columns that some records have: those of one group, of which one shows them.
struct UniqueKey: Hashable, Comparable {
  var kind: KindNumber
  /// The rule's place among those of its entity.
  var rule: Int
  var values: [Value]

  static func < (lhs: UniqueKey, rhs: UniqueKey) -> Bool {
    if (lhs.kind, lhs.rule) != (rhs.kind, rhs.rule) { return (lhs.kind, lhs.rule) < (rhs.kind, rhs.rule) }
    return lhs.values.lexicographicallyPrecedes(rhs.values)
  }
}

/// The columns of a unique rule in its kind's table.
struct UniquePlaces {
  let kind: RecordKind
  let rule: Int
  let policy: UniquePolicy
  let places: [Int]

  /// The place of the column that shows something else in records that do not hold the value.
  var last: Int { places[places.count - 1] }
  /// The name of that column.
  var column: String { kind.columns[last].name }

  /// Nil if there is no such rule, or a column of it.
  init?(_ kind: RecordKind, _ rule: Int) {
    guard let entity = kind.entity, entity.unique.indices.contains(rule) else { return nil }
    let (fields, policy) = (entity.unique[rule].fields, entity.unique[rule].policy)
    let places = fields.compactMap { field in kind.columns.firstIndex { $0.name == field } }
    guard !places.isEmpty, places.count == fields.count else { return nil }
    (self.kind, self.rule, self.policy, self.places) = (kind, rule, policy, places)
  }

  /// Those of all rules of a kind.
  static func all(of kind: RecordKind) -> [UniquePlaces] {
    guard let entity = kind.entity, !entity.unique.isEmpty else { return [] }
    return entity.unique.indices.compactMap { UniquePlaces(kind, $0) }
  }

  /// Those of the rules by which a record that does not hold a value shows another one.
  static func contested(of kind: RecordKind) -> [UniquePlaces] { all(of: kind).filter { $0.policy != .hide } }

  /// The group of a row with these values; nil if it claims none.
  func key(of values: [Value]) -> UniqueKey? {
    let own = places.map { values[$0] }
    return own.contains(where: \.isNull) ? nil : UniqueKey(kind: kind.number, rule: rule, values: own)
  }

  /// The group of a record in this state; nil if it claims none. Whether it is visible is another matter.
  func key(of state: RecordState) -> UniqueKey? {
    var values: [Value] = []
    for place in places {
      let column = kind.columns[place]
      guard let cell = state.cell(column.field, followsNewest: kind.followsNewest), !cell.value.isNull,
        column.accepts(cell.value)
      else { return nil }
      values.append(cell.value)
    }
    return UniqueKey(kind: kind.number, rule: rule, values: values)
  }
}

/// Looks rows up by what they show in a rule's columns.
struct UniqueRows {
  let connection: Connection

  /// The records whose rows show the values of a group.
  func names(showing key: UniqueKey, _ unique: UniquePlaces) throws -> [AnyRecordName] {
    let conditions = unique.places.map { "\"\(unique.kind.columns[$0].name)\" = ?" }.joined(separator: " AND ")
    let query = try connection.statement(text: "SELECT id FROM main.\"\(unique.kind.type)\" WHERE \(conditions)")
    defer { query.reset() }
    for (index, value) in key.values.enumerated() { query.bind(index + 1, value) }
    var names: [AnyRecordName] = []
    while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { names.append(name) } }
    return names
  }
}
