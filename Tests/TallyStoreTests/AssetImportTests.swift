import Foundation
import GRDB
import Tally
import TallyImport
import TallyStore
import Testing

/// Pictures of other databases become files beside the store, and rows their names.
@Suite(.timeLimit(.minutes(30))) struct AssetImportTests {
  let scratch: Scratch
  let store: Store

  init() throws {
    scratch = try Scratch()
    store = try scratch.store(schema: Self.schema)
  }

  static let schema = Schema([EntitySchema("Photo", .text("name"), .asset("file"))])
  static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]

  /// A file with a table of photos.
  private func file(_ values: [(name: String, file: DatabaseValue)]) throws -> URL {
    let url = scratch.url.appendingPathComponent("old.sqlite")
    try DatabaseQueue(path: url.path).write { db in
      try db.execute(sql: "CREATE TABLE photo (id INTEGER PRIMARY KEY, name TEXT, file)")
      for value in values {
        try db.execute(sql: "INSERT INTO photo(name, file) VALUES (?, ?)", arguments: [value.name, value.file])
      }
    }
    return url
  }

  private func change(_ file: URL, _ sql: String) throws {
    try DatabaseQueue(path: file.path).write { try $0.execute(sql: sql) }
  }

  private func map(_ column: ImportColumn, folder: String? = nil, name: String? = nil) -> ImportMap {
    ImportMap(
      name: name, namespace: UUID(uuidString: "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE"), folder: folder,
      tables: [.init(from: "photo", to: "Photo", fields: ["name": "name", "file": column])])
  }

  /// The name of the asset of each photo.
  private func names(_ store: Store) throws -> [String: AssetName] {
    try store.read { db in
      var names: [String: AssetName] = [:]
      for row in try Row.fetchAll(db, sql: "SELECT name, file FROM Photo WHERE file NOT NULL") {
        names[row[0]] = row[1] as AssetName?
      }
      return names
    }
  }

  private func bytes(_ name: AssetName?, in store: Store) throws -> [UInt8] {
    let name = try #require(name)
    return Array(try Data(contentsOf: #require(try store.assets.url(of: name))))
  }

  private func refusal(_ old: URL, _ map: ImportMap) -> StoreError? {
    do {
      try store.importDatabase(at: old, map: map)
      return nil
    } catch {
      return error as? StoreError
    }
  }

  private func write(_ bytes: [UInt8], to path: String) throws {
    let url = scratch.url.appendingPathComponent(path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  // MARK: Blobs

  /// Same bytes are one file; a row without bytes names none.
  @Test(arguments: [1, 2, 100]) func blobsBecomeFiles(batchSize: Int) throws {
    let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let old = try file([
      ("a", Data(Self.png).databaseValue), ("b", Data(large).databaseValue), ("c", Data(Self.png).databaseValue),
      ("d", Data().databaseValue), ("e", .null),
    ])
    #expect(try store.importDatabase(at: old, map: map("file"), batchSize: batchSize).records == ["Photo": 5])
    let names = try names(store)
    #expect(names.count == 3 && names["a"] == names["c"])
    #expect(try bytes(names["a"], in: store) == Self.png && bytes(names["b"], in: store) == large)
    #expect(names["a"]?.type == "png" && names["b"]?.type == "bin")
    #expect(try store.assets.list().map(\.isHere) == [true, true])
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Photo WHERE file IS NULL") } == 2)
    try expectConverged(store)
  }

  @Test(
    arguments: [
      ("png", png), ("jpg", [0xFF, 0xD8, 0xFF, 0xE0]), ("gif", Array("GIF87a.".utf8)), ("gif", Array("GIF89a".utf8)),
      ("webp", Array("RIFF....WEBPVP8 ".utf8)), ("bin", Array("RIFF....WAVE".utf8)), ("pdf", Array("%PDF-1.7".utf8)),
      ("heic", [0, 0, 0, 16] + Array("ftypheic....".utf8)),
      ("heic", [0, 0, 0, 24] + Array("ftypmif1....mif1heix".utf8)),
      ("bin", [0, 0, 0, 20] + Array("ftypmif1....avif".utf8)), ("bin", [0, 0, 0, 16] + Array("ftypisom....heic".utf8)),
      ("bin", [0x89]), ("bin", [0, 0, 0, 0] + Array("ftyp".utf8)),
    ] as [(String, [UInt8])]) func theFirstBytesGiveTheType(_ type: String, _ content: [UInt8]) throws
  {
    let old = try file([("a", Data(content).databaseValue)])
    try store.importDatabase(at: old, map: map("file"))
    #expect(try names(store)["a"]?.type == type)
    // The map knows better.
    var map = map(.init(column: "file", type: "raw"), name: "other")
    map.tables[0].id = .init(sql: "'p' || id")
    map.tables[0].fields["name"] = .init(sql: "'b'")
    try store.importDatabase(at: old, map: map)
    #expect(try names(store)["b"]?.type == "raw")
  }

  @Test func namesOfAssetsAreKeptAndOtherTextsAreNot() throws {
    let name = try store.assets.add(Data(Self.png), type: "png")
    let old = try file([("a", name.databaseValue)])
    try store.importDatabase(at: old, map: map("file"))
    #expect(try names(store) == ["a": name])
    try change(old, "INSERT INTO photo(name, file) VALUES ('b', 'b.png'), ('c', 7)")
    let error = refusal(old, map("file", name: "again"))
    #expect(error?.code == .rowNotMapped && error?.message.contains("photo, row '2', Photo.file: has a TEXT") == true)
    try change(old, "DELETE FROM photo WHERE name = 'b'")
    #expect(refusal(old, map("file", name: "again"))?.message.contains("row '3', Photo.file: has an INTEGER") == true)
  }

  /// An import that is done again gives the same names, and a record that is known gets no file.
  @Test func anImportThatIsDoneAgainGivesTheSameNames() throws {
    let old = try file([("a", Data(Self.png).databaseValue), ("b", Data([1, 2]).databaseValue)])
    try store.importDatabase(at: old, map: map("file"))
    let names = try names(store)
    #expect(try store.importDatabase(at: old, map: map("file")).wasDone)
    #expect(try store.importDatabase(at: old, map: map("file", name: "again")).known == 2)
    #expect(try self.names(store) == names)
    // Elsewhere too.
    let other = try scratch.store("b.tally", schema: Self.schema)
    try other.importDatabase(at: old, map: map("file"), batchSize: 1)
    #expect(try self.names(other) == names)
    // What is deleted, or shows another picture by now, stays so.
    let list = try store.assets.list().count
    try store.write { db in
      try db.execute(sql: "DELETE FROM Photo WHERE name = 'a'; UPDATE Photo SET file = NULL WHERE name = 'b'")
    }
    try change(old, "UPDATE photo SET file = x'0708'")
    #expect(try store.importDatabase(at: old, map: map("file", name: "third")) == ImportReport(known: 2))
    #expect(try self.names(store) == [:] && store.assets.list().filter(\.isHere).count == list)
    try expectConverged(store)
  }

  /// An import that was cut off goes on, and each row has its file.
  @Test func anImportThatWasCutOffGoesOn() throws {
    struct Enough: Error {}
    let old = try file((0..<9).map { ("\($0)", Data([UInt8($0)]).databaseValue) })
    for _ in 0..<3 {
      #expect(throws: Enough.self) {
        try store.importDatabase(at: old, map: map("file"), batchSize: 2) { _ in throw Enough() }
      }
    }
    try store.importDatabase(at: old, map: map("file"), batchSize: 2)
    let names = try names(store)
    for number in 0..<9 { #expect(try bytes(names["\(number)"], in: store) == [UInt8(number)]) }
    #expect(try store.assets.verify().missing == [])
  }

  @Test func aStoreInMemoryTakesNoFiles() throws {
    let memory = try Store(inMemory: Self.schema)
    let old = try file([("a", Data(Self.png).databaseValue)])
    for (column, folder) in [("file", nil), (.init(column: "file", as: .path), ".")] as [(ImportColumn, String?)] {
      let error = #expect(throws: AssetError.self) {
        try memory.importDatabase(at: old, map: map(column, folder: folder))
      }
      #expect(error?.code == .inMemory)
    }
    #expect(try memory.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Photo") } == 0)
    // Names need no files.
    try change(old, "UPDATE photo SET file = NULL")
    #expect(try memory.importDatabase(at: old, map: map("file")).records == ["Photo": 1])
  }

  // MARK: Paths

  private let path = ImportColumn(column: "file", as: .path)

  @Test func filesAtPathsAreCopied() throws {
    try write(Self.png, to: "Pictures/2024/a.JPG")
    try write(Self.png, to: "Pictures/no extension")
    try write([], to: "Pictures/empty.txt")
    try FileManager.default.createSymbolicLink(
      at: scratch.url.appendingPathComponent("Pictures/link.gif"),
      withDestinationURL: scratch.url.appendingPathComponent("Pictures/2024/a.JPG"))
    let old = try file([
      ("a", "2024/a.JPG".databaseValue), ("b", "./2024//a.JPG".databaseValue), ("c", "no extension".databaseValue),
      ("d", "link.gif".databaseValue), ("e", "".databaseValue), ("f", .null), ("g", "empty.txt".databaseValue),
    ])
    try store.importDatabase(at: old, map: map(path, folder: "Pictures"))
    let names = try names(store)
    #expect(names.mapValues(\.type) == ["a": "jpg", "b": "jpg", "c": "png", "d": "gif", "g": "txt"])
    #expect(names["a"] == names["b"] && names["g"]?.byteCount == 0)
    #expect(try bytes(names["a"], in: store) == Self.png)
    // The files stay where they are.
    #expect(try Data(contentsOf: scratch.url.appendingPathComponent("Pictures/2024/a.JPG")) == Data(Self.png))
    // The folder may be absolute, and the type the map's.
    let other = try scratch.store("b.tally", schema: Self.schema)
    try other.importDatabase(
      at: old, map: map(.init(column: "file", as: .path, type: "x"), folder: scratch.path("Pictures")))
    #expect(try Set(self.names(other).values.map(\.type)) == ["x"])
  }

  /// What leads out of the folder, or to nothing that can be taken, stops the import and names the row.
  @Test(arguments: [
    ("../secret", "has a path that leads out of the map's \"folder\""),
    ("2024/../../secret", "has a path that leads out of the map's \"folder\""),
    ("2024/../a.png", "has a path that leads out of the map's \"folder\""),
    ("a.png\u{0}", "has a path that leads out of the map's \"folder\""),
    ("/etc/passwd", "has an absolute path"),
    ("out", "has a path that leads out of the map's \"folder\", by a symbolic"),
    ("outside/secret", "has a path that leads out of the map's \"folder\", by a symbolic link"),
    ("sibling", "has a path that leads out of the map's \"folder\", by a symbolic link"),
    ("none.png", "names a file that is not in the map's \"folder\""), ("dangling", "names a file that is not in the"),
    ("a.png/b", "names a file that is not in the"), ("loop", "names a file that is not in the"),
    ("2024", "names what is no plain file"), (".", "names what is no plain file"),
    ("old.sqlite", "names a database that is open"), ("a.tally", "names a database that is open"),
  ]) func aPathThatCannotBeTakenStopsTheImport(_ path: String, _ reason: String) throws {
    try write([1], to: "secret")
    try write([1], to: "Pictures 2/secret")
    try write(Self.png, to: "Pictures/a.png")
    try write(Self.png, to: "Pictures/2024/b.png")
    for (link, target) in [
      ("out", "../secret"), ("outside", ".."), ("sibling", "../Pictures 2/secret"), ("dangling", "gone"),
      ("loop", "loop"),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: scratch.path("Pictures/\(link)"), withDestinationPath: target)
    }
    let isDatabase = ["old.sqlite", "a.tally"].contains(path)
    let old = try file([("a", (isDatabase ? "Pictures/a.png" : "a.png").databaseValue), ("b", .null)])
    try DatabaseQueue(path: old.path).write {
      // A text with a zero byte needs to be made by SQLite.
      let parts = path.split(separator: "\u{0}", omittingEmptySubsequences: false).map(String.init)
      let sql = "UPDATE photo SET file = ? || iif(?, char(0), '') WHERE name = 'b'"
      try $0.execute(sql: sql, arguments: [parts[0], parts.count > 1])
    }
    let error = refusal(old, map(self.path, folder: isDatabase ? "." : "Pictures"))
    #expect(error?.code == .rowNotMapped)
    #expect(error?.message.hasPrefix("photo, row '2', Photo.file: \(reason)") == true, "\(error?.message ?? "")")
    #expect(try names(store) == [:])
    // A mended row lets it go on.
    try change(old, "UPDATE photo SET file = NULL WHERE name = 'b'")
    try store.importDatabase(at: old, map: map(self.path, folder: isDatabase ? "." : "Pictures"))
    #expect(try names(store)["a"]?.type == "png")
  }

  @Test func aMapOfFilesIsChecked() throws {
    let old = try file([("a", "a.png".databaseValue)])
    let unnamed = refusal(old, map(path))
    #expect(unnamed?.code == .invalidMap)
    #expect(unnamed?.message == "Photo.file has paths of files, and the map does not name their \"folder\"")
    let missing = refusal(old, map(path, folder: "none"))
    #expect(missing?.code == .invalidMap && missing?.message == "the folder of files, 'none', is not there")
    let badType = refusal(old, map(.init(column: "file", type: "JPG")))
    #expect(badType?.code == .invalidMap && badType?.message.contains("'JPG' is not a file type") == true)
    for column in [ImportColumn(column: "name", as: .path), ImportColumn(column: "name", type: "jpg")] {
      var map = map("file", folder: ".")
      map.tables[0].fields["name"] = column
      let error = refusal(old, map)
      #expect(error?.code == .invalidMap && error?.message.hasPrefix("Photo.name is no asset") == true)
    }
    let full = map(.init(column: "file", as: .path, type: "jpg"), folder: "Pictures")
    #expect(try ImportMap(json: full.json()) == full)
    let plain = map(.init(column: "file", type: "jpg"))
    #expect(try ImportMap(json: plain.json()) == plain)
  }

  /// An app calls it at each launch, also when the old pictures are gone.
  @Test func anImportThatIsDoneNeedsNoFolder() throws {
    try write(Self.png, to: "Pictures/a.png")
    let old = try file([("a", "a.png".databaseValue)])
    try store.importDatabase(at: old, map: map(path, folder: "Pictures"))
    try FileManager.default.removeItem(at: scratch.url.appendingPathComponent("Pictures"))
    #expect(try store.importDatabase(at: old, map: map(path, folder: "Pictures")).wasDone)
    #expect(try store.importDatabase(at: old, map: map("file", name: "again")).known == 1)
  }

  /// The schema says that a field is a file, and the values how.
  @Test func aDraftTellsBlobsFromPaths() throws {
    let old = try file([("a", Data(Self.png).databaseValue), ("b", "".databaseValue), ("c", .null)])
    #expect(try ImportMap.draft(of: old, for: Self.schema).map.tables[0].fields["file"] == "file")
    try change(old, "UPDATE photo SET file = 'c.png' WHERE name = 'c'")
    #expect(try ImportMap.draft(of: old, for: Self.schema).map.tables[0].fields["file"] == path)
    let name = try store.assets.add(Data(Self.png), type: "png")
    try change(old, "UPDATE photo SET file = '\(name)'")
    #expect(try ImportMap.draft(of: old, for: Self.schema).map.tables[0].fields["file"] == "file")
    let texts = Schema([EntitySchema("Photo", .text("name"), .text("file"))])
    try change(old, "UPDATE photo SET file = 'c.png'")
    #expect(try ImportMap.draft(of: old, for: texts).map.tables[0].fields["file"] == "file")
  }

  // MARK: Core Data's external storage

  private static let id = "0A1B2C3D-0000-4000-8000-00000000ABCD"
  private static let support = ".old_SUPPORT/_EXTERNAL_DATA/\(id)"
  /// A reference to a file: 02, the name, 00.
  private static let reference: [UInt8] = [2] + Array(id.utf8) + [0]

  private func coreData(_ values: [(name: String, file: DatabaseValue)]) throws -> URL {
    let url = scratch.url.appendingPathComponent("old.sqlite")
    try DatabaseQueue(path: url.path).write { db in
      try db.execute(
        sql: """
          CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
          INSERT INTO Z_PRIMARYKEY VALUES (1, 'Photo', 0, 0);
          CREATE TABLE ZPHOTO (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR, ZFILE BLOB);
          """)
      for value in values {
        let sql = "INSERT INTO ZPHOTO(Z_ENT, ZNAME, ZFILE) VALUES (1, ?, ?)"
        try db.execute(sql: sql, arguments: [value.name, value.file])
      }
    }
    return url
  }

  /// Content in the row and content in a file become files, also one that no value could hold.
  @Test func externalStorageBecomesFiles() throws {
    let old = try coreData([
      ("a", Data([1] + Self.png).databaseValue), ("b", Data(Self.reference).databaseValue),
      ("c", Data([1]).databaseValue), ("d", .null), ("e", Data().databaseValue),
    ])
    let large = [0xFF, 0xD8, 0xFF] + [UInt8](repeating: 7, count: 9 << 20)
    try write(large, to: Self.support)
    let draft = try ImportMap.draft(of: old, for: Self.schema)
    #expect(draft.map.tables[0].fields["file"] == .init(column: "ZFILE", as: .coreDataBlob))
    #expect(try store.importDatabase(at: old, map: draft.map).records == ["Photo": 5])
    let names = try names(store)
    #expect(names.mapValues(\.type) == ["a": "png", "b": "jpg"])
    #expect(try bytes(names["a"], in: store) == Self.png && bytes(names["b"], in: store) == large)
  }

  @Test func aReferenceThatLeadsNowhereStopsTheImport() throws {
    let old = try coreData([("a", Data(Self.reference).databaseValue)])
    var map = try ImportMap.draft(of: old, for: Self.schema).map
    let missing = refusal(old, map)
    #expect(missing?.code == .rowNotMapped)
    #expect(
      missing?.message.hasPrefix(
        "ZPHOTO, row '1', Photo.file: is in the file \(Self.id), which is not in .old_SUPPORT/_EXTERNAL_DATA") == true)
    // A link leads elsewhere, and is none of Core Data's.
    try write([1], to: "secret")
    try write([], to: Self.support)
    let place = scratch.url.appendingPathComponent(Self.support)
    try FileManager.default.removeItem(at: place)
    try FileManager.default.createSymbolicLink(
      at: place, withDestinationURL: scratch.url.appendingPathComponent("secret"))
    #expect(refusal(old, map)?.message == missing?.message)
    let odd: [[UInt8]] = [
      [3, 4, 5], [2] + Array("../../secret".utf8), Self.reference + [0], Self.reference.dropLast() + [1],
    ]
    for odd in odd {
      try DatabaseQueue(path: old.path).write {
        try $0.execute(sql: "UPDATE ZPHOTO SET ZFILE = ?", arguments: [Data(odd)])
      }
      let error = refusal(old, map)
      #expect(error?.code == .rowNotMapped)
      #expect(error?.message.contains("begins with neither 01 nor 02 and a UUID") == true)
    }
    // A map must say whether the first byte is Core Data's.
    try DatabaseQueue(path: old.path).write {
      try $0.execute(sql: "UPDATE ZPHOTO SET ZFILE = ?", arguments: [Data([1] + Self.png)])
    }
    map.tables[0].fields["file"] = "ZFILE"
    #expect(refusal(old, map)?.code == .invalidMap)
    map.tables[0].fields["file"] = .init(sql: "ZFILE")
    try store.importDatabase(at: old, map: map)
    #expect(try bytes(names(store)["a"], in: store) == [1] + Self.png)
  }
}
