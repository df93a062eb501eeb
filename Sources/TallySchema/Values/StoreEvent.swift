import TallyCRDT

/// Committed changes of replicated records, as ``Store/events()`` reports them.
///
/// ```swift
/// for await event in store.events() where event.tables.contains("Game") {
///   if case .these(let names) = event.records { print(names.count, "records") } else { print("read all again") }
/// }
/// ```
///
/// It names the records that have changed, not how they changed: read them. Records that were deleted, or hidden
/// because their owner was deleted, are included.
public struct StoreEvent: Sendable, Equatable {
  /// The origin of a change.
  public enum Origin: Sendable, Hashable, CaseIterable {
    /// This app, through `write` and similar calls, a restore or seeds.
    case app
    /// Another replica: a delta was applied.
    case peer
    /// Another connection or process that has the file open; also this app through `writeWithoutTransaction`, which is
    /// captured in the same way.
    case outside
  }

  /// The records of an event.
  public enum Records: Sendable, Equatable {
    /// Exactly the records that were touched.
    case these(Set<AnyRecordName>)
    /// Too many records to list, or unknown ones: any record of the tables may have changed.
    case many
  }

  /// The origins of the changes; several if one event reports several transactions.
  public internal(set) var origins: Set<Origin>
  /// The tables of entities and relationships whose content may have changed.
  public internal(set) var tables: Set<String>
  /// The records that were changed, inserted, deleted, shown or hidden, and both ends of such links.
  public internal(set) var records: Records
  /// The number of transactions that this event reports.
  public internal(set) var transactionCount = 1

  /// The most names that one event lists.
  package static let nameLimit = 1000

  package init(origins: Set<Origin>, tables: Set<String>, records: Records) {
    (self.origins, self.tables, self.records) = (origins, tables, records)
  }

  /// Returns whether the event may concern a record. False is certain.
  ///
  /// True is certain as long as the event lists names. A large event, such as the first sync of a device, lists only
  /// types. Then every record of such a type may be concerned: read it again.
  public func mayConcern(_ name: AnyRecordName) -> Bool {
    switch records {
    case .these(let names): names.contains(name)
    case .many: tables.contains(name.type)
    }
  }

  /// Returns whether the event may concern a record. False is certain; see the version that takes an `AnyRecordName`.
  ///
  /// ```swift
  /// for await event in store.events() where event.mayConcern(chess) { print("read it again") }
  /// ```
  public func mayConcern<Record>(_ name: RecordName<Record>) -> Bool { mayConcern(name.name) }

  /// Makes one event of two, for a reader who is slower than the changes.
  package mutating func merge(_ other: StoreEvent) {
    origins.formUnion(other.origins)
    tables.formUnion(other.tables)
    transactionCount += other.transactionCount
    if case .these(let mine) = records, case .these(let theirs) = other.records,
      mine.count + theirs.count <= Self.nameLimit
    {
      records = .these(mine.union(theirs))
    } else {
      records = .many
    }
  }
}
