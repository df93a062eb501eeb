import TallyCRDT
import TallyStore
import TallySync

/// What replicas are called, for people.
///
/// A name comes from a store that is open under it, or from the introduction of a device that such a store has met;
/// all others go by the first digits of their ids.
package struct ReplicaDirectory: Sendable {
  /// The names, by id.
  package private(set) var names: [ReplicaID: String] = [:]

  /// A directory without names.
  package init() {}

  /// The directory of some stores that are open under these names.
  /// - Throws: what reading a store throws.
  package init(_ stores: [(name: String, store: Store)]) throws {
    for (_, store) in stores {
      for device in try store.devices() {
        if let name = device.name { names[device.id] = name }
      }
    }
    for (name, store) in stores {
      if let own = try store.summary().replica { names[own] = name }
    }
  }

  /// The directory of some stores of which one may be damaged: what cannot be read gives no names.
  package init(ofReadable stores: [(name: String, store: Store)]) {
    for entry in stores {
      guard let found = try? ReplicaDirectory([entry]) else { continue }
      names.merge(found.names) { first, _ in first }
    }
    // The name under which a store is open counts more than what others have heard of it.
    for (name, store) in stores {
      if let own = try? store.summary().replica { names[own] = name }
    }
  }

  /// The name of a replica.
  package func name(of replica: ReplicaID) -> String { names[replica] ?? String("\(replica)".prefix(8)) }

  /// A transaction in words: `phone #307`.
  package func name(of dot: Dot) -> String { "\(name(of: dot.replica)) #\(dot.sequence)" }

  /// Some transactions in words.
  package func list(_ dots: [Dot]) -> String { Self.joined(dots.map(name)) }

  /// Some words as people list them.
  static func joined(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " and " + last
  }
}
