import TallyCRDT

/// The state of a store that its transactions advance, and nothing else does.
struct Standing: Equatable {
  /// The state vector: which transactions of which replicas the store has.
  var vector = StateVector()
  /// The check of the vector, to notice that the disk has changed it.
  var vectorCheck = VectorCheck()
  /// The sum over everything in the state.
  var fingerprint = Fingerprint()
  /// This replica; nil before its first write, or its first session that introduces the device, and after the store was
  /// found to be an old copy.
  var own: ReplicaNumber?

  init() {}

  init(_ reader: StateReader) throws {
    vector = try reader.vector()
    vectorCheck = VectorCheck(vector)
    fingerprint = try reader.fingerprint()
    own = try reader.ownNumber()
  }
}

extension StateReader {
  /// The number of this store's own replica; nil if it has none.
  func ownNumber() throws -> ReplicaNumber? {
    try connection.meta("self") { $0.number(0) }
  }
}
