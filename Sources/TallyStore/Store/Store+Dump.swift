import GRDB
import TallyCRDT
import TallyWire

/// The forms of a dump: the whole state, or the app's view of it.
public enum DumpForm: Sendable {
  /// The whole replicated state: vector, existence, fields with stamps, deletes with contexts, links with tags.
  case canonical
  /// The app's view: the rows of its tables and its relationships.
  case view
}

/// The store as JSON lines, to compare replicas and to look inside.
///
/// The canonical form begins with a line of the vector. Then comes one line a record, by type and name, and one line a
/// link, by relationship and ends. Nothing in it depends on the numbers that a file gives to replicas and fields, on
/// the order in which things arrived, or on which types and fields the file's schema has: converged replicas dump the
/// same bytes.
///
/// The view has one line a record, by type and name: `{"fields":{…},"links":{…},"name":…}`. `tally import` reads it.
///
/// In both, keys are in the order of their bytes, a blob is `{"blob":"<hex>"}`, a real always has a point or an
/// exponent and reads back as the same double, and infinity is `{"real":"inf"}`.
extension Store {
  /// Writes the content of the store line by line from one snapshot, with all outside writes captured.
  ///
  /// Memory use is bounded by one record. Other reads and writes proceed meanwhile.
  /// - Parameters:
  ///   - form: the whole replicated state, or only the app's view.
  ///   - sink: receives each line with its line break; an error that it throws ends the dump and is rethrown.
  /// - Throws: `StoreError.corrupt`; GRDB's `DatabaseError`; errors of the sink.
  public func dump(_ form: DumpForm, to sink: (String) throws -> Void) throws {
    try capturedSnapshot { reader in
      switch form {
      case .canonical: try reader.dumpState(to: sink)
      case .view: try reader.dumpView(to: sink)
      }
    }
  }
}

// MARK: - The canonical form

extension StateReader {
  fileprivate func dumpState(to sink: (String) throws -> Void) throws {
    try sink("{\"format\":\"tally-state\",\"vector\":\(JSONText.vector(try vector())),\"version\":1}\n")
    for kind in catalog.records.values.sorted(by: { $0.type < $1.type }) {
      try forEachState(kind) { name, state in try sink(line(name, state)) }
    }
    let links = catalog.links.values.sorted {
      ($0.source, $0.relationship, $0.target) < ($1.source, $1.relationship, $1.target)
    }
    for kind in links { try forEachState(kind) { key, element in try sink(Self.line(key, kind, element)) } }
  }

  private func line(_ name: AnyRecordName, _ state: RecordState) -> String {
    var parts: [String] = []
    if !state.deletes.isEmpty {
      let deletes = state.deletes.map {
        "{\"context\":\(JSONText.vector($0.context)),\"stamp\":\(JSONText.stamp($0.stamp))}"
      }
      parts.append("\"deletes\":[\(deletes.joined(separator: ","))]")
    }
    if let existence = state.existence { parts.append("\"existence\":\(JSONText.stamp(existence))") }
    let fields = state.fields.map { cell in
      (fieldName(cell), "{\"stamp\":\(JSONText.stamp(cell.stamp)),\"value\":\(JSONText.value(cell.value))}")
    }
    if !fields.isEmpty { parts.append("\"fields\":\(JSONText.object(fields))") }
    if let life = state.life { parts.append("\"life\":\(text(life))") }
    parts.append("\"name\":\(JSONText.quoted(name.text))")
    if let seed = state.seed { parts.append("\"seed\":\(text(seed))") }
    if !state.supersededTouches.isEmpty {
      parts.append("\"superseded\":\(JSONText.vector(state.supersededTouches))")
    }
    return "{\(parts.joined(separator: ","))}\n"
  }

  private func fieldName(_ cell: FieldCell) -> String { fieldName(cell.field) }

  /// The wire name, or the key where the type has several fields of one name, as a counter always has.
  private func fieldName(_ id: FieldID) -> String {
    guard let field = catalog.fields[id] else { return "" }
    let kind = FieldKey.kind(of: field.key)
    guard kind == .field || kind == .reference else { return field.key }
    let kinds: [FieldKey.Kind] = [.field, .reference, .counter, .extremum(.greatest), .extremum(.least)]
    let others = kinds.filter { $0 != kind }
    let isAlone = others.allSatisfy { catalog.fieldOfKey[field.kind]?[FieldKey.key(of: field.name, $0)] == nil }
    return isAlone ? field.name : field.key
  }

