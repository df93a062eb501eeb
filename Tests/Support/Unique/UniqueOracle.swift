import Foundation
import GRDB
import TallyCRDT
import TallyStore
import TallyWire

/// What a device with unique rules must show, from what a device without them shows and holds: written down from the
/// contract, value by value, and without a look at how a store decides it.
package struct UniqueOracle {
  /// One record as a device without rules shows it.
  package struct Record {
    package var fields: [String: Value]
    /// For each field the rank, time, replica and sequence of its write.
    var stamps: [String: [UInt64]]
    /// The beginnings of its life.
    var beginnings: [[UInt64]]
  }

  package let records: [String: Record]

  /// A device without rules that has the state of another, and takes in only what is new there: making one takes longer
  /// than all else in a check. Every eighth time it is a new one, which takes in all.
  package final class PlainDevice {
    private let schema: Schema
    private var store: Store?
    private var uses = 0

    /// One that follows devices with this schema.
    package init(_ schema: Schema) {
      self.schema = Schema(
        schema.entities.map { entity in
          var entity = entity
          entity.unique = []
          return entity
        })
    }

    fileprivate func following(_ other: Store) throws -> Store {
      defer { uses += 1 }
      if uses % 8 == 0 {
        try store?.close()
        store = nil
      }
      let plain = try store ?? Store(inMemory: schema)
      store = plain
      try plain.apply(try other.delta(since: plain.vector))
      return plain
    }

    deinit { try? store?.close() }
  }

  /// What a device holds, and what `plain` shows of the same.
  package init(_ store: Store, on device: PlainDevice, types: [String]) throws {
    let plain = try device.following(store)
    var found: [String: Record] = [:]
    for type in types {
      let rows = try plain.read { try Row.fetchAll($0, sql: "SELECT * FROM \"\(type)\"") }
      for row in rows {
        var record = Record(fields: [:], stamps: [:], beginnings: [])
        for (column, value) in row where !["id", "tally_clock"].contains(column) {
          record.fields[column] = Value(value)
        }
        let name: String = row["id"]
        try plain.snapshot { reader in
          guard let name = try? AnyRecordName(name), let kind = reader.catalog.kind(of: type),
            let state = try reader.record(name, kind)?.state
          else { return }
          record.beginnings = [state.existence, state.life?.stamp].compactMap { $0.map(Self.order) }
          for column in kind.columns {
            record.stamps[column.name] = state.cell(column.field, followsNewest: false).map { Self.order($0.stamp) }
          }
        }
        found[name] = record
      }
    }
    records = found
  }

  private static func order(_ stamp: Stamp) -> [UInt64] {
    [
      UInt64(stamp.rank.rawValue), stamp.time.milliseconds, stamp.dot.replica.high, stamp.dot.replica.low,
      stamp.dot.sequence,
    ]
  }

  /// The claim of a record on its values in some fields.
  private func claim(_ name: String, _ fields: [String]) -> [UInt64] {
    guard let record = records[name] else { return [] }
    return (fields.compactMap { record.stamps[$0] } + record.beginnings).max { $0.lexicographicallyPrecedes($1) } ?? []
  }

  /// What each record of a type shows, by the rules of its entity.
  package func rows(_ entity: EntitySchema) -> [String: [String: Value]] {
    var shown = records.filter { $0.key.hasPrefix(entity.type + "|~|") }.mapValues(\.fields)
    for rule in entity.unique {
      let field = rule.fields[rule.fields.count - 1]
      var groups: [[Value]: [String]] = [:]
      for (name, fields) in shown {
        let own = rule.fields.map { records[name]?.fields[$0] ?? fields[$0] ?? .null }
        if !own.contains(where: \.isNull) { groups[own, default: []].append(name) }
      }
      let said = Set(groups.keys.map { $0[$0.count - 1] })
      for (value, names) in groups where names.count > 1 {
        let order = names.sorted { a, b in
          let (one, other) = (claim(a, rule.fields), claim(b, rule.fields))
          return one == other ? a.utf8.lexicographicallyPrecedes(b.utf8) : one.lexicographicallyPrecedes(other)
        }
        var taken = Set<Value>()
        for name in order.dropFirst() {
          guard rule.policy.isRenaming, case .text(let text) = value[0] else {
            shown[name]?[field] = .null
            continue
          }
          let free = Self.names(text, name).first { !said.contains($0) && !taken.contains($0) } ?? .null
          taken.insert(free)
          shown[name]?[field] = free
        }
      }
    }
    return shown
  }

  /// What a record may show instead of a text, in order: the bits of a hash, five at a time, as letters.
  package static func names(_ text: String, _ name: String) -> [Value] {
    let bits = SHA1.hash(Array(name.utf8)).map { String($0, radix: 2) }
      .map { String(repeating: "0", count: 8 - $0.count) + $0 }.joined()
    var letters = ""
    var rest = Substring(bits)
    while rest.count >= 5 {
      letters.append(Array("abcdefghijklmnopqrstuvwxyz234567")[Int(rest.prefix(5), radix: 2) ?? 0])
      rest = rest.dropFirst(5)
    }
    let short = [4, 8, 26].map { "\(text) ~\(letters.prefix($0))" }
    return (short + (1..<8).map { short[2] + String(repeating: " ~\(letters.prefix(26))", count: $0) }).map(Value.text)
  }
}
