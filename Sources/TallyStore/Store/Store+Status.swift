import GRDB
import TallyCRDT

/// A row that differs from the state because something in the app's part of the database prevents the change: a unique
/// index, a check, a trigger, or a foreign key of one of its tables.
public struct SetAsideRow: Sendable, Equatable {
  /// The record's name; for a link, source and target with a line feed between them.
  public var row: String
  /// Whether the app sees the row, although the state hides it or has other values.
  public var isShown: Bool
  /// Whether the record's content was removed for good by a purge or a compaction, and the row has none of it: it
  /// contains its name, its references, and defaults. Once nothing of the app holds it, the next commit removes it.
  public var isEmptied: Bool
  /// Whether the record's content was removed for good but the row still shows it, because a trigger, check or index of
  /// the app refuses the defaults that would replace it. Each commit tries again.
  public var showsRemoved: Bool
  /// The error message of SQLite or of the trigger.
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

/// The state of one store, as ``Store/status()`` returns it and `tally status` prints it.
///
/// ```swift
/// let status = try store.status()
/// for row in status.setAside { print("\(row.row) does not show: \(row.reason)") }
/// if let lead = status.clockAhead { print("a clock is off by \(lead.seconds) seconds") }
/// if let doubt = status.doubt { print("sync with another device: \(doubt.reason)") }
/// ```
///
/// Check it if a record is not shown: ``setAside`` lists rows that this device's database refuses, ``rejectedWrites``
/// counts rows that cannot be replicated, and ``clockAhead`` reports a wrong clock. It is a snapshot and does not
/// change. ``SyncStatus`` is the state of sync with others.
public struct StoreStatus: Sendable, Equatable {
  /// The numbers of records or links of one type.
  public struct Count: Sendable, Equatable {
    /// The type of the counted records, or `Type.relationship` for links.
    public var type: String
    /// The number of those that the app sees.
    public var visible: Int
    /// The number of those that are kept but not shown: deleted, owned by a deleted record, or of a type that only a
    /// newer version of the app knows.
    public var hidden: Int
    /// Whether the schema has the type.
    public var isKnown: Bool
  }

  /// The state vector, the fingerprint and the replica's id.
  public var summary: StoreSummary
  /// The numbers of records and links, ordered by type.
  public var counts: [Count]
  /// The number of entries in the conflict journal, which ``Store/conflicts(limit:)`` returns.
  public var conflicts: Int
  /// The number of rows that other programs have written and that cannot be replicated, such as a 7 in a Boolean
  /// column. They stay on this device.
  public var rejectedWrites: Int
  /// The rows that this device's database refuses to write or to remove as the state requires. The state continues to
  /// replicate, and later commits try each row again.
  public var setAside: [SetAsideRow]
  /// The unique values that records have but do not show because other records hold them.
  public var contested: [ContestedValue]
  /// Whether triggers of the app have responded to each of the peers' last changes with a write of their own. If a
  /// peer's triggers do the same, the two never stop writing.
  public var hasTriggerLoop: Bool
  /// The size of the database in bytes, without the write-ahead log.
  public var byteCount: Int
  /// Whether and why the content of the store is in doubt; nil for a sound store. The next sync with an intact device
  /// heals a damaged store.
  public var doubt: StoreDoubt?
  /// The time and reason of the store's last change of its replica id; nil if there was none.
  public var renewal: ReplicaRenewal?
  /// The replica whose newest write is ahead of this device's clock, and by how many seconds, judged by rows with a
  /// single stamp; nil if none is ahead by more than a minute. Either clock may be wrong.
  public var clockAhead: ClockLead?
}

/// A replica whose writes have times in the future, by this device's clock.
public struct ClockLead: Sendable, Equatable {
  /// The replica whose writes are ahead.
  public var replica: ReplicaID
  /// The number of seconds by which the newest write is ahead.
  public var seconds: Double
}

extension Store {
  /// Returns the state of the store: counts, conflicts, rows that were set aside, doubts.
  ///
  /// ```swift
  /// let status = try store.status()
  /// for row in status.setAside { print(row.row, row.reason) }
  /// ```
  ///
  /// For the state of sync with others, see ``SyncEngine/status``. For the number on a badge, observe the table.
  ///
  /// Cost: one pass over the indexes to count all rows, some milliseconds for 100,000 records. Writes of other
  /// processes are captured first.
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
