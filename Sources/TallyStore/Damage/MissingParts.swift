import Foundation
import GRDB
import TallyCRDT
import TallyWire

/// Tables, indexes and rows of the store's own that a sound file has: where one is gone, it is made again, empty. What
/// was in it is then missing from the content, which the sum tells.
struct MissingParts {
  /// A description of the lost content that is stored nowhere else; nil if there was none.
  var lost: String?
  /// Whether lists are among them that follow from the states.
  var hasLists: Bool

  /// Each with what it makes, as `table tally_meta`; nil for a row.
  fileprivate static let statements: [(name: String?, sql: String)] = {
    let all = Format.tables + "\n" + Format.laterTables
    return all.split(separator: ";").map { statement in
      statement.trimmingCharacters(in: .whitespacesAndNewlines)
        .replacingOccurrences(of: "CREATE TABLE IF NOT EXISTS", with: "CREATE TABLE")
        .replacingOccurrences(of: "CREATE TABLE", with: "CREATE TABLE IF NOT EXISTS")
        .replacingOccurrences(of: "CREATE INDEX", with: "CREATE INDEX IF NOT EXISTS")
        .replacingOccurrences(of: "INSERT INTO", with: "INSERT OR IGNORE INTO")
    }.filter { !$0.isEmpty }.map { sql in
      let words = sql.split(whereSeparator: { " (".contains($0) })
      return (words.first == "CREATE" ? "\(words[1].lowercased()) \(words[5])" : nil, sql)
    }
  }()

  /// The tables whose content nothing else says.
  private static let essential: Set<String> = [
    "tally_meta", "tally_zone", "tally_replica", "tally_vector", "tally_kind", "tally_field", "tally_extra",
    "tally_hidden", "tally_cut", "tally_context",
  ]

  /// The tables that list what follows from the states (`WriteTransaction.listAnew`).
  private static let lists: Set<String> = ["tally_wait", "tally_log", "tally_seeded", "tally_aside", "tally_unique"]

  /// Adds what a file of an earlier version lacks, or one from before what came without raising the version.
  static func complete(_ connection: Connection) throws {
    for (table, column, definition) in Format.laterColumns {
      if !connection.hasColumn(column, table) {
        try connection.execute("ALTER TABLE \(table) ADD COLUMN \(column) \(definition)")
      }
    }
    try connection.execute(Format.laterTables)
    let version = try connection.integer("PRAGMA user_version") ?? 0
    if (Format.oldest..<Format.version).contains(version) {
      try connection.execute("PRAGMA user_version = \(Format.version)")
      // A store of an earlier version that has the file open looks at it again when its schema has changed.
      try connection.execute("CREATE TABLE tally_raised(n); DROP TABLE tally_raised")
      try addCheck(connection)
    }
  }

  /// Writes the check of the vector, which files of version 3 have only from some day on.
  private static func addCheck(_ connection: Connection) throws {
    let zone = try LogTail.withColumn(connection) { sums, _ in KeptSums(sums) }
    guard let zone, zone.vector == nil else { return }
    let known = try connection.statement(
      "SELECT id, sequence FROM tally_vector JOIN tally_replica ON n = replica WHERE zone = 0")
    var vector = StateVector()
    while try known.step() { vector[ReplicaID(known.blob(0))] = try known.sequence(1) }
    try connection.run(
      "UPDATE tally_zone SET fingerprint = ? WHERE n = 0", KeptSums(zone.fingerprint, VectorCheck(vector)).bytes)
  }

  /// Makes again what is missing. `hasAll` says that all tables and indexes are known to be there.
  static func restore(_ connection: Connection, hasAll: Bool) throws -> MissingParts {
    let found = try hasAll ? nil : parts(connection)
    func has(_ table: String) -> Bool { found?.contains("table \(table)") ?? true }
    var lost = essential.filter { !has($0) }.sorted()
    if !has("tally_stub"), has("tally_meta"), try connection.hasMeta("stubs") { lost.append("tally_stub") }
    if has("tally_meta") { try MetaKeys.putRight(connection) }
    if has("tally_zone"), try !connection.exists("SELECT 1 FROM tally_zone WHERE n = 0") {
      // There is one zone, so a row with another number is its row. The index of ids may still have the right number.
      try connection.execute("REINDEX tally_zone")
      try connection.execute("UPDATE tally_zone SET n = 0 WHERE n = (SELECT min(n) FROM tally_zone)")
      if connection.changes == 0 { lost.append("the zone") }
    }
    if has("tally_meta"), try !connection.hasMeta("catalog") { lost.append("the catalog's version") }
    if let found {
      for (name, sql) in statements where name.map({ !found.contains($0) }) ?? true { try connection.execute(sql) }
      try complete(connection)
    }
    let isZoneLost = lost.contains("the zone") || lost.contains("tally_zone")
    if isZoneLost {
      // With a sum that no vector has: what the newest entries raised is lost, and the rest may be none.
      try connection.execute(
        """
        INSERT OR REPLACE INTO tally_zone(n, id, fingerprint)
        VALUES(0, zeroblob(16), x'00000000000000000000000000000000FFFFFFFFFFFFFFFF')
        """)
    }
    lost += try NumberedTable.allCases.compactMap { try $0.putRight(connection) }
    // A catalog that has no version yet is taken for that of a new file.
    if !lost.isEmpty {
      try connection.execute("UPDATE tally_meta SET value = abs(random() % 1000000000) + 1 WHERE key = 'catalog'")
    }
    let (unreachable, unknown) = try strays(connection)
    if unreachable {
      try connection.execute("DELETE FROM tally_extra WHERE n NOT BETWEEN 1 AND \(InlineClock.largestNumber)")
    }
    var tail = try LogTail.load(connection)
    let unknownInTail = try tail.vector.map(\.replica).filter { try !hasID($0, connection) }
    if unknown + unknownInTail.count > 0 {
      lost.append("the ids of \(unknown + unknownInTail.count) replicas")
    }
    if !lost.isEmpty { try keepNumbers(connection) }
    if unknown > 0 {
      try connection.execute("DELETE FROM tally_vector WHERE replica NOT IN (SELECT n FROM tally_replica)")
    }
    if !unknownInTail.isEmpty {
      tail.forgetVector { unknownInTail.contains($0) }
      try connection.run("UPDATE tally_zone SET tail = ? WHERE n = 0", tail.bytes)
    }
    return MissingParts(
      lost: lost.isEmpty ? nil : "lost: " + lost.joined(separator: ", "),
      hasLists: !lists.allSatisfy(has) || isZoneLost)
  }

