import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyImport
import TallyStore
import Testing

/// Files that are odd, and maps and rows that are refused.
extension DatabaseImportTests {
  // MARK: Odd files

  /// Keys of every kind, in every order that SQLite has, come in whatever the size of a batch; links too.
  @Test(arguments: [1, 2, 1000]) func keysOfAllKindsComeIn(_ batch: Int) throws {
    let old = try file(
      """
      CREATE TABLE tag (id PRIMARY KEY, name TEXT);
      CREATE TABLE item (id TEXT PRIMARY KEY COLLATE NOCASE, title TEXT);
      INSERT INTO tag VALUES ('+49123', 'a'), ('#1', 'b'), ('-1', 'c'), (' x', 'd'), ('-Inf', 'e'), (-9, 'f'), (9, 'g'),
        (9223372036854775807, 'h'), (-9223372036854775808, 'i'), (x'00112233445566778899aabbccddeeff', 'j'), ('$', 'k');
      INSERT INTO item VALUES ('(x)', 'A'), ('"q"', 'B'), ('z', 'C');
      CREATE TABLE both (i TEXT COLLATE NOCASE, t COLLATE NOCASE);
      INSERT INTO both SELECT item.id, tag.id FROM item, tag;
      INSERT INTO both SELECT item.id, tag.id FROM item, tag;
      """)
    let map = ImportMap(
      tables: [
        .init(from: "tag", to: "Tag", fields: ["name": "name"]),
        .init(from: "item", to: "Item", fields: ["title": "title"]),
      ], links: [.init(from: "both", to: "Item.tags", source: "i", target: "t")])
    let report = try store.importDatabase(at: old, map: map, batchSize: batch)
    #expect(report.records == ["Tag": 11, "Item": 3] && report.links == 33)
    #expect(try rows("SELECT count(*) FROM Item_tags") == ["33"])
  }

  @Test func oddNamesAndUnreadableNeighborsAreInNobodysWay() throws {
    let old = try file(
      """
      CREATE TABLE "tä""g 🎉" ("i""d" TEXT PRIMARY KEY, "na me" TEXT, value TEXT, twice AS (value || value));
      INSERT INTO "tä""g 🎉" VALUES ('a', 'Ä', 'x'), ('b', 'ö', 'y');
      CREATE TABLE gone (x); CREATE VIEW broken AS SELECT x FROM gone; DROP TABLE gone;
      CREATE VIEW foreignFunction AS SELECT nobodys(value) FROM "tä""g 🎉";
      """, "Übung.sqlite")
    let map = ImportMap(tables: [
      .init(from: "tä\"g 🎉", to: "Tag", id: .init(sql: "\"i\"\"d\" || twice"), fields: ["name": "na me"])
    ])
    #expect(try store.importDatabase(at: old, map: map, batchSize: 1).records == ["Tag": 2])
    #expect(try rows("SELECT id, name FROM Tag ORDER BY id") == ["Tag|~|axx Ä", "Tag|~|byy ö"])
    #expect(try ImportMap.draft(of: old, for: Self.schema).unmatched == ["List", "Item", "Tag", "Item.tags"])
    let link = scratch.url.appendingPathComponent("link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: old)
    #expect(try store.importDatabase(at: link, map: map).wasDone == false)
  }

  @Test func textsAreNotAltered() throws {
    let old = try file(
      """
      CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT);
      INSERT INTO tag VALUES (1, 'ab' || char(0) || 'cd'), (2, CAST(x'636166e9' AS TEXT)), (3, 'c');
      """)
    var map = ImportMap(tables: [.init(from: "tag", to: "Tag", fields: ["name": "name"])])
    #expect(
      stop(old, map) == "tag, row '2', Tag.name: is a text that is not UTF-8; "
        + "give it an expression that makes one, such as {\"sql\": \"hex(name)\"}")
    map.tables[0].fields["name"] = ImportColumn(sql: "CASE id WHEN 2 THEN 'café' ELSE name END")
    try store.importDatabase(at: old, map: map)
    #expect(try rows("SELECT hex(name) FROM Tag ORDER BY id") == ["6162006364", "636166C3A9", "63"])
  }

  /// Of two ids that are one UUID the second would be lost, and which one the second is, chance would decide.
  @Test func twoFormsOfOneIDAreRefused() throws {
    let old = try file(
      """
      CREATE TABLE tag (id PRIMARY KEY);
      INSERT INTO tag VALUES ('6F9619FF-8B86-D011-B42D-00C04FC964FF'), (x'6F9619FF8B86D011B42D00C04FC964FF');
      """)
    let map = ImportMap(tables: [.init(from: "tag", to: "Tag", fields: [:])])
    #expect(stop(old, map) == "tag: two rows have the id '6f9619ff-8b86-d011-b42d-00c04fc964ff'")
  }

