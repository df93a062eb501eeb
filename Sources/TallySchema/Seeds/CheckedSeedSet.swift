import Foundation
import TallyCRDT
import TallyWire

/// A seed set that fits a schema, with wire names and record names in place of columns and keys.
package struct CheckedSeedSet {
  package struct Record {
    package var name: AnyRecordName
    package var isRetired: Bool
    /// The values by wire name, without nulls and defaults.
    package var values: [(field: String, value: Value)]
  }

  package struct Link {
    package var source: AnyRecordName
    package var relationship: String
    package var target: AnyRecordName
    /// The number of the member among those of its source, if the relationship is ordered.
    package var place: Int?
  }

  package let name: String
  package let version: Int
  package private(set) var records: [Record] = []
  package private(set) var links: [Link] = []
  private var names: [String: AnyRecordName] = [:]
  /// The namespace of the set's keys.
  private let namespace: UUID

  /// Checks a set against a schema.
  /// - Throws: `StoreError.invalidSeeds` with the first rule that is broken.
  package init(_ set: SeedSet, _ schema: Schema) throws(StoreError) {
    name = set.name
    version = set.version
    namespace = SeedIdentity.uuid(ofSet: set.name)
    guard Self.isPlain(set.name, limit: 64) else {
      throw Self.error("invalid seed set name \(printable(set.name)): 1 to 64 printable ASCII characters")
    }
    guard (1...Int(Int32.max)).contains(set.version) else {
      throw Self.error("\(set.name) has the version \(set.version); versions count from 1")
    }
    for record in set.records { try note(SeedKey(record.key, type: record.type), schema) }
    for key in set.retired { try note(key, schema) }
    for record in set.records { try add(record, schema) }
    for key in set.retired { records.append(.init(name: try name(of: key.key), isRetired: true, values: [])) }
    for adoption in set.adoptions { try Self.check(adoption, set, schema) }
    // Last, so that its count is right.
    records.append(try setRecord(count: set.records.count))
  }

  private static func isPlain(_ text: String, limit: Int) -> Bool {
    !text.isEmpty && text.utf8.count <= limit && text.utf8.allSatisfy { (32...126).contains($0) }
  }

  package static func error(_ message: String) -> StoreError { StoreError(.invalidSeeds, message) }

  private mutating func note(_ key: SeedKey, _ schema: Schema) throws(StoreError) {
    guard Self.isPlain(key.key, limit: 128) else {
      throw Self.error("invalid key \(printable(key.key)) in \(name): 1 to 128 printable ASCII characters")
    }
    guard schema[key.type] != nil else {
      let hint = schema.hint(forType: key.type)
      throw Self.error("\(name).\(key.key) is of the type \(printable(key.type)), which is not in the schema\(hint)")
    }
    let id = SeedIdentity.version5(namespace, key.key).uuidString.lowercased()
    guard let name = try? AnyRecordName(type: key.type, key: id) else {
      throw Self.error("\(self.name).\(key.key) has no valid name")
    }
    guard names.updateValue(name, forKey: key.key) == nil else {
      throw Self.error("\(self.name) has the key \(key.key) twice")
    }
  }

  private func name(of key: String) throws(StoreError) -> AnyRecordName {
    guard let found = names[key] else { throw Self.error("\(name) has no key \(printable(key))") }
    return found
  }

  private mutating func add(_ record: SeedRecord, _ schema: Schema) throws(StoreError) {
    guard let entity = schema[record.type] else { return }
    let name = try name(of: record.key)
    var values: [(String, Value)] = []
    for (column, value) in entity.completing(record.fields).sorted(by: { $0.key < $1.key }) {
      guard let field = entity.fields.first(where: { $0.name == column }) else {
        throw Self.error("\(self.name).\(record.key): \(record.type) has no field \(printable(column))")
      }
      let value = field.kind.fitted(value)
      if let reason = field.refusal(of: value), !value.isNull || !field.defaultValue.isNull {
        throw Self.error("\(self.name).\(record.key).\(column) \(reason)")
      }
      guard value.byteCount <= WireLimits.valueBytes else {
        throw Self.error("\(self.name).\(record.key).\(column) has \(value.byteCount) bytes")
      }
      if value != field.defaultValue { values.append((field.key, value)) }
    }
    for (column, key) in record.references.sorted(by: { $0.key < $1.key }) {
      guard let reference = entity.references.first(where: { $0.name == column }) else {
        throw Self.error("\(self.name).\(record.key): \(record.type) has no reference \(printable(column))")
      }
      values.append((reference.key, .text(try target(key, reference.to, "\(record.key).\(column)").text)))
    }
    let size = values.reduce(0) { $0 + $1.1.byteCount }
    guard size <= WireLimits.seedRecordBytes else { throw Self.error("\(self.name).\(record.key) has \(size) bytes") }
    records.append(.init(name: name, isRetired: false, values: values))
    for (relationship, keys) in record.relationships.sorted(by: { $0.key < $1.key }) {
      guard let declared = entity.relationships.first(where: { $0.name == relationship }) else {
        throw Self.error("\(self.name).\(record.key): \(record.type) has no relationship \(printable(relationship))")
      }
      var seen = Set<String>()
      let members = declared.isOrdered ? keys.filter { seen.insert($0).inserted } : Set(keys).sorted()
      for (place, key) in members.enumerated() {
        let target = try target(key, declared.to, "\(record.key).\(relationship)")
        links.append(
          .init(source: name, relationship: relationship, target: target, place: declared.isOrdered ? place : nil))
      }
    }
  }

  private func target(_ key: String, _ type: String, _ place: String) throws(StoreError) -> AnyRecordName {
    guard let target = names[key] else {
      throw Self.error("\(name).\(place) refers to the key \(printable(key)), which is not in the set")
    }
    guard target.type == type else {
      throw Self.error("\(name).\(place) refers to a \(target.type); it must be a \(type)")
    }
    return target
  }

  private static func check(_ rule: SeedAdoption, _ set: SeedSet, _ schema: Schema) throws(StoreError) {
    guard let entity = schema[rule.type] else {
      let hint = schema.hint(forType: rule.type)
      throw error(
        "an adoption of \(set.name) is for the type \(printable(rule.type)), which is not in the schema\(hint)")
    }
    guard !rule.matching.isEmpty else { throw error("the adoption of \(rule.type) matches by no field") }
    for column in rule.matching + rule.present + rule.absent
    where !entity.fields.contains(where: { $0.name == column }) {
      throw error("the adoption of \(rule.type) names the field \(printable(column)), which it does not have")
    }
    var seen = Set<[Value]>()
    for record in set.records where record.type == rule.type {
      let key = rule.matching.map { record.fields[$0] ?? .null }
      guard seen.insert(key).inserted else {
        throw error("two seeds of \(set.name) have the natural key of \(record.key)")
      }
    }
  }

  private func setRecord(count: Int) throws(StoreError) -> Record {
    let id = SeedIdentity.uuid(ofSet: name).uuidString.lowercased()
    guard let name = try? AnyRecordName(type: SeedHistory.setType, key: id) else {
      throw Self.error("the set has no valid name")
    }
    return Record(
      name: name, isRetired: false,
      values: [
        ("name", .text(self.name)), ("records", .integer(Int64(count))), ("version", .integer(Int64(version))),
      ])
  }
}

extension EntitySchema {
  /// The values of a seed, with those of older fields that it leaves open and that newer ones say: apps that know the
  /// older ones alone show them too.
  fileprivate func completing(_ values: [String: Value]) -> [String: Value] {
    var values = values
    for pair in lensPairs.reversed() {
      let (older, newer) = (fields[pair.older], fields[pair.newer])
      guard let source = newer.source, source.keepsOldApps, values[older.name] == nil, let value = values[newer.name]
      else { continue }
      values[older.name] = source.lens.older(newer.kind.fitted(value), older.kind)
    }
    return values
  }
}
