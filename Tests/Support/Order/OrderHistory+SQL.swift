import Foundation
import GRDB
import TallyCRDT
import TallyStore
import TallyTesting

/// What is played between the steps of a history: any SQL that an app may write to the rows of a list, and lists that
/// begin another life by a clock that was set back.
///
/// What a list shows after each of them is what the same write does to an array, as in the steps.
extension OrderHistory {
  func another() throws {
    let device = others.below(3)
    let list = try order(device)
    switch others.below(13) {
    case 0: try exchange(device, list)
    case 1: try reverse(device, list)
    case 2: try put(device, list)
    case 3: try replaceMember(device, list)
    case 4: try rollBack(device, list)
    case 5: try again(device, list)
    case 6: try emptyPositions(device, list)
    case 7: try refused(device, list)
    case 8: try beginAgain(device, list)
    case 9: try changeTable(device, list)
    case 10: try upsert(device, list)
    case 11: try attach(device, list)
    default: try settings(device)
    }
  }

  private func run(_ device: Int, _ statements: [String], _ arguments: StatementArguments = [:]) throws {
    note(device, "\(statements.joined(separator: "; ")) \(arguments)")
    try stores[device].write { db in
      for sql in statements {
        let statement = try db.makeStatement(sql: sql)
        // Each statement has some of the arguments.
        statement.setUncheckedArguments(arguments)
        try statement.execute()
      }
    }
  }

  /// Those that have a position of their own, and none that another one has as well.
  private func placed(_ device: Int, _ list: [String]) throws -> [String] {
    let positions = try positions(device)
    let counts = Dictionary(positions.values.map { ($0, 1) }, uniquingKeysWith: +)
    return list.filter { song in positions[song].map { !$0.isEmpty && counts[$0] == 1 } ?? false }
  }

  /// One UPDATE gives two members each other's positions.
  private func exchange(_ device: Int, _ list: [String]) throws {
    let placed = try placed(device, list)
    guard placed.count > 1 else { return }
    let (a, b) = (others.pick(placed), others.pick(placed))
    let positions = try positions(device)
    guard a != b, let first = list.firstIndex(of: a), let second = list.firstIndex(of: b) else { return }
    try run(
      device,
      [
        "UPDATE List_songs SET position = CASE target WHEN :a THEN :ofB ELSE :ofA END WHERE target IN (:a, :b)"
          + " AND source = :list"
      ], ["a": a, "b": b, "ofA": positions[a], "ofB": positions[b], "list": Self.main])
    moved.formUnion([a, b])
    var wanted = list
    wanted.swapAt(first, second)
    try expect(device, wanted, "an exchange")
  }

  /// One UPDATE … FROM turns those that have positions round.
  private func reverse(_ device: Int, _ list: [String]) throws {
    let placed = try placed(device, list)
    guard placed.count > 1 else { return }
    let positions = try positions(device)
    let pairs = zip(placed, placed.reversed())
    let rows = pairs.map { "('\($0)', x'\(Self.hex(positions[$1] ?? Data()))')" }.joined(separator: ", ")
    try run(
      device,
      [
        "WITH new(song, place) AS (VALUES \(rows)) UPDATE List_songs SET position = new.place FROM new "
          + "WHERE target = new.song AND source = :list"
      ], ["list": Self.main])
    moved.formUnion(placed)
    var (wanted, rest) = (list, placed)
    for place in wanted.indices where placed.contains(wanted[place]) { wanted[place] = rest.removeLast() }
    try expect(device, wanted, "a reversal")
  }

  private static func hex(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }

  /// A member goes between two others, or to an end, by the functions that SQL has for it.
  private func put(_ device: Int, _ list: [String]) throws {
    guard let song = list.isEmpty ? nil : others.pick(list) else { return }
    let rest = list.filter { $0 != song }
    var wanted = rest
    if others.chance(40) || rest.count < 2 {
      try run(
        device, ["UPDATE List_songs SET position = tally_last(source) WHERE target = :a AND source = :list"],
        ["a": song, "list": Self.main])
      // Behind those that have none stands whoever has one.
      wanted.append(song)
    } else {
      let place = others.below(rest.count - 1)
      let (left, right) = (rest[place], rest[place + 1])
      guard try placed(device, list).filter({ [left, right].contains($0) }).count == 2 else { return }
      try run(
        device,
        [
          """
          UPDATE List_songs SET position = tally_between(
            (SELECT position FROM List_songs WHERE source = :list AND target = :left),
            (SELECT position FROM List_songs WHERE source = :list AND target = :right))
          WHERE source = :list AND target = :a
          """
        ], ["a": song, "left": left, "right": right, "list": Self.main])
      wanted.insert(song, at: place + 1)
    }
    moved.insert(song)
    try expect(device, wanted, "a move by SQL")
  }

