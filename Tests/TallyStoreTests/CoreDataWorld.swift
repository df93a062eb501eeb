import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyTesting

/// A random model, the rows of a random app, the file that Core Data would make of them, and a schema for some of the
/// entities.
struct CoreDataWorld {
  struct Entity {
    var name: String
    var number: Int
    /// The place of the entity that it inherits from.
    var parent: Int?
    /// Its own attributes; their kinds follow from the names.
    var attributes: [String] = []
    /// Its own references: the name and the place of the target.
    var references: [(name: String, target: Int)] = []
  }

  /// A relationship with its inverse, and the join table of both.
  struct Join {
    var name: String
    var inverse: String
    var source: Int
    var target: Int
    var table: String
    /// The columns with the keys of the sources and of the targets.
    var columns: (String, String)
    var pairs: [(Int, Int)] = []
  }

  struct Row {
    var key: Int
    var entity: Int
    /// Tells the row, in the file and in the store.
    var mark: String
    var values: [String: Value] = [:]
    var references: [String: Int] = [:]
  }

  static let kinds: [String: (FieldKind, String)] = [
    "text": (.text, "VARCHAR"), "size": (.integer, "INTEGER"), "due": (.date, "TIMESTAMP"), "data": (.blob, "BLOB"),
    "flag": (.bool, "INTEGER"), "token": (.uuid, "BLOB"),
  ]

