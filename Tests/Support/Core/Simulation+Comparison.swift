import TallyCRDT
import TallyTesting

/// What must hold, during a history and at its end.
extension Simulation {
  func check(_ index: Int) throws {
    guard !hasForgery, !isUndecided, !devices[index].isLost else { return }
    let file = devices[index].file
    let shown = try file.replica.view()
    let expected = specification.view(of: file.seen, schema(index))
    guard shown == expected else {
      throw Failure(description: "replica \(index) shows\n\(describe(shown))  and should show\n\(describe(expected))")
    }
    var sequences: [String: UInt64] = [:]
    for event in file.seen {
      let author = specification.events[event].author
      sequences[author.name] = max(sequences[author.name] ?? 0, author.sequence)
    }
    let entries = file.replica.vector.entries.map { ($0.replica.description, $0.sequence) }
    guard Dictionary(entries, uniquingKeysWith: max) == sequences else {
      throw Failure(description: "the vector of replica \(index) is not what it has seen")
    }
  }

  mutating func settle() throws {
    let present = devices.indices.filter { !devices[$0].isLost }
    for index in present { devices[index].file.replica.fields = ModelField.allCases }
    // With copies about, each meeting may be the one that finds the next difference.
    for _ in 0..<(hasCopies ? 4 : 2) {
      for to in present { for from in present where from < to { try sync(from, to) } }
    }
    let all = present.reduce(EventSet()) { $0.union(devices[$1].file.seen) }
    let first = devices[present[0]].file.replica
    for index in present {
      let replica = devices[index].file.replica
      try check(index)
      // With copies about, a transaction may have left nothing: then no state shows who has it, and all are equal
      // without.
      guard hasForgery || hasCopies || devices[index].file.seen.isSuperset(of: all) else {
        throw Failure(description: "replica \(index) has not got everything")
      }
      guard replica.fingerprint == replica.recomputedFingerprint() else {
        throw Failure(description: "the fingerprint of replica \(index) is not the sum of its content")
      }
      guard replica.vector == first.vector, replica.fingerprint == first.fingerprint else {
        throw Failure(description: "replicas \(present[0]) and \(index) differ in vector or fingerprint")
      }
      guard replica.holdsTheSame(as: first) else {
        throw Failure(description: "replicas \(present[0]) and \(index) differ in what they hold")
      }
    }
    guard Set(present.map { devices[$0].file.replica.id }).count == present.count else {
      throw Failure(description: "after they have met, two devices still have one replica id")
    }
    try checkRepetition(present)
  }

  /// Deltas once more, the trip over the wire, and a late joiner change nothing.
  private mutating func checkRepetition(_ present: [Int]) throws {
    guard !hasCopies else { return }
    let (one, other) = (present[0], present[1])
    let before = devices[one].file.replica
    let full = devices[other].file.replica.delta(since: StateVector())
    _ = devices[one].file.replica.apply(full, now: 0)
    guard devices[one].file.replica.holdsTheSame(as: before) else {
      throw Failure(description: "a delta that was applied twice changed something")
    }
    let rest = devices[one].file.replica.delta(since: devices[other].file.replica.vector)
    guard rest.records.isEmpty, rest.links.isEmpty else {
      throw Failure(description: "a delta between equal replicas is not empty")
    }
    let bytes = try WireImage.bytes(of: before)
    let copy = try WireImage.replica(from: bytes, id: ReplicaID(high: .max, low: .max))
    guard copy.holdsTheSame(as: before) else { throw Failure(description: "the state does not survive the wire") }
    var late = ModelReplica(id: ReplicaID(high: .max, low: 0), planted: planted)
    guard late.apply(full, now: 0) == .applied, late.holdsTheSame(as: before) else {
      throw Failure(description: "a replica that joins late differs from one that was there")
    }
  }

  private func describe(_ view: ModelView) -> String {
    view.sorted { $0.key < $1.key }.map { name, row in
      let fields = row.fields.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key): \($0.value)" }
      return "    \(name) [\(fields.joined(separator: ", "))] members \(row.members.sorted())\n"
    }.joined()
  }
}
