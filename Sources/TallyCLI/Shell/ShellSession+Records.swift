import GRDB
import Tally
import TallyCRDT

/// The commands of a shell that work on one store.
extension ShellSession {
  func run(_ command: String, on opened: ShellStore, _ line: inout ShellLine) throws -> String {
    switch command {
    case "put", "delete", "restore", "link", "unlink": return try write(command, opened, &line)
    case "get", "list", "view", "why", "conflicts": return try look(command, opened, &line)
    case "clock":
      let time = try line.number("milliseconds since 1970")
      try line.end()
      opened.clock.stop(at: time)
      return "null"
    default: return try replicate(command, opened.store, &line)
    }
  }

  // MARK: Writing

  /// A transaction of its own; answers its dot.
  private func write(_ command: String, _ opened: ShellStore, _ line: inout ShellLine) throws -> String {
    let (store, schema) = (opened.store, opened.schema)
    if command == "put" { return Self.text(try put(store, schema, &line)) }
    let name = try store.meant(line.name())
    switch command {
    case "delete":
      try line.end()
      return Self.text(try store.commit { try schema.delete($0, name) }.dot)
    case "restore":
      try line.end()
      _ = try schema.entity(of: name)
      return Self.text(try store.restoreDeleted(name))
    default:
      let relationship = try line.word("a relationship")
      let target = try store.meant(line.name())
      try line.end()
      let commit = try store.commit { db in
        command == "link"
          ? try schema.link(db, name, relationship, to: target)
          : try schema.unlink(db, name, relationship, from: target)
      }
      return Self.text(commit.dot)
    }
  }

  private func put(_ store: Store, _ schema: Schema, _ line: inout ShellLine) throws -> Dot? {
    let words = line.remaining()
    guard let first = words.first else { throw Failure(.usage, "'put' needs a record's name") }
    let given =
      first.hasPrefix("{") && words.count == 1
      ? try RecordInput(json: JSONParser.parse(Array(first.utf8)), schema: schema)
      : try RecordInput(words: words, schema: schema)
    let record = try given.meant(in: store, schema)
    return try store.commit { try record.put($0, schema) }.dot
  }

  private static func text(_ dot: Dot?) -> String { JSON.string(dot?.description).text }

  // MARK: Looking

  private func look(_ command: String, _ opened: ShellStore, _ line: inout ShellLine) throws -> String {
    let (store, schema) = (opened.store, opened.schema)
    switch command {
    case "get": return try get(store, schema, &line)
    case "list":
      let type = try line.word("a type")
      try line.end()
      return JSON.array(try store.read { try schema.names($0, of: type) }.map { .string($0.text) }).text
    case "view":
      try line.end()
      return try Self.lines { try store.dump(.view, to: $0) }
    case "why":
      let name = try store.meant(line.name())
      try line.end()
      return try Explanation(of: name, in: store).json.text
    default:
      let limit = try line.optionalWord().map { text in
        guard let limit = Int(text), limit >= 0 else { throw Failure(.usage, "\(shown(text)) is no limit") }
        return limit
      }
      try line.end()
      let entries = try store.conflicts(limit: limit ?? 100).map {
        ConflictOutput(conflict: $0, entity: schema[$0.name.type]).json
      }
      return JSON.array(entries).text
    }
  }

  private func get(_ store: Store, _ schema: Schema, _ line: inout ShellLine) throws -> String {
    let name = try store.meant(line.name())
    try line.end()
    let entity = try schema.entity(of: name)
    guard let record = try store.read({ try schema.record($0, name) }) else {
      throw StoreError(.noSuchRecord, "no record named \(name)")
    }
    return try record.json(entity).text
  }

  /// Lines of JSON as one list.
  static func lines(_ body: ((String) throws -> Void) throws -> Void) throws -> String {
    var lines: [Substring] = []
    try body { lines.append($0.dropLast()) }
    return "[\(lines.joined(separator: ","))]"
  }
}
