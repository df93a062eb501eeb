import TallyStore

/// The app that histories of raw SQL are about: persons, games, folders, notes; in versions.
package struct RawVersion: Hashable, Sendable {
  /// Whether the app has the fields and relationships of its second version.
  var isLater = false
  /// Whether references that used to be cleared mean ownership.
  var cascades = false

  static let tables = ["P", "G", "F", "N"]

  var schema: Schema {
    let rule: DeleteRule = cascades ? .cascade : .nullify
    var schema = Schema([
      EntitySchema("P", .text("name"), .integer("pos")),
      EntitySchema(
        "G", .text("name"), .real("rating"), .reference("owner", to: "P", onDelete: .cascade),
        .reference("friend", to: "P", onDelete: rule), .toMany("players", to: "P")),
      EntitySchema(
        "F", .text("name"), .reference("parent", to: "F", onDelete: .cascade),
        .reference("twin", to: "F", onDelete: rule)),
      EntitySchema(
        "N", .text("body"), .date("due"), .json("meta"), .bool("done", default: false), .blob("pic"), .text("stamp"),
        .integer("edits", default: 0), .reference("holder", to: "P", onDelete: .deny)),
    ])
    guard isLater else { return schema }
    schema.entities[0].fields += [.init("motto", .text), .init("age", .integer, default: .integer(5))]
    schema.entities[1].fields.append(.init("stars", .integer, from: .lens("rating", .real, .scale(2))))
    schema.entities[1].relationships.append(.init("guests", to: "P"))
    schema.entities[2].fields.append(.init("icon", .blob))
    schema.entities[3].references.append(.init("about", to: "G"))
    return schema
  }

  /// Fields that are not references: what a write says of them stays until somebody writes them again.
  static func fields(_ table: String) -> [String] {
    switch table {
    case "P": ["name", "pos", "motto", "age"]
    case "G": ["name", "rating", "stars"]
    case "F": ["name", "icon"]
    default: ["body", "due", "meta", "done", "pic", "stamp", "edits"]
    }
  }

  /// What a field of the second version holds before anybody writes it, as `RawRows` shows it.
  static func initial(_ field: String) -> String? { ["motto": "NULL", "age": "5", "icon": "NULL"][field] }

  /// Default data: each version says something else of one record, and only odd ones have the other.
  static func seeds(_ version: Int) -> SeedSet {
    let usual = SeedRecord("usual", type: "P", ["name": .text("seed \(version)")])
    let odd = SeedRecord("odd", type: "P", ["name": .text("odd \(version)")])
    return SeedSet(
      "raw", version: version, records: version % 2 == 1 ? [usual, odd] : [usual],
      retired: version % 2 == 1 ? [] : [SeedKey("odd", type: "P")])
  }
}
