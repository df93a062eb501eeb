import TallyTesting

/// Draws names and values, as SQL. Few names, so that writes meet.
struct RawValues {
  var random: SplitMix64
  let features: Set<RawFeature>
  /// Tables that REPLACE would take out of step with their full-text index, which hears of no delete then.
  var tablesWithoutReplace: Set<String> { features.contains(.fullText) ? ["N"] : [] }
  private var texts = 0
  /// Whether a value that does not fit its field has been drawn.
  private(set) var hasRefused = false

  mutating func takeRefused() -> Bool {
    defer { hasRefused = false }
    return hasRefused
  }

  init(_ random: SplitMix64, _ features: Set<RawFeature>) { (self.random, self.features) = (random, features) }

  func has(_ feature: RawFeature) -> Bool { features.contains(feature) }

  mutating func table() -> String { random.pick(["P", "P", "G", "G", "F", "F", "F", "N", "N"]) }

  /// A record's name, without quotation marks.
  mutating func plainName(_ table: String) -> String {
    SampleName.name(table, random.chance(40) ? 1 : 1 + random.below(5))
  }

  mutating func name(_ table: String) -> String { "'\(plainName(table))'" }

  mutating func names(_ table: String) -> String {
    (0..<2 + random.below(2)).map { _ in name(table) }.joined(separator: ", ")
  }

  /// The name of a row that is there, as a query; mostly, since an app refers to what it sees.
  mutating func present(_ table: String) -> String {
    random.chance(20) ? name(table) : "(SELECT id FROM \(table) ORDER BY id LIMIT 1 OFFSET \(random.below(3)))"
  }

  mutating func text() -> String {
    texts += 1
    if has(.validation), random.chance(25) { return "'\(RawAppObjects.refused)'" }
    guard has(.oddText), random.chance(30) else {
      return random.chance(50) ? "'t\(texts)'" : random.pick(["'a'", "'b'", "'c'", "'bad'"])
    }
    return random.pick([
      "'Grüße \(texts)'", "'日本語'", "'a' || char(0) || 'b\(texts)'", "''", "char(0)", "'e' || char(769)", "char(128512)",
      "'it''s'", "'line' || char(10) || 'line'",
    ])
  }

  /// What a column is set to.
  mutating func value(_ column: String) -> String {
    if has(.refusedValues), random.chance(8), let refused = Self.refused[column] {
      hasRefused = true
      return random.pick(refused)
    }
    switch column {
    case "name", "body", "stamp", "motto": return random.chance(10) ? "NULL" : text()
    case "pos", "edits", "age":
      return random.chance(5)
        ? random.pick(["9223372036854775807", "-1"]) : "\(random.below(9))"
    case "rating": return random.pick(["1.5", "0.0", "-2.25", "1e308", "NULL"])
    case "stars": return random.pick(["0", "3", "-4", "9223372036854775807", "NULL"])
    case "due": return random.pick(["'2026-11-21 14:49:34.963'", "'1970-01-01 00:00:00.000'", "NULL"])
    case "meta": return random.pick(["'{\"a\":[1,2]}'", "'[]'", "'\"ü\"'", "NULL"])
    case "done": return random.pick(["0", "1"])
    case "pic", "icon": return random.pick(["x'00ff'", "x''", "NULL", "zeroblob(40)"])
    case "holder": return random.chance(25) ? "NULL" : present("P")
    case "owner", "friend": return random.chance(25) ? "NULL" : present("P")
    case "parent", "twin": return random.chance(25) ? "NULL" : present("F")
    case "about": return random.chance(25) ? "NULL" : present("G")
    default: preconditionFailure("no values for \(column)")
    }
  }

  /// What does not fit.
  private static let refused = [
    "due": ["'tomorrow'", "'2026-13-01'", "''", "20261122"], "meta": ["'{'", "'{\"a\":}'", "''", "x'7b7d'"],
    "done": ["7", "'yes'"], "pos": ["'many'", "1.5"], "rating": ["'high'"], "stars": ["'many'", "1.5"],
    "pic": ["'text'", "5"], "name": ["x'00'"],
  ]

  /// The columns of a table that an app writes; now and then those of its second version.
  mutating func columns(_ table: String) -> [String] {
    let later = has(.upgrades) && random.chance(15)
    switch table {
    case "P": return ["name", "pos"] + (later ? ["motto", "age"] : [])
    case "G": return ["name", "rating", "owner", "friend"] + (later ? ["stars"] : [])
    case "F": return ["name", "parent", "twin"] + (later ? ["icon"] : [])
    default:
      return ["body", "due", "meta", "done", "pic", "stamp", "edits"] + (has(.denials) ? ["holder", "holder"] : [])
        + (later ? ["about"] : [])
    }
  }

  /// One to three of them.
  mutating func someColumns(_ table: String) -> [String] {
    let all = columns(table)
    let start = random.below(all.count)
    let some = all[start..<min(all.count, start + 1 + random.below(3))]
    return some.enumerated().filter { !some.prefix($0.offset).contains($0.element) }.map(\.element)
  }

  /// A column that holds text.
  func textColumn(_ table: String) -> String { table == "N" ? "body" : "name" }

  /// OR REPLACE and its like, or nothing.
  mutating func clause(_ table: String) -> String {
    guard has(.conflictClauses), random.chance(60) else { return "" }
    let clauses = ["OR IGNORE ", "OR ABORT ", "OR FAIL "]
    guard !tablesWithoutReplace.contains(table) else { return random.pick(clauses) }
    return random.pick(clauses + ["OR REPLACE ", "OR REPLACE "])
  }

  mutating func joinTable() -> String { has(.upgrades) && random.chance(15) ? "G_guests" : "G_players" }

  mutating func whereSome(_ table: String) -> String {
    switch random.below(5) {
    case 0: " WHERE id IN (\(names(table)))"
    case 1: " WHERE \(textColumn(table)) IS \(value(textColumn(table)))"
    case 2: has(.clears) ? "" : " WHERE id > \(name(table))"
    default: " WHERE id = \(name(table))"
    }
  }
}
