import Foundation
import Tally
import Testing

@testable import Scorebook

/// The pictures of the app's first version, which were blobs in the database.
@Suite struct PictureTests {
  /// The schema of the first version: the same without the assets.
  private static let first = Schema(
    scorebookSchema.entities.map { entity in
      var entity = entity
      entity.fields.removeAll { $0.kind == .asset }
      return entity
    })

  /// The pictures of one entity.
  private struct Album {
    var entity: String
    var blob: String
    var pictures: [Data]
  }

  /// Avatars of people, thumbnails of games, and photographs of matches: three of each.
  private static let albums = FirstVersion.pictures.enumerated().map { part, kind in
    Album(entity: kind.entity, blob: kind.blob, pictures: (3 * part..<3 * part + 3).map(picture))
  }
  private static let marks = (0..<9).map(mark)

  /// A picture of many pages, with something in its middle to look for, twice in case a page ends there.
  private static func picture(_ number: Int) -> Data {
    let half = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* (2 * number + 3) ^ $0 >> 7) })
    let mark = Data(mark(number).utf8)
    return Data([0xFF, 0xD8, 0xFF]) + half + mark + Data(count: 100) + mark + half
  }

  private static func mark(_ number: Int) -> String { "the middle of picture \(number)" }

  private func expectPictures(_ store: Store) throws {
    let names = try store.read { db in
      try SBPerson.order(Column("id")).fetchAll(db).map(\.avatar)
        + SBGame.order(Column("id")).fetchAll(db).map(\.thumbnail)
        + SBMatchImage.order(Column("id")).fetchAll(db).map(\.picture)
    }
    let pictures = Self.albums.flatMap(\.pictures)
    #expect(names.count == pictures.count)
    for (name, picture) in zip(names, pictures) {
      let url = try #require(try name.flatMap { try store.assets.url(of: $0) })
      #expect(url.pathExtension == "jpg")
      #expect(try Data(contentsOf: url) == picture)
    }
    for album in Self.albums {
      let blobs = try store.read { db in
        try Int.fetchOne(db, sql: "SELECT count(\(album.blob)) FROM \(album.entity)")
      }
      #expect(blobs == 0)
    }
  }

  @Test func picturesOfTheFirstVersionBecomeFiles() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("scorebook-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("scores.tally").path
    let old = try Store(path: path, schema: Self.first)
    try old.write { db in
      for album in Self.albums {
        for (number, picture) in album.pictures.enumerated() {
          try db.execute(
            sql: "INSERT INTO \(album.entity)(id, \(album.blob)) VALUES(?, ?)",
            arguments: ["\(album.entity)|~|\(number)", picture])
        }
      }
    }
    try old.close()
    #expect(try Self.marks.allSatisfy { try isIn(folder, $0) })

    let store = try Store(path: path, schema: scorebookSchema)
    let reports = try FirstVersion.movePictures(in: store)
    #expect(reports.map(\.moved) == [3, 3, 3])
    #expect(reports.map(\.byteCount) == Self.albums.map { $0.pictures.reduce(0) { $0 + $1.count } })
    try expectPictures(store)
    #expect(try store.compact(vacuum: .full).reclaimed >= reports.reduce(0) { $0 + $1.byteCount } / 2)

    let other = try Store(path: folder.appendingPathComponent("other.tally").path, schema: scorebookSchema)
    let result = try store.sync(with: other)
    #expect(result.isConverged)
    try expectPictures(other)
    try other.close()
    try store.close()
    // What is left of a page that is in use again goes only when the file is built anew.
    for name in ["scores.tally", "other.tally"] {
      let database = try DatabaseQueue(path: folder.appendingPathComponent(name).path)
      try database.vacuum()
      try database.close()
    }
    #expect(try Self.marks.allSatisfy { try !isIn(folder, $0) })
  }

  /// Whether a text is in any file of the folder itself; the files of assets are in folders below.
  private func isIn(_ folder: URL, _ text: String) throws -> Bool {
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.isDirectoryKey])
    return try files.contains { file in
      guard try file.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == false else { return false }
      return try Data(contentsOf: file).range(of: Data(text.utf8)) != nil
    }
  }
}
