import Foundation
import GRDB
import GRDBSQLite
import Synchronization
import TallyCRDT

/// The record of a change of a store's replica id.
public struct ReplicaRenewal: Sendable, Equatable {
  /// The time of the change, by this device's clock.
  public var date: Date
  /// A sentence that describes the reason, for a log.
  public var reason: String
}

/// A dot must never be issued twice. Three things see to it: own dots are on the disk before a peer can see them; a
/// token beside the file, which copies and backups of the file do not have, tells at opening that this is another copy;
/// and a sync that finds a peer that knows more of this replica than the store does, or the same and something else,
/// gives up the id.
extension Store {
  /// Gives up the replica id: the next local write creates another one. Earlier writes stay and continue to replicate.
  ///
  /// It is harmless at any time, but each renewal adds a permanent entry to the state vector.
  public func renewReplica(because reason: String) throws {
    try replicate { try $0.renewReplica(because: reason) }
  }

  /// Gives the store a replica id now, if it has none: otherwise its first write does. So peers can tell devices apart
  /// that have written nothing. What keeps it from that, such as a full disk, is logged.
  package func takeReplicaIfPossible() {
    do {
      guard try summary().replica == nil else { return }
      try replicate { _ = try $0.ownReplica() }
    } catch {
      options.environment.logger.warning("the store has no replica id yet", metadata: ["error": "\(error)"])
    }
  }

  /// The number of marks that a file keeps.
  private static let marks = 8

  /// Leaves a mark in the file, which every process that has the same file open can see: a copy, and a clone of the
  /// machine, cannot.
  package func leave(mark: UInt64) throws {
    try replicate { transaction in
      let connection = transaction.connection
      let number = try connection.integer("SELECT value FROM tally_meta WHERE key = 'marks'") ?? 0
      // In turn: sessions come and go, and only those under way matter.
      try connection.run(
        "INSERT OR REPLACE INTO tally_meta VALUES('mark ' || ?, ?)", number % Self.marks, String(mark, radix: 16))
      try connection.execute("INSERT OR REPLACE INTO tally_meta VALUES('marks', \(number + 1))")
    }
  }

  /// Whether a mark was left in the file.
  package func has(mark: UInt64) throws -> Bool {
    try read { db in
      try Bool.fetchOne(
        db, sql: "SELECT EXISTS(SELECT 1 FROM tally_meta WHERE key LIKE 'mark %' AND value = ?)",
        arguments: [String(mark, radix: 16)]) ?? false
    }
  }

  /// Returns when and why the store last took a new replica id; nil if it never has.
  ///
  /// A store does so when it opens a file that was copied or restored from a backup, because two stores that write
  /// under one id would give the same identity to different changes. Earlier writes stay under the old id and sync as
  /// before. Nothing needs to be done about it, but it is worth a line in a log.
  /// - Throws: GRDB's `DatabaseError`.
  public func lastRenewal() throws -> ReplicaRenewal? {
    try snapshot(Self.renewal)
  }

  static func renewal(_ reader: StateReader) throws -> ReplicaRenewal? {
    let query = try reader.connection.statement("SELECT value FROM tally_meta WHERE key = 'renewal'")
    defer { query.reset() }
    guard try query.step() else { return nil }
    let parts = (query.text(0) ?? "").split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let milliseconds = Double(parts[0]) else { return nil }
    return ReplicaRenewal(date: Date(timeIntervalSince1970: milliseconds / 1000), reason: String(parts[1]))
  }

  /// Sees to it that this replica's own dots up to `own` are on the disk. With write-ahead logging and `synchronous =
  /// NORMAL` a power cut may lose commits, and a peer would remember dots that this store issues again.
  ///
  /// Cost: one sync of the write-ahead log if the replica has written since the last one, or has another id since; with
  /// the log's folder the first time.
  func makeDurable(_ own: Dot?, _ connection: Connection) throws { try makeDurable(own) { try connection.syncLog() } }

  func makeDurable(_ own: Dot?, _ sync: () throws -> Void) throws {
    if needsSync(own) {
      try sync()
      logRoom.want()
    }
    given.withLock { $0.note(own) }
  }

