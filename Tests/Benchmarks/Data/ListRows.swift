import GRDB
import Tally

/// A team whose members have an order.
struct Roster: Entity {
  static let schema = EntitySchema("Roster", .text("name"), .toMany("members", to: "Owner", ordered: true))
  var id = RecordName<Roster>()
}

/// An item whose name no other has.
struct Named: Entity {
  static let schema = EntitySchema(
    "Named", unique: [.on("name", .rename)], .text("name"), .text("notes"), .integer("count"), .real("price"),
    .date("day"), .reference("owner", to: "Owner"))
  var id = RecordName<Named>()
}

/// Members of lists with and without an order, and items with unique names: the figures differ by that alone.
enum ListRows {
  static let schema = Schema(Owner.self, Item.self, Team.self, Roster.self, Named.self)

  /// Teams of a hundred members, and who is in which.
  struct Members {
    /// The type of the teams; a plain database has one for both.
    let type: String
    let teams: [String]
    let links: [(source: String, target: String)]

    init(_ rows: Rows, ordered: Bool, _ side: any Side) {
      let type = ordered && side is Store ? "Roster" : "Team"
      teams = rows.items.prefix(max(1, rows.items.count / 100)).map { "\(type)|~|\($0.id.suffix(36))" }
      let teams = teams
      links = rows.items.indices.map { (teams[$0 / 100 % teams.count], rows.owners[($0 / 100 * 37 + $0 % 100) % 1000]) }
      self.type = type
    }

    func insertTeams(into side: any Side) throws {
      try side.run("INSERT INTO \(type)(id, name) VALUES(?, 'team')", teams.count) { [teams[$0]] }
    }

    func insertLinks(into side: any Side) throws {
      try side.runThroughC("INSERT INTO \(type)_members(source, target) VALUES(?, ?)", links)
    }

    /// Moves each member to the beginning; a plain table has numbers for that.
    func move(in side: any Side) throws {
      let least = "(SELECT ifnull(min(position), 0) - 1 FROM \(type)_members AS list WHERE list.source = ?1)"
      let position = side is Store ? "tally_first(source)" : least
      try side.runThroughC("UPDATE \(type)_members SET position = \(position) WHERE source = ?1 AND target = ?2", links)
    }
  }

  /// The same items, each under a name of its own.
  static func named(_ rows: [ItemRow], _ side: any Side) -> [ItemRow] {
    rows.map { row in
      var row = row
      row.name = String(row.id.suffix(36))
      if side is Store { row.id = "Named" + row.id.drop { $0 != "|" } }
      return row
    }
  }
}
