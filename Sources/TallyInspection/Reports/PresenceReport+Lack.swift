import TallyCRDT
import TallyStore

extension PresenceReport {
  /// Adds to "nothing has arrived" what another store knows: which transactions have to come, and how the record will
  /// stand then. Of several stores that have it, one that shows it is asked. One that cannot be read knows nothing.
  /// - Parameters:
  ///   - own: the store that lacks the record.
  ///   - name: the record.
  ///   - others: other stores, with the names under which they are open.
  ///   - directory: the names of replicas.
  /// - Throws: what reading the store throws that lacks it.
  package mutating func explain(
    lackIn own: Store, of name: AnyRecordName, besides others: [(name: String, store: Store)],
    _ directory: ReplicaDirectory
  ) throws {
    guard code == .notReceived || code == .unknownType else { return }
    let vector = try own.vector
    let holders = others.compactMap { other in
      try? Holder(of: name, in: other.store, named: other.name, beyond: vector, directory)
    }
    guard let holder = holders.first(where: { $0.presence.isVisible }) ?? holders.first else { return }
    let first = holder.missing[0].replica
    let (whose, seen) = (directory.name(of: first), vector[first])
    let standing = seen == 0 ? "has seen nothing of \(whose)" : "has seen \(whose) only up to #\(seen)"
    sentence =
      "It has not arrived here: \(holder.name) has it, written by \(directory.list(holder.missing)), and this store "
      + "\(standing). " + holder.outlook(isKnown: try own.schema[name.type] != nil, name.type)
  }
}

/// A store that has a record which another lacks.
private struct Holder {
  let name: String
  let presence: PresenceReport
  /// The transactions of the record that the other store lacks.
  let missing: [Dot]

  /// - Returns: nil if the store has nothing of the record that the other lacks.
  init?(
    of record: AnyRecordName, in store: Store, named name: String, beyond vector: StateVector,
    _ directory: ReplicaDirectory
  ) throws {
    missing = try store.dots(of: record).filter { !vector.covers($0) }
    guard !missing.isEmpty else { return nil }
    self.name = name
    presence = PresenceReport(of: record, try store.presence(of: record), directory)
  }

  /// Whether the other store will show the record once it has arrived there.
  func outlook(isKnown: Bool, _ type: String) -> String {
    guard isKnown else {
      return "The next sync that brings this keeps it here, but this version of the app does not have the type "
        + "\(type): it shows once the app is updated."
    }
    switch presence.code {
    case .deleted, .retired, .gaveWay, .emptied:
      return "It does not show after the sync that brings this either: it arrives as it is there. \(presence.sentence)"
    case .hiddenByOwner:
      return "It arrives hidden, as it is there. \(presence.sentence)"
    case .newerSchema:
      return "\(name) does not show it itself, since its version of the app does not have the type."
    default: return "It shows after the next sync that brings this."
    }
  }
}
