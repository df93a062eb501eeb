import GRDB
import Tally

/// The last act: both devices side by side.
extension Story {
  func tellHowItEnds() throws {
    terminal.act("8. The tables, side by side")
    let (left, right) = (try phone.store.read(tables), try tablet.store.read(tables))
    SideBySide(left: phone.name, right: tablet.name, terminal).show(left, right)

    terminal.act("9. What lost")
    for device in devices.both {
      terminal.say("In the journal of the \(device.name):")
      for conflict in try device.store.conflicts() { terminal.say("  \(try line(conflict))") }
    }

    terminal.act("10. Are they the same?")
    var summaries: [StoreSummary] = []
    for device in devices.both {
      let summary = try device.store.summary()
      summaries.append(summary)
      terminal.say("\(padded(device.name, 6)) has seen the transactions: \(try devices.short(summary.vector))")
    }
    check("equal tables", left == right)
    check("equal state vectors", summaries[0].vector == summaries[1].vector)
    check("equal fingerprints", summaries[0].fingerprint == summaries[1].fingerprint)
    for device in devices.both {
      let report = try device.store.verify()
      for problem in report.problems { terminal.say("  \(device.name): \(problem)") }
      check("verify on the \(device.name): \(report.checked) records and links, sound", report.isSound)
    }
  }

  /// Every table as lines of text.
  private func tables(_ db: Database) throws -> [TextTable] {
    let games = try SBGame.order(Column("id")).fetchAll(db).map { game in
      let players = try SBGame.players.members(of: game.id, in: db)
      let fans = try SBGame.favourites.members(of: game.id, in: db)
      return "\(text(game.title)), \(text(game.minutes)) min; play: \(keys(players)); like: \(keys(fans))"
    }
    let persons = try SBPerson.order(Column("id")).fetchAll(db).map { person in
      "\(text(person.name))\(person.nickname.map { " (\($0))" } ?? "")"
    }
    let matches = try SBMatch.order(Column("id")).fetchAll(db).map { match in
      "\(match.id.name.key): \(text(match.note)) [\(text(match.game?.name.key))\(match.isFinished ? ", over" : "")]"
    }
    let players = try SBPlayer.order(Column("id")).fetchAll(db).map { player in
      "\(text(player.match?.name.key)) seat \(text(player.seat)): \(text(player.name)) → \(text(player.person?.name.key))"
    }
    let scores = try SBScore.order(Column("id")).fetchAll(db).map { score in
      "\(text(score.player?.name.key)), round \(text(score.round)): \(text(score.points))"
    }
    let images = try SBMatchImage.order(Column("id")).fetchAll(db).map { image in
      "\(text(image.fileName)): \(text(image.caption)), sha256 \(text(image.sha256).prefix(8))…"
    }
    let locations = try SBMatchLocation.order(Column("id")).fetchAll(db).map { place in
      "\(text(place.match?.name.key)): \(text(place.name)) (\(text(place.latitude)), \(text(place.longitude)))"
    }
    return [
      TextTable(title: "SBGame", lines: games), TextTable(title: "SBPerson", lines: persons),
      TextTable(title: "SBMatch", lines: matches), TextTable(title: "SBPlayer", lines: players),
      TextTable(title: "SBScore", lines: scores), TextTable(title: "SBMatchImage", lines: images),
      TextTable(title: "SBMatchLocation", lines: locations),
    ]
  }

  private func text(_ value: (some CustomStringConvertible)?) -> String { value.map { "\($0)" } ?? "–" }

  private func keys<Record>(_ names: Set<RecordName<Record>>) -> String {
    names.isEmpty ? "–" : names.sorted().map(\.name.key).joined(separator: " ")
  }
}
