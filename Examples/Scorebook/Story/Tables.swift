import Tally

/// Every table of a store as lines of text, read with ordinary queries.
enum Tables {
  static func all(_ db: Database) throws -> [TextTable] {
    [
      try games(db), try persons(db), try matches(db), try players(db), try scores(db), try images(db),
      try locations(db),
    ]
  }

  private static func games(_ db: Database) throws -> TextTable {
    let games = try SBGame.order(Column("title")).fetchAll(db)
    return TextTable(
      title: "SBGame",
      lines: try games.flatMap { game in
        [
          "\(text(game.title)), \(text(game.minutes)) minutes",
          "  thumbnail: a file of \(text(game.thumbnail?.byteCount)) bytes",
          "  players: \(list(try SBGame.names(db, SBGame.players, of: game.id)))",
          "  favorite of: \(list(try SBGame.names(db, SBGame.favorites, of: game.id)))",
        ]
      })
  }

  private static func persons(_ db: Database) throws -> TextTable {
    let persons = try SBPerson.order(Column("name")).fetchAll(db)
    let names = persons.map { text($0.name) + ($0.nickname.map { " (\($0))" } ?? "") }
    let avatars = persons.compactMap(\.avatar)
    return TextTable(title: "SBPerson", lines: [list(names), "avatars: \(Set(avatars).count) files"])
  }

  private static func matches(_ db: Database) throws -> TextTable {
    let matches = try SBMatch.order(Column("playedAt")).fetchAll(db)
    return TextTable(
      title: "SBMatch",
      lines: matches.map { match in
        "\(key(match.id)) (\(key(match.game))\(match.isFinished ? ", over" : "")): \(text(match.note))"
      })
  }

  private static func players(_ db: Database) throws -> TextTable {
    let players = try SBPlayer.order(Column("match"), Column("seat")).fetchAll(db)
    return TextTable(
      title: "SBPlayer: seat, name on the sheet → person",
      lines: players.map { player in
        "\(key(player.match)), \(text(player.seat)): \(text(player.name)) → \(key(player.person))"
      })
  }

  private static func scores(_ db: Database) throws -> TextTable {
    let scores = try SBScore.order(Column("player"), Column("round")).fetchAll(db)
    return TextTable(
      title: "SBScore",
      lines: scores.map { score in "\(key(score.player)), round \(text(score.round)): \(text(score.points))" })
  }

  private static func images(_ db: Database) throws -> TextTable {
    let images = try SBMatchImage.order(Column("fileName")).fetchAll(db)
    return TextTable(
      title: "SBMatchImage",
      lines: images.map { image in
        "\(text(image.fileName)): \(text(image.caption)), a file of \(text(image.picture?.byteCount)) bytes"
      })
  }

  private static func locations(_ db: Database) throws -> TextTable {
    let locations = try SBMatchLocation.order(Column("match")).fetchAll(db)
    return TextTable(
      title: "SBMatchLocation",
      lines: locations.map { place in
        "\(key(place.match)): \(text(place.name)) (\(text(place.latitude)), \(text(place.longitude)))"
      })
  }

  private static func text(_ value: (some CustomStringConvertible)?) -> String { value.map { "\($0)" } ?? "–" }

  private static func key<Record>(_ name: RecordName<Record>?) -> String { name?.name.key ?? "nobody" }

  private static func list(_ names: [String]) -> String { names.isEmpty ? "nobody" : names.joined(separator: ", ") }
}
