/// What must have happened in generated histories, so that they try what they are for.
package enum RawSituation: Hashable, Sendable {
  /// A step or a statement of this feature was carried out, and its transaction was committed.
  case done(RawFeature)
  /// A transaction was refused as a whole.
  case refusedWrite
  /// A statement failed and the rest of its transaction stayed.
  case swallowedError
  /// Something of an outside connection waited when a delta came, a record was restored, or a larger schema was opened.
  case pendingAtSync, pendingAtDelivery, pendingAtRestore, pendingAtUpgrade
  /// A delta was not for this store yet.
  case refusedDelta
  /// A delta ended too early, and came whole after that.
  case cutOff
  /// A session followed what both sides wrote, and ended with both equal.
  case metLive
  /// Rows that a rule of the app's keeps out on some device.
  case setAside
  /// A delete was denied, a value refused.
  case denied, refusedValue

  /// What histories with these features must reach.
  package static func all(of features: Set<RawFeature>) -> [RawSituation] {
    let needed: [(RawSituation, Set<RawFeature>)] = [
      (.refusedWrite, []), (.swallowedError, [.failures]), (.pendingAtSync, [.outside]),
      (.pendingAtDelivery, [.outside, .parcels]), (.pendingAtRestore, [.outside, .restores]),
      (.denied, [.denials]), (.refusedValue, [.refusedValues]), (.pendingAtUpgrade, [.outside, .upgrades]),
      (.refusedDelta, [.parcels]), (.cutOff, [.parcels]), (.metLive, [.live]),
    ]
    let situations = needed.filter { $0.1.isSubset(of: features) }.map(\.0)
    var features = features
    if !features.contains(.outside) { features.subtract([.unenforcedKeys, .recursiveTriggers, .attached]) }
    return RawFeature.allCases.filter(features.contains).map { .done($0) } + situations
  }
}
