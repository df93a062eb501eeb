import Foundation
import GRDB
import Tally
import TallyTesting

/// One record's values as they are bound to a statement.
struct ItemRow {
  var id: String
  var name: String
  var notes: String
  var count: Int
  var price: Double
  var day: String
  var owner: String

  var arguments: StatementArguments { [id, name, notes, count, price, day, owner] }

  static func insertion(into table: String = "Item", or clause: String = "") -> String {
    "INSERT \(clause) INTO \(table)(id, name, notes, count, price, day, owner) VALUES(?, ?, ?, ?, ?, ?, ?)"
  }
}

/// The same rows in every run: everything is drawn from one number.
struct Rows {
  let owners: [String]
  /// With random UUIDs, as the peers' figures have them.
  let items: [ItemRow]
  /// The same with the identifiers that a store gives by default: time-ordered UUIDs, here of a second in which all
  /// were made.
  let ordered: [ItemRow]

  init(count: Int, seed: UInt64 = 2026) {
    var random = SplitMix64(seed: seed)
    let owners = (0..<1000).map { _ in "Owner|~|\(UUID.random(&random).text)" }
    let items = (0..<count).map { Self.item($0, owners, &random) }
    let start = Date(timeIntervalSince1970: 1_767_225_600)
    ordered = items.indices.map { index in
      var row = items[index]
      let date = start.addingTimeInterval(Double(index) / Double(count))
      row.id = "Item|~|\(UUID.timeOrdered(at: date, using: &random).text)"
      return row
    }
    self.owners = owners
    self.items = items
  }

  /// The rows as a plain SQLite file, for programs that are measured elsewhere: `Owner` and `Item`, the latter in the
  /// order of arrival, and `Ordered`, which has the same items with default identifiers.
  func write(to path: String) throws {
    guard !FileManager.default.fileExists(atPath: path) else { throw Mistake("\(path) exists") }
    let plain = try PlainDatabase.create(path)
    try plain.insertOwners(owners)
    try plain.insert(items)
    try plain.write { db in try db.execute(sql: "CREATE TABLE Ordered(position INTEGER PRIMARY KEY, id TEXT) STRICT") }
    try plain.run("INSERT INTO Ordered VALUES(?, ?)", ordered.count) { [$0 + 1, ordered[$0].id] }
    try plain.close()
  }

  private static func item(_ index: Int, _ owners: [String], _ random: inout SplitMix64) -> ItemRow {
    let second = Int.random(in: 0..<86_400, using: &random)
    let time = [second / 3600, second / 60 % 60, second % 60].map { String(100 + $0).dropFirst() }.joined(
      separator: ":")
    let day = String(101 + index % 28).dropFirst()
    return ItemRow(
      id: "Item|~|\(UUID.random(&random).text)", name: words(2, &random), notes: words(7, &random),
      count: Int.random(in: 0..<1_000_000, using: &random),
      price: Double(Int.random(in: 0..<100_000, using: &random)) / 100, day: "2026-01-\(day) \(time).000",
      owner: owners[Int.random(in: 0..<owners.count, using: &random)])
  }

  /// About six characters a word.
  private static func words(_ count: Int, _ random: inout SplitMix64) -> String {
    (0..<count).map { _ in vocabulary[Int.random(in: 0..<vocabulary.count, using: &random)] }.joined(separator: " ")
  }

  private static let vocabulary = [
    "amber", "anchor", "apple", "arrow", "basket", "beacon", "birch", "bottle", "bridge", "candle", "canyon", "cedar",
    "circle", "clover", "copper", "corner", "desert", "dragon", "ember", "falcon", "fern", "forest", "garden", "glass",
    "harbor", "hazel", "honey", "island", "jasper", "kettle", "ladder", "lantern", "maple", "marble", "meadow",
    "mirror",
    "needle", "ocean", "olive", "orchid", "paper", "pebble", "pepper", "planet", "pocket", "quartz", "raven", "ribbon",
    "river", "rocket", "saddle", "shadow", "silver", "spruce", "stone", "summer", "thread", "timber", "tulip", "valley",
    "velvet", "violet", "willow", "winter",
  ]
}

extension UUID {
  var text: String { uuidString.lowercased() }

  /// A version 4 UUID (RFC 9562, section 5.4).
  static func random(_ random: inout SplitMix64) -> UUID {
    let (high, low) = (random.next(), random.next())
    return UUID(
      words: (high & ~0xF000 | 0x4000, low & ~(0b11 << 62) | 0b10 << 62))
  }

  private init(words: (UInt64, UInt64)) {
    func byte(_ index: UInt64) -> UInt8 {
      let word = index < 8 ? words.0 : words.1
      return UInt8(truncatingIfNeeded: word >> (56 - 8 * (index % 8)))
    }
    self.init(
      uuid: (
        byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), byte(6), byte(7), byte(8), byte(9), byte(10), byte(11),
        byte(12), byte(13), byte(14), byte(15)
      ))
  }
}
