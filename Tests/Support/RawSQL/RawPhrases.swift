import TallyCRDT

/// Draws statements that belong together, and says which feature they are there for.
struct RawPhrases {
  var values: RawValues

  typealias Phrase = (statements: [RawStatement], feature: RawFeature?)

  /// One of the phrases that a history's features allow.
  mutating func next() -> Phrase {
    let special = RawFeature.allCases.filter { values.has($0) && Self.ofPhrases.contains($0) }
    if !special.isEmpty, values.random.chance(45) {
      let feature = values.random.pick(special)
      return (phrase(feature).map { RawStatement($0) }, feature)
    }
    return (ordinary().map { RawStatement($0) }, nil)
  }

  /// Features that consist of certain statements.
  static let ofPhrases: Set<RawFeature> = [
    .upserts, .renames, .replacingRenames, .clears, .copies, .undo, .savepoints, .insteadOf, .uniqueIndex,
    .quietReplace, .referringTable, .rules, .denials, .clockWrites,
  ]

  private mutating func phrase(_ feature: RawFeature) -> [String] {
    switch feature {
    case .upserts: [upsert()]
    case .renames: rename()
    case .replacingRenames: [replacingRename()]
    case .clears: ["DELETE FROM \(values.random.pick(RawVersion.tables + ["G_players"]))"]
    case .copies: [copy()]
    case .undo: undo()
    case .savepoints: savepoints()
    case .insteadOf: [throughView()]
    case .uniqueIndex: exchange()
    case .quietReplace: quietReplace()
    case .referringTable: ["INSERT INTO app_fav(p) SELECT id FROM P WHERE id = \(values.name("P"))"]
    case .rules: circle()
    case .denials: deny()
    case .clockWrites: [clockWrite()]
    default: preconditionFailure("\(feature) has no statements")
    }
  }

  // MARK: Ordinary statements

  mutating func ordinary() -> [String] {
    switch values.random.below(12) {
    case 0...3: [insert()]
    case 4...6: [update()]
    case 7: [updateFrom()]
    case 8: [delete()]
    case 9, 10: [link()]
    default: [unlink()]
    }
  }

  mutating func insert() -> String {
    let table = values.table()
    let columns = values.someColumns(table)
    let rows = (0..<(values.random.chance(25) ? 3 : 1)).map { _ in
      "(\(([values.name(table)] + columns.map { values.value($0) }).joined(separator: ", ")))"
    }
    let verb = values.has(.conflictClauses) && values.random.chance(15) && !values.tablesWithoutReplace.contains(table)
    let start = verb ? "REPLACE INTO" : "INSERT \(values.clause(table))INTO"
    return "\(start) \(table)(id, \(columns.joined(separator: ", "))) VALUES \(rows.joined(separator: ", "))"
  }

  private mutating func upsert() -> String {
    let table = values.table()
    let columns = values.someColumns(table)
    let row = ([values.name(table)] + columns.map { values.value($0) }).joined(separator: ", ")
    let start = "INSERT INTO \(table)(id, \(columns.joined(separator: ", "))) VALUES (\(row)) ON CONFLICT(id) DO "
    switch values.random.below(3) {
    case 0: return start + "NOTHING"
    case 1: return start + "UPDATE SET \(columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))"
    default:
      let text = values.textColumn(table)
      return start + "UPDATE SET \(text) = coalesce(\(table).\(text), '') || '+' WHERE \(table).\(text) IS NOT 'c'"
    }
  }

  mutating func update() -> String {
    let table = values.table()
    let clause = values.has(.conflictClauses) && values.random.chance(20) ? values.clause(table) : ""
    if values.random.chance(15) {
      return table == "P"
        ? "UPDATE \(clause)P SET pos = coalesce(pos, 0) % 100 + 1"
        : "UPDATE \(clause)\(table) SET \(values.textColumn(table)) = id || \(values.text())"
    }
    let sets = values.someColumns(table).map { "\($0) = \(values.value($0))" }.joined(separator: ", ")
    return "UPDATE \(clause)\(table) SET \(sets)\(values.whereSome(table))"
  }

  private mutating func updateFrom() -> String {
    values.random.pick([
      "UPDATE P SET name = G.name FROM G WHERE G.owner = P.id",
      "UPDATE N SET body = P.name, meta = '[1]' FROM P WHERE N.body IS NOT P.name AND P.pos > 3",
      "UPDATE F SET name = above.name || '/' FROM F AS above WHERE F.parent = above.id",
      "UPDATE G SET friend = G.owner WHERE owner IS NOT NULL",
    ])
  }

