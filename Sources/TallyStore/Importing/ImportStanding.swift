import Foundation
import TallyCRDT

/// The progress of an import, committed together with the rows.
///
/// `tally_meta` has the progress of all imports under one key, with a sum: a namespace that the disk has changed would
/// bring every row with a number in a second time.
package struct ImportStanding: Codable, Equatable {
  /// The namespace of numbers.
  package var namespace: UUID
  /// The last rows of the steps that have begun and are not done.
  package var positions: [String: ImportPosition] = [:]
  /// The steps that are done.
  package var done: [String] = []
  /// The SQL of the ids by which the records of each step were named.
  package var ids: [String: String] = [:]

  package init(namespace: UUID) { self.namespace = namespace }

  private static let key = "imports"

  /// The progress that is kept; nil if the import has not begun.
  /// - Throws: `StoreError.corrupt` if what is kept is not what was written.
  package static func read(_ name: String, _ connection: Connection) throws -> ImportStanding? {
    try all(connection)[name]
  }

  private static func all(_ connection: Connection) throws -> [String: ImportStanding] {
    let query = try connection.statement("SELECT value FROM tally_meta WHERE key = ?")
    defer { query.reset() }
    query.bind(1, key)
    return try query.step() ? decode(query.text(0) ?? "") : [:]
  }

  /// Reads the sum in hexadecimal digits, a space, and JSON.
  private static func decode(_ text: String) throws -> [String: ImportStanding] {
    let json = String(text.drop { $0 != " " }.dropFirst())
    guard text == sum(json) + " " + json else {
      throw StoreError(.corrupt, "the progress of imports is damaged; a rebuild forgets it, so that each begins again")
    }
    do {
      return try JSONDecoder().decode([String: ImportStanding].self, from: Data(json.utf8))
    } catch {
      throw StoreError(.corrupt, "the progress of imports cannot be read", cause: error)
    }
  }

  /// Checks that what is kept can be read.
  static func check(_ connection: Connection) throws { _ = try all(connection) }

  /// Forgets what cannot be read. Imports begin again then: records whose ids were numbers come in a second time.
  static func forgetIfDamaged(_ connection: Connection) throws {
    do {
      try check(connection)
    } catch let error as StoreError where error.code == .corrupt {
      try connection.execute("DELETE FROM tally_meta WHERE key = '\(key)'")
    }
  }

  /// Writes what another file of this store kept, as it was there.
  /// - Throws: `StoreError.corrupt` if it is damaged; nothing is written then.
  static func write(_ text: String, _ connection: Connection) throws {
    _ = try decode(text)
    try connection.run("INSERT OR REPLACE INTO tally_meta VALUES(?, ?)", key, text)
  }

  package func write(_ name: String, _ connection: Connection) throws {
    var all = try Self.all(connection)
    all[name] = self
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(all), as: UTF8.self)
    try Self.write(Self.sum(json) + " " + json, connection)
  }

  private static func sum(_ json: String) -> String { Hexadecimal.text(SipHash.hash(json)) }
}
