import GRDB
import TallyCRDT
import TallySchema
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
  /// Whether the store's log, unfinished transfers and the files of assets may still hold something.
  var isUnfinished = false
  /// The files that what was removed has named, each with the time of the last write that named it, until they are gone
  /// or found to be named elsewhere.
  package var files: [AssetName: HybridTime] = [:]

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
  /// The files have a scope of their own, so that one more is one row more however many there are.
  private static let fileScope = "removed files"
  private static let (allKey, purgesKey, formerKey, unfinishedKey) = ("all", "purges", "former", "unfinished")

  /// Reads the notes of each scope; of damaged ones, which are nil, nothing is to be relied on.
  init(_ read: (_ scope: String) throws -> [String: [UInt8]]?) rethrows {
    let notes = try read(Self.scope) ?? [:]
    func vector(_ key: String) -> StateVector { notes[key].flatMap(StateVector.init(noted:)) ?? StateVector() }
    (all, purges, former) = (vector(Self.allKey), vector(Self.purgesKey), vector(Self.formerKey))
    isUnfinished = notes[Self.unfinishedKey] != nil
    for (key, time) in try notes.merging(read(Self.fileScope) ?? [:], uniquingKeysWith: { $1 }) {
      guard let name = AssetName(key) else { continue }
      files[name] = HybridTime(milliseconds: time.reduce(0) { $0 << 8 | UInt64($1) })
    }
  }

  /// Notes this, in place of what was noted before or besides other files; of two times of one the later stays.
  func write(to table: NoteTable, isReplacing: Bool = true) throws {
    let values = [
      Self.allKey: all.noted, Self.purgesKey: purges.isEmpty ? nil : purges.noted,
      Self.formerKey: former.isEmpty ? nil : former.noted, Self.unfinishedKey: isUnfinished ? [1] : nil,
    ]
    try table.write(NoteBatch(Self.scope, values, isReplacing: isReplacing))
    var times: [String: [UInt8]?] = [:]
    for (name, time) in files {
      let new = withUnsafeBytes(of: time.milliseconds.bigEndian) { Array($0) }
      let isLater = try table.value(Self.fileScope, name.text)?.lexicographicallyPrecedes(new) ?? true
      if isLater || isReplacing { times[name.text] = new }
    }
    try table.write(NoteBatch(Self.fileScope, times, isReplacing: isReplacing))
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
  /// Notes that this transaction has emptied records, which named `files`.
  func noteRemoval(_ files: [AssetName: HybridTime], isPurge: Bool) throws {
    guard let dot else { return }
    try note(removals: StateVector([(dot.replica, dot.sequence)]), files, isPurge: isPurge)
  }

  func removals() throws -> Removals { try Removals(NoteTable(connection).read) }

  /// Notes that these transactions have emptied records, which named `files`. Times run a little ahead of the clock
  /// where much is written; one of a device whose clock is wrong says nothing of when a file was added here.
  func note(removals dots: StateVector, _ files: [AssetName: HybridTime], isPurge: Bool = false) throws {
    guard !dots.isEmpty else { return }
    try changeRemovals { removals in
      removals.all.merge(dots)
      let latest = now.milliseconds + 60_000
      removals.files = files.mapValues { $0.milliseconds <= latest ? min($0, now) : HybridTime(milliseconds: 0) }
      if isPurge { removals.purges.merge(dots) }
      removals.isUnfinished = true
    }
  }

  /// Notes that the store gives up its replica id.
  func noteFormerReplica() throws {
    guard let replica, standing.vector[replica] > 0 else { return }
    try changeRemovals { $0.former.include(Dot(replica: replica, sequence: standing.vector[replica])) }
  }

  private func changeRemovals(_ change: (inout Removals) -> Void) throws {
    do {
      let table = NoteTable(connection)
      let notes = try table.read(Removals.scope)
      var removals = Removals { $0 == Removals.scope ? notes : nil }
      change(&removals)
      try removals.write(to: table, isReplacing: notes == nil)
    } catch let error as DatabaseError where error.resultCode.primaryResultCode == .SQLITE_CORRUPT {
      // Damaged notes are in no one's way; old copies stay for longer.
      environment.logger.warning("a removal cannot be noted", metadata: ["error": "\(error)"])
    }
  }
}
