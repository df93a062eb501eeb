#if Inspector && Relay
  import Foundation
  import Synchronization
  import Tally

  /// Edits a scorebook as people would: renames games, enters matches, argues about how long a game takes.
  final class Player: Sendable {
    private let store: Store
    private let isFirst: Bool
    private let deleted = Mutex<[RecordName<SBGame>]>([])

    init(_ store: Store, isFirst: Bool) { (self.store, self.isFirst) = (store, isFirst) }

    private static let titles = [
      "Chess": ["Chess", "Chess (blitz)", "Chess, slowly"], "Go": ["Go", "Go, 19 by 19", "Go, 9 by 9"],
      "Skat": ["Skat", "Skat for money", "Skat after dinner"],
    ]
    private static let notes = ["at Ann's", "in the park", "rematch", "it rained", "Bo was late", "a draw, nearly"]

    /// The first device brings the games and the people.
    func begin() throws {
      guard isFirst, try store.read({ try SBGame.fetchCount($0) }) == 0 else { return }
      let people = try ["Ann", "Bo", "Cleo", "Dan"].enumerated().map { number, name in
        SBPerson(name: name, avatar: try addPicture(number, light: 200))
      }
      let games = try Self.titles.keys.sorted().enumerated().map { number, title in
        SBGame(
          id: try RecordName(key: title.lowercased()), title: title, minutes: 30 + 15 * number,
          thumbnail: try addPicture(number, light: 160))
      }
      try store.write { db in
        for person in people { try person.insert(db) }
        for game in games {
          try game.insert(db)
          for person in people.shuffled().prefix(2) { try SBGame.players.insert(db, person.id, to: game.id) }
        }
      }
    }

    private func addPicture(_ number: Int, light: UInt8) throws -> AssetName {
      try store.assets.add(Photograph(dark: UInt8(16 * number), light: light).png, type: "png")
    }

    /// Does something that people do.
    func edit() throws {
      try store.write { db in
        guard var game = try SBGame.fetchAll(db).randomElement() else { return }
        switch Int.random(in: 0..<6) {
        case 0, 1:
          game.title = Self.titles.values.first { $0.contains(game.title ?? "") }?.randomElement() ?? game.title
          try game.update(db, columns: ["title"])
        case 2, 3:
          game.minutes = max(5, (game.minutes ?? 30) + 5 * Int.random(in: -2...2))
          try game.update(db, columns: ["minutes"])
        case 4:
          try SBMatch(playedAt: Date(), note: Self.notes.randomElement(), game: game.id).insert(db)
        default:
          guard let person = try SBPerson.fetchAll(db).randomElement() else { return }
          if try SBGame.favorites.members(db, of: game.id).contains(person.id) {
            try SBGame.favorites.remove(db, person.id, from: game.id)
          } else {
            try SBGame.favorites.insert(db, person.id, to: game.id)
          }
        }
      }
    }

    /// Deletes a game with its matches.
    func delete() throws {
      let game = try store.write { db -> RecordName<SBGame>? in
        guard let game = try SBGame.fetchAll(db).randomElement() else { return nil }
        try game.delete(db)
        return game.id
      }
      if let game { deleted.withLock { $0.append(game) } }
    }

    /// Brings back the game that this device deleted last, unless somebody else has.
    func undelete() throws {
      guard let game = deleted.withLock({ $0.popLast() }) else { return }
      guard try store.read({ try SBGame.exists($0, key: game) }) == false else { return }
      try store.restore(game)
    }
  }
#endif
