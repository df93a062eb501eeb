import Foundation
import GRDB
import TallyCRDT
import TallyFaults
import TallySchema
import TallyStore
import TallyTesting

/// Random histories of lists that people order, on three stores.
///
/// What a list shows after each write is what the same write does to an array. Of what devices do apart from each other
/// these laws hold: insertions that had not heard of each other are not mixed; a member is there once; a move brings
/// back no member that was removed and no list that was deleted; who comes by SQL without a position is last, and then
/// nobody is without one; what is deleted and restored stands where it stood. At the end all are equal and sound.
///
/// Between the steps of some are others (`OtherSteps`): any SQL that an app may write to a list, and
/// lists that begin another life by a clock that was set back (`OrderHistory+SQL.swift`).
package final class OrderHistory {
  package struct Failure: Error, CustomStringConvertible { package var description: String }

  static let schema = Schema([
    EntitySchema("Song", .text("title")),
    EntitySchema("List", .text("title"), .toMany("songs", to: "Song", ordered: true)),
  ])
  private static let before = Schema([
    EntitySchema("Song", .text("title")),
    EntitySchema("List", .text("title"), .toMany("songs", to: "Song")),
  ])
  static let (main, side) = ("List|~|main", "List|~|side")

  /// Several members that one device inserts at one place, in their order.
  private struct Burst {
    var members: [String]
    /// The bursts that the device had heard of.
    var seen: Set<Int>
  }

  private var random: SplitMix64
  /// What is played between the steps.
  var others: OtherSteps
  private(set) var stores: [Store] = []
  private(set) var clocks: [Ticks] = []
  private var known: [Set<Int>] = [[], [], []]
  private var bursts: [Burst] = []
  /// Members that have stood at more than one place.
  var moved = Set<String>()
  private var made = 0
  /// Whether any device has deleted the list at the side, and whom any device has taken out of it.
  private var isSideDeleted = false
  private var takenOut = Set<String>()
  private var log: [String] = []

  private init(_ seed: UInt64, _ planted: PlantedFault) throws {
    random = SplitMix64(seed: seed)
    others = OtherSteps(seed)
    for device in 0..<3 {
      var options = StoreOptions()
      options.plant(planted)
      options.chooseCapture(by: seed, device: device)
      let draws = Draws(seed &* 31 &+ UInt64(device))
      options.mintReplica = { draws.id() }
      let clock = Ticks(Int64(device - 1) * Int64(random.below(9_000)))
      options.now = { clock.next() }
      clocks.append(clock)
      stores.append(try Store(inMemory: Self.schema, options: options))
    }
    try begin()
  }

  /// All devices get lists of an app that knew no order.
  private func begin() throws {
    let old = try Store(inMemory: Self.before)
    try old.write { db in
      for list in [Self.main, Self.side] { try db.execute(sql: "INSERT INTO List(id) VALUES(?)", arguments: [list]) }
      for number in 0..<4 {
        for (name, list) in [("m\(number)", Self.main), ("s\(number)", Self.side)] {
          try db.execute(sql: "INSERT INTO Song(id) VALUES(?)", arguments: ["Song|~|\(name)"])
          if number < 3 || list == Self.side {
            try db.execute(
              sql: "INSERT INTO List_songs(source, target) VALUES(?, ?)", arguments: [list, "Song|~|\(name)"])
          }
        }
      }
    }
    for store in stores { try store.apply(old.delta(since: store.vector)) }
    moved = ["Song|~|m0", "Song|~|m1", "Song|~|m2", "Song|~|m3"]
  }

  /// Plays the history of a seed.
  /// - Returns: what went wrong; nil if nothing did.
  package static func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    do {
      let history = try OrderHistory(seed, planted)
      do {
        for _ in 0..<30 {
          try history.step()
          if history.others.isNext(25) { try history.another() }
        }
        try history.end()
        return nil
      } catch {
        return "\(error) after\n  \(history.log.joined(separator: "\n  "))"
      }
    } catch {
      return "threw \(error)"
    }
  }

  // MARK: Steps

  private func step() throws {
    let device = random.below(3)
    switch random.below(12) {
    case 0, 1, 2: try insert(device)
    case 3: try append(device)
    case 4: try move(device)
    case 5: try setOrder(device)
    case 6: try replace(device)
    case 7: try deleteAndRestore(device)
    case 8: try takeOut(device)
    case 9: try changeSide(device)
    default: try sync(device, random.below(3))
    }
  }

  func order(_ device: Int, _ list: String = main) throws -> [String] {
    try stores[device].read { db in
      try String.fetchAll(
        db, sql: "SELECT target FROM List_songs WHERE source = ? ORDER BY position, target", arguments: [list])
    }
  }

  func note(_ device: Int, _ text: String) { log.append("\(device) \(text)") }

  func expect(_ device: Int, _ wanted: [String], _ what: String) throws {
    let found = try order(device)
    guard found == wanted else { throw Failure(description: "\(what): \(found) and not \(wanted)") }
  }

  func newSong() -> String {
    made += 1
    return "Song|~|n\(made)"
  }

  /// Several new members at one place, one behind the other or one before the other, in one write or in several.
  private func insert(_ device: Int) throws {
    var list = try order(device)
    let (start, count, isBackwards) = (random.below(list.count + 1), 1 + random.below(3), random.chance(40))
    let songs = (0..<count).map { _ in newSong() }
    note(device, "inserts \(songs)\(isBackwards ? " backwards" : "") at \(start)")
    let isOneWrite = random.chance(50)
    func put(_ db: Database, _ step: Int) throws {
      let name = try AnyRecordName(songs[step])
      try db.execute(sql: "INSERT INTO Song(id) VALUES(?)", arguments: [songs[step]])
      try Self.schema.link(
        db, AnyRecordName(Self.main), "songs", to: name, at: .index(isBackwards ? start : start + step))
    }
    if isOneWrite {
      try stores[device].write { db in for step in songs.indices { try put(db, step) } }
    } else {
      for step in songs.indices { try stores[device].write { db in try put(db, step) } }
    }
    let members = isBackwards ? Array(songs.reversed()) : songs
    list.insert(contentsOf: members, at: start)
    try expect(device, list, "an insert")
    note(burst: members, device)
  }

  private func note(burst members: [String], _ device: Int) {
    known[device].insert(bursts.count)
    bursts.append(Burst(members: members, seen: known[device]))
  }

  /// By SQL that knows nothing of positions: new ones, and some that were taken out.
  private func append(_ device: Int) throws {
    let list = try order(device)
    let gone = try stores[device].read { db in
      try String.fetchAll(
        db,
        sql:
          "SELECT id FROM Song WHERE id GLOB 'Song|~|[mn]*' AND id NOT IN (SELECT target FROM List_songs) ORDER BY id")
    }
    var songs = (0..<random.below(3)).map { _ in newSong() }
    let new = songs
    if let back = gone.first { songs.insert(back, at: random.below(songs.count + 1)) }
    guard !songs.isEmpty else { return }
    moved.formUnion(gone)
    note(device, "appends \(songs)")
    try stores[device].write { db in
      for song in new { try db.execute(sql: "INSERT INTO Song(id) VALUES(?)", arguments: [song]) }
      for song in songs {
        try db.execute(sql: "INSERT INTO List_songs(source, target) VALUES(?, ?)", arguments: [Self.main, song])
      }
    }
    try expect(device, list + songs, "an append")
    let bare = try stores[device].read { db in
      try Int.fetchOne(
        db, sql: "SELECT count(*) FROM List_songs WHERE source = ? AND position = x''", arguments: [Self.main])
    }
    guard bare == 0 else { throw Failure(description: "\(bare ?? -1) members have no place after an append") }
    if new == songs { note(burst: songs, device) } else { moved.formUnion(songs) }
  }

  private func move(_ device: Int) throws {
    var list = try order(device)
    guard !list.isEmpty else { return }
    let song = random.pick(list)
    list.removeAll { $0 == song }
    let place = random.below(list.count + 1)
    note(device, "moves \(song) to \(place)")
    moved.insert(song)
    try stores[device].write { db in
      try Self.schema.link(db, AnyRecordName(Self.main), "songs", to: AnyRecordName(song), at: .index(place))
    }
    list.insert(song, at: place)
    try expect(device, list, "a move")
  }

  private func setOrder(_ device: Int) throws {
    var list = try order(device)
    guard list.count > 1 else { return }
    for _ in 0..<2 { list.swapAt(random.below(list.count), random.below(list.count)) }
    note(device, "orders \(list)")
    let before = try positions(device)
    try stores[device].write { db in
      let songs = list.compactMap { RecordName<RigSong>($0) }
      guard let main = RecordName<RigList>(Self.main) else { throw Failure(description: "no name") }
      try RigList.songs.setOrder(db, songs, of: main)
    }
    let after = try positions(device)
    moved.formUnion(after.keys.filter { before[$0] != after[$0] })
    try expect(device, list, "an order")
  }

  func positions(_ device: Int) throws -> [String: Data] {
    try stores[device].read { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT target, position FROM List_songs WHERE source = ?", arguments: [Self.main])
      return Dictionary(uniqueKeysWithValues: rows.map { ($0["target"], $0["position"]) })
    }
  }

  private func replace(_ device: Int) throws {
    let list = try order(device)
    guard !list.isEmpty else { return }
    note(device, "replaces all rows")
    try stores[device].write { db in
      for song in list.shuffled(using: &random) {
        try db.execute(sql: "REPLACE INTO List_songs(source, target) VALUES(?, ?)", arguments: [Self.main, song])
      }
    }
    try expect(device, list, "REPLACE")
  }

  private func deleteAndRestore(_ device: Int) throws {
    let list = try order(device)
    guard !list.isEmpty else { return }
    let song = random.pick(list)
    note(device, "deletes and restores \(song)")
    try stores[device].write { db in try db.execute(sql: "DELETE FROM Song WHERE id = ?", arguments: [song]) }
    try expect(device, list.filter { $0 != song }, "a delete")
    if random.chance(50) { try sync(device, (device + 1) % 3) }
    let isThere = try stores[device].read {
      try Bool.fetchOne($0, sql: "SELECT 1 FROM Song WHERE id = ?", arguments: [song])
    }
    guard isThere != true, try !order(device).contains(song) else { return }
    let rest = try order(device)
    try stores[device].restore(AnyRecordName(song))
    let found = try order(device)
    let others = Set(rest)
    // Of those that are still there, who stood before it and who behind it.
    let stood = list.filter { others.contains($0) && !moved.contains($0) || $0 == song }
    let stands = found.filter { stood.contains($0) }
    guard stands == stood || moved.contains(song) else {
      throw Failure(description: "a restore: \(stands) and not \(stood)")
    }
  }

  private func takeOut(_ device: Int) throws {
    let list = try order(device)
    guard !list.isEmpty else { return }
    let song = random.pick(list)
    note(device, "takes \(song) out")
    moved.insert(song)
    try stores[device].write { db in
      try db.execute(sql: "DELETE FROM List_songs WHERE source = ? AND target = ?", arguments: [Self.main, song])
    }
    try expect(device, list.filter { $0 != song }, "a removal")
  }

  /// The list at the side gets no new members and no edits, so what is gone of it stays away.
  private func changeSide(_ device: Int) throws {
    let list = try order(device, Self.side)
    guard let song = list.isEmpty ? nil : random.pick(list) else { return }
    switch random.below(4) {
    case 0:
      note(device, "takes \(song) out of the list at the side")
      takenOut.insert(song)
      try stores[device].write { db in
        try db.execute(sql: "DELETE FROM List_songs WHERE source = ? AND target = ?", arguments: [Self.side, song])
      }
    case 1 where random.chance(30):
      note(device, "deletes the list at the side")
      isSideDeleted = true
      try stores[device].write { db in try db.execute(sql: "DELETE FROM List WHERE id = ?", arguments: [Self.side]) }
    default:
      note(device, "moves \(song) in the list at the side")
      try stores[device].write { db in
        try Self.schema.link(
          db, AnyRecordName(Self.side), "songs", to: AnyRecordName(song), at: random.chance(50) ? .first : .last)
      }
    }
  }

  private func sync(_ one: Int, _ other: Int) throws {
    guard one != other else { return }
    note(one, "syncs with \(other)")
    for (from, to) in [(one, other), (other, one)] {
      try stores[to].apply(stores[from].delta(since: stores[to].vector))
      known[to].formUnion(known[from])
    }
    try checkBursts(one)
  }

  // MARK: Laws

  /// No two bursts that had not heard of each other are mixed.
  private func checkBursts(_ device: Int) throws {
    let list = try order(device)
    guard Set(list).count == list.count else { throw Failure(description: "a member is there twice: \(list)") }
    let stands = Dictionary(uniqueKeysWithValues: list.enumerated().map { ($1, $0) })
    func places(_ number: Int) -> [Int] {
      bursts[number].members.filter { !moved.contains($0) }.compactMap { stands[$0] }
    }
    for number in bursts.indices where known[device].contains(number) {
      let mine = places(number)
      guard mine == mine.sorted() else {
        throw Failure(description: "\(bursts[number].members) are turned round: \(list)")
      }
      for other in bursts.indices[..<number]
      where known[device].contains(other) && !bursts[number].seen.contains(other)
        && !bursts[other].seen.contains(number)
      {
        let theirs = places(other)
        guard let first = mine.first, let last = mine.last, let start = theirs.first, let end = theirs.last else {
          continue
        }
        guard last < start || end < first else {
          throw Failure(description: "\(bursts[number].members) and \(bursts[other].members) are mixed: \(list)")
        }
      }
    }
  }

  private func end() throws {
    for _ in 0..<2 { for (one, other) in [(0, 1), (1, 2), (0, 2)] { try sync(one, other) } }
    let summaries = try stores.map { try $0.summary() }
    for device in stores.indices {
      let (one, other) = (summaries[device], summaries[0])
      guard one.vector == other.vector, one.fingerprint == other.fingerprint else {
        throw Failure(description: "\(device) differs from 0")
      }
      guard try order(device) == order(0), try order(device, Self.side) == order(0, Self.side) else {
        throw Failure(description: "\(device) shows another order than 0")
      }
      let problems = try stores[device].verify().problems
      guard problems.isEmpty else { throw Failure(description: "\(device): \(problems)") }
    }
    let side = try order(0, Self.side)
    guard takenOut.isDisjoint(with: side) else { throw Failure(description: "a move brought back a member: \(side)") }
    let isThere = try stores[0].read {
      try Int.fetchOne($0, sql: "SELECT count(*) FROM List WHERE id = ?", arguments: [Self.side])
    }
    guard !isSideDeleted || isThere == 0 else { throw Failure(description: "a move brought back a list") }
  }
}