  /// The row of a member gets another target, which is new or the same song under another name: the one is taken out
  /// and the other put in, where the row says.
  private func replaceMember(_ device: Int, _ list: [String]) throws {
    let placed = try placed(device, list)
    guard let song = placed.isEmpty ? nil : others.pick(placed), let place = list.firstIndex(of: song) else { return }
    let next = place + 1 < list.count ? list[place + 1] : nil
    guard next.map({ placed.contains($0) }) ?? true else { return }
    let new = newSong()
    try run(
      device,
      [
        others.chance(50) ? "INSERT INTO Song(id) VALUES(:new)" : "UPDATE Song SET id = :new WHERE id = :a",
        """
        UPDATE List_songs SET target = :new, position = tally_between(
          position, (SELECT position FROM List_songs WHERE source = :list AND target = :next))
        WHERE source = :list AND target = :a
        """,
      ], ["a": song, "new": new, "next": next, "list": Self.main])
    moved.formUnion([song, new])
    var wanted = list
    wanted[place] = new
    try expect(device, wanted, "another target")
  }

  /// A savepoint is rolled back, and what the transaction writes besides stays.
  private func rollBack(_ device: Int, _ list: [String]) throws {
    guard let song = list.isEmpty ? nil : others.pick(list) else { return }
    try run(
      device,
      [
        "SAVEPOINT app",
        "UPDATE List_songs SET position = tally_first(source) WHERE target = :a AND source = :list",
        "DELETE FROM List_songs WHERE source = :list AND target <> :a",
        "ROLLBACK TO app", "RELEASE app",
        "UPDATE Song SET title = 'kept' WHERE id = :a",
      ], ["a": song, "list": Self.main])
    try expect(device, list, "a rollback")
  }

  /// Members are taken out and put in again by one transaction.
  private func again(_ device: Int, _ list: [String]) throws {
    guard let song = list.isEmpty ? nil : others.pick(list) else { return }
    try run(
      device,
      [
        "DELETE FROM List_songs WHERE source = :list AND target = :a",
        "INSERT INTO List_songs(source, target) VALUES(:list, :a)",
        "INSERT OR IGNORE INTO List_songs(source, target) SELECT :list, id FROM Song WHERE id = :a",
      ], ["a": song, "list": Self.main])
    try expect(device, list, "a member that was taken out and put in")
  }

  /// A position that is taken away is none that was written.
  private func emptyPositions(_ device: Int, _ list: [String]) throws {
    try run(device, ["UPDATE List_songs SET position = x'' WHERE source = :list"], ["list": Self.main])
    try expect(device, list, "positions that were emptied")
  }

  /// What is no position is refused, and nothing has changed.
  private func refused(_ device: Int, _ list: [String]) throws {
    guard let song = list.isEmpty ? nil : others.pick(list) else { return }
    let value = others.pick(["'text'", "7", "1.5", "NULL", "zeroblob(513)"])
    let (before, positions) = (try stores[device].vector, try positions(device))
    do {
      try run(
        device,
        [
          "UPDATE Song SET title = 'not' WHERE id = :a",
          "UPDATE List_songs SET position = \(value) WHERE source = :list AND target = :a",
        ], ["a": song, "list": Self.main])
      throw Failure(description: "\(value) is a position")
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
    } catch let error as StoreError where error.code == .typeMismatch {}
    guard try stores[device].vector == before, try self.positions(device) == positions else {
      throw Failure(description: "a refused position has changed something")
    }
    try expect(device, list, "a refused position")
  }