  private func text(_ life: Life) -> String {
    var parts = ["\"context\":\(JSONText.vector(life.context))"]
    if let said = life.said { parts.append("\"said\":\(JSONText.quoted("\(said)"))") }
    parts.append("\"stamp\":\(JSONText.stamp(life.stamp))")
    let vias = life.vias.map { (fieldName($0.field), JSONText.quoted("\($0.dot)")) }
    if !vias.isEmpty { parts.append("\"vias\":\(JSONText.object(vias))") }
    return "{\(parts.joined(separator: ","))}"
  }

  private func text(_ seed: SeedState) -> String {
    let layers = seed.layers.map { layer in
      let fields = JSONText.object(layer.fields.map { (fieldName($0), JSONText.value($0.value)) })
      return
        "{\(layer.isRetired ? "\"retired\":true" : "\"fields\":\(fields)"),\"stamp\":\(JSONText.stamp(layer.stamp))}"
    }
    let basis = seed.basis.map {
      "\"basis\":{\"layer\":\(JSONText.stamp($0.layer)),\"stamp\":\(JSONText.stamp($0.stamp))},"
    }
    return "{\(basis ?? "")\"layers\":[\(layers.joined(separator: ","))]}"
  }

  private static func line(_ key: LinkKey, _ kind: LinkKind, _ element: ORSetElement) -> String {
    let tags = element.tags.map { tag in
      let removed = tag.removed.map { ",\"removed\":\(JSONText.stamp($0))" } ?? ""
      return "{\"added\":\(JSONText.stamp(tag.added))\(removed)}"
    }
    let place = element.place.map {
      "\"place\":{\"position\":\"\(Hexadecimal.text($0.position.bytes))\",\"stamp\":\(JSONText.stamp($0.stamp))},"
    }
    return "{\"link\":\(JSONText.quoted(kind.wireName)),\(place ?? "")\"source\":\(JSONText.quoted(key.source.text)),"
      + "\"tags\":[\(tags.joined(separator: ","))],\"target\":\(JSONText.quoted(key.target.text))}\n"
  }

  // MARK: Seen and hidden, merged

  /// Each record of a kind by name, seen or hidden.
  private func forEachState(_ kind: RecordKind, _ body: (AnyRecordName, RecordState) throws -> Void) throws {
    let hidden = try HiddenKeys(connection, kind, hasStubs: catalog.hasStubs)
    func give(before name: AnyRecordName?) throws {
      while let key = try hidden.next(before: name?.text) {
        guard let other = try? AnyRecordName(key) else {
          throw StoreError(.corrupt, "a hidden record's name is malformed")
        }
        if let stored = try record(hidden: other, kind) { try body(other, stored.state) }
        forget()
      }
    }
    if kind.isKnown {
      try forEachRow(kind, ordered: true) { name, stored in
        try give(before: name)
        // A row that another program wrote and that was not captured has no state.
        if !stored.state.isEmpty { try body(name, stored.state) }
        if !stored.state.deletes.isEmpty { forget() }
      }
    }
    try give(before: nil)
  }

  /// Each link of a kind by its ends, seen or hidden.
  private func forEachState(_ kind: LinkKind, _ body: (LinkKey, ORSetElement) throws -> Void) throws {
    let hidden = try HiddenKeys(connection, kind)
    func give(before key: LinkKey?) throws {
      while let text = try hidden.next(before: key?.text) {
        let other = try LinkKey(text)
        if let stored = try link(hidden: other, kind) { try body(other, stored.element) }
      }
    }
    if kind.isKnown {
      try forEachRow(kind, ordered: true) { key, stored in
        try give(before: key)
        if !stored.element.isEmpty { try body(key, stored.element) }
      }
    }
    try give(before: nil)
  }
}

/// The keys of the hidden items of one kind, ascending by bytes, taken one by one.
private final class HiddenKeys {
  /// Keys that ascend, and the next of them.
  private struct Run {
    let query: SQLStatement
    let key: (SQLStatement) throws -> String
    var current: String?

    mutating func advance() throws { current = try query.step() ? try key(query) : nil }
  }

  private var runs: [Run] = []

  /// The storage classes of keys. Among themselves those of one class are in the order of the names; the classes are
  /// not.
  private static let classes = ["text", "blob"]

  init(_ connection: Connection, _ kind: LinkKind) throws {
    for source in Self.classes {
      for target in Self.classes {
        let sql = """
          SELECT source, target FROM tally_cut WHERE kind = \(kind.number) AND typeof(source) = '\(source)' \
          AND typeof(target) = '\(target)' ORDER BY source, target
          """
        try add(SQLStatement(connection, sql)) { query in
          guard let key = query.linkKey(0, kind) else { throw StoreError(.corrupt, LinkKind.malformedKey) }
          return key.text
        }
      }
    }
  }

