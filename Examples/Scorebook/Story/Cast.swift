import Tally

/// The records that the story is about.
///
/// Their names are fixed, so that every run prints the same. An app writes `RecordName<SBGame>()`, which is what the
/// structs do by themselves, and gets a new name each time.
struct Cast {
  let ann: SBPerson
  let ben: SBPerson
  let cleo: SBPerson
  let dora: SBPerson
  let emil: SBPerson
  let finn: SBPerson
  let chess: SBGame
  let skat: SBGame
  /// A picture of each person.
  let avatars = (0..<6).map { Photograph(dark: UInt8(16 * $0), light: 200) }
  /// A picture of each game.
  let thumbnails = (0..<2).map { Photograph(dark: UInt8(16 * $0), light: 160) }

  init() throws {
    ann = SBPerson(id: try RecordName(key: "ann"), name: "Ann", birthday: StoryClock.date(day: 3, "00:00"))
    ben = SBPerson(id: try RecordName(key: "ben"), name: "Ben")
    cleo = SBPerson(id: try RecordName(key: "cleo"), name: "Cléo", nickname: "Clé")
    dora = SBPerson(id: try RecordName(key: "dora"), name: "Dora")
    emil = SBPerson(id: try RecordName(key: "emil"), name: "Emil")
    finn = SBPerson(id: try RecordName(key: "finn"), name: "Finn")
    chess = SBGame(id: try RecordName(key: "chess"), title: "Chess", minutes: 60)
    skat = SBGame(id: try RecordName(key: "skat"), title: "Skat", minutes: 90)
  }

  var persons: [SBPerson] { [ann, ben, cleo, dora, emil, finn] }
  var games: [SBGame] { [chess, skat] }

  /// Inserts everybody and all games. The files of their pictures are there already.
  func insert(_ db: Database, avatars: [AssetName], thumbnails: [AssetName]) throws {
    for (var person, avatar) in zip(persons, avatars) {
      person.avatar = avatar
      try person.insert(db)
    }
    for (var game, thumbnail) in zip(games, thumbnails) {
      game.thumbnail = thumbnail
      try game.insert(db)
    }
  }
}

/// The place of an evening.
struct Place {
  let name: String
  let latitude: Double
  let longitude: Double

  init(_ name: String, _ latitude: Double, _ longitude: Double) {
    (self.name, self.latitude, self.longitude) = (name, latitude, longitude)
  }
}

/// A match with all that it owns.
struct Evening {
  let match: SBMatch
  let players: [SBPlayer]
  let scores: [SBScore]
  let image: SBMatchImage
  let photograph: Photograph
  let location: SBMatchLocation

  /// A match of one round, in which the persons score the points.
  init(_ key: String, _ game: SBGame, day: Int, _ place: Place, _ points: KeyValuePairs<String, Int>) throws {
    match = SBMatch(
      id: try RecordName(key: key), playedAt: StoryClock.date(day: day, "20:00"), note: "played \(place.name)",
      game: game.id)
    var players: [SBPlayer] = []
    var scores: [SBScore] = []
    for (seat, entry) in points.enumerated() {
      let person = entry.key.lowercased()
      let player = SBPlayer(
        id: try RecordName(key: "\(key)-\(person)"), name: entry.key, seat: seat + 1, match: match.id,
        person: try RecordName(key: person))
      players.append(player)
      scores.append(
        SBScore(id: try RecordName(key: "\(key)-\(person)-1"), round: 1, points: entry.value, player: player.id))
    }
    (self.players, self.scores) = (players, scores)
    image = SBMatchImage(
      id: try RecordName(key: "\(key)-photo"), fileName: "\(key).png", caption: "The table", match: match.id)
    photograph = Photograph(dark: UInt8(16 * day), light: 240)
    location = SBMatchLocation(
      id: try RecordName(key: "\(key)-place"), name: place.name, latitude: place.latitude, longitude: place.longitude,
      match: match.id)
  }

  /// Inserts everything, owners first. The file of the picture is there already.
  func insert(_ db: Database, _ picture: AssetName) throws {
    try match.insert(db)
    for player in players { try player.insert(db) }
    for score in scores { try score.insert(db) }
    var image = image
    image.picture = picture
    try image.insert(db)
    try location.insert(db)
  }
}
