import Foundation
import TallyCRDT
import TallyStore
import TallySync

/// The state of a store in one document, for a developer who looks for a fault.
///
/// Without values it has no record names, no values and no names of devices: types, fields, counts, vectors, clocks.
package struct StoreReport: Sendable, Codable {
  /// The number of records or links of a type.
  package struct Count: Sendable, Codable {
    /// The type, or `Type.relationship`.
    package var type: String
    /// Those that the app sees, and those that it does not.
    package var visible: Int, hidden: Int
    /// Whether the schema has the type.
    package var isKnown: Bool
  }

  /// Another device that the store has met.
  package struct Device: Sendable, Codable {
    /// The replica's id.
    package var replica: String
    /// Its name; nil without values.
    package var name: String?
    /// When it was last heard of.
    package var lastSeen: String
    /// Transactions of this store that it is not known to have.
    package var pending: UInt64
    /// What it is known to have.
    package var acknowledged: [String: UInt64]
  }

  /// What only a report with values has.
  package struct Values: Sendable, Codable {
    /// The newest conflicts.
    package var conflicts: [ConflictReport]
    /// Rows that are set aside, each with SQLite's reason.
    package var setAside: [String: String]
    /// The newest transactions.
    package var timeline: [TimelineReport]
  }

  /// The version of this form.
  package var version = 1
  /// When it was made, by this device's clock.
  package var made: String
  /// The system it was made on.
  package var system: String
  /// The replica's id; nil before its first write, or its first session that introduces the device.
  package var replica: String?
  /// The state vector.
  package var vector: [String: UInt64]
  /// The sum over the content.
  package var fingerprint: String
  /// The schema.
  package var schema: Schema
  /// The numbers of records and links.
  package var counts: [Count]
  /// The bytes of the file.
  package var bytes: Int
  /// Entries in the conflict journal, by `Type.field`.
  package var conflicts: [String: Int]
  /// Rows that cannot be replicated, and rows that SQLite does not take.
  package var rejectedWrites: Int, setAside: Int
  /// Whether, and why, what is stored is in doubt.
  package var doubt: String?
  /// Why the store last took a new replica id.
  package var renewal: String?
  /// By how many seconds writes of a replica are ahead of this device's clock, by replica.
  package var clockAhead: [String: Double]
  /// Whether triggers of the app's answer every change of a peer's with a write.
  package var hasTriggerLoop: Bool
  /// The devices that it has met.
  package var devices: [Device]
  /// The peers of its engine; nil without one.
  package var peers: [PeerReport]?
  /// What it says beyond that, if values were asked for.
  package var values: Values?

  /// The report of a store.
  /// - Parameters:
  ///   - store: the store.
  ///   - date: the time of the report, by this device's clock.
  ///   - status: how sync stands, if an engine is at hand.
  ///   - hasValues: whether the report may hold names and values.
  /// - Throws: what reading the store throws.
  package init(of store: Store, at date: Date, _ status: SyncStatus? = nil, hasValues: Bool = false) throws {
    let state = try store.status()
    let schema = try store.schema
    made = StampReport.text(date)
    system = ProcessInfo.processInfo.operatingSystemVersionString
    replica = state.summary.replica.map { "\($0)" }
    vector = report(state.summary.vector)
    fingerprint = "\(state.summary.fingerprint)"
    self.schema = schema
    counts = state.counts.map { Count(type: $0.type, visible: $0.visible, hidden: $0.hidden, isKnown: $0.isKnown) }
    bytes = state.byteCount
    let journal = try store.conflicts(limit: 10_000)
    conflicts = Dictionary(grouping: journal) { "\($0.name.type).\($0.field)" }.mapValues(\.count)
    (rejectedWrites, setAside) = (state.rejectedWrites, state.setAside.count)
    doubt = state.doubt.map { doubt in
      // The reason says which record does not fit, by its name.
      let reason = hasValues ? doubt.reason : "the reason, which may name records, is in a report with values"
      return "\(doubt.level.rawValue) since \(StampReport.text(doubt.date)): \(reason)"
    }
    renewal = state.renewal.map { "\(StampReport.text($0.date)): \($0.reason)" }
    clockAhead = state.clockAhead.map { ["\($0.replica)": $0.seconds] } ?? [:]
    hasTriggerLoop = state.hasTriggerLoop
    devices = try store.devices().map { device in
      Device(
        replica: "\(device.id)", name: hasValues ? device.name : nil, lastSeen: StampReport.text(device.lastSeen),
        pending: device.pending, acknowledged: report(device.acknowledged))
    }
    peers = status.map { $0.peers.map { PeerReport($0, hasNames: hasValues) } }
    guard hasValues else { return }
    let aside = state.setAside.map { ($0.row.replacing("\n", with: " with "), $0.reason) }
    values = Values(
      conflicts: journal.prefix(100).map { ConflictReport($0) },
      setAside: Dictionary(aside, uniquingKeysWith: { first, _ in first }),
      timeline: try store.transactions(limit: 100).map { TimelineReport($0, schema) })
  }
}
