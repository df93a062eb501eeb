import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyImport
import TallyRecovery
import TallyStore
import Testing

/// Databases of other frameworks become stores.
@Suite(.timeLimit(.minutes(30))) struct DatabaseImportTests {
  let scratch: Scratch
  let store: Store

  init() throws {
    scratch = try Scratch()
    store = try scratch.store(schema: Self.schema)
  }

  static let schema = Schema([
    EntitySchema("List", .text("title", default: "")),
    EntitySchema(
      "Item", .text("title", default: ""), .bool("isDone", default: false), .date("due"), .uuid("token"),
      .json("extra"), .real("price"),
      .reference("list", to: "List", onDelete: .cascade), .reference("parent", to: "Item"),
      .toMany("tags", to: "Tag")),
    EntitySchema("Tag", .text("name", default: "")),
  ])

  /// The file as Core Data makes it: `Z` before names, numbers for keys, dates in seconds since 2001, UUIDs as blobs.
  static let coreData = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    INSERT INTO Z_PRIMARYKEY VALUES (1,'Item',0,4), (2,'List',0,2), (3,'Tag',0,2);
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE ZLIST (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
    INSERT INTO ZLIST VALUES (1,2,1,'Groceries'), (2,2,1,'Hardware');
    CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
    INSERT INTO ZTAG VALUES (1,3,1,'urgent'), (2,3,1,'cheap');
    CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISDONE INTEGER, ZLIST INTEGER,
      ZPARENT INTEGER, ZDUE TIMESTAMP, ZPRICE FLOAT, ZTITLE VARCHAR, ZEXTRA BLOB, ZTOKEN BLOB);
    INSERT INTO ZITEM VALUES
      (1,1,1,0,1,3,694224000.5,1.25,'Milk',CAST('{"fat":1.5}' AS BLOB),x'00112233445566778899AABBCCDDEEFF'),
      (2,1,1,1,2,NULL,NULL,2,'Nails',NULL,NULL),
      (3,1,1,0,1,NULL,NULL,NULL,'Breakfast',NULL,NULL),
      (4,1,1,NULL,NULL,4,NULL,NULL,NULL,NULL,NULL);
    CREATE TABLE Z_1TAGS (Z_1ITEMS INTEGER, Z_3TAGS INTEGER, PRIMARY KEY (Z_1ITEMS, Z_3TAGS));
    INSERT INTO Z_1TAGS VALUES (1,1), (1,2), (2,1);
    """

  /// The file as an app with SQLiteData makes it: UUIDs as text, and tables of their own between two.
  static let sqliteData = """
    CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), title TEXT NOT NULL);
    CREATE TABLE items (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, is_done INTEGER NOT NULL DEFAULT 0, due TEXT,
      token TEXT, extra TEXT, price REAL, listID TEXT REFERENCES lists(id) ON DELETE CASCADE, parent_id TEXT);
    CREATE TABLE tags (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL);
    CREATE TABLE itemTags (id TEXT PRIMARY KEY NOT NULL, itemID TEXT NOT NULL REFERENCES items(id),
      tagID TEXT NOT NULL REFERENCES tags(id));
    INSERT INTO lists VALUES ('10000000-0000-0000-0000-00000000000A', 'Groceries');
    INSERT INTO items VALUES
      ('20000000-0000-0000-0000-00000000000a', 'Milk', 0, '2023-01-01 00:00:00.500',
        '00112233-4455-6677-8899-AABBCCDDEEFF', '{"fat":1.5}', 1.25, '10000000-0000-0000-0000-00000000000A', NULL),
      ('20000000-0000-0000-0000-00000000000b', 'Cream', 1, NULL, NULL, NULL, 2,
        '10000000-0000-0000-0000-00000000000A', '20000000-0000-0000-0000-00000000000a');
    INSERT INTO tags VALUES ('urgent', 'Urgent');
    INSERT INTO itemTags VALUES ('x', '20000000-0000-0000-0000-00000000000b', 'urgent');
    """

  func file(_ sql: String, _ name: String = "old.sqlite") throws -> URL {
    let url = scratch.url.appendingPathComponent(name)
    var configuration = Configuration()
    // SQLiteData's default for keys calls a function of its own, which no other program has.
    configuration.prepareDatabase { db in
      db.add(function: DatabaseFunction("uuid", argumentCount: 0, pure: false) { _ in UUID().uuidString })
    }
    try DatabaseQueue(path: url.path, configuration: configuration).write { try $0.execute(sql: sql) }
    return url
  }

  func change(_ file: URL, _ sql: String) throws {
    try DatabaseQueue(path: file.path).write { try $0.execute(sql: sql) }
  }

  func rows(_ sql: String) throws -> [String] {
    try store.read { db in
      try Row.fetchAll(db, sql: sql).map { row in
        row.databaseValues.map { String.fromDatabaseValue($0) ?? "\($0)" }.joined(separator: " ")
      }
    }
  }

  private let items = """
    SELECT i.title, isDone, due, hex(token), extra, price, l.title,
      (SELECT title FROM Item AS p WHERE p.id = i.parent) FROM Item AS i LEFT JOIN List AS l ON l.id = i.list ORDER BY i.rowid
    """
  private let tags = """
    SELECT i.title, name FROM Item_tags JOIN Item AS i ON i.id = source JOIN Tag AS t ON t.id = target ORDER BY i.rowid, name
    """

  // MARK: Whole files

  @Test func aCoreDataFileBecomesAStore() throws {
    let old = try file(Self.coreData)
    let before = try Data(contentsOf: old)
    let draft = try ImportMap.draft(of: old, for: Self.schema)
    #expect(draft.unmatched == [])
    var map = draft.map
    // Nothing in the file says that a blob is text.
    let place = try #require(map.tables.firstIndex { $0.to == "Item" })
    map.tables[place].fields["extra"] = ImportColumn(column: "ZEXTRA", as: .utf8)
    let report = try store.importDatabase(at: old, map: map)
    #expect(report.records == ["List": 2, "Item": 4, "Tag": 2])
    #expect(report.links == 3 && report.known == 0 && report.missing == 0)
    #expect(
      try rows(items) == [
        "Milk 0 2023-01-01 00:00:00.500 00112233445566778899AABBCCDDEEFF {\"fat\":1.5} 1.25 Groceries Breakfast",
        "Nails 1 NULL  NULL 2.0 Hardware NULL",
        "Breakfast 0 NULL  NULL NULL Groceries NULL",
        " 0 NULL  NULL NULL NULL ",
      ])
    #expect(try rows(tags) == ["Milk cheap", "Milk urgent", "Nails urgent"])
    #expect(try store.verify().problems == [])
    #expect(try Data(contentsOf: old) == before)
  }

  @Test func aSQLiteDataFileBecomesTheSameRecordsOnEveryDevice() throws {
    let old = try file(Self.sqliteData)
    let draft = try ImportMap.draft(of: old, for: Self.schema)
    #expect(draft.unmatched == [])
    let other = try scratch.store("b.tally", schema: Self.schema)
    for store in [store, other] {
      let report = try store.importDatabase(at: old, map: draft.map)
      #expect(report.records == ["List": 1, "Item": 2, "Tag": 1] && report.links == 1)
    }
    #expect(
      try rows("SELECT id FROM Item ORDER BY id") == [
        "Item|~|20000000-0000-0000-0000-00000000000a", "Item|~|20000000-0000-0000-0000-00000000000b",
      ])
    #expect(
      try rows("SELECT id FROM List UNION SELECT id FROM Tag") == [
        "List|~|10000000-0000-0000-0000-00000000000a", "Tag|~|urgent",
      ])
    #expect(
      try rows(items) == [
        "Milk 0 2023-01-01 00:00:00.500 00112233445566778899AABBCCDDEEFF {\"fat\":1.5} 1.25 Groceries NULL",
        "Cream 1 NULL  NULL 2.0 Groceries Milk",
      ])
    #expect(try store.sync(with: other).isConverged)
    try expectConverged(store, other)
    #expect(try rows("SELECT count(*) FROM Item") == ["2"])
    #expect(try store.conflicts().isEmpty)
  }

  @Test func aLogBesideTheFileIsReadToo() throws {
    let url = try file(Self.sqliteData)
    let pool = try DatabasePool(path: url.path)
    try pool.write { try $0.execute(sql: "INSERT INTO tags VALUES ('cheap', 'Cheap')") }
    // Not checkpointed: everything is in the log, and the app has its file open.
    let draft = try ImportMap.draft(of: url, for: Self.schema)
    #expect(try store.importDatabase(at: url, map: draft.map).records["Tag"] == 2)
    try pool.write { try $0.execute(sql: "DELETE FROM itemTags; DELETE FROM items") }
    #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM items") } == 0)
  }

  // MARK: Names

  /// Numbers are given by each device for itself; only a namespace in the map says that they mean the same.
  @Test func numbersOfTwoDevicesAreNotTheSame() throws {
    let old = try file(
      "CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO tag VALUES (7, 'x'), (-1, 'y')")
    let map = ImportMap(tables: [.init(from: "tag", to: "Tag", fields: ["name": "name"])])
    let (second, third) = (
      try scratch.store("b.tally", schema: Self.schema), try scratch.store("c.tally", schema: Self.schema)
    )
    for store in [store, second] { try store.importDatabase(at: old, map: map) }
    #expect(try store.sync(with: second).isConverged)
    #expect(try rows("SELECT count(*) FROM Tag") == ["4"])

    var shared = map
    (shared.namespace, shared.name) = (UUID(uuidString: "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE"), "shared")
    for store in [second, third] { try store.importDatabase(at: old, map: shared) }
    #expect(try second.sync(with: third).isConverged)
    let names = try third.read {
      try String.fetchAll($0, sql: "SELECT id FROM Tag WHERE name IN ('x', 'y') ORDER BY name, id")
    }
    #expect(
      names.filter { $0.contains("51f89003") } == [
        // 58 bits of the namespace and the table's name, then the number: computed by a program of its own.
        "Tag|~|51f89003-c8ae-8694-8000-000000000007", "Tag|~|51f89003-c8ae-8697-bfff-ffffffffffff",
      ])
    #expect(names.count == 6)
  }

  // MARK: Going on

  /// Each transaction notes how far it is, so nothing comes in twice, whenever the import ends.
  @Test func anImportThatIsCutOffGoesOn() throws {
    struct Enough: Error {}
    let count = 57
    var sql = Self.coreData
    for number in 10..<10 + count {
      // Half of them refer to a later row.
      sql +=
        "INSERT INTO ZITEM(Z_PK, ZTITLE, ZPARENT) VALUES (\(number), 'n\(number)', \(number % 2 == 0 ? "\(9 + count)" : "NULL"));"
      sql += "INSERT INTO Z_1TAGS VALUES (\(number), 1);"
    }
    let old = try file(sql)
    var map = try ImportMap.draft(of: old, for: Self.schema).map
    let place = try #require(map.tables.firstIndex { $0.to == "Item" })
    map.tables[place].fields["extra"] = nil
    var calls = 0
    var isDone = false
    while !isDone, calls < 200 {
      // A new process each time: the store is opened anew.
      let store = try scratch.store("again.tally", schema: Self.schema)
      var steps = 0
      do {
        _ = try store.importDatabase(at: old, map: map, batchSize: 5) { _ in
          steps += 1
          if steps == 2 { throw Enough() }
        }
        isDone = true
      } catch is Enough {}
      calls += 1
      try store.close()
    }
    #expect(isDone && calls > 10)
    let again = try scratch.store("again.tally", schema: Self.schema)
    try store.importDatabase(at: old, map: map)
    let question = """
      SELECT i.title, (SELECT title FROM Item AS p WHERE p.id = i.parent),
        (SELECT group_concat(name) FROM Item_tags JOIN Tag AS t ON t.id = target WHERE source = i.id) FROM Item AS i ORDER BY 1
      """
    let rows = try [again, store].map { try $0.read { try Row.fetchAll($0, sql: question).map(\.description) } }
    #expect(rows[0] == rows[1] && rows[0].count == count + 4)
    #expect(try again.verify().problems == [])
    #expect(try again.importDatabase(at: old, map: map) == ImportReport(wasDone: true))
  }

  /// What people have done since is newer than the old file.
  @Test func nothingThatIsKnownIsTouched() throws {
    let old = try file(Self.sqliteData)
    let map = try ImportMap.draft(of: old, for: Self.schema).map
    let other = try scratch.store("b.tally", schema: Self.schema)
    try other.importDatabase(at: old, map: map)
    try other.write { db in
      try db.execute(sql: "DELETE FROM Item WHERE title = 'Milk'")
      try db.execute(sql: "UPDATE List SET title = 'Food'")
      try db.execute(sql: "DELETE FROM Item_tags")
    }
    #expect(try store.sync(with: other).isConverged)
    let report = try store.importDatabase(at: old, map: map)
    #expect(report == ImportReport(known: 5))
    #expect(try rows("SELECT title FROM Item UNION ALL SELECT title FROM List") == ["Cream", "Food"])
    #expect(try rows("SELECT parent FROM Item") == ["NULL"])
    try expectConverged(store, other)
    // A finished import does nothing any more, also for what was deleted here.
    try other.write { try $0.execute(sql: "DELETE FROM Item") }
    #expect(try other.importDatabase(at: old, map: map) == ImportReport(wasDone: true))
    #expect(try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Item") } == 0)
  }

  /// A reference in a circle is set in a second pass, unless somebody has cleared it meanwhile.
  @Test func aReferenceThatWasClearedMeanwhileStaysCleared() throws {
    struct Enough: Error {}
    let old = try file(
      """
      CREATE TABLE item (id INTEGER PRIMARY KEY, title TEXT, parent INTEGER);
      INSERT INTO item VALUES (1, 'a', 3), (2, 'b', 3), (3, 'c', NULL)
      """)
    let map = ImportMap(tables: [.init(from: "item", to: "Item", fields: ["title": "title", "parent": "parent"])])
    #expect(throws: Enough.self) {
      try store.importDatabase(at: old, map: map, batchSize: 2) { if $0.rows == 3 { throw Enough() } }
    }
    try store.write { try $0.execute(sql: "UPDATE Item SET parent = id WHERE title = 'a'") }
    try store.write { try $0.execute(sql: "UPDATE Item SET parent = NULL WHERE title = 'a'") }
    try store.importDatabase(at: old, map: map, batchSize: 2)
    #expect(
      try rows("SELECT i.title, p.title FROM Item AS i LEFT JOIN Item AS p ON p.id = i.parent ORDER BY 1") == [
        "a NULL", "b c", "c NULL",
      ])
  }

  /// A namespace that the disk has changed would bring every row in a second time.
  @Test func damagedProgressIsNotTrusted() throws {
    let old = try file(Self.coreData)
    let map = ImportMap(tables: [.init(from: "ZTAG", to: "Tag", fields: ["name": "ZNAME"])])
    try store.importDatabase(at: old, map: map)
    let recovered = scratch.path("recovered.tally")
    try store.close()
    // A recovered store remembers what came in.
    #expect(try Store.recover(scratch.path("a.tally"), to: recovered).losses == [])
    let other = try Store(existing: recovered)
    let again = try other.importDatabase(at: old, map: map)
    #expect(again.wasDone && again.records == [:])
    // What the map does not take is told again.
    #expect(again.leftOut == ["Item": 4, "List": 2, "Z_1TAGS": 3])

    try DatabaseQueue(path: scratch.path("a.tally")).write { db in
      try db.execute(sql: "UPDATE tally_meta SET value = replace(value, 'a', 'b') WHERE key = 'imports'")
    }
    let damaged = try Store(existing: scratch.path("a.tally"))
    #expect { try damaged.importDatabase(at: old, map: map) } throws: { ($0 as? StoreError)?.code == .corrupt }
    #expect(try damaged.verify().problems.contains { $0.contains("the progress of imports") })
    #expect(try damaged.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Tag") } == 2)
    _ = try damaged.rebuild()
    #expect(try damaged.verify().problems == [])
  }

  /// An app and its extension both import when they begin: the rows come in once, under one namespace.
  @Test func twoProcessesImportAtOnce() throws {
    var sql = "CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT);"
    for number in 1...20 { sql += "INSERT INTO tag VALUES (\(number), 'n\(number)');" }
    let old = try file(sql)
    let map = ImportMap(tables: [.init(from: "tag", to: "Tag", fields: ["name": "name"])])
    let other = try Store(existing: scratch.path("a.tally"))
    var calls = 0
    let report = try store.importDatabase(at: old, map: map, batchSize: 3) { _ in
      calls += 1
      struct Enough: Error {}
      // The other goes on for two batches each time, from wherever the import is.
      var steps = 0
      do {
        try other.importDatabase(at: old, map: map, batchSize: 2) { _ in
          steps += 1
          if steps == 2 { throw Enough() }
        }
      } catch is Enough {}
    }
    #expect(calls >= 2 && report.records["Tag"] ?? 0 < 20)
    #expect(try rows("SELECT count(*), count(DISTINCT name) FROM Tag") == ["20 20"])
    #expect(try store.importDatabase(at: old, map: map).wasDone && other.importDatabase(at: old, map: map).wasDone)
  }

  /// Mending the key makes positions meaningless; mending the id would bring rows in under other names.
  @Test func aKeyMayBeMendedAndAnIDMayNot() throws {
    let old = try file(
      """
      CREATE TABLE item (id INTEGER PRIMARY KEY, guid TEXT, title TEXT, price);
      INSERT INTO item VALUES (1, 'd', 'D', 1), (2, 'c', 'C', 'bad'), (3, 'b', 'B', 1), (4, 'a', 'A', 1);
      """)
    var map = ImportMap(tables: [
      .init(from: "item", to: "Item", key: "guid", fields: ["title": "title", "price": "price"])
    ])
    #expect(stop(old, map).hasPrefix("item, row 'c', Item.price: "))
    map.tables[0].key = nil
    #expect(stop(old, map, .invalidMap).hasPrefix("item: the import has begun with the id t.\"guid\"; "))
    map.tables[0].id = "guid"
    map.tables[0].fields["price"] = ImportColumn(sql: "CAST(price AS REAL)")
    let report = try store.importDatabase(at: old, map: map)
    #expect(report.records == ["Item": 2] && report.known == 2)
    #expect(try rows("SELECT title FROM Item ORDER BY title") == ["A", "B", "C", "D"])
  }

  // MARK: The map's file

  @Test func aMapIsTheSameAfterItWasWritten() throws {
    let map = ImportMap(
      name: "old", namespace: UUID(uuidString: "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE"),
      tables: [
        .init(
          from: "a", to: "Item", key: "k", id: .init(sql: "x || y"), where: "z > 1",
          fields: ["due": .init(column: "d", as: .unixMilliseconds), "list": .init(column: "l", skipsMissing: true)])
      ], links: [.init(from: "b", to: "Item.tags", source: "s", target: .init(sql: "t + 1"), where: "u")],
      leavesOut: ["log"])
    #expect(try ImportMap(json: map.json()) == map)
  }

  @Test(arguments: [
    ("{}", "the key tables is missing"), (#"{"tables":[{"to":"Item"}]}"#, "tables[0]: the key from is missing"),
    (
      #"{"tables":[{"from":"a","to":"Item","fields":{"title":{"colunm":"t"}}}]}"#,
      "tables[0].fields.title: 'colunm' is none of as, column, skipsMissing, sql, type"
    ),
    (
      #"{"tables":[{"from":"a","to":"Item","fields":{"title":{}}}]}"#,
      #"tables[0].fields.title: "column" or "sql" must be there"#
    ),
    (
      #"{"tables":[{"from":"a","to":"Item","fields":{"title":{"column":"t","sql":"t"}}}]}"#,
      #"tables[0].fields.title: of "column" and "sql" only one can be there"#
    ),
  ]) func aMapThatIsNotReadableSaysWhere(_ text: String, _ reason: String) {
    #expect {
      try ImportMap(json: Data(text.utf8))
    } throws: { "\($0)" == "the map is not readable: \(reason) (invalidMap)" }
  }
}
