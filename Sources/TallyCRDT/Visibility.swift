/// The facts about one record that its presence and visibility depend on.
public struct RecordFacts: Sendable {
  /// A reference that means ownership (`onDelete: cascade`).
  public struct Owner: Sendable {
    /// The wire name of the field that holds the reference.
    public var field: String
    /// The name of the owning record.
    public var target: AnyRecordName
    /// The stamp of the register; of the edges of a cycle the one with the least stamp gives way.
    public var stamp: Stamp
    /// An edge from the record that has the facts to `target`.
    public init(field: String, target: AnyRecordName, stamp: Stamp) {
      self.field = field
      self.target = target
      self.stamp = stamp
    }
  }

  /// The user cells ever written to the record, as `RecordState.touches`.
  public var touches: StateVector
  /// The context of its deletes: everything that they had seen.
  public var deletedContext: StateVector
  /// The context of the users' deletes: `deletedContext` without the deletes of adoption.
  public var personalContext: StateVector
  /// The latest insert or restore.
  public var existence: Stamp?
  /// Whether the newest version of a seed has the record and it was never deleted.
  public var isOfferedBySeed: Bool
  /// Whether seeds say anything of the record.
  public var isSeeded: Bool
  /// The record that stands for this one, which gave way to it; nil while this one speaks for itself.
  public var forward: AnyRecordName?
  /// Whether a delete beats concurrent edits.
  public var deleteWins: Bool
  /// Whether nothing is said of the record in its present life (`RecordState.saysNothing`).
  public var saysNothing = false
  /// Its owners, as the registers say.
  public var owners: [Owner]
  /// Overrides the state on this device: its database refuses to store the row, or to remove it.
  /// Nil, as almost always, where the state decides.
  public var isShown: Bool?

  /// The facts of a record in this state.
  public init(state: RecordState, deleteWins: Bool = false, owners: [Owner] = []) {
    touches = state.touches
    deletedContext = state.deletedContext
    personalContext = state.deletes.allSatisfy { $0.stamp.rank >= .user } ? deletedContext : state.personalContext
    existence = state.existence
    isOfferedBySeed = state.isOfferedBySeed
    isSeeded = state.seed != nil
    self.deleteWins = deleteWins
    self.owners = owners
  }

  /// Whether deletes win and one has. A retirement and an adoption are no deletes of a person's: they give way to edits
  /// anywhere.
  package var isBeaten: Bool {
    guard deleteWins else { return false }
    if let existence { return personalContext.covers(existence.dot) }
    // A seeded record that a person edited has no insert of its own.
    return !isSeeded || !personalContext.isEmpty
  }
}

/// The source of the facts that visibility looks up. A lookup may read a database; each is made once per evaluation.
public protocol VisibilitySource {
  /// The error that a lookup throws; `Never` for a source in memory.
  associatedtype Failure: Error

  /// The facts of a record, or nil if nothing is known of it. Owners that gave way are resolved.
  func facts(of name: AnyRecordName) throws(Failure) -> RecordFacts?
  /// The dots of the live tags of people in the record's relationships: an add is an edit of the record that has the
  /// relationship. Asked for only where a delete or a retired seed is above.
  func liveTags(of name: AnyRecordName) throws(Failure) -> [Dot]
  /// The records with a register that names `owner` as their owner. May hold repetitions.
  func owned(by owner: AnyRecordName) throws(Failure) -> [AnyRecordName]
}

