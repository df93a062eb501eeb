import TallyCRDT

/// What a transaction says of the records that have come into view, and how it begins lives (`Life`; decision 24).
extension WriteTransaction {
  /// A life that this transaction begins, for a record in this state.
  func newLife(of state: RecordState, now: HybridTime = HybridTime(milliseconds: 0)) throws -> Life {
    let dot = try stamp().dot
    return Life(time: state.nextLifeTime(now: now), dot: dot, context: context)
  }

  /// Says again what came back into view by a write of this store's, and that exists what is shown through what it
  /// owns. The view is settled before, and afterwards.
  ///
  /// A record that a transaction brings back begins a life in which all that is here of it is said, so that the restore
  /// is complete in itself: a shred by a device that did not know of it takes nothing away.
  func sayWhatAppeared() throws {
    // What is shown without content may be damage, which heals first.
    guard !view.appeared.isEmpty, try reader.doubt() == nil else { return view.appeared.forget() }
    while !view.appeared.isEmpty {
      var returned = view.appeared.takeReturned()
      #if PlantedFaults
        if environment.planted.contains(.restoreBare) { returned = [] }
      #endif
      for name in returned {
        try rewrite(name) { state, rival in
          let zero = HybridTime(milliseconds: 0)
          var now = rival.map { HybridTime.next(now: zero, over: $0) } ?? zero
          #if PlantedFaults
            if environment.planted.contains(.restoreTakes) { now = zero }
          #endif
          // No earlier than the record that has a unique value of it by now, to whom it gives way everywhere.
          try state.sayAgain(in: newLife(of: state, now: now))
        }
      }
      try settle()
      for name in view.appeared.takeUnsaid() {
        guard let kind = catalog.kind(of: name.type) else { continue }
        try rewrite(name) { state, _ in
          guard state.saysNothing(followsNewest: kind.followsNewest) else { return }
          state.life?.said = try stamp().dot
        }
      }
      try settle()
    }
  }

  /// Writes another state of a record that is seen, or would be but for a unique value that another has; what it shows
  /// stays as it is. `change` also gets the time of the latest claim on what it shows.
  private func rewrite(_ name: AnyRecordName, _ change: (inout RecordState, HybridTime?) throws -> Void) throws {
    guard let kind = catalog.kind(of: name.type), let stored = try reader.record(name, kind) else { return }
    let address = RowAddress(kind: kind.number, key: name.text)
    let aside = reader.aside[address]
    guard aside?.isUnique ?? stored.place.isVisible else { return }
    var state = stored.state
    let hasRival = aside != nil || reader.aside.contested.contains(address)
    try change(&state, hasRival ? view.latestRival(of: name, kind, state) : nil)
    guard state != stored.state, let dot else { return }
    let difference = catalog.fingerprint(name, kind, from: stored.state, to: state)
    try writer.put(
      name, kind, state, previous: stored, shown: stored.place.isVisible ? stored.values : nil, difference: difference)
    try changed(
      name, kind, from: stored.state, to: state, dots: CollectionOfOne(dot), fingerprint: difference)
  }
}
