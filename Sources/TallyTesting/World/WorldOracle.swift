import TallyCRDT
import TallyStore

/// The view that users must see in a world, and the rules that replicas must keep.
struct WorldOracle {
  var specification = Specification<SchemaField>(beginsLives: true)
  /// For each event its transaction.
  private(set) var dots: [Dot] = []
  private var schemas: [Schema: SpecifiedSchema<SchemaField>] = [:]
  /// Records of which seeds speak: the specification knows nothing of seeds.
  var seeded: Set<String> = []
  /// Whether anybody has emptied anything.
  var hasPurges = false
  /// Whether two files may go on under one replica id before anybody notices.
  var hasCopies = false

  mutating func specified(_ schema: Schema) -> SpecifiedSchema<SchemaField> {
    if let known = schemas[schema] { return known }
    let made = SpecifiedSchema<SchemaField>(schema)
    schemas[schema] = made
    return made
  }

  /// Notes a transaction that a store has acknowledged.
  /// - Returns: the event; nil if nothing changed.
  mutating func note(
    _ operations: [SpecifiedOperation<SchemaField>], by dot: Dot?, seen: EventSet, now: UInt64, _ schema: Schema,
    shown: Specification<SchemaField>.Shown? = nil, begun: [String: UInt64] = [:]
  ) throws -> Int? {
    let event = specification.note(
      author: dot?.replica.description ?? "", seen: seen, now: now, specified(schema), operations, shown: shown,
      begun: begun)
    guard (event == nil) == (dot == nil) else {
      throw Finding("a transaction \(dot == nil ? "got no number" : "got a number and changed nothing"): \(operations)")
    }
    guard let event, let dot else { return nil }
    try number(event, dot)
    return event
  }

  /// Notes a transaction of which the specification does not know what it means.
  mutating func noteUnknown(by dot: Dot, seen: EventSet) throws -> Int {
    let event = specification.noteUnknown(author: dot.replica.description, seen: seen)
    try number(event, dot)
    return event
  }

  /// The number of the latest transaction of a replica among some events.
  func count(of replica: ReplicaID, in seen: EventSet) -> UInt64 {
    let name = replica.description
    return seen.reduce(0) { count, event in
      let author = specification.events[event].author
      return author.name == name ? max(count, author.sequence) : count
    }
  }

  mutating func number(_ event: Int, _ dot: Dot) throws {
    dots.append(dot)
    let expected = specification.events[event].author.sequence
    guard hasCopies || expected == dot.sequence else {
      throw Finding("a transaction has the number \(dot.sequence) and should have \(expected)")
    }
  }

  /// The events that a delta since a vector carries: with copies about, a vector may cover what its owner has not seen.
  func sent(_ seen: EventSet, since base: StateVector) -> EventSet {
    guard hasCopies else { return seen }
    var result = EventSet()
    for event in seen where !base.covers(dots[event]) { result.insert(event) }
    return result
  }

  /// Returns the records that restoring a record restores: owners whose deletes win come along.
  mutating func restore(_ name: String, seen: EventSet, _ schema: Schema) -> [SpecifiedOperation<SchemaField>] {
    let known = specified(schema)
    let past = specification.past(seen, known)
    var (names, stack) = ([name], past.owners(of: name))
    while let owner = stack.popLast() {
      guard !names.contains(owner) else { continue }
      if known.deleteWins(owner), specification.living(owner, past, known).isEmpty { names.append(owner) }
      stack += past.owners(of: owner)
    }
    return names.map { .restore($0) }
  }

  /// Compares what a replica shows with what it must show. Where records were emptied, the exceptions of
  /// Contract.md, section 11, hold, and what `store` holds decides which.
  mutating func check(
    _ shown: [String: ShownRow<SchemaField>], seen: EventSet, _ schema: Schema, _ store: Store
  ) throws {
    let known = specified(schema)
    let past = specification.past(seen, known)
    let unsure = unsure(seen)
    let exceptions = PurgeExceptions(specification, seen, past, known, unsure)
    let expected = try exceptions.expected(beside: shown, in: store)
    for name in Set(shown.keys).union(expected.keys).sorted() where !unsure.contains(name) {
      let isSure = unsure.isEmpty
      var (found, due) = (
        isSure ? shown[name] : shown[name]?.withoutReferences,
        isSure ? expected[name] : expected[name]?.withoutReferences
      )
      // Of two additions under one number one stays.
      if specification.hasTwins { (found, due) = (found?.withoutCounters, due?.withoutCounters) }
      guard found == due else {
        throw Finding(
          "\(name) is \(found.map(Self.describe) ?? "not there") and should be \(due.map(Self.describe) ?? "not there")"
        )
      }
    }
  }

  /// The records that belong to a seed or own one, or ever did: whether they were seen is not known, and so neither
  /// which lives they began.
  func unsure(_ seen: EventSet) -> Set<String> {
    guard !seeded.isEmpty else { return [] }
    var result = seeded
    let effects = seen.lazy.flatMap { specification.events[$0].effects }
    while true {
      var more: Set<String> = []
      for case .write(let register, let owner?, _) in effects where register.field.isOwner {
        if result.contains(owner) { more.insert(register.record) }
        if result.contains(register.record) { more.insert(owner) }
      }
      if more.isSubset(of: result) { return result }
      result.formUnion(more)
    }
  }

  /// The vector counts what the replica has seen of each author.
  func check(_ vector: StateVector, seen: EventSet) throws {
    var counts: [String: UInt64] = [:]
    for event in seen {
      let author = specification.events[event].author
      counts[author.name] = max(counts[author.name] ?? 0, author.sequence)
    }
    let authors = Set(dots.map(\.replica))
    for author in authors where vector[author] != counts[author.description] ?? 0 {
      throw Finding(
        "the vector says \(vector[author]) of \(author), and \(counts[author.description] ?? 0) transactions came")
    }
  }

  static func describe(_ row: ShownRow<SchemaField>) -> String {
    let fields = row.fields.sorted { $0.key.name < $1.key.name }.map { "\($0.key.name): \($0.value)" }
    let links = row.links.map { "\($0.relationship) \($0.target)" }.sorted()
    return "[\((fields + links).joined(separator: ", "))]"
  }
}

extension ShownRow {
  /// The part that does not depend on other records.
  fileprivate var withoutReferences: ShownRow {
    ShownRow(fields: fields.filter { !$0.key.isReference })
  }

  fileprivate var withoutCounters: ShownRow {
    ShownRow(fields: fields.filter { !$0.key.isCounter }, links: links)
  }
}
