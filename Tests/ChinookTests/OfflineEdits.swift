import GRDB
import Tally
import TallyCRDT
import TallyStore

/// Edits on both devices while they are apart, and what must come of them, said without a replica.
struct OfflineEdits {
  let pair: Pair
  /// What both devices hold after they have met.
  private(set) var expected: [AnyRecordName: DynamicRecord]
  /// How many fields both have written, so that a rule has to choose.
  private(set) var contested = 0

  init(_ pair: Pair, _ records: [AnyRecordName: DynamicRecord]) {
    self.pair = pair
    expected = records
  }

  // MARK: Edits

  /// The first changes the length, the second the size of the same tracks: both stay.
  mutating func differentFields() throws {
    for (index, track) in names("Track").enumerated() where index.isMultiple(of: 3) {
      try set(pair.first, track, "milliseconds", .integer(Int64(index)))
      try set(pair.second, track, "bytes", .integer(Int64(-index)))
    }
  }

  /// Both rename the same tracks: the second, who is later, wins.
  mutating func sameField() throws {
    for (index, track) in names("Track").enumerated() where index.isMultiple(of: 5) {
      try set(pair.first, track, "name", .text("\(index) (live)"))
      try set(pair.second, track, "name", .text("\(index) (édition spéciale)"))
      contested += 1
    }
  }

  /// Both take a track out of every playlist and change another: what was put in again while the other removed it
  /// stays.
  mutating func members() throws {
    let tracks = names("Track")
    for playlist in names("Playlist") {
      guard let members = expected[playlist]?.links["tracks"], members.count >= 2,
        let newcomer = tracks.first(where: { !members.contains($0) })
      else { continue }
      try pair.first.write { db in
        for track in members.prefix(2) { try Chinook.schema.unlink(db, playlist, "tracks", from: track) }
      }
      // In transactions of their own: within one, a remove and an add of the same member are no change.
      try pair.second.write { db in try Chinook.schema.unlink(db, playlist, "tracks", from: members[1]) }
      try pair.second.write { db in
        for track in [members[1], newcomer] { try Chinook.schema.link(db, playlist, "tracks", to: track) }
      }
      expected[playlist]?.links["tracks"] = (members.dropFirst() + [newcomer]).sorted()
    }
  }

  /// Both move employees, one of them the same; the boss and another come to report to each other, which a reference
  /// may do.
  mutating func employees() throws {
    let staff = names("Employee")
    try set(pair.first, staff[3], "reports_to", .text(staff[0].text))
    try set(pair.second, staff[3], "reports_to", .text(staff[5].text))
    contested += 1
    try set(pair.first, staff[0], "reports_to", .text(staff[7].text))
    try set(pair.second, staff[7], "reports_to", .text(staff[0].text))
    try set(pair.second, staff[6], "reports_to", .text(staff[6].text))
  }

  /// The first deletes an artist with all albums and tracks; nobody contradicts.
  mutating func delete(artist: AnyRecordName) throws {
    try pair.first.write { db in try Chinook.schema.delete(db, artist) }
    let gone = Set(owned(by: artist))
    for name in gone { expected[name] = nil }
    for (name, record) in expected {
      for (field, value) in record.fields {
        if case .text(let text) = value, let target = try? AnyRecordName(text), gone.contains(target) {
          expected[name]?.fields[field] = .null
        }
      }
      expected[name]?.links = record.links.mapValues { $0.filter { !gone.contains($0) } }
    }
  }

  /// The first deletes an artist while the second edits a track of it: everything stays.
  mutating func contradictDelete(ofArtist artist: AnyRecordName) throws {
    guard let track = owned(by: artist).first(where: { $0.type == "Track" }) else { return }
    try pair.first.write { db in try Chinook.schema.delete(db, artist) }
    try set(pair.second, track, "composer", .text("somebody else"))
  }

  /// The second undoes the delete; everything is as it was in `before`.
  mutating func restore(artist: AnyRecordName, as before: [AnyRecordName: DynamicRecord]) throws {
    try pair.second.restore(artist)
    expected = before
  }

  // MARK: Looking

  /// The names of a type, ascending.
  func names(_ type: String) -> [AnyRecordName] { expected.keys.filter { $0.type == type }.sorted() }

  /// The first artists with a track that was sold and one that is in a playlist: their delete has the most to do.
  func artistsWithEverything(_ count: Int) -> [AnyRecordName] {
    let listed = Set(expected.values.flatMap { $0.links["tracks"] ?? [] })
    let sold = Set(expected.values.filter { $0.name.type == "InvoiceLine" }.compactMap { $0.fields["track"] })
    let fitting = names("Artist").lazy.filter { artist in
      let tracks = owned(by: artist).filter { $0.type == "Track" }
      return tracks.contains(where: listed.contains) && tracks.contains { sold.contains(.text($0.text)) }
    }
    return Array(fitting.prefix(count))
  }

  /// An artist, the albums, the tracks.
  private func owned(by artist: AnyRecordName) -> [AnyRecordName] {
    let albums = children(of: [artist], "album", "artist")
    return [artist] + albums + children(of: Set(albums), "track", "album")
  }

  private func children(of owners: Set<AnyRecordName>, _ model: String, _ reference: String) -> [AnyRecordName] {
    let values = Set(owners.map { Value.text($0.text) })
    let type = Chinook.types[model]
    return expected.values.filter { record in
      record.name.type == type && record.fields[reference].map(values.contains) == true
    }.map(\.name).sorted()
  }

  private mutating func set(_ store: Store, _ name: AnyRecordName, _ field: String, _ value: Value) throws {
    try store.write { db in try Chinook.schema.put(db, name, [field: value]) }
    expected[name]?.fields[field] = value
  }
}
