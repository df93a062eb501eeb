/// The entities of a file that Core Data made, and the tables that hold their rows.
struct CoreDataEntities {
  struct Entity {
    let name: String
    /// What the column `Z_ENT` holds.
    let number: Int
    /// The number of the entity that it inherits from; 0 for none.
    let parent: Int
    /// The table with the rows of the whole tree of entities; nil if there is none of that name.
    var table: String?
  }

  /// In the order of their numbers.
  let all: [Entity]
  private let byNumber: [Int: Entity]

  /// Numbers from here on are those of Core Data's own entities: its history and what CloudKit's mirroring keeps.
  private static let ownNumbers = 16_000

  /// - Parameters:
  ///   - rows: name, number and parent of each row of `Z_PRIMARYKEY`.
  ///   - tables: the names of the file's tables.
  init(_ rows: [(name: String, number: Int, parent: Int)], tables: [String]) {
    var byNumber: [Int: Entity] = [:]
    for row in rows where row.number < Self.ownNumbers {
      byNumber[row.number] = Entity(name: row.name, number: row.number, parent: row.parent)
    }
    let entities = byNumber
    func root(of entity: Entity) -> Entity {
      var (root, rest) = (entity, entities.count)
      while rest > 0, let parent = entities[root.parent] { (root, rest) = (parent, rest - 1) }
      return root
    }
    for (number, entity) in entities {
      let name = "Z" + root(of: entity).name.uppercased()
      byNumber[number]?.table = tables.first { $0.uppercased() == name }
    }
    self.byNumber = byNumber
    all = byNumber.values.sorted { $0.number < $1.number }
  }

  subscript(number: Int) -> Entity? { byNumber[number] }

  /// The numbers of an entity and of what it inherits from, itself first.
  func ancestors(of number: Int) -> [Int] {
    var result = [number]
    var next = byNumber[number]?.parent
    // Only damage makes a circle.
    while let parent = next, let entity = byNumber[parent], !result.contains(parent) {
      result.append(parent)
      next = entity.parent
    }
    return result
  }

  /// The numbers of an entity and of all that inherit from it, ascending.
  func descendants(of number: Int) -> [Int] { all.map(\.number).filter { ancestors(of: $0).contains(number) } }

  /// Whether the rows of an entity share their table with those of others.
  func isShared(_ entity: Entity) -> Bool { all.contains { $0.table == entity.table && $0.number != entity.number } }
}