/// The entities of `OrderHistory` in Swift.
private struct RigSong: Entity {
  static let schema = EntitySchema("Song", .text("title"))
  var id = RecordName<RigSong>()
}

private struct RigList: Entity {
  static let schema = EntitySchema("List", .text("title"), .toMany("songs", to: "Song", ordered: true))
  static let songs = Relationship<RigList, RigSong>("songs")
  var id = RecordName<RigList>()
}

/// Ids from a seed.
private final class Draws: @unchecked Sendable {
  private let lock = NSLock()
  private var random: SplitMix64
  init(_ seed: UInt64) { random = SplitMix64(seed: seed) }
  func id() -> ReplicaID {
    lock.lock()
    defer { lock.unlock() }
    return .random(using: &random)
  }
}

/// A clock that goes on by some milliseconds with each look.
final class Ticks: @unchecked Sendable {
  private let lock = NSLock()
  private var now: Int64
  init(_ offset: Int64) { now = 1_800_000_000_000 + offset }
  func next() -> Date {
    lock.lock()
    defer { lock.unlock() }
    now += 3
    return Date(timeIntervalSince1970: Double(now) / 1000)
  }

  func set(back milliseconds: Int64) {
    lock.lock()
    defer { lock.unlock() }
    now -= milliseconds
  }
}
