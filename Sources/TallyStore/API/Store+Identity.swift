import Foundation
import GRDB
import Synchronization
import TallyCRDT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Why a store writes with another replica id than before.
public struct ReplicaRenewal: Sendable, Equatable {
  /// When, by this device's clock.
  public var date: Date
  /// What was found.
  public var reason: String
}

/// A dot must never be issued twice. Three things see to it: own dots are on the disk before a peer can see them; a token beside the
/// file, which copies and backups of the file do not have, tells at opening that this is another copy; and a sync that finds a peer
/// that knows more of this replica than the store does, or the same and something else, gives up the id.
extension Store {
  /// Gives up the replica id: the next local write mints another. All that was written stays and goes on to replicate.
  ///
  /// Harmless at any time; each renewal adds an entry to the state vector for ever.
  public func renewReplica(because reason: String) throws {
    try perform { db in _ = try transact(db) { try $0.renewReplica(because: reason) } }
  }

  /// The last time that the store gave up its replica id; nil if never.
  public func lastRenewal() throws -> ReplicaRenewal? {
    try snapshot { reader in
      let query = try reader.connection.statement("SELECT value FROM tally_meta WHERE key = 'renewal'")
      defer { query.reset() }
      guard try query.step() else { return nil }
      let parts = (query.text(0) ?? "").split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let milliseconds = Double(parts[0]) else { return nil }
      return ReplicaRenewal(date: Date(timeIntervalSince1970: milliseconds / 1000), reason: String(parts[1]))
    }
  }

  /// Sees to it that this replica's own dots up to `own` are on the disk. With write-ahead logging and `synchronous = NORMAL` a
  /// power cut may lose commits, and a peer would remember dots that this store issues again.
  ///
  /// Cost: one sync of the write-ahead log if the replica has written since the last one.
  func makeDurable(_ own: Dot?) throws {
    guard options.isDurableBeforeSync, let path, let own, !durable.withLock({ $0.covers(own) }) else { return }
    try Disk.sync(path + "-wal")
    durable.withLock { $0.include(own) }
  }
}

extension StateReader {
  /// The last dot of this store's own replica in a vector of the store's; nil before its first write.
  func ownDot(in vector: StateVector) throws -> Dot? {
    guard let number = try connection.integer("SELECT value FROM tally_meta WHERE key = 'self'"),
      let replica = catalog.replicas[number]
    else { return nil }
    return Dot(replica: replica, sequence: vector[replica])
  }
}

/// What Foundation has no call for.
private enum Disk {
  /// Waits until a file's bytes are on the disk.
  static func sync(_ path: String) throws {
    let file = open(path, O_RDONLY)
    guard file >= 0 else {
      // Without a log everything is in the database, which SQLite syncs before it drops the log.
      guard errno == ENOENT else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
      return
    }
    defer { close(file) }
    #if canImport(Darwin)
      let status = fcntl(file, F_FULLFSYNC)
    #else
      let status = fsync(file)
    #endif
    guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }
}

extension Engine {
  func renewReplica(because reason: String) throws {
    guard ownNumber != nil else { return }
    environment.logger.warning("the store takes a new replica id", metadata: ["reason": "\(reason)"])
    try forgetOwnReplica()
    let note = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('renewal', ?)")
    note.bind(1, "\(environment.now().milliseconds) \(reason)")
    try note.run()
  }
}

// MARK: - The token

/// What stands beside the file and not in it: a token that changes with every opening, and the file that holds it.
struct Incarnation {
  private let path: String

  init(besides store: String) { path = store + "-incarnation" }

  /// Whether the file holds `token` and is the very file that was written with it.
  func holds(_ token: String) -> Bool {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8), let number = Self.fileNumber(path) else {
      return false
    }
    return text == "\(token) \(number)\n"
  }

  /// Writes another token. A copy of the file has another number and does not count.
  func write(_ token: String) throws {
    let temporary = path + "-new"
    try Data().write(to: URL(fileURLWithPath: temporary))
    guard let number = Self.fileNumber(temporary) else { throw CocoaError(.fileWriteUnknown) }
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: temporary))
    defer { try? handle.close() }
    try handle.write(contentsOf: Data("\(token) \(number)\n".utf8))
    guard rename(temporary, path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    #if canImport(Darwin)
      var url = URL(fileURLWithPath: path)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try url.setResourceValues(values)
    #endif
  }

  private static func fileNumber(_ path: String) -> UInt64? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.systemFileNumber] as? NSNumber)?.uint64Value
  }
}

extension Engine {
  /// Compares the token in the file with the one beside it, and changes both. Within the transaction that opens the store, so that two
  /// processes cannot get in between.
  func checkIncarnation(_ incarnation: Incarnation) throws {
    let query = try connection.statement("SELECT value FROM tally_meta WHERE key = 'incarnation'")
    let known = try query.step() ? query.text(0) : nil
    query.reset()
    if let known, !incarnation.holds(known) {
      try renewReplica(because: "the file is a copy, or older than when this device last had it open")
    }
    let token = "\(environment.mintReplica())"
    try incarnation.write(token)
    let write = try connection.statement("INSERT OR REPLACE INTO tally_meta VALUES('incarnation', ?)")
    write.bind(1, token)
    try write.run()
  }
}
