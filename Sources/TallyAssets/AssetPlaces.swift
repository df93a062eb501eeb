import Foundation
import GRDB
import Synchronization
import TallySchema

extension Assets {
  /// Opens the list of the files that other places are known to have.
  /// - Throws: `AssetError` of code `inMemory`, `unwritable`.
  package func places() throws -> AssetPlaces { try AssetPlaces(folder) }
}

/// The files that other places are known to have, and those that this device waits for, in
/// `<store>-assets/places.sqlite`. It belongs to the folder. If it is missing or damaged, later passes build it again.
package struct AssetPlaces: Sendable {
  private let folder: AssetFolder
  private let connection: Connection

  /// The open file, which another one replaces if it turns out to be damaged.
  private final class Connection: Sendable {
    private let open: Mutex<DatabaseQueue>
    var queue: DatabaseQueue {
      get { open.withLock { $0 } }
      set { open.withLock { $0 = newValue } }
    }

    init(_ queue: DatabaseQueue) { open = Mutex(queue) }
  }

  init(_ folder: AssetFolder) throws {
    self.folder = folder
    try folder.make(folder.path)
    let path = Self.path(in: folder)
    do {
      connection = Connection(try Self.open(path))
    } catch let error as DatabaseError where Self.isDamage(error) {
      try Self.remove(from: folder)
      connection = Connection(try AssetError.wrapping { try Self.open(path) })
    } catch {
      throw AssetError(.unwritable, "what is known of other places' files cannot be read: \(error)", cause: error)
    }
  }

  private static func path(in folder: AssetFolder) -> String { folder.path + "/places.sqlite" }

  private static func isDamage(_ error: DatabaseError) -> Bool {
    [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode.primaryResultCode)
  }

  private static func remove(from folder: AssetFolder) throws {
    try folder.step()
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path(in: folder) + suffix) }
  }

  private static func open(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS reached(
            place TEXT NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(place, name))
            WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS refused(
            place TEXT NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(place, name))
            WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS settled(
            place TEXT NOT NULL, entry TEXT NOT NULL, version TEXT NOT NULL, PRIMARY KEY(place, entry))
            WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS unnamed(
            place TEXT NOT NULL, name TEXT NOT NULL, days INTEGER NOT NULL, last INTEGER NOT NULL,
            PRIMARY KEY(place, name)) WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS wish(name TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS come(name TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS named(name TEXT NOT NULL PRIMARY KEY, added INTEGER NOT NULL)
            WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS waiting(name TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID, STRICT;
          """)
    }
    return queue
  }

  private func write<T>(_ body: (Database) throws -> T) throws -> T {
    try folder.step()
    return try using { try $0.write(body) }
  }

  private func read<T>(_ body: (Database) throws -> T) throws -> T { try using { try $0.read(body) } }

  /// Does something with the file. Damage within it shows only when it is read; then a new one takes its place.
  private func using<T>(_ body: (DatabaseQueue) throws -> T) throws -> T {
    try AssetError.wrapping {
      do {
        return try body(connection.queue)
      } catch let error as DatabaseError where Self.isDamage(error) {
        try Self.remove(from: folder)
        connection.queue = try Self.open(Self.path(in: folder))
        return try body(connection.queue)
      }
    }
  }

  private static func names(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> Set<
    AssetName
  > {
    try Set(String.fetchAll(db, sql: sql, arguments: arguments).compactMap { AssetName($0) })
  }

  /// This device, as a place where a file is that nothing names.
  static let here = ""
  /// The days for which a place counts as having what it has said to have.
  package static let days = 7
  private static let day = 86_400
  private static func seconds(_ date: Date) -> Int { Int(date.timeIntervalSince1970) }

  // MARK: What places have

  /// Notes that a place has said to have files. What it has said within the last day need not be noted again.
  package func note(_ names: some Sequence<AssetName>, at place: String, _ now: Date) throws {
    // Name by name: each file that travels is noted by itself, and there may be thousands.
    let (oldest, newest) = (Self.seconds(now) - Self.day, Self.seconds(now) + Self.day)
    let news = try read { db in
      let known = try db.cachedStatement(
        sql: "SELECT 1 FROM reached WHERE place = ? AND name = ? AND at > ? AND at <= ?")
      return try names.filter { try Int.fetchOne(known, arguments: [place, $0, oldest, newest]) == nil }
    }
    guard !news.isEmpty else { return }
    try write { db in
      for name in news {
        try db.execute(
          sql: "INSERT OR REPLACE INTO reached VALUES(?, ?, ?)", arguments: [place, name, Self.seconds(now)])
        try db.execute(sql: "DELETE FROM refused WHERE place = ? AND name = ?", arguments: [place, name])
      }
    }
  }

  /// Notes that a place lacks a file that it was said to have.
  package func forget(_ name: AssetName, at place: String) throws {
    try write { try $0.execute(sql: "DELETE FROM reached WHERE place = ? AND name = ?", arguments: [place, name]) }
  }

  /// The files that a place, or any place, has said to have in the last days. What is from the future is from a clock
  /// that was wrong.
  package func reached(at place: String? = nil, since now: Date, days: Int = AssetPlaces.days) throws -> Set<AssetName>
  {
    try read { db in
      try Self.names(
        db, "SELECT name FROM reached WHERE at > ?1 AND at <= ?2 AND (?3 IS NULL OR place = ?3)",
        [Self.seconds(now) - days * Self.day, Self.seconds(now) + Self.day, place])
    }
  }

  // MARK: What places have wrong

  /// Notes that what a place has under a name is something else, so that it is not asked again for an hour.
  package func note(wrong name: AssetName, at place: String, _ now: Date) throws {
    try write { db in
      try db.execute(
        sql: "INSERT OR REPLACE INTO refused VALUES(?, ?, ?)", arguments: [place, name, Self.seconds(now)])
      try db.execute(sql: "DELETE FROM reached WHERE place = ? AND name = ?", arguments: [place, name])
    }
  }

  /// The names under which a place has had something else within the last hour.
  package func wrong(at place: String, _ now: Date) throws -> Set<AssetName> {
    try read { db in
      try Self.names(
        db, "SELECT name FROM refused WHERE place = ? AND at > ? AND at <= ?",
        [place, Self.seconds(now) - 3_600, Self.seconds(now) + Self.day])
    }
  }

  /// Notes the version of a place's entry to which this device has said all that it has to say: it has doubted a file,
  /// or answered a doubt.
  package func note(settled entry: String, _ version: String, at place: String) throws {
    try write { db in
      try db.execute(sql: "INSERT OR REPLACE INTO settled VALUES(?, ?, ?)", arguments: [place, entry, version])
    }
  }

  /// The versions of a place's entries that were noted so.
  package func settled(at place: String) throws -> [String: String] {
    try read { db in
      let rows = try Row.fetchAll(db, sql: "SELECT entry, version FROM settled WHERE place = ?", arguments: [place])
      return Dictionary(uniqueKeysWithValues: rows.map { ($0["entry"], $0["version"]) })
    }
  }

  /// Forgets entries that a place has no more.
  package func forget(settled entries: some Collection<String>, at place: String) throws {
    guard !entries.isEmpty else { return }
    try write { db in
      for entry in entries {
        try db.execute(sql: "DELETE FROM settled WHERE place = ? AND entry = ?", arguments: [place, entry])
      }
    }
  }

  // MARK: What nothing names

  /// Notes which of a place's files nothing here names; the others are forgotten.
  /// - Returns: on how many days each was found unnamed, besides the first. A clock that jumps is a day.
  package func note(unnamed names: Set<AssetName>, at place: String, _ now: Date) throws -> [AssetName: Int] {
    let today = Self.seconds(now) / Self.day
    return try write { db in
      let rows = try Row.fetchAll(db, sql: "SELECT name, days, last FROM unnamed WHERE place = ?", arguments: [place])
      var days: [AssetName: Int] = [:]
      for row in rows {
        let (text, count, last): (String, Int, Int) = (row["name"], row["days"], row["last"])
        guard let name = AssetName(text), names.contains(name) else {
          try db.execute(sql: "DELETE FROM unnamed WHERE place = ? AND name = ?", arguments: [place, text])
          continue
        }
        days[name] = last == today ? count : count + 1
        guard last != today else { continue }
        try db.execute(
          sql: "UPDATE unnamed SET days = ?, last = ? WHERE place = ? AND name = ?",
          arguments: [count + 1, today, place, text])
      }
      for name in names where days[name] == nil {
        try db.execute(sql: "INSERT INTO unnamed VALUES(?, ?, 0, ?)", arguments: [place, name, today])
        days[name] = 0
      }
      return days
    }
  }

  // MARK: What this device waits for, and what has come

  package func wish(for name: AssetName) throws {
    try write { try $0.execute(sql: "INSERT OR IGNORE INTO wish VALUES(?)", arguments: [name]) }
  }

  package func wishes() throws -> Set<AssetName> { try read { try Self.names($0, "SELECT name FROM wish") } }

  /// Lists the files that this device waits for and lacks: first those that the app has asked for, then those that rows
  /// of eager fields name, small ones first. Forgets wishes that are met, and those for files that nothing names.
  ///
  /// `earlier` are the wishes from before `use` was read. A later wish may be for a file whose record is later as well,
  /// and stays.
  package func wants(_ use: AssetUse, wishedBefore earlier: Set<AssetName>, in folder: AssetFolder) throws -> AssetWants
  {
    var wishes = try wishes()
    let idle = wishes.filter { folder.has($0) || earlier.contains($0) && !use.names($0.hash) }
    if !idle.isEmpty { try forget(wishes: idle) }
    wishes.subtract(idle)
    let names = use.eager.union(wishes).filter { !folder.has($0) }.sorted {
      (wishes.contains($0) ? 0 : 1, $0.byteCount, $0.text) < (wishes.contains($1) ? 0 : 1, $1.byteCount, $1.text)
    }
    return AssetWants(names: names, wishes: wishes)
  }

  /// Forgets wishes that are met, or that no place can meet.
  private func forget(wishes names: some Sequence<AssetName>) throws {
    try write { db in
      for name in names { try db.execute(sql: "DELETE FROM wish WHERE name = ?", arguments: [name]) }
    }
  }

  /// Notes that a file has come from elsewhere (`AssetDownloading.finish`), and so may be evicted; unless the app has
  /// added it since, also from another process.
  package func noteArrival(_ name: AssetName) throws {
    try write { db in
      try db.execute(sql: "DELETE FROM wish WHERE name = ?", arguments: [name])
      // An addition that comes after this look is noted after it as well.
      let time = try Int.fetchOne(db, sql: "SELECT added FROM named WHERE name = ?", arguments: [name])
      guard let time, time == folder.modified(name).map(Self.microseconds) else { return }
      try db.execute(sql: "INSERT OR IGNORE INTO come VALUES(?)", arguments: [name])
    }
  }

  /// The files that have come from elsewhere. All others were added here.
  func arrived() throws -> Set<AssetName> { try read { try Self.names($0, "SELECT name FROM come") } }

  // MARK: What waits for no row

  /// Notes that rows have named files since these were added. So a file need not wait for a row when the last one goes,
  /// unless it is added again.
  func note(named files: [(AssetName, Date)]) throws {
    guard !files.isEmpty else { return }
    try write { db in
      // After a day none waits for a row.
      let old = files.reduce(Date.distantFuture) { min($0, $1.1) }.addingTimeInterval(-7 * Double(Self.day))
      try db.execute(sql: "DELETE FROM named WHERE added < ?", arguments: [Self.microseconds(old)])
      for (name, added) in files {
        try db.execute(
          sql: "INSERT OR REPLACE INTO named VALUES(?, ?)", arguments: [name, Self.microseconds(added)])
        try db.execute(sql: "DELETE FROM waiting WHERE name = ?", arguments: [name])
      }
    }
  }

  /// The same for files that were added just now.
  func note(named names: [AssetName]) throws {
    try note(named: names.compactMap { name in folder.modified(name).map { (name, $0) } })
  }

  /// The files that rows have named, and when each had been added by then, in microseconds.
  func named() throws -> [AssetName: Int] {
    try read { db in
      let rows = try Row.fetchAll(db, sql: "SELECT name, added FROM named")
      return Dictionary(
        rows.compactMap { row in AssetName(row["name"] as String).map { ($0, row["added"] as Int) } },
        uniquingKeysWith: max)
    }
  }

  static func microseconds(_ date: Date) -> Int { Int((date.timeIntervalSince1970 * 1e6).rounded()) }

  /// Notes that the app has added a file, also one that had come before. One that is new here (`isNew`) waits for a
  /// row: no device can have its name from this one before a row has it.
  func noteAddition(_ name: AssetName, isNew: Bool) throws {
    try write { db in
      try db.execute(sql: "DELETE FROM come WHERE name = ?", arguments: [name])
      try db.execute(sql: "DELETE FROM wish WHERE name = ?", arguments: [name])
      if isNew { try db.execute(sql: "INSERT OR IGNORE INTO waiting VALUES(?)", arguments: [name]) }
    }
  }

  /// Forgets that files wait for rows which something names by now. It comes before names can leave the device, so
  /// that those which still wait are of no use to any other.
  package func noteNamed(_ use: AssetUse) throws {
    let named = try waiting().filter { use.names($0.hash) }
    guard !named.isEmpty else { return }
    try write { db in
      for name in named { try db.execute(sql: "DELETE FROM waiting WHERE name = ?", arguments: [name]) }
    }
  }

  /// The files that the app has added and that nothing was ever found to name.
  func waiting() throws -> Set<AssetName> { try read { try Self.names($0, "SELECT name FROM waiting") } }
}

/// The files that a device waits for and lacks.
package struct AssetWants: Sendable {
  /// All of them, in the order in which they are to come.
  package let names: [AssetName]
  /// Those of them that the app has asked for.
  package let wishes: Set<AssetName>
}

extension AssetError {
  /// Says errors of SQLite's in this module's words.
  static func wrapping<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as DatabaseError {
      throw AssetError(.unwritable, "what is known of other places' files cannot be written: \(error)", cause: error)
    }
  }
}
