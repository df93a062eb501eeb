import Foundation
import GRDB
import TallyStore

/// The files of a history's devices, for what happens to them while no store has them open.
final class CounterFiles {
  private let folder: URL
  private let schema: Schema
  private let options: [StoreOptions]
  /// Copies, with what their devices had heard of.
  private var kept: [Int: Set<Int>] = [:]

  init(_ schema: Schema, _ options: [StoreOptions]) throws {
    (self.schema, self.options) = (schema, options)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-counters-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func path(_ device: Int, _ suffix: String = "") -> String {
    folder.appendingPathComponent("\(device)\(suffix)").path
  }

  func open(_ device: Int) throws -> Store { try Store(path: path(device), schema: schema, options: options[device]) }

  /// Keeps a copy of a file.
  func keep(_ device: Int, _ known: Set<Int>) throws {
    try? FileManager.default.removeItem(atPath: path(device, ".kept"))
    try FileManager.default.copyItem(atPath: path(device), toPath: path(device, ".kept"))
    kept[device] = known
  }

  /// Puts the copy in the file's place.
  /// - Returns: what its device had heard of; nil if there is none.
  func putBack(_ device: Int) throws -> Set<Int>? {
    guard let known = kept[device] else { return nil }
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path(device, suffix)) }
    try FileManager.default.copyItem(atPath: path(device, ".kept"), toPath: path(device))
    return known
  }

  /// Runs statements as a program without Tally does.
  func run(_ device: Int, _ sql: String) throws {
    let queue = try DatabaseQueue(path: path(device))
    try queue.write { try $0.execute(sql: sql) }
    try queue.close()
  }

  /// Makes the table again, with other numbers and without triggers.
  func rebuild(_ device: Int, adding amount: Int64) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: path(device), configuration: configuration)
    try queue.write { try Self.rebuild($0, adding: amount) }
    try queue.close()
  }

  static func rebuild(_ db: Database, adding amount: Int64) throws {
    let sql = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'Tile'")
    guard var sql, let place = sql.range(of: "Tile") else { return }
    sql.replaceSubrange(place, with: "rebuilt")
    let names = try db.columns(in: "Tile").map { "\"\($0.name)\"" }
    let values = names.map { $0 == "\"n\"" ? "n + \(amount)" : $0 }.joined(separator: ", ")
    try db.execute(sql: sql)
    try db.execute(sql: "INSERT INTO rebuilt(\(names.joined(separator: ", "))) SELECT \(values) FROM Tile")
    try db.execute(sql: "DROP TABLE Tile; ALTER TABLE rebuilt RENAME TO Tile")
  }
}