  /// The store's own tables and indexes, as `table tally_meta`.
  private static func parts(_ connection: Connection) throws -> Set<String> {
    let query = try SQLStatement(connection, "SELECT name, type FROM sqlite_master WHERE substr(name, 1, 6) = 'tally_'")
    var parts = Set<String>()
    while try query.step() { parts.insert("\(query.text(1) ?? "") \(query.text(0) ?? "")") }
    guard parts.contains(where: { $0.hasPrefix("table ") }) else {
      throw StoreError(.notAStore, "the file has the mark of a store and none of its tables")
    }
    return parts
  }

  private static func hasID(_ replica: ReplicaNumber, _ connection: Connection) throws -> Bool {
    let query = try connection.statement("SELECT 1 FROM tally_replica WHERE n = ?")
    query.bind(1, replica)
    defer { query.reset() }
    return try query.step()
  }

  /// Whether there are states with a number that no clock can point to, of which the next would get one beyond it; and
  /// how many rows of the vector are of replicas without an id.
  private static func strays(_ connection: Connection) throws -> (unreachable: Bool, unknown: Int) {
    // Each is looked up at its end: to compare each number takes as long as the table is.
    let ends = try connection.statement("SELECT (SELECT min(n) FROM tally_extra), (SELECT max(n) FROM tally_extra)")
    defer { ends.reset() }
    var unreachable = false
    if try ends.step(), !ends.isNull(0) { unreachable = ends.int(0) < 1 || ends.int(1) > InlineClock.largestNumber }
    // Both are asked again at once, and what takes long is to prepare a statement.
    let replicas = try NumberedTable.replica.scan(connection)
    defer { replicas.reset() }
    var known = Set<Int>()
    while try replicas.step() { known.insert(replicas.int(0)) }
    let vector = try connection.statement(StoredVector.rows)
    defer { vector.reset() }
    var unknown = 0
    while try vector.step() { if !known.contains(vector.int(0)) { unknown += 1 } }
    return (unreachable, unknown)
  }

  /// Beyond every number that a store has given out: it counts, and a vector has no more replicas than this.
  private static let implausible = 2 * WireLimits.replicas

  /// Sees to it that no replica gets a number that rows may still use for one whose id is lost: what that one wrote
  /// would count as written by another. A number that the disk has made huge was never given, and is not counted on
  /// from.
  private static func keepNumbers(_ connection: Connection) throws {
    let known = try connection.integer("SELECT coalesce(max(n), 0) FROM tally_replica") ?? 0
    let inTable =
      try connection.integer(
        text: """
          SELECT coalesce(max(replica), 0) FROM (SELECT replica FROM tally_vector UNION SELECT replica FROM tally_log) \
          WHERE replica < \(implausible)
          """) ?? 0
    let inTail = try LogTail.load(connection).replicas.map(\.rawValue).filter { $0 < implausible }
    let used = max(inTable, inTail.max() ?? 0)
    guard used > known || known == 0 else { return }
    // Where log and vector are lost as well, by a wide margin: few stores have met a thousand devices.
    try NumberedTable.replica.leaveOut(max(used, 1000) + 1, connection)
    try NumberedTable.noteRows(connection)
  }
}

extension Format {
  /// Makes the store's own indexes and derived tables again where they are gone.
  static func createIndexes(_ connection: Connection) throws {
    for (_, sql) in MissingParts.statements { try connection.execute(sql) }
  }
}

extension Catalog {
  /// Whether every entity of the schema has its numbers.
  var isComplete: Bool {
    schema.entities.allSatisfy { entity in
      guard let number = kindOfType[entity.type], let fields = fieldOfKey[number] ?? (entity.hasColumns ? nil : [:])
      else {
        return false
      }
      return (entity.fields.map(\.key) + entity.references.map(\.key)).allSatisfy { fields[$0] != nil }
        && entity.relationships.allSatisfy { linkOfName[LinkKind.wireName(entity.type, $0.name, $0.to)] != nil }
    }
  }
}

extension EntitySchema {
  fileprivate var hasColumns: Bool { !fields.isEmpty || !references.isEmpty }
}
