import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyImport
import TallyStore
import Testing

/// Files in the layout of Core Data come in whole, or it is said what stays behind.
@Suite(.timeLimit(.minutes(30))) struct CoreDataImportTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private static let entities =
    "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);"

  /// A file with these entities (number, name, parent) and this SQL.
  func file(_ entities: [(Int, String, Int)], _ sql: String) throws -> URL {
    let url = scratch.url.appendingPathComponent("old.sqlite")
    try DatabaseQueue(path: url.path).write { db in
      try db.execute(sql: Self.entities)
      for (number, name, parent) in entities {
        try db.execute(sql: "INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, 0)", arguments: [number, name, parent])
      }
      try db.execute(sql: sql)
    }
    return url
  }

  func rows(_ store: Store, _ sql: String) throws -> [String] {
    try store.read { db in
      try Row.fetchAll(db, sql: sql).map { row in
        row.databaseValues.map { String.fromDatabaseValue($0) ?? "\($0)" }.joined(separator: " ")
      }
    }
  }

  /// The error of an import.
  func refusal(_ store: Store, _ old: URL, _ map: ImportMap) -> StoreError? {
    do {
      try store.importDatabase(at: old, map: map)
      return nil
    } catch {
      return error as? StoreError
    }
  }

  // MARK: Entities that inherit

  private static let cars = """
    CREATE TABLE ZCAR (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZTURBO INTEGER);
    INSERT INTO ZCAR VALUES (1,1,1,'Beetle',NULL), (2,2,1,'911',1), (3,3,1,'917',0), (4,1,1,'Mini',NULL);
    """

  @Test func entitiesThatInheritComeAlong() throws {
    let old = try file([(1, "Car", 0), (2, "SportCar", 1), (3, "RaceCar", 2)], Self.cars)
    let schema = Schema([EntitySchema("Car", .text("name"))])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(
      draft.map.tables == [.init(from: "ZCAR", to: "Car", where: "Z_ENT IN (1, 2, 3)", fields: ["name": "ZNAME"])])
    #expect(draft.unmatched == [] && draft.leftOut == [:] && draft.unused == ["ZCAR.ZTURBO"])
    let store = try scratch.store(schema: schema)
    let report = try store.importDatabase(at: old, map: draft.map)
    #expect(report.records == ["Car": 4] && report.leftOut == [:] && report.excluded == 0)
    #expect(try rows(store, "SELECT name FROM Car ORDER BY name") == ["911", "917", "Beetle", "Mini"])
  }

  /// An entity takes those below it down to the next that has a type of its own.
  @Test func entitiesWithATypeOfTheirOwnAreThatType() throws {
    let old = try file([(1, "Car", 0), (2, "SportCar", 1), (3, "RaceCar", 2)], Self.cars)
    let schema = Schema([EntitySchema("Car", .text("name")), EntitySchema("SportCar", .text("name"), .bool("turbo"))])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.map.tables.map(\.condition) == ["Z_ENT = 1", "Z_ENT IN (2, 3)"])
    #expect(draft.unmatched == [] && draft.unused == [])
    let store = try scratch.store(schema: schema)
    #expect(try store.importDatabase(at: old, map: draft.map).records == ["Car": 2, "SportCar": 2])
    #expect(try rows(store, "SELECT name, turbo FROM SportCar ORDER BY name") == ["911 1", "917 0"])
  }

  /// A map that leaves an entity behind says so each time, until it names the entity.
  @Test func whatNoTableTakesIsNamedAndCounted() throws {
    let old = try file(
      [(1, "Car", 0), (2, "SportCar", 1), (3, "RaceCar", 2), (4, "Wheel", 0), (16_001, "CHANGE", 0)],
      Self.cars + """
        CREATE TABLE ZWHEEL (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZSIZE INTEGER);
        INSERT INTO ZWHEEL VALUES (1,4,15), (2,4,16), (3,4,17);
        CREATE TABLE Z_1WHEELS (Z_1CARS INTEGER, Z_4WHEELS INTEGER); INSERT INTO Z_1WHEELS VALUES (1,1);
        CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER); INSERT INTO ACHANGE VALUES (1,16001);
        CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY); INSERT INTO Z_METADATA VALUES (1);
        """)
    let schema = Schema([EntitySchema("SportCar", .text("name"))])
    let draft = try ImportMap.draft(of: old, for: schema)
    let left = ["Car": 2, "Wheel": 3, "Z_1WHEELS": 1]
    #expect(draft.leftOut == left)
    let store = try scratch.store(schema: schema)
    var map = draft.map
    // An earlier draft's: the entity alone.
    map.tables[0].condition = "Z_ENT = 2"
    #expect(try store.importDatabase(at: old, map: map).leftOut == left.merging(["RaceCar": 1]) { $1 })
    (map.name, map.tables[0].condition) = ("again", "Z_ENT IN (2, 3) AND ZNAME <> '917'")
    map.leavesOut = ["Car", "Wheel", "Z_1WHEELS", "RaceCar"]
    let report = try store.importDatabase(at: old, map: map)
    #expect(report.leftOut == [:] && report.excluded == 0)
    map.name = "third"
    map.tables[0].condition = "ZNAME = '911'"
    #expect(try store.importDatabase(at: old, map: map).leftOut == [:])
    map.leavesOut = []
    #expect(try store.importDatabase(at: old, map: map).leftOut == left.merging(["RaceCar": 1]) { $1 })
    #expect(try store.importDatabase(at: old, map: map).wasDone)
  }

  /// Rows that a condition leaves out of a table are counted, apart from tables that no map names.
  @Test func otherDatabasesSayWhatStaysBehindToo() throws {
    let url = scratch.url.appendingPathComponent("old.sqlite")
    try DatabaseQueue(path: url.path).write { db in
      try db.execute(
        sql: """
          CREATE TABLE car (id INTEGER PRIMARY KEY, name TEXT, color TEXT); CREATE TABLE wheel (id INTEGER PRIMARY KEY);
          INSERT INTO car VALUES (1, 'a', NULL), (2, 'b', 'red'), (3, NULL, NULL); INSERT INTO wheel VALUES (1), (2);
          CREATE TABLE grdb_migrations (identifier TEXT PRIMARY KEY); INSERT INTO grdb_migrations VALUES ('v1');
          CREATE VIRTUAL TABLE text USING fts5(body); INSERT INTO text VALUES ('x'); CREATE TABLE empty (x);
          """)
    }
    let schema = Schema([EntitySchema("Car", .text("name"))])
    var draft = try ImportMap.draft(of: url, for: schema)
    #expect(draft.leftOut == ["wheel": 2] && draft.unused == ["car.color"])
    draft.map.tables[0].condition = "name NOT NULL"
    let report = try scratch.store(schema: schema).importDatabase(at: url, map: draft.map)
    #expect(report == ImportReport(records: ["Car": 2], leftOut: ["wheel": 2], excluded: 1))
  }

  // MARK: Numbered columns

  @Test func ofNumberedColumnsTheOneWithValuesIsTaken() throws {
    let old = try file(
      [(1, "Message", 0), (2, "SystemMessage", 1), (3, "TextMessage", 1)],
      """
      CREATE TABLE ZMESSAGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZSENDER INTEGER, ZSENDER1 INTEGER,
        ZTEXT VARCHAR, ZTEXT1 VARCHAR);
      INSERT INTO ZMESSAGE VALUES (1,3,1,NULL,2,NULL,'Hello'), (2,2,1,1,NULL,'joined',NULL);
      """)
    let types = ["TextMessage", "SystemMessage"]
    let schema = Schema(
      types.map { EntitySchema($0, .text("text"), .reference("sender", to: types[$0 == types[0] ? 1 : 0])) })
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.unmatched == [])
    #expect(draft.map.tables[0].fields == ["text": "ZTEXT1", "sender": "ZSENDER1"])
    let store = try scratch.store(schema: schema)
    #expect(try store.importDatabase(at: old, map: draft.map).records == ["TextMessage": 1, "SystemMessage": 1])
    #expect(
      try rows(store, "SELECT t.text, s.text FROM TextMessage t JOIN SystemMessage s ON s.id = t.sender") == [
        "Hello joined"
      ])
    #expect(try rows(store, "SELECT t.text FROM SystemMessage s JOIN TextMessage t ON t.id = s.sender") == ["Hello"])

    // A type of both takes each entity's own column.
    let one = Schema([EntitySchema("Message", .text("text"))])
    let both = try ImportMap.draft(of: old, for: one)
    #expect(
      both.map.tables[0].fields == ["text": .init(sql: "CASE Z_ENT WHEN 2 THEN \"ZTEXT\" WHEN 3 THEN \"ZTEXT1\" END")])
    let second = try scratch.store("b.tally", schema: one)
    try second.importDatabase(at: old, map: both.map)
    #expect(try rows(second, "SELECT text FROM Message ORDER BY text") == ["Hello", "joined"])
  }

  /// What only a person can tell is left to one: two columns with values, none with a value, a field of the name.
  @Test func numberedColumnsThatMayBothBeMeantAreNamed() throws {
    let old = try file(
      [(1, "Note", 0), (2, "Folder", 1), (3, "Draft", 1)],
      """
      CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZTITLE VARCHAR, ZTITLE1 VARCHAR, ZBODY VARCHAR,
        ZBODY1 VARCHAR);
      INSERT INTO ZNOTE VALUES (1,2,'a','b',NULL,NULL), (2,3,NULL,'c','x','y');
      """)
    let schema = Schema([
      EntitySchema("Folder", .text("title"), .text("body")), EntitySchema("Draft", .text("body"), .text("body1")),
    ])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.unmatched == ["Folder.title (ZTITLE, ZTITLE1)", "Folder.body (ZBODY, ZBODY1)"])
    #expect(draft.map.tables.map(\.fields) == [[:], ["body": "ZBODY", "body1": "ZBODY1"]])
    #expect(draft.unused == ["ZNOTE.ZTITLE", "ZNOTE.ZTITLE1"])
  }

  /// An integer that counts seconds since 1970 is no `Date` of Core Data's; the import asks.
  @Test func onlyATimestampIsADate() throws {
    let old = try file(
      [(1, "Item", 0)],
      """
      CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZDUE TIMESTAMP, ZMADE INTEGER);
      INSERT INTO ZITEM VALUES (1,1,694224000.5,1672531200);
      """)
    let schema = Schema([EntitySchema("Item", .date("due"), .date("made"))])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.map.tables[0].fields == ["due": .init(column: "ZDUE", as: .coreDataSeconds), "made": "ZMADE"])
    let store = try scratch.store(schema: schema)
    #expect(refusal(store, old, draft.map)?.code == .rowNotMapped)
  }

  // MARK: External storage

  private static let photos = Schema([EntitySchema("Photo", .text("name"), .blob("data"), .json("extra"))])

  private func photos(_ rows: String) throws -> URL {
    try file(
      [(1, "Photo", 0)],
      """
      CREATE TABLE ZPHOTO (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR, ZDATA BLOB, ZEXTRA BLOB);
      INSERT INTO ZPHOTO VALUES \(rows);
      """)
  }

  private static let id = "0A1B2C3D-0000-4000-8000-00000000ABCD"
  private static var external: String { "x'02\(Hexadecimal.text(Array(id.utf8)))00'" }

  private func support(_ name: String, _ bytes: [UInt8]) throws {
    let folder = scratch.url.appendingPathComponent(".old_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(bytes).write(to: folder.appendingPathComponent(name))
  }

  @Test func picturesComeOutOfTheRowAndOutOfFiles() throws {
    let old = try photos(
      "(1,1,'a',x'0189504E47',NULL), (2,1,'b',\(Self.external),NULL), (3,1,'c',NULL,NULL), (4,1,'d',x'01',NULL)")
    let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try support(Self.id, large)
    let draft = try ImportMap.draft(of: old, for: Self.photos)
    #expect(draft.map.tables[0].fields["data"] == .init(column: "ZDATA", as: .coreDataBlob))
    let store = try scratch.store(schema: Self.photos)
    let report = try store.importDatabase(at: old, map: draft.map)
    #expect(report.records == ["Photo": 4])
    let data = try store.read { try Data?.fetchAll($0, sql: "SELECT data FROM Photo ORDER BY name") }
    #expect(data == [Data([0x89, 0x50, 0x4E, 0x47]), Data(large), nil, Data()])
  }

  /// A file that is missing, too large, or no plain file stops the import, and says so.
  @Test func aPictureThatIsNotThereStopsTheImport() throws {
    let old = try photos("(1,1,'b',\(Self.external),NULL)")
    let map = try ImportMap.draft(of: old, for: Self.photos).map
    let store = try scratch.store(schema: Self.photos)
    let missing = refusal(store, old, map)
    #expect(missing?.code == .rowNotMapped)
    #expect(
      missing?.message
        == "ZPHOTO, row '1', Photo.data: is in the file \(Self.id), which is not in .old_SUPPORT/_EXTERNAL_DATA beside "
        + "the database; copy the hidden folder .old_SUPPORT with it, or leave the field out of the map")
    try support(Self.id, [UInt8](repeating: 7, count: 8 << 20 + 1))
    #expect(refusal(store, old, map)?.message.contains("has 8388609 bytes, and a value may have 8388608") == true)
    let place = scratch.url.appendingPathComponent(".old_SUPPORT/_EXTERNAL_DATA/\(Self.id)")
    try FileManager.default.removeItem(at: place)
    try FileManager.default.createSymbolicLink(at: place, withDestinationURL: old)
    #expect(refusal(store, old, map)?.message == missing?.message)
    #expect(try rows(store, "SELECT count(*) FROM Photo") == ["0"])
    try FileManager.default.removeItem(at: place)
    try support(Self.id, [1, 2, 3])
    try store.importDatabase(at: old, map: map)
    #expect(try rows(store, "SELECT hex(data) FROM Photo") == ["010203"])
  }

  /// A map of before does not bring in Core Data's own bytes for the app's.
  @Test func aMapMustSayWhetherBlobsMayBeInFiles() throws {
    for value in ["x'0189504E47'", Self.external] {
      let old = try photos("(1,1,'a',\(value),NULL)")
      var map = ImportMap(tables: [.init(from: "ZPHOTO", to: "Photo", fields: ["data": "ZDATA"])])
      let store = try scratch.store("\(value.count).tally", schema: Self.photos)
      let error = refusal(store, old, map)
      #expect(error?.code == .invalidMap && error?.message.contains("\"as\": \"coreDataBlob\"") == true)
      map.tables[0].fields["data"] = .init(sql: "ZDATA")
      try store.importDatabase(at: old, map: map)
      #expect(try rows(store, "SELECT 'x''' || hex(data) || '''' FROM Photo") == ["x" + value.dropFirst().uppercased()])
      try FileManager.default.removeItem(at: old)
    }
  }

  @Test func textMayBeInFilesToo() throws {
    let old = try photos("(1,1,'a',NULL,x'015B315D'), (2,1,'b',NULL,\(Self.external))")
    try support(Self.id, Array("[2]".utf8))
    var map = ImportMap(tables: [.init(from: "ZPHOTO", to: "Photo", fields: ["extra": "ZEXTRA"])])
    let store = try scratch.store(schema: Self.photos)
    #expect(refusal(store, old, map)?.message.contains("\"as\": \"coreDataBlob\"") == true)
    map = try ImportMap.draft(of: old, for: Self.photos).map
    try store.importDatabase(at: old, map: map)
    #expect(try rows(store, "SELECT extra FROM Photo ORDER BY name") == ["[1]", "[2]"])
  }

  @Test func otherBlobsAreTakenAsTheyAre() throws {
    let old = try photos(
      "(1,1,'a',x'0189',CAST('[1]' AS BLOB)), (2,1,'b',x'FFD8',x'015B325D'), (3,1,'c',x'',x'62706C6973743030')")
    let draft = try ImportMap.draft(of: old, for: Self.photos)
    #expect(draft.map.tables[0].fields["data"] == "ZDATA")
    var map = draft.map
    map.tables[0].fields["extra"] = nil
    let store = try scratch.store(schema: Self.photos)
    try store.importDatabase(at: old, map: map)
    #expect(try rows(store, "SELECT hex(data) FROM Photo ORDER BY name") == ["0189", "FFD8", ""])
    // One that is neither inline nor a file's name is none.
    map.name = "blob"
    map.tables[0] = .init(
      from: "ZPHOTO", to: "Photo", id: .init(sql: "'n' || Z_PK"),
      fields: ["data": .init(column: "ZDATA", as: .coreDataBlob)])
    #expect(refusal(store, old, map)?.message.contains("begins with neither 01 nor 02 and a UUID") == true)
    // JSON that may be in files; a property list is no text.
    map.name = "json"
    map.tables[0] = .init(
      from: "ZPHOTO", to: "Photo", id: .init(sql: "'j' || Z_PK"), where: "Z_PK = 2",
      fields: ["extra": .init(column: "ZEXTRA", as: .coreDataBlob)])
    try store.importDatabase(at: old, map: map)
    #expect(try rows(store, "SELECT extra FROM Photo WHERE id = 'Photo|~|j2'") == ["[2]"])
    map.name = "list"
    (map.tables[0].condition, map.tables[0].fields["extra"]) = ("Z_PK = 3", "ZEXTRA")
    #expect(refusal(store, old, map)?.message.contains("a property list, which a field of kind blob takes") == true)
  }

  // MARK: Join tables

  private static let persons = [(1, "Person", 0), (2, "Tag", 0)]
  private static let personRows = """
    CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR);
    CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR);
    INSERT INTO ZPERSON VALUES (1,1,'Ann'), (2,1,'Bob'), (3,1,'Cid'); INSERT INTO ZTAG VALUES (1,2,'x'), (2,2,'y');
    """

  /// The column of the relationship's own name holds the members, whatever the table is called and the other resembles.
  @Test(arguments: [
    ("Z_1BLOCKED", "Z_1BLOCKEDBY", "Z_1BLOCKED"), ("Z_1BLOCKEDBY", "Z_1BLOCKEDBY", "Z_1BLOCKED1"),
    ("Z_1BLOCKED", "REFLEXIVE", "Z_1BLOCKED"),
  ]) func aRelationshipOfATypeToItselfKeepsItsDirection(_ table: String, _ source: String, _ target: String) throws {
    for columns in [[source, target], [target, source]] {
      let old = try file(
        Self.persons,
        Self.personRows + """
          CREATE TABLE \(table) (\(columns[0]) INTEGER, \(columns[1]) INTEGER);
          INSERT INTO \(table)(\(source), \(target)) VALUES (1,2), (3,1);
          """)
      let schema = Schema([EntitySchema("Person", .text("name"), .toMany("blocked", to: "Person"))])
      let draft = try ImportMap.draft(of: old, for: schema)
      #expect(draft.unmatched == [])
      let store = try scratch.store("\(columns[0]).tally", schema: schema)
      #expect(try store.importDatabase(at: old, map: draft.map).links == 2)
      let blocked = """
        SELECT s.name, t.name FROM Person_blocked JOIN Person s ON s.id = source JOIN Person t ON t.id = target ORDER BY 1
        """
      #expect(try rows(store, blocked) == ["Ann Bob", "Cid Ann"])
      try FileManager.default.removeItem(at: old)
    }
  }

  /// A table may have the name of either side, and the number of either entity; its order is told.
  @Test(arguments: ["Z_1TAGS", "Z_2TAGS", "Z_1PERSONS", "Z_2PERSONS"])
  func aJoinTableIsFoundByItsColumns(_ table: String) throws {
    let old = try file(
      Self.persons,
      Self.personRows + """
        CREATE TABLE \(table) (Z_1PERSONS INTEGER, Z_2TAGS INTEGER, Z_FOK_1PERSONS INTEGER);
        INSERT INTO \(table) VALUES (1,2,1024), (3,1,2048), (3,2,3072);
        """)
    let schema = Schema([
      EntitySchema("Person", .text("name"), .toMany("tags", to: "Tag")),
      EntitySchema("Tag", .text("name"), .toMany("persons", to: "Person")),
    ])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.unmatched == [] && draft.map.links.count == 2)
    #expect(draft.unused == ["\(table).Z_FOK_1PERSONS"])
    let store = try scratch.store(schema: schema)
    let report = try store.importDatabase(at: old, map: draft.map)
    #expect(report.links == 6 && report.leftOut == [:])
    let tags =
      "SELECT p.name, t.name FROM Person_tags JOIN Person p ON p.id = source JOIN Tag t ON t.id = target ORDER BY 1, 2"
    #expect(try rows(store, tags) == ["Ann y", "Cid x", "Cid y"])
    let persons =
      "SELECT p.name, t.name FROM Tag_persons JOIN Person p ON p.id = target JOIN Tag t ON t.id = source ORDER BY 1, 2"
    #expect(try rows(store, persons) == ["Ann y", "Cid x", "Cid y"])
  }

  /// An ordered relationship takes the order, wherever the import was stopped; what has none comes last.
  @Test(arguments: [1, 2, 100]) func theOrderOfAJoinTableComesAlong(batchSize: Int) throws {
    let old = try file(
      Self.persons,
      Self.personRows + """
        INSERT INTO ZTAG(Z_PK, Z_ENT, ZNAME) VALUES (3, 2, 'z'), (4, 2, 'w'), (5, 2, 'v');
        CREATE TABLE Z_1TAGS (Z_1PERSONS INTEGER, Z_2TAGS INTEGER, Z_FOK_1PERSONS INTEGER);
        INSERT INTO Z_1TAGS VALUES (1,2,2048), (1,1,4096), (1,3,1024), (1,5,NULL), (1,4,3072), (3,1,2), (3,2,1);
        """)
    let schema = Schema([
      EntitySchema("Person", .text("name"), .toMany("tags", to: "Tag", ordered: true)),
      EntitySchema("Tag", .text("name")),
    ])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.map.links.map(\.order) == ["Z_FOK_1PERSONS"] && draft.unused == [])
    #expect(try ImportMap(json: draft.map.json()) == draft.map)
    let store = try scratch.store(schema: schema)
    struct Enough: Error {}
    for _ in 0..<3 {
      do {
        try store.importDatabase(at: old, map: draft.map, batchSize: batchSize) {
          if $0.table == "Z_1TAGS" { throw Enough() }
        }
      } catch is Enough {}
    }
    try store.importDatabase(at: old, map: draft.map, batchSize: batchSize)
    let tags = """
      SELECT p.name, t.name FROM Person_tags JOIN Person p ON p.id = source JOIN Tag t ON t.id = target
      ORDER BY p.name, position
      """
    #expect(try rows(store, tags) == ["Ann z", "Ann y", "Ann w", "Ann x", "Ann v", "Cid y", "Cid x"])
    #expect(try store.verify().problems == [])
    // A relationship without an order takes none.
    let plain = Schema([
      EntitySchema("Person", .text("name"), .toMany("tags", to: "Tag")), EntitySchema("Tag", .text("name")),
    ])
    let error = #expect(throws: StoreError.self) {
      try scratch.store("plain", schema: plain).importDatabase(at: old, map: draft.map)
    }
    #expect(error?.code == .invalidMap && error?.message.contains("no ordered relationship") == true)
  }

  /// A relationship of an entity above belongs to each type below, to each its rows; what may be meant is named.
  @Test func joinTablesOfEntitiesThatInherit() throws {
    let old = try file(
      [(1, "Asset", 0), (2, "Photo", 1), (3, "Video", 1), (4, "Tag", 0)],
      """
      CREATE TABLE ZASSET (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR);
      CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR);
      INSERT INTO ZASSET VALUES (1,2,'p'), (2,3,'v'), (3,2,'q'); INSERT INTO ZTAG VALUES (1,4,'x'), (2,4,'y');
      CREATE TABLE Z_1TAGS (Z_1ASSETS INTEGER, Z_4TAGS INTEGER); INSERT INTO Z_1TAGS VALUES (1,1), (2,2), (3,2);
      CREATE TABLE Z_2FOUND (Z_2BY INTEGER, Z_4FOUND INTEGER); INSERT INTO Z_2FOUND VALUES (1,1);
      CREATE TABLE Z_4OTHER (Z_2ALSO INTEGER, Z_4FOUND INTEGER); INSERT INTO Z_4OTHER VALUES (1,2);
      """)
    let schema = Schema([
      EntitySchema("Photo", .text("name"), .toMany("tags", to: "Tag"), .toMany("found", to: "Tag")),
      EntitySchema("Video", .text("name"), .toMany("tags", to: "Tag")), EntitySchema("Tag", .text("name")),
    ])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.unmatched == ["Photo.found (Z_2FOUND.Z_4FOUND, Z_4OTHER.Z_4FOUND)"])
    #expect(draft.leftOut == ["Z_2FOUND": 1, "Z_4OTHER": 1])
    let store = try scratch.store(schema: schema)
    let report = try store.importDatabase(at: old, map: draft.map)
    #expect(report.links == 3 && report.excluded == 0)
    #expect(
      try rows(
        store,
        """
        SELECT p.name, t.name FROM Photo_tags JOIN Photo p ON p.id = source JOIN Tag t ON t.id = target
        UNION SELECT v.name, t.name FROM Video_tags JOIN Video v ON v.id = source JOIN Tag t ON t.id = target ORDER BY 1
        """) == ["p x", "q y", "v y"])
  }

  /// Each entity below may have a relationship of the name, in a table of its own: all are the type's.
  @Test func joinTablesOfSeveralEntitiesOfOneType() throws {
    let old = try file(
      [(1, "Asset", 0), (2, "Photo", 1), (3, "Video", 1), (4, "Tag", 0)],
      """
      CREATE TABLE ZASSET (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR);
      CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR);
      INSERT INTO ZASSET VALUES (1,2,'p'), (2,3,'v'), (3,2,'q'); INSERT INTO ZTAG VALUES (1,4,'x'), (2,4,'y');
      CREATE TABLE Z_2TAGS (Z_2PHOTOS INTEGER, Z_4TAGS INTEGER); INSERT INTO Z_2TAGS VALUES (1,1), (3,2);
      CREATE TABLE Z_3TAGS (Z_3VIDEOS INTEGER, Z_4TAGS1 INTEGER); INSERT INTO Z_3TAGS VALUES (2,2);
      """)
    let schema = Schema([
      EntitySchema("Asset", .text("name"), .toMany("tags", to: "Tag")), EntitySchema("Tag", .text("name")),
    ])
    let draft = try ImportMap.draft(of: old, for: schema)
    #expect(draft.unmatched == [] && draft.leftOut == [:])
    let store = try scratch.store(schema: schema)
    #expect(try store.importDatabase(at: old, map: draft.map).links == 3)
    #expect(
      try rows(
        store,
        """
        SELECT a.name, t.name FROM Asset_tags JOIN Asset a ON a.id = source JOIN Tag t ON t.id = target ORDER BY 1
        """) == ["p x", "q y", "v y"])
  }
}
