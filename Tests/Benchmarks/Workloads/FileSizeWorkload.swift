import Foundation
import GRDB
import Tally

/// W8: how large the file is without its free pages.
enum FileSizeWorkload {
  /// After W1; W2 asks for the same after its updates.
  static func run(_ round: Round) throws {
    try measure(try round.filled(), in: round, "W8.inserted", after: "inserts")
  }

  static func measure(_ pair: Pair, in round: Round, _ id: String, after event: String) throws {
    let path = pair.store.path
    round.note(
      Figure(id, "file, vacuumed, after \(event)", against: "the plain file", .bytes),
      bytes: try vacuumedBytes(path, in: round), plain: try vacuumedBytes(pair.plain.path, in: round))
  }

  /// Of a vacuumed copy, so that what is measured afterwards finds the file as it was.
  static func vacuumedBytes(_ path: String, in round: Round) throws -> Double {
    let copy = round.newPath()
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { db in try db.execute(sql: "VACUUM INTO ?", arguments: [copy]) }
    try queue.close()
    let size = try FileManager.default.attributesOfItem(atPath: copy)[.size] as? Int ?? 0
    try FileManager.default.removeItem(atPath: copy)
    return Double(size)
  }
}
