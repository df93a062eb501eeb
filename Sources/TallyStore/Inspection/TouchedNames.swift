import TallyCRDT

/// Records that transactions beyond a vector have changed, a page at a time.
package struct TouchedNames: Sendable {
  /// The place from which to go on: a replica, one of its transactions, and how many of its items are done.
  package struct Place: Sendable, Hashable {
    /// The transaction that is next.
    package var dot: Dot
    /// The items of it that were given already.
    package var done: Int

    /// A place in the log.
    package init(dot: Dot, done: Int) { (self.dot, self.done) = (dot, done) }
  }

  /// The names, each once; of a changed link the end whose relationship it is.
  package var names: [AnyRecordName] = []
  /// Of each of the names the place from which to go on to begin with it.
  package var places: [Place] = []
  /// Where to go on; nil at the end.
  package var next: Place?
}

extension Store {
  /// Names the records that somebody lacks who has seen `base`, or has in an older state. Cost: the entries of the
  /// change log that are read, and nothing of what `base` covers.
  package func names(beyond base: StateVector, from place: TouchedNames.Place? = nil, limit: Int) throws
    -> TouchedNames
  {
    try capturedSnapshot { try $0.names(beyond: base, from: place, limit) }
  }
}

extension StateReader {
  fileprivate func names(beyond base: StateVector, from place: TouchedNames.Place?, _ limit: Int) throws
    -> TouchedNames
  {
    var result = TouchedNames()
    var seen = Set<AnyRecordName>()
    for entry in try vector().entries where entry.sequence > base[entry.replica] {
      if let place, entry.replica < place.dot.replica { continue }
      guard let number = catalog.replicaNumbers[entry.replica] else { continue }
      let isFirst = place?.dot.replica == entry.replica
      let query = try SQLStatement(
        connection.handle,
        """
        SELECT sequence, items FROM tally_log WHERE zone = 0 AND replica = \(number) AND sequence > ?
        ORDER BY sequence, n
        """)
      query.bind(1, Int64(isFirst ? (place?.dot.sequence ?? 1) - 1 : base[entry.replica]))
      var (sequence, done) = (UInt64(0), 0)
      while try query.step() {
        let next = try query.sequence(0)
        if next != sequence { (sequence, done) = (next, 0) }
        let skipped = isFirst && sequence == place?.dot.sequence ? place?.done ?? 0 : 0
        for item in try ChangeLog.items(query.blob(1), catalog) {
          if result.names.count == limit {
            result.next = TouchedNames.Place(dot: Dot(replica: entry.replica, sequence: sequence), done: done)
            return result
          }
          done += 1
          if done > skipped, item.name.type != SeedHistory.setType, seen.insert(item.name).inserted {
            result.names.append(item.name)
            result.places.append(
              TouchedNames.Place(dot: Dot(replica: entry.replica, sequence: sequence), done: done - 1))
          }
        }
      }
    }
    return result
  }
}
