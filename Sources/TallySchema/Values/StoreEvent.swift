import TallyCRDT

/// Changes of replicated records that are committed: what ``Store/events()`` tells.
///
/// ```swift
/// for await event in store.events() where event.tables.contains("Game") {
///   if case .these(let names) = event.records { print(names.count, "records") } else { print("read all again") }
/// }
/// ```
///
/// It says which records have changed, not how: read them. One that was deleted, or is hidden since its owner was, is
/// among them as well.
public struct StoreEvent: Sendable, Equatable {
  /// The origin of a change.
  public enum Origin: Sendable, Hashable, CaseIterable {
    /// This app, by `write` and the like, a restore or seeds.
    case app
    /// Another replica: a delta was applied.
    case peer
    /// Another connection or process that has the file open; also this app by `writeWithoutTransaction`, which is
    /// captured in the same way.
    case outside
  }

  /// The records of an event.
  public enum Records: Sendable, Equatable {
    /// The records that were touched, and no others.
    case these(Set<AnyRecordName>)
    /// More than are listed, or some that are not known: any record of the tables.
    case many
  }

  /// The origins of the changes; several where one event reports several transactions.
  public internal(set) var origins: Set<Origin>
  /// The tables of entities and relationships that may hold something else now.
  public internal(set) var tables: Set<String>
  /// The records that were changed, inserted, deleted, shown or hidden, and both ends of links that were.
  public internal(set) var records: Records
  /// The number of transactions that this event reports.
  public internal(set) var transactionCount = 1

  /// The most names that one event lists.
  package static let nameLimit = 1000

  package init(origins: Set<Origin>, tables: Set<String>, records: Records) {
    (self.origins, self.tables, self.records) = (origins, tables, records)
  }

  /// Whether the event may concern a record. False is certain.
  ///
  /// True is certain as long as the event lists names. A large event, such as the first sync of a device, lists types
  /// only; then every record of such a type may be concerned: read it again.
  public func mayConcern(_ name: AnyRecordName) -> Bool {
    switch records {
    case .these(let names): names.contains(name)
    case .many: tables.contains(name.type)
    }
  }

  /// Whether the event may concern a record. False is certain; see the version that takes an `AnyRecordName`.
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
