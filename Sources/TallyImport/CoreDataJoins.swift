import TallyStore

/// The join tables of Core Data's, which are told by their columns: `Z_3TAGS` holds the keys of the records of entity 3
/// that a relationship `tags` has. The name of the table has the name of the relationship or of its inverse, and the
/// number of either entity.
struct CoreDataJoins {
  private let drafting: CoreDataDrafting
  private var entities: CoreDataEntities { drafting.entities }

  init(_ drafting: CoreDataDrafting) { self.drafting = drafting }

  /// A column of a join table.
  private struct End {
    let column: String
    /// The number of the entity whose keys it holds; nil for the other end of a relationship that is its own inverse.
    let number: Int?
    /// The name of the relationship.
    let name: String
  }

  private struct Match {
    let table: String
    let source: End
    let target: End
    /// The less, the likelier: how far the source's entity is, whether the name has a number, how far the target's is.
    let rank: [Int]
  }

  private static func end(_ column: String) -> End? {
    if column.uppercased() == "REFLEXIVE" { return End(column: column, number: nil, name: "") }
    guard column.hasPrefix("Z_") else { return nil }
    let digits = column.dropFirst(2).prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits), column.count > 2 + digits.count else { return nil }
    return End(column: column, number: number, name: DraftNames.bare(column.dropFirst(2 + digits.count)))
  }

  /// The join table of a relationship, or those of several entities that are one type; otherwise those that it may be.
  func links(
    _ entity: EntitySchema, _ relationship: RelationshipSchema
  ) throws -> (links: [ImportMap.Links], candidates: [String]) {
    guard let source = drafting.types[entity.type], let target = drafting.types[relationship.to] else {
      return ([], [])
    }
    var matches: [Match] = []
    for table in try drafting.source.ordinaryTables() where table.hasPrefix("Z_") {
      let columns = try (drafting.source.columns(of: table) ?? []).map(\.name).filter { !$0.hasPrefix("Z_FOK") }
      let ends = columns.compactMap(Self.end)
      guard columns.count == 2, ends.count == 2 else { continue }
      for (one, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
        guard let name = Self.distance(other.name, DraftNames.bare(relationship.name)),
          let from = one.number.map({ distance($0, source.entity.number) }) ?? 0,
          let to = other.number.map({ distance($0, target.entity.number) }) ?? 0
        else { continue }
        matches.append(Match(table: table, source: one, target: other, rank: [from, name, to]))
      }
    }
    guard let best = matches.map(\.rank).min(by: { $0.lexicographicallyPrecedes($1) }) else { return ([], []) }
    // Of entities that inherit each may have a relationship of the name.
    let groups =
      best[0] == Self.below
      ? Array(Dictionary(grouping: matches, by: \.source.number).values) : [matches]
    var found: [Match] = []
    for group in groups {
      guard let match = try likeliest(group) else { return ([], candidates(matches)) }
      found.append(match)
    }
    // One table cannot be read both ways into one relationship.
    guard Set(found.map(\.table)).count == found.count else { return ([], candidates(matches)) }
    found.sort { $0.table < $1.table }
    return (try found.map { try links($0, "\(entity.type).\(relationship.name)", relationship, source) }, [])
  }

  /// The only match of the best rank; of several the only one with rows.
  private func likeliest(_ matches: [Match]) throws -> Match? {
    let best = matches.map(\.rank).min { $0.lexicographicallyPrecedes($1) }
    let likely = matches.filter { $0.rank == best }
    if likely.count == 1 { return likely[0] }
    let filled = try likely.filter {
      try drafting.source.exists("SELECT 1 FROM \(ForeignDatabase.quote($0.table)) LIMIT 1", of: $0.table)
    }
    return filled.count == 1 ? filled[0] : nil
  }

  private func candidates(_ matches: [Match]) -> [String] { matches.map { "\($0.table).\($0.target.column)" } }

  private func links(
    _ match: Match, _ name: String, _ relationship: RelationshipSchema,
    _ source: (entity: CoreDataEntities.Entity, table: String, numbers: [Int])
  ) throws -> ImportMap.Links {
    // `Z_FOK_3LISTS` orders the rows that have one key in `Z_3LISTS`.
    let order = "Z_FOK_" + match.source.column.dropFirst("Z_".count)
    let hasOrder =
      try relationship.isOrdered && (drafting.source.columns(of: match.table) ?? []).contains { $0.name == order }
    // Those of an entity above belong to other types as well.
    let all = entities.descendants(of: match.source.number ?? source.entity.number)
    let numbers = source.numbers.map(String.init).joined(separator: ", ")
    let condition =
      "\(ForeignDatabase.quote(match.source.column)) IN (SELECT Z_PK FROM \(ForeignDatabase.quote(source.table)) "
      + "WHERE Z_ENT IN (\(numbers)))"
    return ImportMap.Links(
      from: match.table, to: name, source: ImportColumn(column: match.source.column),
      target: ImportColumn(column: match.target.column), order: hasOrder ? ImportColumn(column: order) : nil,
      where: Set(all).isSubset(of: source.numbers) ? nil : condition)
  }

  /// 0 for the name itself, 1 for the name and a number.
  private static func distance(_ name: String, _ relationship: String) -> Int? {
    if name == relationship { return 0 }
    guard name.hasPrefix(relationship), !relationship.isEmpty else { return nil }
    return name.dropFirst(relationship.count).allSatisfy(\.isNumber) ? 1 : nil
  }

  private static let below = 2

  /// 0 for the entity itself, 1 for one that it inherits from, 2 for one that inherits from it.
  private func distance(_ number: Int, _ entity: Int) -> Int? {
    if number == entity { return 0 }
    if entities.ancestors(of: entity).contains(number) { return 1 }
    return entities.ancestors(of: number).contains(entity) ? Self.below : nil
  }
}
