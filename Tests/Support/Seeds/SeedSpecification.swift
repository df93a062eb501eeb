import TallyTesting

/// What a person must see of default data, as a function of the causal history: sets of events, and no state that is
/// ever merged.
///
/// It shares nothing with the product. Seeding is an event of nobody's: whoever brings an edition brings the same
/// event, and no event of a person. The form follows `Specification`.
package struct SeedSpecification {
  package struct Link: Hashable {
    package var source, target: String
  }

  package struct Register: Hashable {
    package var record: String
    package var field: SeedField
  }

  /// What decides between two writes: whose it is, when it was, who wrote it, in which transaction.
  package struct Order: Comparable {
    package enum Rank: Int { case seed, adopted, person }
    package var rank: Rank
    package var time: UInt64
    package var author: String
    package var event: Int
    package static func < (a: Order, b: Order) -> Bool {
      (a.rank.rawValue, a.time, a.author, a.event) < (b.rank.rawValue, b.time, b.author, b.event)
    }
  }

  /// What an operation did.
  package enum Effect {
    /// An insert or a restore.
    case touch(String, time: UInt64)
    case write(Register, String?, time: UInt64)
    /// A person edits a seed for the first time, with this edition in front of them.
    case basis(String, edition: Int)
    case delete(String)
    case add(Link)
    case remove(Link)
    /// A copy that an older version of the app wrote gives way to its seed, with what it has and the seed leaves open.
    case giveWay(String, to: String, time: UInt64)
    case carry(Register, String?, time: UInt64)
    case carryMember(Link)
  }

  /// One transaction, or the arrival of an edition.
  package struct Event {
    package var author: String
    package var seen: Set<Int>
    package var now: UInt64
    package var effects: [Effect] = []
    package var edition: SeedEdition?
  }

  package let mode: SeedWorld.Mode
  package var events: [Event] = []

  /// Whether an event had another in front of it, or is the same.
  package func covers(_ later: Int, _ earlier: Int) -> Bool { later == earlier || events[later].seen.contains(earlier) }

  package func order(_ event: Int, _ time: UInt64, _ rank: Order.Rank) -> Order {
    Order(rank: rank, time: time, author: events[event].author, event: event)
  }
}

// MARK: - What the events that a replica has seen say

extension SeedSpecification {
  /// One edition's word about one seed; without content it withdraws it.
  package struct Layer {
    package var order: Order
    package var content: SeedContent?
    package var event: Int { order.event }
  }

  /// The write that a register holds.
  package struct Winner {
    package var order: Order
    package var value: String?
  }

  /// The events that a replica has seen, sorted by what they are about.
  package struct Past {
    package var layers: [String: [Layer]] = [:]
    package var bases: [String: Layer] = [:]
    /// The latest insert or restore.
    package var lives: [String: Order] = [:]
    /// The events in which a person wrote to the record itself.
    package var touches: [String: Set<Int>] = [:]
    package var deletes: [String: Set<Int>] = [:]
    /// The deletes that a person made, and not adoption.
    package var personal: [String: Set<Int>] = [:]
    package var winners: [Register: Winner] = [:]
    /// What anybody or any edition ever put in.
    package var everAdded: Set<Link> = []
    /// The events that added what nobody has removed since: by a person, or by adoption.
    package var added: [Link: Set<Int>] = [:]
    package var carried: [Link: Set<Int>] = [:]
    package var removed: Set<Link> = []
    /// The editions that have a member.
    package var offered: [Link: Set<Int>] = [:]
    /// The members that somebody removed with an edition in front of them that has them.
    package var refused: Set<Link> = []
    package var forwards: [String: (order: Order, seed: String)] = [:]
    /// The owner references that are left when cycles are broken.
    package var owners: [Register: String] = [:]

    package var records: Set<String> { Set(touches.keys).union(layers.keys) }
  }

  package func past(_ seen: Set<Int>) -> Past {
    var past = Past()
    var removes: [(link: Link, event: Int)] = []
    for event in seen.sorted() {
      if let edition = events[event].edition { note(edition, event, &past) }
      for effect in events[event].effects { note(effect, event, &past, &removes) }
    }
    for record in past.layers.keys { past.layers[record]?.sort { $0.order < $1.order } }
    for remove in removes {
      let had = events[remove.event].seen
      past.added[remove.link]?.subtract(had)
      if !(past.offered[remove.link] ?? []).isDisjoint(with: had) { past.refused.insert(remove.link) }
    }
    past.added = past.added.filter { !$0.value.isEmpty }
    past.removed = Set(removes.map(\.link))
    past.carried = carried(seen, removes)
    past.owners = owners(past)
    return past
  }