/// Decides which records an app sees: the pure function from state to presence.
///
/// - A record that was never deleted is **alive** when it was ever inserted or touched. One with deletes is alive
///   through a dot that no delete of it had seen: of a touch, of a live tag in a relationship that it has, or of what
///   keeps a record alive that it owns. With `deleteWins`, nothing counts once a person's delete has seen the latest
///   insert or restore.
/// - A seeded record is also alive while the newest version of its seed has it and it was never deleted.
/// - A record is **visible** when it is alive and all its owners are visible.
/// - A record is **hollow** if nothing is said of it in its present life (`Life`), nor of any living record that it
///   owns: it was purged together with an owner whose name was used again. What is visible is **shown**, unless it or
///   one of its owners is hollow.
/// - Owner references that form a cycle are broken: of a cycle's edges the one with the least stamp gives way, as if it
///   were null, until no cycle is left. Of equal stamps the record with the lesser name gives way, then the lesser wire
///   name of the field: local numbers differ from file to file.
///
/// The answers are memoized for one state; make a new evaluation after a merge. Cost: the records that own or are owned
/// by those asked for; descendants are looked at only below a record that has a delete or a retired seed. What
/// is memoized is forgotten when it has become large.
public final class Visibility<Source: VisibilitySource> {
  private let source: Source
  private var facts: [AnyRecordName: RecordFacts?] = [:]
  private var alive: [AnyRecordName: StateVector] = [:]
  private var visible: [AnyRecordName: Bool] = [:]
  private var shown: [AnyRecordName: Bool] = [:]
  private var hollow: [AnyRecordName: Bool] = [:]
  private var owners: [AnyRecordName: [RecordFacts.Owner]] = [:]
  /// About how many vector entries are memoized, and how many may be before they are forgotten. The limit is a multiple
  /// of what a single answer has needed: everything below a deleted owner is needed for each record there, and must not
  /// be read again for each.
  private var weight = 0
  private var weightLimit = 1 << 18

  /// An evaluation over the state that `source` shows.
  public init(_ source: Source) { self.source = source }

  /// Whether the record and all its owners are alive. The app sees it unless one of them is hollow: see
  /// `isShown(_:)`.
  /// - Throws: what the source throws.
  public func isVisible(_ name: AnyRecordName) throws(Source.Failure) -> Bool {
    if let known = visible[name] { return known }
    return try answer(name, countsHollow: false)
  }

  /// Whether the app sees the record: it and all its owners are alive, and none of them is hollow.
  /// - Throws: what the source throws.
  public func isShown(_ name: AnyRecordName) throws(Source.Failure) -> Bool {
    if let known = shown[name] { return known }
    return try answer(name, countsHollow: true)
  }

  /// Whether a record and everything above it is alive, and not hollow if that counts.
  private func answer(_ name: AnyRecordName, countsHollow: Bool) throws(Source.Failure) -> Bool {
    if weight > weightLimit { forget() }
    let before = weight
    defer { weightLimit = max(weightLimit, 4 * (weight - before)) }
    var answers = countsHollow ? shown : visible
    // One copy of what is known, and no other while it grows.
    if countsHollow { shown = [:] } else { visible = [:] }
    defer { if countsHollow { shown = answers } else { visible = answers } }
    var stack = [name]
    while let top = stack.last {
      guard answers[top] == nil else {
        stack.removeLast()
        continue
      }
      if let isShown = try lookUp(top)?.isShown {
        answers[top] = isShown
        continue
      }
      let isThere = try isAlive(top)
      let isEmpty = countsHollow && isThere ? try isHollow(top) : false
      guard isThere, !isEmpty else {
        answers[top] = false
        continue
      }
      let edges = try effectiveOwners(of: top)
      let open = edges.map { $0.target }.filter { answers[$0] == nil }
      if open.isEmpty {
        answers[top] = edges.allSatisfy { answers[$0.target] == true }
      } else {
        stack.append(contentsOf: open)
      }
    }
    return answers[name] == true
  }

  private func forget() {
    (facts, alive, visible, owners, weight) = ([:], [:], [:], [:], 0)
    (shown, hollow) = ([:], [:])
  }

  /// Whether the record is alive, its owners aside. False for a record of which nothing is known.
  /// - Throws: what the source throws.
  public func isAlive(_ name: AnyRecordName) throws(Source.Failure) -> Bool {
    guard let own = try lookUp(name) else { return false }
    if own.isOfferedBySeed { return true }
    if own.isBeaten { return false }
    if own.deletedContext.isEmpty, !own.isSeeded { return !own.touches.isEmpty || own.existence != nil }
    if !own.touches.beyond(own.deletedContext).isEmpty { return true }
    return try !survivingTouches(of: name).isEmpty
  }

