import TallyCRDT

/// Records by name, with their facts put together by hand.
struct World: VisibilitySource {
  var records: [AnyRecordName: RecordFacts] = [:]
  var tags: [AnyRecordName: [Dot]] = [:]
  private var children: [AnyRecordName: [AnyRecordName]] = [:]

  static func name(_ key: String) throws -> AnyRecordName { try AnyRecordName(type: "Node", key: key) }

  static func dot(_ replica: UInt64, _ sequence: UInt64) -> Dot {
    Dot(replica: ReplicaID(high: replica, low: 0), sequence: sequence)
  }

  /// Adds a record that was written at `touches` and deleted by somebody who had seen `deleted`.
  mutating func add(
    _ key: String, owners: [(key: String, time: UInt64)] = [], touches: [Dot] = [World.dot(1, 1)],
    deleted: [Dot] = [], deleteWins: Bool = false
  ) throws {
    let name = try World.name(key)
    var facts = RecordFacts(state: RecordState(), deleteWins: deleteWins)
    facts.existence = touches.first.map { Stamp(time: HybridTime(milliseconds: 0), dot: $0) }
    for dot in touches { facts.touches.include(dot) }
    for dot in deleted {
      facts.deletedContext.include(dot)
      facts.personalContext.include(dot)
    }
    for (number, owner) in owners.enumerated() {
      let stamp = Stamp(time: HybridTime(milliseconds: owner.time), dot: World.dot(1, 1))
      let target = try World.name(owner.key)
      facts.owners.append(RecordFacts.Owner(field: "owner\(number)", target: target, stamp: stamp))
      children[target, default: []].append(name)
    }
    records[name] = facts
  }

  func facts(of name: AnyRecordName) -> RecordFacts? { records[name] }
  func liveTags(of name: AnyRecordName) -> [Dot] { tags[name] ?? [] }
  // Sources may repeat themselves.
  func owned(by owner: AnyRecordName) -> [AnyRecordName] { (children[owner] ?? []) + (children[owner] ?? []) }

  /// The keys of the visible records, asked for in the order of `keys`.
  func visible(_ keys: [String]) throws -> Set<String> {
    let visibility = Visibility(self)
    return Set(try keys.filter { try visibility.isVisible(World.name($0)) })
  }
}
