import GRDB
import Tally
import TallyTesting

/// W11: as many members added as there are records, a hundred to a team, and all removed again in another order.
enum RelationshipWorkload {
  static func run(_ round: Round) throws {
    let pair = try round.emptyPair()
    let teams = round.rows.ordered.prefix(max(1, round.rows.items.count / 100)).map { "Team|~|\($0.id.suffix(36))" }
    for side in [pair.plain, pair.store] as [any Side] { try insert(teams, side) }
    var links = links(teams, round.rows.owners)
    try compare(round, pair, links, "add members", "INSERT INTO Team_members(source, target) VALUES(?, ?)")
    var random = SplitMix64(seed: UInt64(round.number))
    links.shuffle(using: &random)
    try compare(round, pair, links, "remove members", "DELETE FROM Team_members WHERE source = ? AND target = ?")
  }

  private static func compare(
    _ round: Round, _ pair: Pair, _ links: [(String, String)], _ name: String, _ sql: String
  ) throws {
    try round.compare(Figure("W11", name, against: "the same in a plain join table")) {
      try run(sql, links, pair.plain)
    } tally: {
      try run(sql, links, pair.store)
    }
  }

  private static func links(_ teams: [String], _ owners: [String]) -> [(String, String)] {
    teams.indices.flatMap { team in
      (0..<100).map { (teams[team], owners[(team * 37 + $0) % owners.count]) }
    }
  }

  private static func insert(_ teams: [String], _ side: any Side) throws {
    try side.inThousands(teams.count) { db, range in
      for team in teams[range] {
        try db.execute(sql: "INSERT INTO Team(id, name) VALUES(?, 'team')", arguments: [team])
      }
    }
  }

  private static func run(_ sql: String, _ links: [(String, String)], _ side: any Side) throws {
    try side.inThousands(links.count) { db, range in
      let statement = try db.cachedStatement(sql: sql)
      for (source, target) in links[range] { try statement.execute(arguments: [source, target]) }
    }
  }
}