  /// Whether what the store has written, up to `own`, must be on the disk and may not be.
  func needsSync(_ own: Dot?) -> Bool {
    guard options.flushesBeforeSync, file != nil else { return false }
    return !given.withLock { $0.cover(own) }
  }
}

/// Which of a store's own dots it has given away, and so, unless its options say otherwise, has on the disk.
struct GivenDots {
  /// The last dot that was given away, of what was this replica then; nil without one.
  private(set) var last: Dot?
  private var isKnown = false

  /// Whether all has been given away before that was written up to `own`, and under former replica ids.
  func cover(_ own: Dot?) -> Bool {
    guard isKnown, last?.replica == own?.replica, let last, let own else { return isKnown && last == own }
    return own.sequence <= last.sequence
  }

  mutating func note(_ own: Dot?) { if !cover(own) { (last, isKnown) = (own, true) } }
}

extension Connection {
  /// Waits until what the connection sees in the write-ahead log is on the disk, by the file that SQLite itself has
  /// open: that syncs the folder as well if the log is new there, and keeps to the platform's rules.
  ///
  /// Without a log there is nothing to do: everything is in the database, which SQLite syncs before it drops the log.
  func syncLog() throws {
    guard let log = log(), let methods = log.pointee.pMethods else { return }
    let status = methods.pointee.xSync(log, SQLITE_SYNC_FULL)
    guard status == SQLITE_OK else {
      throw DatabaseError(resultCode: ResultCode(rawValue: status), message: "the write-ahead log cannot be synced")
    }
  }
}

extension StateReader {
  /// The last dot of this store's own replica in a vector of the store's; nil before its first write.
  func ownDot(in vector: StateVector) throws -> Dot? {
    guard let number = try ownNumber(), let replica = catalog.replicas[number] else { return nil }
    return Dot(replica: replica, sequence: vector[replica])
  }
}

// MARK: - The token

/// The identity of an opening, kept beside the file: a token that changes with every opening that writes, and the
/// number of the file that holds it. The database has the token and the writing of that file.
struct Incarnation {
  private let path: String
  private let files: any StoreFiles
  /// Whether the file must hold a token by now, so that content without one is another store's.
  private let isExpected: Bool

  init(besides store: String, _ files: any StoreFiles, isExpected: Bool = false) {
    self.isExpected = isExpected
    // Beside the file itself, through any symbolic link.
    path = URL(fileURLWithPath: store).resolvingSymlinksInPath().path + "-incarnation"
    self.files = files
  }

  /// Whether the file holds the token of `known` and is the very file that was written with it. Earlier builds have the
  /// token alone there.
  func holds(_ known: String) -> Bool {
    guard let found = files.token(at: path) else { return false }
    let token = known.prefix { $0 != " " }
    return found.text == "\(token) \(found.fileNumber)\n" && [token, "\(token) \(found.writing)"].contains(known[...])
  }

  /// Writes another token, and returns what the database has to know of it. A copy of the file does not count, nor does
  /// a file that cannot be read again.
  func write(_ token: String) throws -> String {
    do {
      try files.writeToken(at: path) { "\(token) \($0)\n" }
    } catch {
      throw DatabaseError(writing: path, error)
    }
    return "\(token) \(files.token(at: path)?.writing ?? "unread")"
  }

  /// Lets the file that is being opened take another replica id if it is a copy, or an older one: its token is not the
  /// one beside it. Before anything is captured, since what others have written to a copy is the copy's.
  func compare(_ session: WritingSession) throws {
    let known = try session.connection.meta("incarnation", { $0.text(0) }) ?? nil
    let isOwn = known.map(holds) ?? !isExpected
    guard !isOwn else { return }
    try session.transaction {
      try $0.renewReplica(because: "the file is a copy, or older than when this device last had it open")
    }
  }
}

extension WriteTransaction {
  /// Changes the token in the file and the one beside it. In the SQLite transaction in which they were compared, so
  /// that two processes cannot get in between.
  func renew(_ incarnation: Incarnation) throws {
    let known = try incarnation.write("\(environment.mintReplica())")
    try connection.run("INSERT OR REPLACE INTO tally_meta VALUES('incarnation', ?)", known)
  }
}
