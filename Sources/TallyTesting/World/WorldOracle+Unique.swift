import TallyCRDT
import TallyStore

/// Who shows a unique value that several records have, from the events alone.
extension WorldOracle {
  /// Compares what records show instead of unique values with what they must show. `rows` has what they have.
  ///
  /// Claims of seeds, of records that were emptied and of copies are not in the events.
  mutating func check(
    _ contested: [ContestedValue], beside rows: [String: ShownRow<SchemaField>], seen: EventSet, _ schema: Schema
  ) throws {
    guard schema.hasUniqueRules, !hasPurges, !hasCopies, seeded.isEmpty else { return }
    let past = specification.past(seen, specified(schema))
    var listed: [String: ContestedValue] = [:]
    for value in contested { listed["\(value.name).\(value.field)"] = value }
    for entity in schema.entities {
      for rule in entity.unique where rule.policy != .hide {
        let fields = rule.fields.compactMap { name in entity.fields.first { $0.name == name } }
          .map { SchemaField(entity.type, $0) }
        guard let last = fields.last else { continue }
        var groups: [[String]: [String]] = [:]
        for (name, row) in rows where name.hasPrefix("\(entity.type)|") {
          let values = fields.compactMap { row.fields[$0] }
          if values.count == fields.count { groups[values, default: []].append(name) }
        }
        for (values, names) in groups {
          let order = names.sorted { isOlder($0, than: $1, fields, past) }
          for (place, name) in order.enumerated() {
            let found = listed.removeValue(forKey: "\(name).\(last.column)")
            guard place > 0 else {
              guard found == nil else {
                throw Finding("\(name) has the oldest claim on \(values), and does not show it")
              }
              continue
            }
            guard let own = found, own.holder == order[0], Self.isRight(own, values, rule.policy) else {
              let shown = found.map { "\($0.shown)" } ?? "what it has"
              throw Finding("\(name) shows \(shown), and \(order[0]) holds \(values)")
            }
          }
        }
      }
    }
    if let rest = listed.keys.min() {
      throw Finding("\(rest) is listed as contested, and no other record has the value")
    }
  }

  private static func isRight(_ found: ContestedValue, _ values: [String], _ policy: UniquePolicy) -> Bool {
    guard found.wanted.specified == values.last else { return false }
    guard policy.isRenaming, case .text(let text) = found.wanted, case .text(let shown) = found.shown else {
      return policy == .clear && found.shown.isNull
    }
    // GRDB reads a text up to its first NUL. No index would admit the same text twice.
    return shown == text || shown.hasPrefix("\(text) ~") && shown.utf8.count >= text.utf8.count + 6
  }

  /// Whether a record's claim is older than another's: by the latest of the writes to the fields and of the beginnings
  /// of its life.
  private func isOlder(
    _ one: String, than other: String, _ fields: [SchemaField], _ past: Specification<SchemaField>.Past
  ) -> Bool {
    func claim(_ name: String) -> Specification<SchemaField>.Winner? {
      let writes = fields.map { past.winners[Specification<SchemaField>.Register(record: name, field: $0)] }
      return (writes + [past.lives[name], past.begun[name]]).compactMap { $0 }.map {
        Specification<SchemaField>.Winner(event: $0.event, time: $0.time)
      }.max(by: specification.isBefore)
    }
    guard let mine = claim(one), let theirs = claim(other), mine.event != theirs.event || mine.time != theirs.time
    else {
      return one.utf8.lexicographicallyPrecedes(other.utf8)
    }
    return specification.isBefore(mine, theirs)
  }
}
