import Foundation
import GRDB
import TallySchema
import TallyWire

extension Assets {
  /// What is known of other places' files.
  /// - Throws: `AssetError`; GRDB's `DatabaseError`.
  package func places() throws -> AssetPlaces { try AssetPlaces(folder) }
}

/// What a device knows of the files of other places, and which it waits for: `<store>-assets/places.sqlite`. It is
/// knowledge about this folder and goes with it; without it everything is found out again.
package struct AssetPlaces: Sendable {
  private let queue: DatabaseQueue

  init(_ folder: AssetFolder) throws {
    try folder.make(folder.path)
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    queue = try DatabaseQueue(path: folder.path + "/places.sqlite", configuration: configuration)
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS reached(
            place TEXT NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(place, name)) WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS unnamed(
            place TEXT NOT NULL, name TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY(place, name))
            WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS wish(name TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID, STRICT;
          CREATE TABLE IF NOT EXISTS come(name TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID, STRICT;
          """)
    }
  }

  /// This device, as a place where a file is that nothing names.
  static let here = ""
  /// The days for which a place counts as having what it has said to have.
  package static let days = 7
  private static func seconds(_ date: Date) -> Int { Int(date.timeIntervalSince1970) }

  // MARK: What places have

  /// Notes that a place has said to have files.
  package func note(_ names: some Sequence<AssetName>, at place: String, _ now: Date) throws {
    try queue.write { db in
      for name in names {
        try db.execute(
          sql: "INSERT OR REPLACE INTO reached VALUES(?, ?, ?)", arguments: [place, name, Self.seconds(now)])
      }
    }
  }

  /// Notes that a place lacks a file that it was said to have.
  package func forget(_ name: AssetName, at place: String) throws {
    try queue.write { try $0.execute(sql: "DELETE FROM reached WHERE place = ? AND name = ?", arguments: [place, name]) }
  }

  /// The files that a place, or any place, has said to have in the last days.
  package func reached(at place: String? = nil, since now: Date) throws -> Set<AssetName> {
    try queue.read { db in
      try Set(
        AssetName.fetchAll(
          db, sql: "SELECT name FROM reached WHERE at > ?1 AND (?2 IS NULL OR place = ?2)",
          arguments: [Self.seconds(now) - Self.days * 86_400, place]))
    }
  }

  // MARK: What nothing names

  /// Notes which of a place's files nothing here names; the others are forgotten.
  /// - Returns: since when.
  package func note(unnamed names: Set<AssetName>, at place: String, _ now: Date) throws -> [AssetName: Date] {
    try queue.write { db in
      let rows = try Row.fetchAll(db, sql: "SELECT name, since FROM unnamed WHERE place = ?", arguments: [place])
      var since: [AssetName: Date] = [:]
      for row in rows { since[row["name"]] = Date(timeIntervalSince1970: Double(row["since"] as Int)) }
      for name in since.keys where !names.contains(name) {
        try db.execute(sql: "DELETE FROM unnamed WHERE place = ? AND name = ?", arguments: [place, name])
      }
      for name in names where since[name] == nil {
        try db.execute(sql: "INSERT INTO unnamed VALUES(?, ?, ?)", arguments: [place, name, Self.seconds(now)])
      }
      return Dictionary(uniqueKeysWithValues: names.map { ($0, since[$0] ?? now) })
    }
  }

  // MARK: What this device waits for, and what has come

  package func wish(for name: AssetName) throws {
    try queue.write { try $0.execute(sql: "INSERT OR IGNORE INTO wish VALUES(?)", arguments: [name]) }
  }

  package func wishes() throws -> Set<AssetName> {
    try queue.read { try Set(AssetName.fetchAll($0, sql: "SELECT name FROM wish")) }
  }

  /// Notes that a file has come from elsewhere, and so may be evicted.
  package func noteArrival(_ name: AssetName) throws {
    try queue.write { db in
      try db.execute(sql: "DELETE FROM wish WHERE name = ?", arguments: [name])
      try db.execute(sql: "INSERT OR IGNORE INTO come VALUES(?)", arguments: [name])
    }
  }

  /// The files that have come from elsewhere. All others were added here.
  func arrived() throws -> Set<AssetName> { try queue.read { try Set(AssetName.fetchAll($0, sql: "SELECT name FROM come")) } }

  /// Notes that the app has added a file, also one that had come before.
  func noteAddition(_ name: AssetName) throws {
    try queue.write { try $0.execute(sql: "DELETE FROM come WHERE name = ?", arguments: [name]) }
  }
}
