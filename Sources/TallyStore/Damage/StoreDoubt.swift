import Foundation
import GRDB
import TallyCRDT

/// Why what a store holds is not to be trusted as it stands.
public struct StoreDoubt: Sendable, Equatable {
  /// The extent of the doubt.
  public enum Level: String, Sendable {
    /// The stored data does not match the sum that is kept of it, or cannot be read. The store gives nothing away. It
    /// is healed by the next sync with an intact device, or taken as it is by `Store.rebuild()`.
    case damaged
    /// The stored content matches its checksum, but was taken as it was found: the store was rebuilt after damage, or
    /// took content that was not vouched for. It syncs as any other; where a device without a doubt holds something
    /// else, that content counts.
    case unvouched
  }

  /// The extent of the doubt.
  public var level: Level
  /// When it arose, by this device's clock.
  public var date: Date
  /// A description of what was found, in a sentence for a log.
  public var reason: String

  static let lostNumbers = "numbers of types or fields"
}

extension StateReader {
  /// Whether, and why, what is stored is in doubt.
  func doubt() throws -> StoreDoubt? {
    let query = try connection.statement("SELECT value FROM tally_meta WHERE key = 'doubt'")
    defer { query.reset() }
    guard try query.step() else { return nil }
    let parts = (query.text(0) ?? "").split(separator: " ", maxSplits: 2)
    guard parts.count == 3, let milliseconds = Double(parts[0]),
      let level = StoreDoubt.Level(rawValue: String(parts[1]))
    else {
      return StoreDoubt(level: .damaged, date: Date(timeIntervalSince1970: 0), reason: "the note of it is damaged")
    }
    return StoreDoubt(level: level, date: Date(timeIntervalSince1970: milliseconds / 1000), reason: String(parts[2]))
  }
}

extension StoreDoubt {
  /// The reason of a store that holds states that do not match their checksums, and that no peer so far has had.
  static let unfitStates = "the stored content does not match its checksum, and no device so far has it intact"

  /// Whether the doubt may turn out to be none: sums go by names, which fit also where a number has come to stand for
  /// another.
  var mayPass: Bool { !reason.contains(StoreDoubt.lostNumbers) }

  /// Writes the note of a doubt into the file.
  static func note(_ level: Level, because reason: String, at time: HybridTime, _ connection: Connection) throws {
    try connection.run(
      "INSERT OR REPLACE INTO tally_meta VALUES('doubt', ?)", "\(time.milliseconds) \(level.rawValue) \(reason)")
  }
}

extension WriteTransaction {
  /// Puts right what follows from content that fits the sum of the whole: indexes and checksums of states. Cost: reads
  /// the whole store.
  /// - Returns: false if that is not possible, since two rows have one name.
  func putDerivedRight() throws -> Bool {
    guard try renewIndexes() else { return false }
    try putChecksumsRight()
    return true
  }

  /// Rebuilds all indexes from their tables.
  /// - Returns: false if they cannot be, since two rows have one name.
  func renewIndexes() throws -> Bool {
    do {
      try connection.execute("REINDEX")
      return true
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      return false
    }
  }

  /// Stores the checksums of all states that have another, for content that fits the sum of the whole. Cost: reads the
  /// whole store.
  func putChecksumsRight() throws {
    try AllStates(reader).rewriteRecords { [catalog] in
      catalog.sum(of: $2, $0, $1) != $2.sum
    } _: {
      try writer.putSum($0, $1, $2)
    }
    try AllStates(reader).rewriteLinks { [catalog] in
      catalog.sum(of: $2, $0, $1) != $2.sum
    } _: {
      try writer.putSum($0, $1, $2)
    }
  }

  /// Notes that what is stored is in doubt, or no longer.
  func note(doubt level: StoreDoubt.Level?, because reason: String) throws {
    facts.hasDoubt = level != nil
    if level != nil { session.giveUpChanges() }
    guard let level else { return try connection.execute("DELETE FROM tally_meta WHERE key = 'doubt'") }
    environment.logger.warning(
      "what is stored is in doubt", metadata: ["level": "\(level.rawValue)", "reason": "\(reason)"])
    try StoreDoubt.note(level, because: reason, at: environment.now(), connection)
  }
}

extension StoreError {
  /// The description of content that does not match its checksum.
  static let unfit = "the stored content does not match its checksum"

  /// Whether an error says that something stored cannot be read, by what SQLite says or by what we make of its bytes.
  static func isDamage(_ error: any Error) -> Bool {
    if let error = error as? StoreError { return error.code == .corrupt }
    return (error as? DatabaseError)?.resultCode.primaryResultCode == .SQLITE_CORRUPT
  }

  /// Whether the damage that this tells of is noted in the store.
  var isNoted: Bool { code == .damaged && message != Self.unfit }
}