  private(set) var entities: [Entity] = []
  private(set) var joins: [Join] = []
  private(set) var rows: [Row] = []
  /// The places of the entities that are types.
  private(set) var types: [Int] = []
  private(set) var schema = Schema([])
  /// The place of the column of an attribute or reference of an entity's own.
  private var columns: [Int: [String: String]] = [:]
  /// The contents of the files beside the database.
  private(set) var files: [String: [UInt8]] = [:]
  private var random: SplitMix64

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    makeEntities()
    makeJoins()
    types = entities.indices.filter { _ in random.chance(55) }
    if types.isEmpty { types = [random.below(entities.count)] }
    makeSchema()
    makeColumns()
    makeRows()
  }

  // MARK: The model

  func line(_ place: Int) -> [Int] { entities[place].parent.map { [place] + line($0) } ?? [place] }
  private func root(_ place: Int) -> Int { line(place)[line(place).count - 1] }

  /// The type of an entity's rows: its own, or that of the nearest entity above that has one.
  func type(of place: Int) -> Int? { line(place).first(where: types.contains) }

  private mutating func makeEntities() {
    let names = ["Alpha", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot", "Golf"].prefix(2 + random.below(6))
    var numbers = Array(1...names.count)
    numbers.shuffle(using: &random)
    for (place, name) in names.enumerated() {
      let parent = place > 0 && random.chance(70) ? random.below(place) : nil
      entities.append(Entity(name: name, number: numbers[place], parent: parent))
    }
    for place in entities.indices {
      let above = Set(line(place).dropFirst().flatMap { entities[$0].attributes })
      entities[place].attributes = Self.kinds.keys.sorted().filter { !above.contains($0) && random.chance(40) }
      let known = Set(line(place).dropFirst().flatMap { entities[$0].references.map(\.name) })
      for name in ["owner", "next"] where !known.contains(name) && random.chance(40) {
        entities[place].references.append((name, random.below(entities.count)))
      }
    }
  }

  private mutating func makeJoins() {
    for index in 0..<random.below(8) {
      let (source, target) = (random.below(entities.count), random.below(entities.count))
      let name = random.pick(["tags", "parts"])
      let isTaken = joins.contains { other in
        other.name == name && (line(other.source).contains(source) || line(source).contains(other.source))
      }
      if isTaken { continue }
      // The inverse may resemble the relationship.
      let inverse = random.pick(["\(name)by", "from"]) + "abcdefgh".map(String.init)[index]
      let (one, other) = (entities[source].number, entities[target].number)
      let table = random.pick(["Z_\(one)\(name)", "Z_\(other)\(name)", "Z_\(one)\(inverse)", "Z_\(other)\(inverse)"])
      let number = random.chance(20) ? "1" : ""
      joins.append(
        Join(
          name: name, inverse: inverse, source: source, target: target, table: table.uppercased(),
          columns: ("Z_\(one)\(inverse.uppercased())\(number)", "Z_\(other)\(name.uppercased())")))
      if joins.dropLast().contains(where: { $0.table == joins[joins.count - 1].table }) { joins.removeLast() }
    }
  }

  private mutating func makeSchema() {
    func name(_ place: Int?) -> String? { place.map { entities[$0].name } }
    schema = Schema(
      types.map { type in
        let covered = entities.indices.filter { self.type(of: $0) == type }
        let all = Set(covered.flatMap(line))
        let attributes = Set(all.flatMap { entities[$0].attributes })
        var entity = EntitySchema(type: entities[type].name, fields: [FieldSchema("mark", .text)])
        entity.fields += attributes.sorted().map { FieldSchema($0, Self.kinds[$0]?.0 ?? .text) }
        for reference in ["next", "owner"] {
          let all = all.flatMap { entities[$0].references }.filter { $0.name == reference }
          let targets = Set(all.map { self.type(of: $0.target) })
          guard targets.count == 1, let target = name(targets.first ?? nil) else { continue }
          entity.references.append(ReferenceSchema(reference, to: target))
        }
        for (relationship, target) in relationships(of: type) {
          if let target = name(target) { entity.relationships.append(RelationshipSchema(relationship, to: target)) }
        }
        return entity
      })
  }

  /// The relationships that the rows of a type have, with their only type of members.
  private func relationships(of type: Int) -> [(String, Int)] {
    let all = Set(entities.indices.filter { self.type(of: $0) == type }.flatMap(line))
    var targets: [String: Set<Int?>] = [:]
    for join in joins {
      if all.contains(join.source) { targets[join.name, default: []].insert(self.type(of: join.target)) }
      if all.contains(join.target) { targets[join.inverse, default: []].insert(self.type(of: join.source)) }
    }
    return targets.sorted { $0.key < $1.key }.compactMap { name, targets in
      targets.count == 1 ? targets.first.flatMap(\.self).map { (name, $0) } : nil
    }
  }

  // MARK: The rows

  private mutating func makeRows() {
    for place in entities.indices {
      for _ in 0..<random.below(5) {
        let key = rows.filter { root($0.entity) == root(place) }.count + 1
        var row = Row(key: key, entity: place, mark: "\(entities[place].name)\(key)")
        for attribute in line(place).flatMap({ entities[$0].attributes }) where random.chance(75) {
          row.values[attribute] = value(of: attribute)
        }
        rows.append(row)
      }
    }
    for index in rows.indices {
      let line = line(rows[index].entity)
      for (name, target) in line.flatMap({ entities[$0].references }) where random.chance(60) {
        rows[index].references[name] = pickTarget(target)
      }
    }
    for index in joins.indices {
      let (sources, targets) = (members(joins[index].source), members(joins[index].target))
      for source in sources {
        for target in targets where random.chance(30) { joins[index].pairs.append((source, target)) }
      }
    }
  }

  /// The rows that a reference or relationship to an entity leads to: those of the one type that a schema can name.
  private func members(_ place: Int) -> [Int] {
    rows.indices.filter { row in
      line(rows[row].entity).contains(place)
        && (type(of: place) == nil || type(of: rows[row].entity) == type(of: place))
    }
  }

  private mutating func pickTarget(_ place: Int) -> Int? {
    let rows = members(place)
    return rows.isEmpty ? nil : random.pick(rows)
  }

  private mutating func value(of attribute: String) -> Value {
    switch attribute {
    case "text": .text(random.pick(["", "é", "a'b", "\(random.below(1000))"]))
    case "flag": .integer(Int64(random.below(2)))
    case "due": .real(Double(random.below(1_000_000)) + 0.5)
    case "data": .blob((0..<random.below(50)).map { _ in UInt8(random.below(256)) })
    case "token": .blob((0..<16).map { _ in UInt8(random.below(256)) })
    default: .integer(Int64(random.below(1000)))
    }
  }

  // MARK: The file

  /// Entities that share a table have numbered columns where attributes have one name, in no order that can be told.
  private mutating func makeColumns() {
    var taken: [Int: Set<String>] = [:]
    var order = Array(entities.indices)
    order.shuffle(using: &random)
    for place in order {
      for name in entities[place].attributes + entities[place].references.map(\.name) {
        var (column, number) = ("Z" + name.uppercased(), 0)
        while !taken[root(place), default: []].insert(column).inserted {
          number += 1
          column = "Z\(name.uppercased())\(number)"
        }
        columns[place, default: [:]][name] = column
      }
    }
  }

  private func column(_ name: String, of place: Int) -> String? {
    line(place).lazy.compactMap { columns[$0]?[name] }.first
  }

  mutating func write(_ db: Database) throws {
    try db.execute(
      sql: "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)")
    for entity in entities {
      let parent = entity.parent.map { entities[$0].number } ?? 0
      try db.execute(
        sql: "INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, 0)", arguments: [entity.number, entity.name, parent])
    }
    for place in entities.indices where entities[place].parent == nil {
      var list = "Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZMARK VARCHAR"
      for other in entities.indices where root(other) == place {
        for (name, column) in (columns[other] ?? [:]).sorted(by: { $0.value < $1.value }) {
          list += ", \(column) \(Self.kinds[name]?.1 ?? "INTEGER")"
        }
      }
      try db.execute(sql: "CREATE TABLE Z\(entities[place].name.uppercased()) (\(list))")
    }
    for row in rows {
      let table = "Z\(entities[root(row.entity)].name.uppercased())"
      try db.execute(
        sql: "INSERT INTO \(table)(Z_PK, Z_ENT, Z_OPT, ZMARK) VALUES (?, ?, 1, ?)",
        arguments: [row.key, entities[row.entity].number, row.mark])
      var values = row.values.mapValues(\.databaseValue)
      if case .blob(let bytes)? = row.values["data"] { values["data"] = stored(bytes).databaseValue }
      for (name, target) in row.references { values[name] = rows[target].key.databaseValue }
      for (name, value) in values {
        guard let column = column(name, of: row.entity) else { continue }
        try db.execute(sql: "UPDATE \(table) SET \(column) = ? WHERE Z_PK = ?", arguments: [value, row.key])
      }
    }
    for join in joins {
      let columns = [join.columns.0, join.columns.1].sorted().map { "\($0) INTEGER" }.joined(separator: ", ")
      try db.execute(sql: "CREATE TABLE \(join.table) (\(columns), Z_FOK_ORDER INTEGER)")
      for (source, target) in join.pairs {
        try db.execute(
          sql: "INSERT INTO \(join.table)(\(join.columns.0), \(join.columns.1)) VALUES (?, ?)",
          arguments: [rows[source].key, rows[target].key])
      }
    }
  }

  /// What an attribute with external storage holds.
  private mutating func stored(_ bytes: [UInt8]) -> Data {
    guard random.chance(50) else { return Data([1] + bytes) }
    let name = String(format: "00000000-0000-4000-8000-%012X", files.count)
    files[name] = bytes
    return Data([2] + Array(name.utf8) + [0])
  }
}