  private mutating func delete() -> String {
    let table = values.table()
    return "DELETE FROM \(table)\(values.whereSome(table))"
  }

  private mutating func link() -> String {
    let table = values.joinTable()
    let verb = values.has(.conflictClauses) && values.random.chance(40) ? "OR REPLACE" : "OR IGNORE"
    switch values.random.below(3) {
    case 0:
      return "INSERT \(verb) INTO \(table)(source, target) SELECT G.id, P.id FROM G, P WHERE G.id = \(values.name("G"))"
    case 1:
      return "UPDATE \(values.has(.conflictClauses) ? verb : "OR IGNORE") \(table) SET target = "
        + "\(values.present("P")) WHERE source = \(values.present("G"))"
    default:
      return "INSERT \(verb) INTO \(table)(source, target) SELECT a, b FROM (SELECT \(values.present("G")) AS a, "
        + "\(values.present("P")) AS b) WHERE a IS NOT NULL AND b IS NOT NULL"
    }
  }

  private mutating func unlink() -> String {
    let table = values.joinTable()
    return values.random.chance(50)
      ? "DELETE FROM \(table) WHERE source = \(values.name("G"))"
      : "DELETE FROM \(table) WHERE target = \(values.name("P"))"
  }

  // MARK: Ids

  private mutating func rename() -> [String] {
    let table = values.table()
    let (old, new) = (values.name(table), values.name(table))
    switch values.random.below(3) {
    case 0: return rename(table, from: old, to: new)
    case 1:
      let spare = "'\(table)|~|spare'"
      return rename(table, from: old, to: spare) + rename(table, from: new, to: old)
        + rename(table, from: spare, to: new)
    default:
      // A folder is dissolved, and its first child takes its id.
      let folder = values.name("F")
      return [
        "DELETE FROM F WHERE id = \(folder)",
        "UPDATE F SET id = \(folder), parent = NULL WHERE id = "
          + "(SELECT id FROM F WHERE parent = \(folder) ORDER BY id LIMIT 1)",
        "UPDATE F SET parent = NULL WHERE parent NOT IN (SELECT id FROM F)",
        "UPDATE F SET twin = NULL WHERE twin NOT IN (SELECT id FROM F)",
      ]
    }
  }

  /// A new id, and everything that refers to it.
  private mutating func rename(_ table: String, from old: String, to new: String) -> [String] {
    let references: [(String, String)] =
      switch table {
      case "P": [("G", "owner"), ("G", "friend"), ("G_players", "target")]
      case "G": [("G_players", "source")]
      case "F": [("F", "parent"), ("F", "twin")]
      default: []
      }
    return ["UPDATE \(table) SET id = \(new) WHERE id = \(old)"]
      + references.map { "UPDATE \($0.0) SET \($0.1) = \(new) WHERE \($0.1) = \(old)" }
  }

  private mutating func replacingRename() -> String {
    let table = values.tablesWithoutReplace.isEmpty ? values.table() : values.random.pick(["P", "G", "F"])
    return "UPDATE OR REPLACE \(table) SET id = \(values.name(table)) WHERE id = \(values.name(table))"
  }

  // MARK: References that deny, clocks

  private mutating func deny() -> [String] {
    switch values.random.below(3) {
    case 0: ["DELETE FROM P WHERE id IN (SELECT holder FROM N)"]
    case 1: ["DELETE FROM P WHERE id = \(values.name("P"))"]
    default: ["UPDATE N SET holder = \(values.present("P"))\(values.whereSome("N"))"]
    }
  }

  /// Somebody overwrites the clock of rows, with another one or with what is none, and a column with it.
  private mutating func clockWrite() -> String {
    let table = values.random.pick(["P", "F", "N"])
    let clocks = [
      "(SELECT other.tally_clock FROM \(table) AS other ORDER BY id LIMIT 1)", "zeroblob(15)", "x'0102'", "'text'",
      "x'ffffffffffffffffffffffff'", "x'000000000000000000000001000000'",
    ]
    return "UPDATE \(table) SET tally_clock = \(values.random.pick(clocks)), \(values.textColumn(table)) = "
      + "\(values.text())\(values.whereSome(table))"
  }

  // MARK: Copies

  private mutating func copy() -> String {
    let table = values.random.pick(["P", "F", "N"])
    let columns = ["name": "name, pos", "body": "body, due, meta"]
    let copied = table == "F" ? "name, parent" : columns[values.textColumn(table)] ?? "name"
    return "INSERT \(values.clause(table))INTO \(table)(id, \(copied), tally_clock) SELECT \(values.name(table)), "
      + "\(copied), tally_clock FROM \(table) WHERE id = \(values.name(table))"
  }