  /// Whether nothing is said of a record in its present life, and of no living record that it owns. False for a record
  /// in its first life, and for one of which nothing is known. Cost: what is below it, as far as nothing is said there.
  /// - Throws: what the source throws.
  public func isHollow(_ name: AnyRecordName) throws(Source.Failure) -> Bool {
    var stack = [name]
    var below: [AnyRecordName: [AnyRecordName]] = [:]
    while let top = stack.last {
      guard hollow[top] == nil else {
        stack.removeLast()
        continue
      }
      guard try lookUp(top)?.saysNothing == true else {
        hollow[top] = false
        continue
      }
      // The children that are not known to be hollow; each is looked at twice at most.
      var open = below.removeValue(forKey: top)
      if open == nil {
        open = []
        for child in try effectivelyOwned(by: top) where try isAlive(child) { open?.append(child) }
      }
      while let child = open?.last, hollow[child] == true { open?.removeLast() }
      guard let next = open?.last else {
        hollow[top] = true
        continue
      }
      if hollow[next] == false {
        hollow[top] = false
      } else {
        below[top] = open
        stack.append(next)
      }
    }
    return hollow[name] == true
  }

  /// The owners of a record after cycles are broken.
  /// - Throws: what the source throws.
  public func effectiveOwners(of name: AnyRecordName) throws(Source.Failure) -> [RecordFacts.Owner] {
    if let known = owners[name] { return known }
    // Components come out owners first, each as a whole: what is known already is complete and needs no second look.
    let open = try components(from: [name]) { name throws(Source.Failure) in
      self.owners[name] == nil ? try self.lookUp(name)?.owners ?? [] : []
    }
    for component in open where owners[component[0]] == nil { try settle(component) }
    return owners[name] ?? []
  }

  /// The record that stands for this one: itself, unless it gave way to another, which may have given way in its turn.
  public func resolved(_ name: AnyRecordName) throws(Source.Failure) -> AnyRecordName {
    guard var last = try lookUp(name)?.forward else { return name }
    var known = Set([name])
    while known.insert(last).inserted, let next = try lookUp(last)?.forward { last = next }
    return last
  }

  private func lookUp(_ name: AnyRecordName) throws(Source.Failure) -> RecordFacts? {
    if let known = facts[name] { return known }
    let found = try source.facts(of: name)
    facts[name] = .some(found)
    weight += 4 + (found.map { $0.touches.count + $0.deletedContext.count } ?? 0)
    return found
  }
}

// MARK: - Touches that survive, from the leaves up

extension Visibility {
  /// The touches of the record and of the living records below it that no delete on the way up had seen.
  private func survivingTouches(of name: AnyRecordName) throws(Source.Failure) -> StateVector {
    var stack = [name]
    var below: [AnyRecordName: [AnyRecordName]] = [:]
    while let top = stack.last {
      guard alive[top] == nil else {
        stack.removeLast()
        continue
      }
      let children: [AnyRecordName]
      if let known = below[top] {
        children = known
      } else {
        children = try effectivelyOwned(by: top)
        below[top] = children
      }
      let open = children.filter { alive[$0] == nil }
      if open.isEmpty {
        alive[top] = try combine(top, children)
      } else {
        stack.append(contentsOf: open)
      }
    }
    return alive[name] ?? StateVector()
  }

  /// The touches that keep a record alive until a delete of it has seen them: of itself, of its relationships, and of
  /// the living records below it, also while another record stands for it and owns them.
  /// - Throws: what the source throws.
  package func touches(of name: AnyRecordName) throws(Source.Failure) -> StateVector {
    var sum = try lookUp(name)?.touches ?? StateVector()
    for dot in try source.liveTags(of: name) { sum.include(dot) }
    for child in Set(try source.owned(by: name)) { sum.merge(try survivingTouches(of: child)) }
    return sum
  }

  private func combine(_ name: AnyRecordName, _ children: [AnyRecordName]) throws(Source.Failure) -> StateVector {
    guard let own = try lookUp(name) else { return StateVector() }
    if own.isBeaten { return StateVector() }
    var sum = own.touches
    for dot in try source.liveTags(of: name) { sum.include(dot) }
    for child in children { sum.merge(alive[child] ?? StateVector()) }
    return sum.beyond(own.deletedContext)
  }

