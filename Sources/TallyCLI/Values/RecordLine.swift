import Tally
import TallyStore

/// A record of an import, with places in the schema instead of names.
struct RecordLine {
  /// The line's number in the input, from 1.
  var number: Int
  var name: AnyRecordName
  /// The place of the record's type among the schema's entities.
  var entity: Int
  /// By column, ascending.
  var values: [RecordWriter.Assignment] = []
  /// By the relationship's place in the entity.
  var links: [(relationship: Int, target: AnyRecordName)] = []
}

/// Reads `{"name":…,"fields":{…},"links":{relationship:[…]}}` line by line. What the schema says is looked up once, and
/// no dictionary is built for a line.
final class RecordLineReader {
  struct Table {
    let entity: EntitySchema
    let columns: [(name: String, type: FieldType)]
    /// The places of the types that references name, by column, and that relationships name.
    let references: [Int: Int]
    let relationships: [Int]

    var isLinked: Bool { !references.isEmpty || !relationships.isEmpty }
  }

  let tables: [Table]
  private var fields: [(key: String, value: JSON)] = []
  private var links: [(key: String, value: JSON)] = []
  /// The type of the last record, which mostly is that of the next.
  private var last = 0

  init(_ schema: Schema) throws {
    let types = schema.entities.map(\.type)
    func place(_ type: String) throws -> Int {
      guard let place = types.firstIndex(of: type) else { throw Self.unknown(type, types) }
      return place
    }
    tables = try schema.entities.map { entity in
      let columns = try entity.columnNames.map { ($0, try entity.fieldType($0)) }
      let references = try entity.references.enumerated().map { (entity.fields.count + $0, try place($1.to)) }
      return Table(
        entity: entity, columns: columns, references: Dictionary(uniqueKeysWithValues: references),
        relationships: try entity.relationships.map { try place($0.to) })
    }
  }

  /// - Throws: `Failure`, `StoreError`.
  func record(_ line: LineReader.Line) throws -> RecordLine {
    guard !line.isTooLong else { throw Failure(.badData, "longer than \(LineReader.limit) bytes") }
    fields.removeAll(keepingCapacity: true)
    links.removeAll(keepingCapacity: true)
    let name = try JSONParser.read(line.bytes) { try members(&$0) }
    guard case .string(let text)? = name else { throw Failure(.badData, "the record has no name") }
    var record = try self.record(named: try recordName(text), line.number)
    try takeFields(into: &record)
    try takeLinks(into: &record)
    return record
  }

  /// A record with nothing in it yet.
  /// - Throws: `StoreError.unknownType`.
  func record(named name: AnyRecordName, _ number: Int) throws -> RecordLine {
    if !tables.indices.contains(last) || !name.hasType(tables[last].entity.type) {
      guard let place = tables.firstIndex(where: { name.hasType($0.entity.type) }) else {
        throw Self.unknown(name.type, tables.map(\.entity.type))
      }
      last = place
    }
    return RecordLine(number: number, name: name, entity: last)
  }

  private static func unknown(_ type: String, _ known: [String]) -> StoreError {
    let hint = Spelling.hint(for: type, among: known)
    return StoreError(.unknownType, "the type \(shown(type)) is not in the schema\(hint)")
  }

  // MARK: The line

  private enum Key: String {
    case name, fields, links
  }

  /// Collects fields and links, and returns the name, which may stand behind them.
  private func members(_ parser: inout JSONParser) throws -> JSON? {
    guard parser.next() == UInt8(ascii: "{") else {
      _ = try parser.value()
      throw Failure(.badData, "the line is not a JSON object")
    }
    var (name, seen): (JSON?, [Key]) = (nil, [])
    var strange: String?
    try parser.forEachMember { parser, text in
      guard let key = Key(rawValue: text) else {
        strange = strange ?? text
        _ = try parser.value()
        return
      }
      guard !seen.contains(key) else { throw parser.repeatedKey }
      seen.append(key)
      switch key {
      case .name: name = try parser.value()
      case .fields: try pairs(&parser, key) { fields.append($0) }
      case .links: try pairs(&parser, key) { links.append($0) }
      }
    }
    if let strange { throw Failure(.badData, "the key \(shown(strange)) is not one of name, fields and links") }
    return name
  }

