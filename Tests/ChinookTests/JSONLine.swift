import Foundation
import Tally
import TallyCRDT
import TallyStore

/// A record in one line of JSON: `{"fields":{…},"links":{…},"name":"Type|~|key"}`, as tools import it.
struct JSONLine: Codable, Equatable {
  var name: String
  var fields: [String: Scalar]
  var links: [String: [String]]

  /// A value that JSON can say.
  enum Scalar: Codable, Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let number = try? container.decode(Int64.self) {
        self = .integer(number)
      } else if let number = try? container.decode(Double.self) {
        self = .real(number)
      } else {
        self = .text(try container.decode(String.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .null: try container.encodeNil()
      case .integer(let number): try container.encode(number)
      case .real(let number): try container.encode(number)
      case .text(let text): try container.encode(text)
      }
    }
  }

  init(_ record: DynamicRecord) {
    name = record.name.text
    links = record.links.mapValues { $0.map(\.text) }
    fields = record.fields.mapValues { value in
      switch value {
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let text): .text(text)
      case .null, .blob: .null
      }
    }
  }

  /// The record again; a whole number in a column of reals is a real.
  func record(in schema: Schema) throws -> DynamicRecord {
    let name = try AnyRecordName(name)
    var record = DynamicRecord(
      name: name, fields: [:], links: try links.mapValues { try $0.map { try AnyRecordName($0) } })
    for (column, scalar) in fields {
      let isReal = schema[name.type]?.fields.contains { $0.name == column && $0.kind == .real } ?? false
      switch scalar {
      case .null: record.fields[column] = .null
      case .integer(let number): record.fields[column] = isReal ? Value(real: Double(number)) : .integer(number)
      case .real(let number): record.fields[column] = Value(real: number)
      case .text(let text): record.fields[column] = .text(text)
      }
    }
    return record
  }
}

extension ChinookFixture {
  /// All records, one a line, in an order in which nothing refers forward except employees to each other.
  func jsonLines() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var lines: [String] = []
    for type in Chinook.rounds.joined() where type != "Playlist" { try append(type) }
    try append("Playlist")
    func append(_ type: String) throws {
      for name in records.keys.filter({ $0.type == type }).sorted() {
        guard let record = records[name] else { continue }
        lines.append(String(decoding: try encoder.encode(JSONLine(record)), as: UTF8.self))
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
