/// What a person must see, as a function of the causal history: sets of events, and no state that is ever merged.
///
/// It shares nothing with the product's join. Sets grow, everything is searched: it is meant to be read, not to be fast.
/// The form follows the specifications in Burckhardt et al., "Replicated data types: specification, verification,
/// optimality" (2014): a view is computed from the events that a replica has seen and from what each event had seen.
struct Specification {
  struct Link: Hashable {
    var source, target: String
  }

  struct Register: Hashable {
    var record: String
    var field: ModelField
  }

  /// What an operation did.
  enum Effect {
    /// An insert or a restore.
    case touch(String)
    case write(Register, String?, time: UInt64)
    case delete(String)
    case add(Link)
    case remove(Link)
  }

  /// One transaction.
  struct Event {
    var author: Int
    var seen: Set<Int>
    var now: UInt64
    var effects: [Effect] = []
  }

  /// The write that a register shows.
  struct Winner {
    var event: Int
    var time: UInt64
    var value: String?
  }

  /// The texts that order authors whose writes have the same time.
  let tieBreaks: [String]
  var events: [Event] = []

  /// Whether an event had another in front of it, or is the same.
  func covers(_ later: Int, _ earlier: Int) -> Bool { later == earlier || events[later].seen.contains(earlier) }

  /// Whether a write loses against one of another event: by time, then author, then order of writing.
  func isBefore(_ a: Winner, _ b: Winner) -> Bool {
    (a.time, tieBreaks[events[a.event].author], a.event) < (b.time, tieBreaks[events[b.event].author], b.event)
  }
}

// MARK: - What the events that a replica has seen say

extension Specification {
  /// The events that a replica has seen, sorted by what they are about.
  struct Past {
    var touches: [String: Set<Int>] = [:]
    var deletes: [String: Set<Int>] = [:]
    var winners: [Register: Winner] = [:]
    var members: Set<Link> = []
    /// The owner references that are left when cycles are broken.
    var owners: [Register: String] = [:]
  }

  func past(_ seen: Set<Int>) -> Past {
    var past = Past()
    var adds: [(link: Link, event: Int, place: Int)] = []
    var removes: [(link: Link, event: Int, place: Int)] = []
    for event in seen.sorted() {
      for (place, effect) in events[event].effects.enumerated() {
        switch effect {
        case .touch(let record): past.touches[record, default: []].insert(event)
        case .write(let register, let value, let time):
          past.touches[register.record, default: []].insert(event)
          let write = Winner(event: event, time: time, value: value)
          if past.winners[register].map({ isBefore($0, write) }) ?? true { past.winners[register] = write }
        case .delete(let record): past.deletes[record, default: []].insert(event)
        case .add(let link): adds.append((link, event, place))
        case .remove(let link): removes.append((link, event, place))
        }
      }
    }
    for add in adds where !removes.contains(where: { $0.link == add.link && observes($0, add) }) {
      past.members.insert(add.link)
      past.touches[add.link.source, default: []].insert(add.event)
    }
    past.owners = owners(past)
    return past
  }

  private func observes(
    _ remove: (link: Link, event: Int, place: Int), _ add: (link: Link, event: Int, place: Int)
  ) -> Bool {
    remove.event == add.event ? add.place < remove.place : events[remove.event].seen.contains(add.event)
  }

  /// The owner references; while some form a cycle, the earliest of those that do is left out.
  private func owners(_ past: Past) -> [Register: String] {
    var edges = past.winners.filter { $0.key.field.isOwner }.compactMapValues(\.value)
    while true {
      let cyclic = edges.filter { edge in ancestors(of: edge.value, edges).contains(edge.key.record) }
      let weakest = cyclic.keys.min { a, b in
        guard let first = past.winners[a], let second = past.winners[b] else { return false }
        if isBefore(first, second) { return true }
        return !isBefore(second, first) && (a.record, a.field.rawValue) < (b.record, b.field.rawValue)
      }
      guard let weakest else { return edges }
      edges[weakest] = nil
    }
  }

  /// The record and everything that owns it, directly or not.
  private func ancestors(of record: String, _ edges: [Register: String]) -> Set<String> {
    var found: Set<String> = [record]
    while true {
      let more = edges.filter { found.contains($0.key.record) && !found.contains($0.value) }.values
      if more.isEmpty { return found }
      found.formUnion(more)
    }
  }
}

// MARK: - Presence and rows

extension Specification.Past {
  func owners(of record: String) -> [String] { owners.filter { $0.key.record == record }.map(\.value) }
  func owned(by record: String) -> [String] { owners.filter { $0.value == record }.map(\.key.record) }
}

extension Specification {
  /// The events that keep a record alive: writes to it, or what keeps the records that it owns alive, that no delete of it
  /// had in front of it.
  func living(_ record: String, _ past: Past) -> Set<Int> {
    let below = past.owned(by: record).map { living($0, past) }
    return below.reduce(past.touches[record] ?? []) { $0.union($1) }.filter { event in
      !(past.deletes[record] ?? []).contains { covers($0, event) }
    }
  }

  func isVisible(_ record: String, _ past: Past) -> Bool {
    !living(record, past).isEmpty && past.owners(of: record).allSatisfy { isVisible($0, past) }
  }

  /// The rows that somebody sees who has seen these events.
  func view(of seen: Set<Int>) -> ModelView { view(past(seen)) }

  func view(_ past: Past) -> ModelView {
    let visible = Set(past.touches.keys.filter { isVisible($0, past) })
    var view = ModelView()
    for record in visible { view[record] = ModelRow() }
    for (register, winner) in past.winners {
      guard let value = winner.value, visible.contains(register.record) else { continue }
      if register.field.isOwner, past.owners[register] == nil { continue }
      if register.field.isReference, !visible.contains(value) { continue }
      view[register.record]?.fields[register.field] = value
    }
    for link in past.members where visible.contains(link.target) { view[link.source]?.members.insert(link.target) }
    return view
  }
}