  private func pairs(_ parser: inout JSONParser, _ key: Key, _ take: ((key: String, value: JSON)) -> Void) throws {
    guard parser.next() == UInt8(ascii: "{") else {
      guard try parser.value() == .null else { throw Failure(.badData, "\(key.rawValue) is not a JSON object") }
      return
    }
    try parser.forEachMember { parser, key in take((key, try parser.value())) }
  }

  // MARK: Values

  private func takeFields(into record: inout RecordLine) throws {
    let columns = tables[record.entity].columns
    record.values.reserveCapacity(fields.count)
    for (field, json) in fields {
      guard let column = columns.firstIndex(where: { $0.name == field }) else {
        let entity = tables[record.entity].entity
        throw StoreError(
          .unknownField, "\(entity.type) has no field \(shown(field))\(entity.hint(forField: field))")
      }
      let value = try located(record.name, field) { try columns[column].type.value(json: json) }
      record.values.append(RecordWriter.Assignment(column, value))
    }
    record.values.sort { $0.column < $1.column }
    for (one, next) in zip(record.values, record.values.dropFirst()) where one.column == next.column {
      throw Failure(.badData, "the field \(columns[one.column].name) comes twice")
    }
  }

  private func takeLinks(into record: inout RecordLine) throws {
    let entity = tables[record.entity].entity
    for (place, (key, json)) in links.enumerated() {
      guard case .array(let targets) = json else { throw Failure(.badData, "links: \(shown(key)) is not a list") }
      guard let relationship = entity.relationships.firstIndex(where: { $0.name == key }) else {
        throw StoreError(
          .unknownRelationship,
          "\(entity.type) has no relationship \(shown(key))\(entity.hint(forRelationship: key))")
      }
      guard !links[..<place].contains(where: { $0.key == key }) else {
        throw Failure(.badData, "links: \(shown(key)) comes twice")
      }
      for target in targets {
        guard case .string(let text) = target else { throw Failure(.badData, "links: a target is not a record name") }
        record.links.append((relationship, try recordName(text)))
      }
    }
  }
}

// MARK: - Lines that wait

extension RecordLineReader {
  /// References and links in a form of its own, to be read again at the end: no name has a tab in it.
  static func waiting(_ record: RecordLine) -> String {
    var text = "\(record.number)\t\(record.name.text)"
    for assignment in record.values {
      guard case .text(let target) = assignment.value else { continue }
      text += "\t\(assignment.column)=\(target)"
    }
    for link in record.links { text += "\t-\(link.relationship)=\(link.target.text)" }
    return text
  }

  /// Reads what `waiting` has written.
  func waiting(_ line: LineReader.Line) throws -> RecordLine {
    let parts = line.bytes.split(separator: 0x09).map { String(decoding: $0, as: UTF8.self) }
    guard parts.count > 2, let number = Int(parts[0]) else { throw Self.unreadable }
    var record = try record(named: try recordName(parts[1]), number)
    for part in parts.dropFirst(2) {
      let isLink = part.hasPrefix("-")
      let pieces = part.dropFirst(isLink ? 1 : 0).split(separator: "=", maxSplits: 1)
      guard pieces.count == 2, let place = Int(pieces[0]) else { throw Self.unreadable }
      if isLink {
        record.links.append((place, try recordName(String(pieces[1]))))
      } else {
        record.values.append(RecordWriter.Assignment(place, .text(String(pieces[1]))))
      }
    }
    return record
  }

  private static let unreadable = Failure(.software, "the waiting lines are not readable")
}
