import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyStore
import TallyWire
import Testing

/// Pictures that an older version of an app has put into the database become files.
@Suite(.timeLimit(.minutes(15))) struct AssetBlobTests {
  typealias Place = AssetFileTests.Place
  /// The schema of the first version, which other devices may go on using.
  static let old = Schema([EntitySchema("Game", .text("note"), .blob("image"))])
  static let schema = Schema([EntitySchema("Game", .text("note"), .blob("image"), .asset("picture"))])

  static func picture(_ number: Int) -> Data { Data([0xFF, 0xD8, 0xFF]) + Data("picture \(number)".utf8) }

  private func put(_ image: Data, in key: String, _ store: Store) throws {
    try store.write { db in
      try db.execute(
        sql: "INSERT INTO Game(id, image) VALUES(?1, ?2) ON CONFLICT DO UPDATE SET image = ?2",
        arguments: ["Game|~|\(key)", image])
    }
  }

  @discardableResult
  private func move(_ store: Store, keepsOldApps: Bool = false) throws -> BlobReport {
    try store.assets.moveBlobs(of: "Game", from: "image", to: "picture", keepsOldApps: keepsOldApps)
  }

  private func image(_ store: Store, _ key: String = "a") throws -> Data? {
    try store.read { try Data.fetchOne($0, sql: "SELECT image FROM Game WHERE id = ?", arguments: ["Game|~|\(key)"]) }
  }

  private func name(_ store: Store, _ key: String = "a") throws -> AssetName? {
    try store.read {
      try AssetName.fetchOne($0, sql: "SELECT picture FROM Game WHERE id = ?", arguments: ["Game|~|\(key)"])
    }
  }

  /// The content of the file that a row names; nil if it names none, or it is not here.
  private func file(_ store: Store, _ key: String = "a") throws -> Data? {
    try name(store, key).flatMap { try store.assets.url(of: $0) }.map { try Data(contentsOf: $0) }
  }

  private func expectEqual(_ a: Store, _ b: Store, _ location: Testing.SourceLocation = #_sourceLocation) throws {
    let (first, second) = (try a.summary(), try b.summary())
    #expect(first.vector == second.vector && first.fingerprint == second.fingerprint, sourceLocation: location)
    for store in [a, b] {
      let report = try store.verify()
      #expect(report.problems == [], sourceLocation: location)
    }
  }

  // MARK: One device

  @Test func blobsBecomeFiles() throws {
    let place = try Place(Self.schema)
    let store = place.store
    for key in ["a", "b"] { try put(Self.picture(key == "a" ? 1 : 2), in: key, store) }
    try store.write { db in
      try db.execute(sql: "INSERT INTO Game(id, image) VALUES('Game|~|empty', x'')")
      try db.execute(sql: "INSERT INTO Game(id, note) VALUES('Game|~|none', 'n')")
    }
    let report = try move(store)
    #expect(report.moved == 2 && report.cleared == 1)
    #expect(report.byteCount == Self.picture(1).count + Self.picture(2).count)
    #expect(try file(store, "a") == Self.picture(1) && file(store, "b") == Self.picture(2))
    #expect(try name(store, "a")?.type == "jpg" && name(store, "none") == nil && name(store, "empty") == nil)
    let left = try store.read { try Int.fetchOne($0, sql: "SELECT count(image) FROM Game") }
    #expect(left == 0)
    // A second run finds nothing and writes nothing.
    let before = try store.summary()
    #expect(try move(store) == BlobReport())
    #expect(try store.summary().vector == before.vector)
    let verified = try store.verify()
    #expect(verified.problems == [])
  }

  /// Each scalar is a byte.
  @Test(arguments: [
    ("\u{89}PNG\r\n\u{1A}\n\0", "png"), ("\u{FF}\u{D8}\u{FF}\u{E0}", "jpg"), ("GIF89a..", "gif"),
    ("RIFF\0\0\0\0WEBPVP8 ", "webp"), ("%PDF-1.7", "pdf"), ("\0\0\0\u{18}ftypheic\0\0\0\0mif1heic", "heic"),
    ("\0\0\0\u{18}ftypmif1\0\0\0\0mif1heic", "heic"), ("\0\0\0\u{18}ftypavif\0\0\0\0mif1avif", "bin"),
    ("\0\0\0\u{10}ftypmif1\0\0\0\0heic", "bin"), ("\0\0\0\u{8}ftyp", "bin"), ("RIFF\0\0\0\0WAVE", "bin"),
    ("", "bin"), ("\u{89}", "bin"),
  ])
  func aTypeIsRecognizedByTheFirstBytes(_ text: String, _ type: String) {
    let bytes = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    #expect(AssetTypeRecognition.type(of: bytes) == type)
  }

  @Test func sameContentIsOneFile() throws {
    let place = try Place(Self.schema)
    try place.store.write { db in
      for number in 0..<150 {
        try db.execute(
          sql: "INSERT INTO Game(id, image) VALUES(?, ?)", arguments: ["Game|~|\(number)", Self.picture(7)])
      }
    }
    let report = try place.store.assets.moveBlobs(of: "Game", from: "image", to: "picture", type: "png")
    #expect(report.moved == 150)
    let hash = Hexadecimal.text(SHA256.hash(Array(Self.picture(7))))
    #expect(try place.names == ["\(hash.prefix(2))/\(hash).png"])
  }

  /// A link to nowhere stands where the folder of one of the later files would be.
  @Test func anErrorLeavesEachPictureInOnePlace() throws {
    let place = try Place(Self.schema)
    let store = place.store
    let keys = (100..<200).map { "\($0)" }
    for (number, key) in keys.enumerated() { try put(Self.picture(number), in: key, store) }
    let folders = keys.indices.map { Hexadecimal.text(SHA256.hash(Array(Self.picture($0)))).prefix(2) }
    let blocked = try #require(
      folders.indices.dropFirst(BlobMove.sliceSize).first { !folders.prefix(BlobMove.sliceSize).contains(folders[$0]) })
    let folder = place.folder.appendingPathComponent("a.tally-assets")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let obstacle = folder.appendingPathComponent(String(folders[blocked]))
    try FileManager.default.createSymbolicLink(
      at: obstacle, withDestinationURL: place.folder.appendingPathComponent("nowhere/folder"))
    let error = #expect(throws: AssetError.self) { try move(store) }
    #expect(error?.code == .unwritable)
    // The first slice has moved, the second one has not.
    for (number, key) in keys.enumerated() {
      #expect(try (file(store, key) == Self.picture(number)) == (number < BlobMove.sliceSize))
      #expect(try (image(store, key) == Self.picture(number)) == (number >= BlobMove.sliceSize))
    }
    try FileManager.default.removeItem(at: obstacle)
    #expect(try move(store).moved == keys.count - BlobMove.sliceSize)
    for (number, key) in keys.enumerated() { #expect(try file(store, key) == Self.picture(number)) }
  }

  @Test func aCancelledTaskMovesNothingMore() async throws {
    let place = try Place(Self.schema)
    try put(Self.picture(1), in: "a", place.store)
    let assets = place.store.assets
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try assets.moveBlobs(of: "Game", from: "image", to: "picture")
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try image(place.store) == Self.picture(1) && name(place.store) == nil)
  }

  /// A writer comes between the files of a slice and its rows: the row waits for the next run.
  @Test func whatChangesMeanwhileIsLeft() throws {
    let place = try Place(Self.schema)
    let store = place.store
    for key in ["a", "b", "c", "d"] { try put(Self.picture(1), in: key, store) }
    let blobs = try BlobMove(store.assets, of: "Game", from: "image", to: "picture")
    let slice = try #require(try blobs.slice(after: ""))
    // By the app, by plain SQL of another program, and by a delete.
    try put(Self.picture(2), in: "a", store)
    let other = try DatabaseQueue(path: store.path)
    try other.write { try $0.execute(sql: "UPDATE Game SET image = x'03' WHERE id = 'Game|~|b'") }
    try other.close()
    try store.write { try $0.execute(sql: "DELETE FROM Game WHERE id = 'Game|~|c'") }
    var report = BlobReport()
    try blobs.write(slice, &report)
    #expect(report.moved == 1 && report.cleared == 0)
    #expect(try image(store, "a") == Self.picture(2) && name(store, "a") == nil)
    #expect(try image(store, "b") == Data([3]) && name(store, "b") == nil)
    #expect(try file(store, "d") == Self.picture(1) && image(store, "d") == nil)
    #expect(try move(store).moved == 2)
    #expect(try file(store, "a") == Self.picture(2) && file(store, "b") == Data([3]))
    try store.restore(try AnyRecordName("Game|~|c"))
    #expect(try image(store, "c") == Self.picture(1))
    #expect(try move(store).moved == 1 && file(store, "c") == Self.picture(1))
  }

  @Test func whatCannotBeMovedIsRefused() throws {
    let place = try Place(Self.schema)
    let store = place.store
    try put(Self.picture(1), in: "a", store)
    func code(_ type: String, _ from: String, _ to: String) -> StoreError.Code? {
      let error = #expect(throws: StoreError.self) { try store.assets.moveBlobs(of: type, from: from, to: to) }
      return error?.code
    }
    #expect(code("Gamm", "image", "picture") == .unknownType)
    #expect(code("Game", "imago", "picture") == .unknownField)
    #expect(code("Game", "note", "picture") == .typeMismatch)
    #expect(code("Game", "image", "note") == .typeMismatch)
    let wrong = #expect(throws: AssetError.self) {
      try store.assets.moveBlobs(of: "Game", from: "image", to: "picture", type: "J PG")
    }
    #expect(wrong?.code == .invalidType)
    let memory = try Store(inMemory: Self.schema)
    let error = #expect(throws: AssetError.self) { try move(memory) }
    #expect(error?.code == .inMemory)
    #expect(try image(store) == Self.picture(1) && place.names == [])
  }

  // MARK: Devices

  /// An old version of the app and a new one, which hold the same picture; both clocks start at day 1.
  private func pair() throws -> (old: Place, new: Place) {
    let (old, new) = (try Place(Self.old), try Place(Self.schema))
    old.clock.value = 1
    new.clock.value = 1
    try put(Self.picture(1), in: "a", old.store)
    try old.store.sync(with: new.store)
    return (old, new)
  }

  /// The old version writes before or after the move, which has not seen that: its picture is the later one.
  @Test(arguments: [2.0, 4.0]) func theLaterPictureOfAnOldAppWins(_ day: Double) throws {
    let (old, new) = try pair()
    old.clock.value = day
    try put(Self.picture(2), in: "a", old.store)
    new.clock.value = 3
    #expect(try move(new.store).moved == 1)
    #expect(try file(new.store) == Self.picture(1))
    try old.store.sync(with: new.store)
    try expectEqual(old.store, new.store)
    #expect(try image(new.store) == Self.picture(2))
    #expect(try move(new.store).moved == 1)
    #expect(try file(new.store) == Self.picture(2) && image(new.store) == nil)
    try old.store.sync(with: new.store)
    try expectEqual(old.store, new.store)
    #expect(try image(old.store) == nil)
    #expect(try move(new.store) == BlobReport())
  }

  @Test func anEarlierPictureOfAnOldAppGoes() throws {
    let (old, new) = try pair()
    try move(new.store)
    new.clock.value = 3
    let chosen = try new.store.assets.add(Self.picture(3), type: "jpg")
    try new.store.write { try $0.execute(sql: "UPDATE Game SET picture = ?", arguments: [chosen]) }
    old.clock.value = 2
    try put(Self.picture(2), in: "a", old.store)
    try old.store.sync(with: new.store)
    let report = try move(new.store)
    #expect(report.moved == 0 && report.cleared == 1)
    #expect(try name(new.store) == chosen && image(new.store) == nil)
    try old.store.sync(with: new.store)
    try expectEqual(old.store, new.store)
  }

  /// Without a name there is no picture that the blob could give way to, unless the name was taken away later.
  @Test func aPictureThatWasRemovedLaterStaysAway() throws {
    let (old, new) = try pair()
    try move(new.store)
    new.clock.value = 3
    try new.store.write { try $0.execute(sql: "UPDATE Game SET picture = NULL") }
    old.clock.value = 2
    try put(Self.picture(2), in: "a", old.store)
    try old.store.sync(with: new.store)
    let report = try move(new.store)
    #expect(report.moved == 0 && report.cleared == 1)
    #expect(try name(new.store) == nil && image(new.store) == nil)
  }

  @Test func twoDevicesMayMoveAtOnce() throws {
    let (old, new) = try pair()
    let third = try Place(Self.schema)
    third.clock.value = 5
    try old.store.sync(with: third.store)
    try move(new.store)
    try move(third.store)
    try new.store.sync(with: third.store)
    try expectEqual(new.store, third.store)
    for place in [new, third] {
      #expect(try file(place.store) == Self.picture(1) && image(place.store) == nil)
      #expect(try move(place.store) == BlobReport())
    }
  }

  @Test func oldAppsCanBeKept() throws {
    let (old, new) = try pair()
    #expect(try move(new.store, keepsOldApps: true).moved == 1)
    #expect(try file(new.store) == Self.picture(1) && image(new.store) == Self.picture(1))
    let before = try new.store.summary()
    #expect(try move(new.store, keepsOldApps: true) == BlobReport())
    #expect(try new.store.summary().vector == before.vector)
    // The old version goes on.
    old.clock.value = 2
    try put(Self.picture(2), in: "a", old.store)
    try old.store.sync(with: new.store)
    #expect(try move(new.store, keepsOldApps: true).moved == 1)
    #expect(try file(new.store) == Self.picture(2) && image(new.store) == Self.picture(2))
    // What the new one chooses is later than the blob.
    new.clock.value = 3
    let chosen = try new.store.assets.add(Self.picture(3), type: "jpg")
    try new.store.write { try $0.execute(sql: "UPDATE Game SET picture = ?", arguments: [chosen]) }
    #expect(try move(new.store, keepsOldApps: true) == BlobReport())
    #expect(try name(new.store) == chosen)
    // In the end the blobs go.
    let report = try move(new.store)
    #expect(report.moved == 0 && report.cleared == 1)
    #expect(try name(new.store) == chosen && image(new.store) == nil)
    try old.store.sync(with: new.store)
    try expectEqual(old.store, new.store)
  }

  /// The same picture as the asset's, which an old version has written later, is the later one from then on: also
  /// beside what a third device has chosen in between. A file that is not here comes out of the blob.
  @Test func theSamePictureAgainIsLater() throws {
    let (old, new) = try pair()
    let third = try Place(Self.schema)
    try move(new.store)
    try new.store.sync(with: third.store)
    third.clock.value = 10
    let chosen = try third.store.assets.add(Self.picture(3), type: "jpg")
    try third.store.write { try $0.execute(sql: "UPDATE Game SET picture = ?", arguments: [chosen]) }
    let known = try #require(try name(new.store))
    old.clock.value = 20
    try put(Self.picture(4), in: "a", old.store)
    try put(Self.picture(1), in: "a", old.store)
    try old.store.sync(with: new.store)
    let url = try #require(try new.store.assets.url(of: known))
    try FileManager.default.removeItem(at: url)
    let report = try move(new.store)
    #expect(report.moved == 1 && report.cleared == 0)
    #expect(try name(new.store) == known && file(new.store) == Self.picture(1) && image(new.store) == nil)
    try new.store.sync(with: third.store)
    try expectEqual(new.store, third.store)
    #expect(try name(third.store) == known)
    #expect(try move(new.store) == BlobReport())
  }

  /// A new life by an old version has a null in the asset field, by the same transaction and perhaps by a later time.
  @Test func theNullOfANewLifeIsNoChoice() throws {
    let (old, new) = try pair()
    try move(new.store)
    new.clock.value = 3
    let chosen = try new.store.assets.add(Self.picture(3), type: "jpg")
    try new.store.write { try $0.execute(sql: "UPDATE Game SET picture = ?", arguments: [chosen]) }
    try old.store.sync(with: new.store)
    old.clock.value = 2
    try old.store.write { try $0.execute(sql: "DELETE FROM Game") }
    try put(Self.picture(2), in: "a", old.store)
    try old.store.sync(with: new.store)
    #expect(try image(new.store) == Self.picture(2))
    let fields = try new.store.history(of: try AnyRecordName("Game|~|a"))?.fields
    let report = try move(new.store)
    let (shown, left) = (try file(new.store), try image(new.store))
    #expect(shown == Self.picture(2) && left == nil, "\(report) \(fields ?? [])")
  }

  /// Where others have the names but not the files, a blob that stays is the file.
  @Test func aBlobThatStaysGivesTheFile() throws {
    let (old, new) = try pair()
    let third = try Place(Self.schema)
    try move(new.store, keepsOldApps: true)
    try third.store.apply(try new.store.delta())
    #expect(try name(third.store) != nil && file(third.store) == nil)
    #expect(try move(third.store, keepsOldApps: true) == BlobReport())
    #expect(try file(third.store) == Self.picture(1))
    try old.store.sync(with: third.store)
    try expectEqual(old.store, third.store)
  }

  // MARK: Files and rows of the app's

  @Test(arguments: [false, true]) func aDamagedFileIsNotTakenForThePicture(isNamed: Bool) throws {
    let place = try Place(Self.schema)
    let store = place.store
    let known = try store.assets.add(Self.picture(1), type: "jpg")
    try put(Self.picture(1), in: "a", store)
    if isNamed { try store.write { try $0.execute(sql: "UPDATE Game SET picture = ?", arguments: [known]) } }
    var damaged = Self.picture(1)
    damaged[damaged.count - 1] ^= 1
    try damaged.write(to: try #require(try store.assets.url(of: known)))
    try move(store)
    #expect(try file(store) == Self.picture(1) && image(store) == nil)
    let report = try store.assets.verify()
    #expect(report.damaged == [] && report.missing == [])
  }

  /// A collection between the file and the row leaves the file, or the row its blob.
  @Test func aCollectionBetweenFileAndRowLosesNothing() throws {
    let place = try Place(Self.schema)
    let store = place.store
    try put(Self.picture(1), in: "a", store)
    let blobs = try BlobMove(store.assets, of: "Game", from: "image", to: "picture")
    let slice = try #require(try blobs.slice(after: ""))
    #expect(try store.assets.collect(isUrgent: true) == 1)
    var report = BlobReport()
    try blobs.write(slice, &report)
    #expect(report == BlobReport())
    #expect(try image(store) == Self.picture(1))
    #expect(try move(store).moved == 1)
    #expect(try store.assets.collect(isUrgent: true) == 0)
    #expect(try file(store) == Self.picture(1))
  }

  @Test func aRowThatIsRefusedStopsNoOther() throws {
    let place = try Place(Self.schema)
    let store = place.store
    for (number, key) in ["a", "b", "c"].enumerated() { try put(Self.picture(number), in: key, store) }
    try store.write { db in
      try db.execute(
        sql: """
          CREATE TRIGGER keep BEFORE UPDATE ON Game WHEN NEW.id = 'Game|~|b' BEGIN SELECT RAISE(IGNORE); END
          """)
    }
    let report = try move(store)
    let refused = try AnyRecordName("Game|~|b")
    #expect(report.moved == 2 && report.refused == [refused])
    #expect(try image(store, "b") == Self.picture(1) && name(store, "b") == nil)
    #expect(try file(store, "a") == Self.picture(0) && file(store, "c") == Self.picture(2))
    let verified = try store.verify()
    #expect(verified.problems == [])
  }

  /// What triggers of the app's write with a move is written now, so no earlier edit of another device prevails.
  @Test func triggersWriteNow() throws {
    let place = try Place(Self.schema)
    let store = place.store
    place.clock.value = 1
    try put(Self.picture(1), in: "a", store)
    try store.write { db in
      try db.execute(sql: "INSERT INTO Game(id, note) VALUES('Game|~|log', '')")
      try db.execute(
        sql: """
          CREATE TRIGGER log AFTER UPDATE OF picture ON Game WHEN NEW.id <> 'Game|~|log'
          BEGIN UPDATE Game SET note = NEW.picture WHERE id = 'Game|~|log'; END
          """)
    }
    place.clock.value = 5
    try move(store)
    let history = try #require(try store.history(of: try AnyRecordName("Game|~|log")))
    let written = try #require(history.fields.first { $0.field == "note" }?.stamp.time)
    #expect(Int64(written.milliseconds) >= Int64((1_800_000_000 + 5 * 86_400) * 1_000))
    #expect(try file(store) == Self.picture(1))
  }
}