  /// An app that is in the middle of something is waited for.
  @Test func aLockedFileIsNotTakenForADamagedOne() throws {
    let old = try file(Self.sqliteData)
    let app = try DatabaseQueue(path: old.path)
    var options = StoreOptions()
    options.busyTimeout = 0.05
    let store = try scratch.store("b.tally", schema: Self.schema, options: options)
    let map = ImportMap(tables: [.init(from: "tags", to: "Tag", fields: [:])])
    try app.writeWithoutTransaction { db in
      try db.execute(sql: "BEGIN EXCLUSIVE")
      #expect { try store.importDatabase(at: old, map: map) } throws: { error in
        (error as? DatabaseError)?.resultCode == .SQLITE_BUSY
      }
      try db.execute(sql: "COMMIT")
    }
    #expect(try store.importDatabase(at: old, map: map).records == ["Tag": 1])
  }

  /// Entities that inherit share a table, and a relationship of a type to itself has two columns of one number.
  @Test func aDraftKnowsCoreDatasForms() throws {
    let old = try file(
      """
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES (1,'Person',0,4), (2,'Animal',0,2), (3,'Dog',2,2);
      CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
      CREATE TABLE ZANIMAL (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZOPT VARCHAR, ZBREED VARCHAR);
      CREATE TABLE Z_1CHILDREN (Z_1CHILDREN INTEGER, Z_1PARENTS INTEGER);
      """)
    let schema = Schema([
      EntitySchema("Person", .text("name"), .toMany("children", to: "Person")), EntitySchema("Animal", .text("opt")),
      EntitySchema("Dog", .text("opt"), .text("breed")),
    ])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.unmatched == [])
    #expect(
      draft.map
        == ImportMap(
          tables: [
            .init(from: "ZPERSON", to: "Person", fields: ["name": "ZNAME"]),
            .init(from: "ZANIMAL", to: "Animal", where: "Z_ENT = 2", fields: ["opt": "ZOPT"]),
            .init(from: "ZANIMAL", to: "Dog", where: "Z_ENT = 3", fields: ["opt": "ZOPT", "breed": "ZBREED"]),
          ],
          links: [.init(from: "Z_1CHILDREN", to: "Person.children", source: "Z_1PARENTS", target: "Z_1CHILDREN")]))
  }

  // MARK: Refusals

  /// The message, if the import stops at a row.
  func stop(_ old: URL, _ map: ImportMap, _ code: StoreError.Code = .rowNotMapped) -> String {
    do {
      try store.importDatabase(at: old, map: map, batchSize: 1)
      return "it did not stop"
    } catch let error as StoreError {
      return error.code == code ? error.message : "\(error)"
    } catch {
      return "\(error)"
    }
  }

  /// The rows before the bad one are committed; the import goes on after the map is mended.
  @Test func anImportStopsAtTheFirstRowAndGoesOnAfterTheMapIsMended() throws {
    let old = try file(
      """
      CREATE TABLE item (id INTEGER PRIMARY KEY, title TEXT, due, list INTEGER, price);
      CREATE TABLE list (id INTEGER PRIMARY KEY, title TEXT);
      INSERT INTO list VALUES (1, 'A');
      INSERT INTO item VALUES (1, 'a', NULL, 1, 1), (2, 'b', 86400, 1, 1), (3, 'c', 1.5, 9, 1), (4, 'd', NULL, 1, 'free');
      """)
    var map = ImportMap(tables: [
      .init(from: "item", to: "Item", fields: ["title": "title", "due": "due", "list": "list", "price": "price"]),
      .init(from: "list", to: "List", fields: ["title": "title"]),
    ])
    #expect(
      stop(old, map)
        == "item, row '2', Item.due: has an INTEGER (say what the number counts, such as \"as\": \"unixSeconds\" or "
        + "\"coreDataSeconds\"), and the field is of kind date")
    #expect(try rows("SELECT title FROM Item") == ["a"])
    map.tables[0].fields["due"]?.form = .unixSeconds
    #expect(
      stop(old, map)
        == "item, row '3', Item.list: refers to '9', which is not imported; \"skipsMissing\" makes such references null"
    )
    map.tables[0].fields["list"]?.skipsMissing = true
    #expect(
      stop(old, map)
        == "item, row '4', Item.price: has a TEXT (an expression can convert it: \"sql\": \"CAST(… AS …)\"), "
        + "and the field is of kind real")
    map.tables[0].fields["price"] = ImportColumn(sql: "CASE price WHEN 'free' THEN 0.0 ELSE price END")
    #expect(try store.importDatabase(at: old, map: map).records == ["Item": 1])
    #expect(
      try rows("SELECT title, due, price, list NOT NULL FROM Item ORDER BY title") == [
        "a NULL 1.0 1", "b 1970-01-02 00:00:00.000 1.0 1", "c 1970-01-01 00:00:01.500 1.0 0",
        "d NULL 0.0 1",
      ])
  }

  @Test func rowsThatHaveNoNameOfTheirOwnAreRefused() throws {
    let old = try file(
      """
      CREATE TABLE item (number INTEGER PRIMARY KEY, id TEXT, title TEXT);
      INSERT INTO item VALUES (1, 'a', 'x'), (2, 'a', 'y'), (3, NULL, 'z'), (4, 'né', 'z'), (5, 'b', 'z');
      """)
    var table = ImportMap.Table(from: "item", to: "Item", id: "id", fields: ["title": "title"])
    #expect(stop(old, ImportMap(tables: [table])) == "item: the id is null in a row; \"where\" can leave them out")
    table.condition = "id NOT NULL"
    #expect(stop(old, ImportMap(tables: [table])) == "item: two rows have the id 'a'")
    table.id = ImportColumn(sql: "id || number")
    #expect(
      stop(old, ImportMap(tables: [table]))
        == "item, row '4', id: is neither a number, nor a UUID, nor a short text of printable ASCII; "
        + "an \"id\" in the map can make one of it, such as {\"sql\": \"hex(name)\"}, or \"where\" leaves the row out")
    table.condition = "number <> 4 AND id NOT NULL -- a comment"
    #expect(try store.importDatabase(at: old, map: ImportMap(tables: [table])).records == ["Item": 1])
    #expect(try rows("SELECT id FROM Item ORDER BY id") == ["Item|~|a1", "Item|~|a2", "Item|~|b5"])
  }

  @Test func aMapThatDoesNotFitIsRefusedBeforeAnythingIsWritten() throws {
    let old = try file(Self.sqliteData)
    func refusal(_ table: ImportMap.Table, _ links: [ImportMap.Links] = []) -> String {
      stop(old, ImportMap(tables: [table], links: links), .invalidMap)
    }
    #expect(
      refusal(.init(from: "nothing", to: "Item", fields: [:]))
        == "there is no table 'nothing'; the tables are itemTags, items, lists, tags")
    #expect(
      refusal(.init(from: "items", to: "Thing", fields: [:]))
        == "items: the schema has no type 'Thing'")
    // SQLite would take the name in quotes for a text.
    #expect(
      refusal(.init(from: "tags", to: "Tag", fields: ["name": "nmae"]))
        == "tags has no column 'nmae'; the columns are id, name")
    #expect(
      refusal(.init(from: "tags", to: "Tag", fields: ["title": "name"])) == "Tag has no field or reference 'title'")
    #expect(
      refusal(.init(from: "tags", to: "Tag", fields: ["name": .init(sql: "upper(nmae)")]))
        == "tags: no such column: nmae")
    #expect(
      refusal(.init(from: "tags", to: "Tag", fields: ["name": .init(sql: "1); DELETE FROM tags; SELECT (1")]))
        .hasPrefix("tags: "))
    #expect(
      refusal(
        .init(from: "tags", to: "Tag", fields: [:]),
        [.init(from: "itemTags", to: "Item.tag", source: "itemID", target: "tagID")])
        == "itemTags: no relationship 'Item.tag'; expected Type.relationship")
    #expect(
      refusal(.init(from: "items", to: "Item", fields: ["title": .init(sql: "max(title)")]))
        == "items: an expression of the map makes one row of many")
    for sql in ["name || ?", "name), (id"] {
      #expect(
        refusal(.init(from: "tags", to: "Tag", fields: ["name": .init(sql: sql)]))
          == "tags: an expression is not one value without parameters")
    }
    #expect(try rows("SELECT count(*) FROM Tag") == ["0"] && store.vector == StateVector())
  }

  @Test func whatIsNoDatabaseIsRefused() throws {
    let map = ImportMap(tables: [.init(from: "tags", to: "Tag", fields: [:])])
    let text = scratch.url.appendingPathComponent("text.sqlite")
    try Data(repeating: 65, count: 5000).write(to: text)
    #expect(stop(text, map, .notADatabase) == "text.sqlite is no SQLite database")
    let none = scratch.url.appendingPathComponent("none.sqlite")
    #expect(stop(none, map, .notADatabase) == "there is no file at \(none.path)")
    #expect(!FileManager.default.fileExists(atPath: none.path))
    _ = try scratch.store("b.tally", schema: Self.schema)
    #expect(
      stop(scratch.url.appendingPathComponent("b.tally"), map, .notADatabase)
        == "b.tally is already a store; sync with it instead")
    // A file whose pages are damaged stops where SQLite notices, and the store is sound.
    let old = try file(Self.sqliteData, "damaged.sqlite")
    var bytes = try Data(contentsOf: old)
    for page in 1..<bytes.count / 4096 { bytes[page * 4096] = 0xAA }
    try bytes.write(to: old)
    #expect(stop(old, map, .notADatabase).hasPrefix("damaged.sqlite cannot be read: "))
    #expect(try store.verify().problems == [])
  }
}
