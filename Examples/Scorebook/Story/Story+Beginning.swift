import Foundation
import Tally

/// The introduction and the first act: one device has everything, the other nothing.
extension Story {
  func tellWhatThisIs() {
    terminal.say()
    terminal.row(terminal.styled("SCOREBOOK: two devices, one scorebook, no server", .bold))
    terminal.say()
    terminal.say(
      "A phone and a tablet keep the same scorebook, each in an SQLite file of its own. They work without a network and "
        + "meet now and then. What each does while they are apart stands in its column. When they meet, a table shows "
        + "what each had and what both have then; its last line, \"has seen\", is the state vector: how many "
        + "transactions of each device are in the file. ✓ is something that was checked on both.")
  }

  func tellHowItBegan() throws {
    terminal.act("1  The phone has a scorebook, the tablet is empty")
    let (cast, evenings) = (cast, [first, second, third])
    // First the files, then the rows that name them.
    let (avatars, thumbnails) = (try add(cast.avatars), try add(cast.thumbnails))
    let pictures = try add(evenings.map(\.photograph))
    try phone.does("18:00", day: 7, "enters six persons, two games, matches") { db in
      try cast.insert(db, avatars: avatars, thumbnails: thumbnails)
      for (evening, picture) in zip(evenings, pictures) { try evening.insert(db, picture) }
    }
    try phone.does("18:10", day: 7, "puts Ann, Ben and Cléo down for chess, which is Ann's favorite") { db in
      try SBGame.players.set(db, [cast.ann.id, cast.ben.id, cast.cleo.id], of: cast.chess.id)
      try SBGame.favorites.insert(db, cast.ann.id, to: cast.chess.id)
    }
    try meet { db in
      [
        Fact("persons", try SBPerson.fetchCount(db)), Fact("games", try SBGame.fetchCount(db)),
        Fact("matches", try SBMatch.fetchCount(db)), Fact("players", try SBPlayer.fetchCount(db)),
        Fact("scores", try SBScore.fetchCount(db)),
        Fact("play chess", list(try SBGame.names(db, SBGame.players, of: cast.chess.id))),
      ]
    }
    try checkBoth("the tablet has all of it") { db in
      try SBMatch.fetchCount(db) == 3 && SBPlayer.fetchCount(db) == 7 && SBScore.fetchCount(db) == 7
    }
    let photographs = cast.avatars + cast.thumbnails + evenings.map(\.photograph)
    let files = try (avatars + thumbnails + pictures).map { name in
      try tablet.store.assets.url(of: name).map { try Data(contentsOf: $0) }
    }
    check(
      "its pictures have come too, of six persons, two games and three matches: files beside the database",
      files == photographs.map(\.png))
  }

  private func add(_ photographs: [Photograph]) throws -> [AssetName] {
    try photographs.map { try phone.store.assets.add($0.png, type: "png") }
  }

  /// Names in a row.
  func list(_ names: [String]) -> String { names.isEmpty ? "nobody" : names.joined(separator: ", ") }
}
