import GRDB
import Tally
import TallyTesting

/// W11: as many members added as there are records, a hundred to a team, and all removed again in another order.
enum RelationshipWorkload {
  static func run(_ round: Round) throws {
    let pair = try round.emptyPair()
    let teams = round.rows.ordered.prefix(max(1, round.rows.items.count / 100)).map { "Team|~|\($0.id.suffix(36))" }
    for side in [pair.plain, pair.store] as [any Side] {
      try side.run("INSERT INTO Team(id, name) VALUES(?, 'team')", teams.count) { [teams[$0]] }
    }
    var links = links(teams, round.rows.owners)
    try compare(
      round, pair, links, Figure("W11.add", "add members", against: "the same in a plain join table"),
      "INSERT INTO Team_members(source, target) VALUES(?, ?)")
    var random = SplitMix64(seed: UInt64(round.number))
    links.shuffle(using: &random)
    try compare(
      round, pair, links, Figure("W11.remove", "remove members", against: "the same in a plain join table"),
      isFirst: false, "DELETE FROM Team_members WHERE source = ? AND target = ?")
  }

  private static func compare(
    _ round: Round, _ pair: Pair, _ links: [(String, String)], _ figure: Figure, isFirst: Bool = true, _ sql: String
  ) throws {
    try round.compare(figure, isFirst: isFirst) {
      try pair.plain.run(sql, links.count) { [links[$0].0, links[$0].1] }
    } tally: {
      try pair.store.run(sql, links.count) { [links[$0].0, links[$0].1] }
    }
  }

  private static func links(_ teams: [String], _ owners: [String]) -> [(String, String)] {
    teams.indices.flatMap { team in
      (0..<100).map { (teams[team], owners[(team * 37 + $0) % owners.count]) }
    }
  }
}