  init(_ connection: Connection, _ kind: RecordKind, hasStubs: Bool) throws {
    try add(SQLStatement(connection, "SELECT key FROM tally_hidden WHERE kind = \(kind.number) ORDER BY key")) {
      $0.text(0) ?? ""
    }
    guard hasStubs else { return }
    for storage in Self.classes {
      let sql = "SELECT key FROM tally_stub WHERE kind = \(kind.number) AND typeof(key) = '\(storage)' ORDER BY key"
      try add(SQLStatement(connection, sql)) { query in
        guard let name = query.name(0, kind.type) else { throw StoreError(.corrupt, "a stub's key is malformed") }
        return name.text
      }
    }
  }

  private func add(_ query: SQLStatement, _ key: @escaping (SQLStatement) throws -> String) throws {
    var run = Run(query: query, key: key)
    try run.advance()
    runs.append(run)
  }

  /// Takes the next key if it comes before `limit`; without a limit the next key.
  func next(before limit: String?) throws -> String? {
    var least: (place: Int, key: String)?
    for (place, run) in runs.enumerated() {
      guard let key = run.current, least.map({ key.utf8.lexicographicallyPrecedes($0.key.utf8) }) ?? true else {
        continue
      }
      least = (place, key)
    }
    guard let least else { return nil }
    if let limit, !least.key.utf8.lexicographicallyPrecedes(limit.utf8) { return nil }
    try runs[least.place].advance()
    return least.key
  }
}

// MARK: - The view

extension StateReader {
  fileprivate func dumpView(to sink: (String) throws -> Void) throws {
    for entity in catalog.schema.entities.sorted(by: { $0.type < $1.type }) {
      guard let kind = catalog.kind(of: entity.type) else { continue }
      let relationships = entity.relationships.sorted { $0.name < $1.name }
      let query = try SQLStatement(connection, kind.rowSQL + " ORDER BY id")
      while try query.step() {
        // Under a name that is not even text there is nothing to show.
        guard let name = query.text(1) else { continue }
        // Row id, name and clock come before the columns.
        let fields = kind.columns.enumerated().map {
          ($0.element.name, JSONText.value(query.value(3 + $0.offset), $0.element.kind))
        }
        let links = try relationships.map { relationship in
          let members = try members(of: name, Schema.joinTable(entity.type, relationship.name), relationship.order)
          return (relationship.name, "[\(members.joined(separator: ","))]")
        }
        try sink(
          "{\"fields\":\(JSONText.object(fields)),\"links\":\(JSONText.object(links)),"
            + "\"name\":\(JSONText.quoted(name))}\n")
      }
    }
  }

  private func members(of source: String, _ table: String, _ order: String) throws -> [String] {
    let query = try connection.statement(
      text: "SELECT target FROM \"\(table)\" WHERE source = ? ORDER BY \(order)target")
    query.bind(1, source)
    var result: [String] = []
    while try query.step() { result.append(JSONText.quoted(query.text(0) ?? "")) }
    return result
  }
}

// MARK: - JSON

/// Text of JSON (RFC 8259) with one spelling for each value.
package enum JSONText {
  /// A string with its quotes. Only what must be escaped is.
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// An object of parts that are JSON already, by key.
  package static func object(_ parts: [(String, String)]) -> String {
    let sorted = parts.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
    return "{\(sorted.map { "\(quoted($0.0)):\($0.1)" }.joined(separator: ","))}"
  }

  /// A value of a field; nil stands for a reference. A date with a T is told apart from one that is given so.
  static func value(_ value: Value, _ kind: FieldKind?) -> String {
    guard kind == .date, case .text(let text) = value, text.utf8.dropFirst(10).first == UInt8(ascii: "T") else {
      return self.value(value)
    }
    return "{\"text\":\(quoted(text))}"
  }

  /// A value of any storage class; the five can be told apart.
  package static func value(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .integer(let number): String(number)
    case .real(let number): number.isFinite ? "\(number)" : "{\"real\":\"\(number)\"}"
    case .text(let text): quoted(text)
    case .blob(let bytes): "{\"blob\":\"\(Hexadecimal.text(bytes))\"}"
    }
  }

  /// Sequences by replica.
  package static func vector(_ vector: StateVector) -> String {
    object(vector.entries.map { ("\($0.replica)", String($0.sequence)) })
  }

  /// Dot, rank and time.
  package static func stamp(_ stamp: Stamp) -> String {
    "{\"dot\":\"\(stamp.dot)\",\"rank\":\(stamp.rank.rawValue),\"time\":\(stamp.time.milliseconds)}"
  }
}
