import TallyCRDT
import TallyStore

extension Catalog {
  /// Fills the catalog with what can be read of it, and gives numbers to what the schema has beside.
  ///
  /// A name of which one bit was changed is taken for what it was. Else the number is the one that a store has which
  /// was made with this schema, if nothing else has it.
  /// - Returns: the fields whose numbers are not said.
  mutating func salvage(_ reading: TolerantReading) -> Set<FieldID> {
    var found = self
    var names = Set<String>()
    func read(_ table: NumberedTable, _ body: @escaping (NumberedRow) -> Void) {
      reading.read(table.rawValue, table.query, hasRowID: true) { query in
        guard let row = table.sound(query) else { return try table.check(query) }
        body(row)
      }
    }
    read(.kind) { row in
      guard names.insert("\(row.text(0))\n\(row.text(1))\n\(row.text(2))").inserted else { return }
      found.add(
        kind: KindNumber(rawValue: row.number), source: row.text(0), relationship: row.text(1), target: row.text(2))
    }
    read(.field) { row in
      guard let number = UInt32(exactly: row.number), let kind = Int(row.text(0)) else { return }
      _ = found.add(field: number, kind: KindNumber(rawValue: kind), key: row.text(1))
    }
    read(.replica) { row in
      let id = row.values[0]
      if id.count == 16, found.replicaNumbers[ReplicaID(id)] == nil {
        found.add(replica: ReplicaID(id), number: ReplicaNumber(rawValue: row.number))
      }
    }
    found.index()
    found.completeKinds()
    let guesses = found.completeFields()
    found.index()
    self = found
    return guesses
  }

  // MARK: What is missing

  private mutating func completeKinds() {
    let wanted = schema.entities.flatMap { entity in
      [(entity.type, "", "")] + entity.relationships.map { (entity.type, $0.name, $0.to) }
    }
    let known = Set(wanted.map { "\($0.0)\n\($0.1)\n\($0.2)" })
    for (place, (source, relationship, target)) in wanted.enumerated() {
      let name = "\(source)\n\(relationship)\n\(target)"
      let all = records.mapValues { "\($0.type)\n\n" }
        .merging(links.mapValues { "\($0.source)\n\($0.relationship)\n\($0.target)" }) { $1 }
      guard !all.contains(where: { $0.value == name }) else { continue }
      let damaged = all.first { !known.contains($0.value) && $0.value.isOneBit(from: name) }?.key
      let natural = KindNumber(rawValue: place + 1)
      let next = KindNumber(rawValue: 1 + (all.keys.map(\.rawValue).max() ?? 0) + wanted.count)
      let number = damaged ?? (all[natural] == nil ? natural : next)
      (records[number], links[number]) = (nil, nil)
      add(kind: number, source: source, relationship: relationship, target: target)
    }
  }

  private mutating func completeFields() -> Set<FieldID> {
    var guesses = Set<FieldID>()
    var place: UInt32 = 0
    let count = UInt32(schema.entities.reduce(0) { $0 + $1.fields.count + $1.references.count })
    for entity in schema.entities {
      let wanted = entity.fields.map(\.key) + entity.references.map(\.key)
      guard let kind = kindOfType[entity.type] else { continue }
      for key in wanted {
        place += 1
        guard !fields.values.contains(where: { $0.kind == kind && $0.key == key }) else { continue }
        let damaged = fields.first { _, field in
          field.kind == kind && !wanted.contains(field.key) && field.key.isOneBit(from: key)
        }?.key
        if let damaged { fields[damaged] = nil }
        let isTaken = fields.keys.contains { $0.rawValue == place }
        let next = 1 + (fields.keys.map(\.rawValue).max() ?? 0) + count
        let field = add(field: damaged?.rawValue ?? (isTaken ? next : place), kind: kind, key: key)
        if damaged == nil { guesses.insert(field) }
      }
    }
    return guesses
  }
}

extension String {
  /// Whether one bit makes the one the other.
  func isOneBit(from other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    return zip(utf8, other.utf8).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount } == 1
  }
}