  private func effectivelyOwned(by name: AnyRecordName) throws(Source.Failure) -> [AnyRecordName] {
    var owned: [AnyRecordName] = []
    for child in Set(try source.owned(by: name)) {
      if try effectiveOwners(of: child).contains(where: { $0.target == name }) { owned.append(child) }
    }
    return owned
  }
}

// MARK: - Cycles

extension Visibility {
  /// Notes the owners of the records of one strongly connected component, its cycles broken.
  ///
  /// The edge with the least stamp inside a component lies on a cycle, so it gives way; what is left falls into smaller
  /// components. Cost: for each edge that gives way, the size of its component.
  private func settle(_ component: [AnyRecordName]) throws(Source.Failure) {
    var edges: [AnyRecordName: [RecordFacts.Owner]] = [:]
    for member in component { edges[member] = try lookUp(member)?.owners ?? [] }
    var work = [component]
    while let part = work.popLast() {
      let inside = Set(part)
      var weakest: (from: AnyRecordName, owner: RecordFacts.Owner)?
      for member in part {
        for edge in edges[member] ?? [] where inside.contains(edge.target) {
          if weakest.map({ (edge.stamp, member, edge.field) < ($0.owner.stamp, $0.from, $0.owner.field) }) ?? true {
            weakest = (member, edge)
          }
        }
      }
      guard let weakest else { continue }
      edges[weakest.from]?.removeAll { $0.field == weakest.owner.field }
      work += components(from: part) { member in (edges[member] ?? []).filter { inside.contains($0.target) } }
    }
    for member in component { owners[member] = edges[member] }
  }

  /// The strongly connected components of what can be reached, those of the targets before those that point at them
  /// (Tarjan, "Depth-first search and linear graph algorithms", 1972), without recursion.
  private func components<Failure: Error>(
    from starts: [AnyRecordName], edges: (AnyRecordName) throws(Failure) -> [RecordFacts.Owner]
  ) throws(Failure) -> [[AnyRecordName]] {
    var found: [[AnyRecordName]] = []
    var search = ComponentSearch()
    for start in starts where !search.hasSeen(start) {
      search.enter(start, try edges(start))
      while let step = search.next() {
        switch step {
        case .target(let name): search.enter(name, try edges(name))
        case .component(let names): found.append(names)
        }
      }
    }
    return found
  }
}

/// The progress of a depth-first search for components.
private struct ComponentSearch {
  enum Step {
    case target(AnyRecordName)
    case component([AnyRecordName])
  }

  private struct Frame {
    var number: Int
    var edges: [RecordFacts.Owner]
    var next = 0
  }

  /// When a record was first seen; `Int.max` once its component is known.
  private var numbers: [AnyRecordName: Int] = [:]
  /// The records that have no component yet, and for each the least number that it is known to reach.
  private var open: [(name: AnyRecordName, low: Int)] = []
  private var path: [Frame] = []

  func hasSeen(_ name: AnyRecordName) -> Bool { numbers[name] != nil }

  mutating func enter(_ name: AnyRecordName, _ edges: [RecordFacts.Owner]) {
    // Numbers are places in `open`, so that a frame finds its record there.
    numbers[name] = open.count
    path.append(Frame(number: open.count, edges: edges))
    open.append((name, open.count))
  }

  /// The next record to enter, or a component that is complete; nil at the end.
  mutating func next() -> Step? {
    while let top = path.indices.last {
      let number = path[top].number
      guard path[top].next == path[top].edges.count else {
        let target = path[top].edges[path[top].next].target
        path[top].next += 1
        guard let seen = numbers[target] else { return .target(target) }
        open[number].low = min(open[number].low, seen)
        continue
      }
      path.removeLast()
      let low = open[number].low
      if let parent = path.last { open[parent.number].low = min(open[parent.number].low, low) }
      guard low == number else { continue }
      let names = open[number...].map { $0.name }
      open.removeSubrange(number...)
      for name in names { numbers[name] = .max }
      return .component(names)
    }
    return nil
  }
}