  private func upsert(_ device: Int, _ list: [String]) throws {
    guard let song = list.isEmpty ? nil : others.pick(list) else { return }
    let isReplace = others.chance(50)
    let insert = "INTO List_songs(source, target, position) VALUES(:list, :a, tally_last(:list))"
    try run(
      device,
      [
        isReplace
          ? "INSERT OR REPLACE \(insert)"
          : "INSERT \(insert) ON CONFLICT(source, target) DO UPDATE SET position = excluded.position"
      ], ["a": song, "list": Self.main])
    moved.insert(song)
    try expect(device, list.filter { $0 != song } + [song], "an upsert")
  }

  // MARK: Lives

  /// The list goes and comes back, by a clock that has been set back meanwhile: restored with its order, or inserted
  /// again without members.
  private func beginAgain(_ device: Int, _ list: [String]) throws {
    let isThere = try stores[device].read {
      try Bool.fetchOne($0, sql: "SELECT 1 FROM List WHERE id = ?", arguments: [Self.main]) ?? false
    }
    guard isThere else { return }
    clocks[device].set(back: Int64(others.below(4)) * 20_000)
    try run(device, ["DELETE FROM List WHERE id = :list"], ["list": Self.main])
    clocks[device].set(back: Int64(others.below(4)) * 20_000)
    guard others.chance(30) else {
      note(device, "restores the list")
      try stores[device].restore(AnyRecordName(Self.main))
      return try expect(device, list, "a list that was restored")
    }
    moved.formUnion(list)
    try run(device, ["INSERT INTO List(id) VALUES(:list)"], ["list": Self.main])
    try expect(device, [], "a list in another life")
    try run(
      device, ["INSERT INTO List_songs(source, target) SELECT :list, id FROM Song WHERE id IN (:a, :b) ORDER BY id"],
      ["list": Self.main, "a": list.first, "b": list.last])
    try expect(device, Set([list.first, list.last].compactMap { $0 }).sorted(), "members of another life")
  }

  // MARK: The file

  private func changeTable(_ device: Int, _ list: [String]) throws {
    guard let song = list.isEmpty ? nil : others.pick(list) else { return }
    let move = "UPDATE List_songs SET position = tally_last(source) WHERE source = :list AND target = :a"
    try run(device, ["ALTER TABLE List_songs ADD COLUMN own TEXT", "UPDATE List_songs SET own = 'a'"])
    try run(device, [move, "ALTER TABLE List_songs RENAME COLUMN own TO mine"], ["a": song, "list": Self.main])
    try run(device, ["ALTER TABLE List_songs DROP COLUMN mine"])
    moved.insert(song)
    try expect(device, list.filter { $0 != song } + [song], "a table with a column more")
  }

  /// Another database has a table of this name.
  private func attach(_ device: Int, _ list: [String]) throws {
    let store = stores[device]
    try store.writeWithoutTransaction { try $0.execute(sql: "ATTACH ':memory:' AS side") }
    try run(
      device,
      [
        "CREATE TABLE side.List_songs AS SELECT source, target, position FROM main.List_songs",
        "UPDATE side.List_songs SET position = x'01'", "DELETE FROM side.List_songs WHERE rowid % 2 = 0",
      ])
    try store.writeWithoutTransaction { try $0.execute(sql: "DETACH side") }
    try expect(device, list, "writes to another database")
  }

  private func settings(_ device: Int) throws {
    let store = stores[device]
    switch others.below(3) {
    case let choice where choice < 2: note(device, try others.changeFile(of: store, vacuums: choice == 0))
    default:
      // What a trigger puts into the list goes behind all others.
      let list = try order(device)
      let (song, title) = (newSong(), newSong())
      try run(
        device,
        [
          """
          CREATE TEMP TRIGGER app_titled AFTER INSERT ON main.Song WHEN NOT tally_applying()
          BEGIN INSERT INTO List_songs(source, target) VALUES('\(Self.main)', NEW.id); END
          """,
          "INSERT INTO Song(id) SELECT :a WHERE EXISTS(SELECT 1 FROM List WHERE id = :list)",
          "INSERT INTO Song(id) SELECT :b WHERE EXISTS(SELECT 1 FROM List WHERE id = :list)",
          "DROP TRIGGER app_titled",
        ], ["a": song, "b": title, "list": Self.main])
      moved.formUnion([song, title])
      let isThere = try store.read {
        try Bool.fetchOne($0, sql: "SELECT 1 FROM List WHERE id = ?", arguments: [Self.main]) ?? false
      }
      try expect(device, isThere ? list + [song, title] : list, "members that a trigger put in")
    }
  }
}