  private func carried(_ seen: Set<Int>, _ removes: [(link: Link, event: Int)]) -> [Link: Set<Int>] {
    var result: [Link: Set<Int>] = [:]
    for event in seen {
      for case .carryMember(let link) in events[event].effects
      where !removes.contains(where: { $0.link == link && events[$0.event].seen.contains(event) }) {
        result[link, default: []].insert(event)
      }
    }
    return result
  }

  private func note(_ edition: SeedEdition, _ event: Int, _ past: inout Past) {
    let order = order(event, UInt64(edition.version), .seed)
    for (key, content) in edition.records {
      let name = SeedWorld.seed(key)
      past.layers[name, default: []].append(Layer(order: order, content: content))
      for member in content.members {
        let link = Link(source: name, target: SeedWorld.seed(member))
        past.offered[link, default: []].insert(event)
        past.everAdded.insert(link)
      }
    }
    for key in edition.retired { past.layers[SeedWorld.seed(key), default: []].append(Layer(order: order)) }
  }

  private func note(_ effect: Effect, _ event: Int, _ past: inout Past, _ removes: inout [(link: Link, event: Int)]) {
    func write(_ register: Register, _ value: String?, _ order: Order) {
      // What one adoption carries over from several copies has one author; then the greater value.
      if let known = past.winners[register] {
        guard known.order < order || known.order == order && (known.value ?? "") < (value ?? "") else { return }
      }
      past.winners[register] = Winner(order: order, value: value)
    }
    switch effect {
    case .touch(let record, let time):
      past.touches[record, default: []].insert(event)
      past.lives[record] = max(past.lives[record] ?? order(event, time, .person), order(event, time, .person))
    case .write(let register, let value, let time):
      past.touches[register.record, default: []].insert(event)
      write(register, value, order(event, time, .person))
    case .carry(let register, let value, let time): write(register, value, order(event, time, .adopted))
    case .basis(let record, let edition):
      guard let layer = past.layers[record]?.first(where: { $0.event == edition }) else { return }
      if past.bases[record].map({ $0.order < layer.order }) ?? true { past.bases[record] = layer }
    case .delete(let record):
      past.deletes[record, default: []].insert(event)
      past.personal[record, default: []].insert(event)
    case .giveWay(let record, let seed, let time):
      past.deletes[record, default: []].insert(event)
      let order = order(event, time, .adopted)
      if past.forwards[record].map({ $0.order < order }) ?? true { past.forwards[record] = (order, seed) }
    case .add(let link):
      past.added[link, default: []].insert(event)
      past.everAdded.insert(link)
    case .carryMember(let link): past.everAdded.insert(link)
    case .remove(let link): removes.append((link, event))
    }
  }
}

// MARK: - Seeds

extension SeedSpecification {
  /// The edition of a seed that shows beneath what a person wrote.
  package func shown(_ record: String, _ past: Past) -> Layer? {
    guard let layers = past.layers[record] else { return nil }
    let basis = past.bases[record]
    // Who inserts the record without it in front of them makes one of their own.
    if past.lives[record] != nil, basis == nil { return nil }
    if let basis, mode != .perField { return basis }
    return layers.last { $0.content != nil }
  }

  /// The record for which a copy gave way, unless somebody edited the copy meanwhile.
  package func forward(_ record: String, _ past: Past) -> String? {
    guard let forward = past.forwards[record] else { return nil }
    let added = past.added.filter { $0.key.source == record }.values.reduce(Set()) { $0.union($1) }
    let edits = (past.touches[record] ?? []).union(added)
    return edits.allSatisfy { wasThere($0, whenGaveWay: record, past) } ? forward.seed : nil
  }

  /// Whether adoption had an event in front of it when a copy gave way.
  package func wasThere(_ event: Int, whenGaveWay copy: String, _ past: Past) -> Bool {
    let adoptions = (past.deletes[copy] ?? []).subtracting(past.personal[copy] ?? [])
    return adoptions.contains { covers($0, event) }
  }

  package func isDeleted(_ record: String, _ event: Int, _ past: Past) -> Bool {
    (past.deletes[record] ?? []).contains { covers($0, event) }
  }

  /// The value of a field, visibility aside, and what it was written with.
  package func value(_ register: Register, _ past: Past) -> Winner? {
    let own = past.winners[register]
    if let own, own.order.rank == .person { return own }
    guard let layer = shown(register.record, past), let value = layer.content?.value(register.field) else { return own }
    return Winner(order: layer.order, value: value)
  }

  package func mayBeMember(_ link: Link, _ past: Past) -> Bool {
    past.added[link] != nil || past.carried[link] != nil
      || (past.offered[link] != nil && !past.refused.contains(link))
  }

  package func isMember(_ link: Link, _ past: Past) -> Bool {
    if past.added[link] != nil || past.carried[link] != nil { return true }
    guard mayBeMember(link, past), let layer = shown(link.source, past) else { return false }
    return past.offered[link]?.contains(layer.event) ?? false
  }
}
