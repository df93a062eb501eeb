import GRDB
import TallyCRDT

/// A row that is not as the state says, because something of the app's stands in the way: a unique index, a check, a
/// trigger, a foreign key of a table of its own.
public struct SetAsideRow: Sendable, Equatable {
  /// The record's name; for a link source and target, with a line feed between them.
  public var row: String
  /// Whether the app sees it, although the state says otherwise or something else.
  public var isShown: Bool
  /// Whether the record's content was removed for good, by a purge or a compaction, and the row has none of it: it
  /// holds its name and what it refers to, and defaults. Once nothing of the app's holds it, it goes with the next
  /// commit.
  public var isEmptied: Bool
  /// Whether the record's content was removed for good, and the row still shows it, since a trigger, check or index of
  /// the app's refuses the defaults in its place. It is tried again with each commit.
  public var showsRemoved: Bool
  /// The message of SQLite or the trigger.
  public var reason: String
}

extension StateReader {
  /// The records that were emptied and whose rows SQLite does not let go, and whether their values are gone from these.
  func emptiedRows() throws -> [RowAddress: Bool] {
    var rows: [RowAddress: Bool] = [:]
    for (address, entry) in aside.entries where entry.mode == .kept {
      guard let kind = catalog.records[address.kind], let stored = try record(AnyRecordName(address.key), kind),
        stored.state.life != nil, !stored.state.hasContent
      else { continue }
      rows[address] = stored.values == kind.blank(stored.values)
    }
    return rows
  }
}

/// The state of one store, as ``Store/status()`` gives it and `tally status` prints it.
///
/// ```swift
/// let status = try store.status()
/// for row in status.setAside { print("\(row.row) does not show: \(row.reason)") }
/// if let lead = status.clockAhead { print("a clock is off by \(lead.seconds) seconds") }
/// if let doubt = status.doubt { print("sync with another device: \(doubt.reason)") }
/// ```
///
/// Look here if a record does not show: ``setAside`` lists rows that this device's database does not take,
/// ``rejectedWrites`` counts what cannot be replicated, and ``clockAhead`` tells of a clock that is wrong. It is a
/// snapshot, and does not change. ``SyncStatus`` is the state of sync with others.
public struct StoreStatus: Sendable, Equatable {
  /// The number of records or links of one type.
  public struct Count: Sendable, Equatable {
    /// The type of the records that are counted, or `Type.relationship` for links.
    public var type: String
    /// Those that the app sees.
    public var visible: Int
    /// Those that are kept but not seen: deleted, owned by something deleted, or of a type that only a newer app knows.
    public var hidden: Int
    /// Whether the schema has the type.
    public var isKnown: Bool
  }

  /// The state vector, the fingerprint and the replica's id.
  public var summary: StoreSummary
  /// The numbers of records and links, ordered by type.
  public var counts: [Count]
  /// Entries in the conflict journal: ``Store/conflicts(limit:)`` has them.
  public var conflicts: Int
  /// Rows written by other programs that cannot be replicated as they are, such as a 7 in a column of yes or no. They
  /// stay on this device.
  public var rejectedWrites: Int
  /// Rows that this device's database does not take, or does not let go, as the state says. The state goes on to
  /// replicate; each is tried again with the commits that follow.
  public var setAside: [SetAsideRow]
  /// Unique values that records have and do not show, since other records hold them.
  public var contested: [ContestedValue]
  /// Whether triggers of the app's have answered each of the last changes of peers with a write of their own: if a
  /// peer's do so too, the two never come to rest.
  public var hasTriggerLoop: Bool
  /// The size of the database in bytes, without the write-ahead log.
  public var byteCount: Int
  /// Whether, and why, what is stored is in doubt; nil for a store that is sound. A damaged store is healed by the next
  /// sync with an intact device.
  public var doubt: StoreDoubt?
  /// The last time that the store gave up its replica id, and why; nil if never.
  public var renewal: ReplicaRenewal?
  /// By how many seconds the newest write of another replica, as far as rows of one stamp tell, is ahead of this
  /// device's clock, and whose it is; nil if none is by more than a minute. Either clock may be wrong.
  public var clockAhead: ClockLead?
}

/// A replica whose writes are from a time that has not come yet.
public struct ClockLead: Sendable, Equatable {
  /// The replica whose writes are ahead.
  public var replica: ReplicaID
  /// By how many seconds the newest is ahead.
  public var seconds: Double
}

extension Store {
  /// The state of the store: counts, conflicts, rows that were set aside, doubts.
  ///
  /// ```swift
  /// let status = try store.status()
  /// for row in status.setAside { print(row.row, row.reason) }
  /// ```
  ///
  /// For the state of sync with others, see ``SyncEngine/status``. For a number on a badge, observe the table instead.
  ///
  /// Cost: counts all rows, so one pass over the indexes; some milliseconds for 100,000 records. What other processes
  /// have written is captured before.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func status() throws -> StoreStatus {
    try capturedSnapshot { reader in
      let connection = reader.connection
      let catalog = reader.catalog
      func hidden(_ kind: KindNumber) throws -> Int {
        let hidden = try connection.integer(text: "SELECT count(*) FROM tally_hidden WHERE kind = \(kind)") ?? 0
        guard catalog.hasStubs else { return hidden }
        return hidden + (try connection.integer(text: "SELECT count(*) FROM tally_stub WHERE kind = \(kind)") ?? 0)
      }
      func rows(_ table: String) throws -> Int {
        try connection.integer(text: "SELECT count(*) FROM \"\(table)\"") ?? 0
      }
      var counts: [StoreStatus.Count] = []
      for kind in catalog.records.values where kind.type != SeedHistory.setType {
        let visible = kind.isKnown ? try rows(kind.type) : 0
        counts.append(.init(type: kind.type, visible: visible, hidden: try hidden(kind.number), isKnown: kind.isKnown))
      }
      for kind in catalog.links.values {
        let visible = kind.isKnown ? try rows(kind.table) : 0
        let type = "\(kind.source).\(kind.relationship)"
        let hidden = try connection.integer(text: "SELECT count(*) FROM tally_cut WHERE kind = \(kind.number)") ?? 0
        counts.append(.init(type: type, visible: visible, hidden: hidden, isKnown: kind.isKnown))
      }
      let pages = try connection.integer("PRAGMA page_count") ?? 0
      let emptied = try reader.emptiedRows()
      return StoreStatus(
        summary: try Self.summary(reader), counts: counts.sorted { $0.type < $1.type },
        conflicts: try connection.integer("SELECT count(*) FROM tally_conflict") ?? 0,
        rejectedWrites: try connection.integer("SELECT count(*) FROM tally_pending") ?? 0,
        setAside: reader.aside.entries.sorted { $0.key < $1.key }.map {
          SetAsideRow(
            row: $0.key.key, isShown: $0.value.mode == .kept, isEmptied: emptied[$0.key] == true,
            showsRemoved: emptied[$0.key] == false, reason: $0.value.reason)
        },
        contested: reader.aside.contested.list,
        hasTriggerLoop: try connection.exists("SELECT 1 FROM tally_meta WHERE key = 'echo'"),
        byteCount: pages * (try connection.integer("PRAGMA page_size") ?? 0), doubt: try reader.doubt(),
        renewal: try Self.renewal(reader), clockAhead: try reader.clockAhead(of: options.now()))
    }
  }
}