  private mutating func undo() -> [String] {
    let table = values.random.pick(RawVersion.tables)
    guard values.random.chance(50) else {
      let isReplacing = !values.tablesWithoutReplace.contains(table) && values.random.chance(50)
      let clause = isReplacing ? "OR REPLACE" : "OR IGNORE"
      return [
        "CREATE TABLE IF NOT EXISTS kept_\(table) AS SELECT * FROM \(table)",
        "INSERT \(clause) INTO \(table) SELECT * FROM kept_\(table)",
      ]
    }
    return [
      "DROP TABLE IF EXISTS kept_\(table)", "CREATE TABLE kept_\(table) AS SELECT * FROM \(table)",
      "DELETE FROM \(table)\(values.whereSome(table))",
    ]
  }

  // MARK: Other shapes

  private mutating func savepoints() -> [String] {
    let undone = ordinary()
    // Now and then with a change of the schema. It is not drawn, so that all else of a history stays as it was.
    let change = SipHash13.hash(undone.joined()) % 3 == 0 ? ["CREATE TABLE app_draft(x)"] : []
    let inner = ["SAVEPOINT inside"] + undone + change + ["ROLLBACK TO inside", "RELEASE inside"]
    let outer = ["SAVEPOINT around"] + ordinary() + inner + ordinary()
    return outer + (values.random.chance(50) ? ["ROLLBACK TO around", "RELEASE around"] : ["RELEASE around"])
  }

  private mutating func throughView() -> String {
    switch values.random.below(3) {
    case 0: "INSERT INTO app_view(id, name) VALUES (\(values.name("P")), \(values.text()))"
    case 1: "UPDATE app_view SET name = \(values.text()) WHERE id = \(values.name("P"))"
    default: "DELETE FROM app_view WHERE id = \(values.name("P"))"
    }
  }

  /// References in a circle, which later mean ownership.
  private mutating func circle() -> [String] {
    let (one, other) = (values.name("F"), values.name("F"))
    return [
      "INSERT OR IGNORE INTO F(id, name) VALUES (\(one), 'one'), (\(other), 'other')",
      "UPDATE F SET twin = CASE id WHEN \(one) THEN \(other) ELSE \(one) END WHERE id IN (\(one), \(other))",
    ]
  }

  /// Writes of a value that only one row may have, which remove the row that had it.
  private mutating func quietReplace() -> [String] {
    let value = "'\(values.random.pick(["m", "M"]))\(values.random.below(2))'"
    let row = values.name("P")
    switch values.random.below(8) {
    case 0, 1: return ["UPDATE OR IGNORE P SET mine = \(value) WHERE id = \(row)"]
    case 2, 3: return ["UPDATE OR REPLACE P SET mine = \(value) WHERE id = \(row)"]
    case 4: return ["REPLACE INTO P(id, name, mine) VALUES (\(row), \(values.text()), \(value))"]
    case 5, 6:
      // Whoever had it is back at the end.
      let rows = (1...5).map { "('\(SampleName.name("P", $0))', \(values.text()))" }.joined(separator: ", ")
      let first = "(SELECT id FROM P WHERE pos IS NOT NULL ORDER BY id LIMIT 1)"
      return (values.random.chance(70) ? ["UPDATE OR REPLACE P SET mine = \(value) WHERE id = \(first)"] : [])
        + ["REPLACE INTO P(id, mine) VALUES (\(row), \(value))", "INSERT OR IGNORE INTO P(id, name) VALUES \(rows)"]
    default: return ["UPDATE OR REPLACE P SET mine = \(value) WHERE id = \(row)", "DROP INDEX IF EXISTS app_mine"]
    }
  }

  /// Unique values that change places.
  private mutating func exchange() -> [String] {
    let (one, other, third) = (values.name("N"), values.name("N"), values.name("N"))
    return [
      "CREATE TEMP TABLE IF NOT EXISTS app_seats(id TEXT, body TEXT)", "DELETE FROM temp.app_seats",
      "INSERT INTO temp.app_seats SELECT id, body FROM N WHERE id IN (\(one), \(other), \(third))",
      "UPDATE N SET body = NULL WHERE id IN (SELECT id FROM temp.app_seats)",
      "UPDATE N SET body = (SELECT body FROM temp.app_seats AS next WHERE next.id = coalesce("
        + "(SELECT min(id) FROM temp.app_seats AS later WHERE later.id > N.id), (SELECT min(id) FROM temp.app_seats))) "
        + "WHERE id IN (SELECT id FROM temp.app_seats)",
    ]
  }
}
