import Foundation
import Tally
import TallyCRDT
import TallyStore

/// Reads a Django fixture of the Chinook database into records, and writes records as JSON lines.
struct ChinookFixture {
  /// What is wrong with a fixture, and where.
  struct Malformed: Error, CustomStringConvertible {
    var description: String
  }

  /// The records by name, as they should be in a store.
  private(set) var records: [AnyRecordName: DynamicRecord] = [:]
  /// The number of objects read, pairs of the many-to-many table included.
  private(set) var objectCount = 0

  /// Reads the file.
  init(contentsOf url: URL) throws {
    guard let objects = try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [Any] else {
      throw Malformed(description: "the fixture is not an array")
    }
    var pairs: [(playlist: AnyRecordName, track: AnyRecordName)] = []
    for (index, object) in objects.enumerated() {
      guard let object = object as? [String: Any], let model = object["model"] as? String,
        let key = (object["pk"] as? NSNumber)?.uint64Value, let fields = object["fields"] as? [String: Any]
      else { throw Malformed(description: "object \(index) has no pk, model or fields") }
      if model == "chinook.playlisttrack" {
        pairs.append((try Self.target("Playlist", fields["playlist"]), try Self.target("Track", fields["track"])))
      } else {
        let record = try Self.record(model, key, fields)
        guard records.updateValue(record, forKey: record.name) == nil else {
          throw Malformed(description: "\(model) \(key) is there twice")
        }
      }
    }
    for pair in pairs {
      guard records[pair.track] != nil, records[pair.playlist] != nil else {
        throw Malformed(description: "a pair of \(pair.playlist) and \(pair.track), of which one is not there")
      }
      records[pair.playlist]?.links["tracks", default: []].append(pair.track)
    }
    for (name, record) in records {
      let members = record.links["tracks", default: []]
      guard Set(members).count == members.count else { throw Malformed(description: "\(name) has a track twice") }
      if !members.isEmpty { records[name]?.links["tracks"] = members.sorted() }
    }
    objectCount = objects.count
  }

  // MARK: Names

  /// The name of the object with this primary key: the same in every run and on every device.
  ///
  /// The UUID is of version 8 (RFC 9562, section 5.8): the type's FNV-1a hash, then the key.
  static func name(_ type: String, _ key: UInt64) throws -> AnyRecordName {
    let hash = type.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    func hex(_ number: UInt64, _ digits: Int) -> String {
      let text = String(number, radix: 16)
      return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    let groups = [hex(hash >> 32, 8), hex(hash >> 16 & 0xFFFF, 4), "8" + hex(hash & 0xFFF, 3), "8000", hex(key, 12)]
    return try AnyRecordName(type: type, key: groups.joined(separator: "-"))
  }

  private static func target(_ type: String, _ value: Any?) throws -> AnyRecordName {
    guard let number = value as? NSNumber else { throw Malformed(description: "a reference to a \(type) is no number") }
    return try name(type, number.uint64Value)
  }

  // MARK: Records

  private static func record(_ model: String, _ key: UInt64, _ fields: [String: Any]) throws -> DynamicRecord {
    guard model.hasPrefix("chinook."), let type = Chinook.types[String(model.dropFirst(8))],
      let entity = Chinook.schema[type]
    else { throw Malformed(description: "the model \(model) is unknown") }
    guard Set(fields.keys) == Set(entity.columnNames) else {
      throw Malformed(description: "\(model) \(key) has other fields than the schema")
    }
    var record = DynamicRecord(name: try name(type, key), fields: [:], links: [:])
    for field in entity.fields {
      guard let raw = fields[field.name], let value = value(raw, field.kind) else {
        throw Malformed(description: "\(model) \(key): \(field.name) is no \(field.kind.rawValue)")
      }
      record.fields[field.name] = value
    }
    for reference in entity.references {
      let raw = fields[reference.name]
      record.fields[reference.name] = raw is NSNull ? .null : .text(try target(reference.to, raw).text)
    }
    for relationship in entity.relationships { record.links[relationship.name] = [] }
    return record
  }

  private static func value(_ raw: Any, _ kind: FieldKind) -> Value? {
    if raw is NSNull { return .null }
    switch kind {
    case .integer, .counter: return (raw as? NSNumber).map { .integer($0.int64Value) }
    case .real: return (raw as? NSNumber).map { Value(real: $0.doubleValue) }
    case .text: return (raw as? String).map(Value.text)
    case .date: return (raw as? String).flatMap(date)
    case .bool, .blob, .uuid, .json, .asset, .position: return nil
    }
  }

  /// `1962-02-18T00:00:00Z` as the store keeps dates: `1962-02-18 00:00:00.000`.
  private static func date(_ text: String) -> Value? {
    let parts = text.split(separator: "T")
    guard parts.count == 2, parts[0].count == 10, parts[1].count == 9, parts[1].hasSuffix("Z") else { return nil }
    return .text("\(parts[0]) \(parts[1].dropLast()).000")
  }
}
