import Foundation
import GRDB
import TallyCRDT
import TallyWire

/// The transactions that have removed content for good, here or on other devices. Everything that was written before
/// them may still hold that content, such as a file in a mailbox.
///
/// Local facts, which do not replicate. They are noted in the transaction that empties records. Where they are lost,
/// old copies go later, with the ordinary rules.
package struct Removals: Sendable, Equatable {
  /// The transactions that emptied records. A file whose vector does not cover them may hold what they removed.
  package var all = StateVector()
  /// Those of them by which a record was purged on this device.
  package var purges = StateVector()
  /// The replica ids that this store has given up, each with its last sequence: it still sees to what it has put under
  /// them.
  package var former = StateVector()
  /// Whether the store's log and unfinished transfers may still hold something.
  var isUnfinished = false

  package init() {}
}

extension Removals {
  /// Those that a vector covers.
  package func limited(to vector: StateVector) -> Removals {
    var limited = self
    limited.all = all.limited(to: vector)
    limited.purges = purges.limited(to: vector)
    return limited
  }
}

// MARK: - In the file

extension Removals {
  static let scope = "removals"
  private static let (allKey, purgesKey, formerKey, unfinishedKey) = ("all", "purges", "former", "unfinished")

  init(_ notes: [String: [UInt8]]) {
    func vector(_ key: String) -> StateVector { notes[key].flatMap(StateVector.init(noted:)) ?? StateVector() }
    (all, purges, former) = (vector(Self.allKey), vector(Self.purgesKey), vector(Self.formerKey))
    isUnfinished = notes[Self.unfinishedKey] != nil
  }

  var notes: NoteBatch {
    NoteBatch(
      Self.scope,
      [
        Self.allKey: all.noted, Self.purgesKey: purges.isEmpty ? nil : purges.noted,
        Self.formerKey: former.isEmpty ? nil : former.noted, Self.unfinishedKey: isUnfinished ? [1] : nil,
      ], isReplacing: true)
  }
}

extension StateVector {
  /// The form in which notes keep a vector: sixteen bytes of replica and a varint sequence of each entry.
  var noted: [UInt8] {
    var writer = ByteWriter()
    for entry in entries {
      writer.replica(entry.replica)
      writer.varint(entry.sequence)
    }
    return writer.bytes
  }

  /// Reads a vector from notes; nil if these are no such bytes.
  init?(noted bytes: [UInt8]) {
    let read = bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      return try? Self(noted: &reader)
    }
    guard let read else { return nil }
    self = read
  }

  /// Reads a vector that takes up all that is left.
  init(noted reader: inout ByteReader) throws(WireError) {
    self.init()
    while reader.remaining > 0 {
      let replica = try reader.replica()
      self[replica] = try reader.varint()
    }
  }
}

extension WriteTransaction {
  /// Notes that this transaction has emptied records.
  func noteRemoval(isPurge: Bool) throws {
    guard let dot else { return }
    try note(removals: StateVector([(dot.replica, dot.sequence)]), isPurge: isPurge)
  }

  func removals() throws -> Removals { Removals(try NoteTable(connection).read(Removals.scope) ?? [:]) }

  /// Notes that these transactions have emptied records.
  func note(removals dots: StateVector, isPurge: Bool = false) throws {
    guard !dots.isEmpty else { return }
    try changeRemovals { removals in
      removals.all.merge(dots)
      if isPurge { removals.purges.merge(dots) }
      removals.isUnfinished = true
    }
  }

  /// Notes that the store gives up its replica id.
  func noteFormerReplica() throws {
    guard let replica, standing.vector[replica] > 0 else { return }
    try changeRemovals { $0.former.include(Dot(replica: replica, sequence: standing.vector[replica])) }
  }

  private func changeRemovals(_ change: (inout Removals) throws -> Void) throws {
    do {
      var removals = try removals()
      try change(&removals)
      try NoteTable(connection).write(removals.notes)
    } catch let error as DatabaseError where error.resultCode.primaryResultCode == .SQLITE_CORRUPT {
      // Damaged notes are in no one's way; old copies stay for longer.
      environment.logger.warning("a removal cannot be noted", metadata: ["error": "\(error)"])
    }
  }
}

extension Store {
  /// Returns the transactions that have removed content for good, as far as this store knows.
  package func removals() throws -> Removals {
    Removals(try notes(Removals.scope).values)
  }

  /// Today by the store's clock, in days since 1970.
  package var today: Int { SharedDays.day(of: options.environment.now()) }

  /// For how long deleted records can be restored.
  package var restoreWindow: RestoreWindow { options.compaction.restoreWindow }

  /// Takes removed content out of the files beside the store as well: out of the write-ahead log, unless a reader still
  /// reads it, and out of unfinished transfers. What cannot be done now is done with a later call.
  package func finishRemovals() throws {
    guard !options.isReadOnly else { return }
    let before = try removals()
    guard before.isUnfinished else { return }
    let areGone = file.map(UnfinishedTransfers.remove(besides:)) ?? true
    guard try emptyLog(), areGone else { return }
    try replicate { transaction in
      var removals = try transaction.removals()
      // What went meanwhile may be in the log again.
      guard removals == before else { return }
      removals.isUnfinished = false
      try NoteTable(transaction.connection).write(removals.notes)
    }
  }

  /// The same after something that is done even if this fails: a purge, a delta, a session. An error is logged.
  package func finishRemovalsIfPossible() {
    do { try finishRemovals() } catch {
      options.environment.logger.warning("old copies of what was removed may remain", metadata: ["error": "\(error)"])
    }
  }

  /// Empties the write-ahead log into the file: pages in it still hold what was removed.
  /// - Returns: whether it is empty. It is not while a reader has an older state open.
  func emptyLog() throws -> Bool {
    try usable.writeWithoutTransaction { db in
      do {
        try LockWait.without { _ = try db.checkpoint(.truncate) }
        return true
      } catch let error as DatabaseError
        where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode.primaryResultCode)
      {
        options.environment.logger.info("the write-ahead log is still read")
        return false
      }
    }
  }
}

/// The folder of transfers that lost their connections (`TransferShelf`).
enum UnfinishedTransfers {
  /// Removes what no session is using. A session that is under way sees to its own.
  /// - Returns: whether nothing is left.
  static func remove(besides store: String) -> Bool {
    let folder = store + FileRole.transfers
    var isEmpty = true
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let url = URL(fileURLWithPath: folder).appendingPathComponent(name)
      do {
        let file = try FileHandle(taking: url)
        defer { try? file.close() }
        try FileManager.default.removeItem(at: url)
      } catch let error as POSIXError where error.code == .ENOENT {
        // Its session has removed it.
      } catch {
        isEmpty = false
      }
    }
    return isEmpty
  }
}
