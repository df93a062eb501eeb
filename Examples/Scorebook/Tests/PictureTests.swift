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

  /// A picture of many pages, with something in its middle to look for, twice in case a page ends there.
  private static func picture(_ number: Int) -> Data {
    let half = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* (2 * number + 3) ^ $0 >> 7) })
    let mark = Data(mark(number).utf8)
    return Data([0xFF, 0xD8, 0xFF]) + half + mark + Data(count: 100) + mark + half
  }

  private static func mark(_ number: Int) -> String { "the middle of picture \(number)" }

  private func expectPictures(_ store: Store, _ pictures: [Data]) throws {
    let images = try store.read { db in try SBMatchImage.order(Column("id")).fetchAll(db) }
    #expect(images.count == pictures.count)
    for (image, picture) in zip(images, pictures) {
      let url = try #require(try image.picture.flatMap { try store.assets.url(of: $0) })
      #expect(url.pathExtension == "jpg")
      #expect(try Data(contentsOf: url) == picture)
    }
    let blobs = try store.read { db in try Int.fetchOne(db, sql: "SELECT count(image) FROM SBMatchImage") }
    #expect(blobs == 0)
  }

  @Test func picturesOfTheFirstVersionBecomeFiles() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("scorebook-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("scores.tally").path
    let pictures = (0..<3).map(Self.picture)
    let old = try Store(path: path, schema: Self.first)
    try old.write { db in
      for (number, picture) in pictures.enumerated() {
        try db.execute(
          sql: "INSERT INTO SBMatchImage(id, caption, image) VALUES(?, 'The table', ?)",
          arguments: ["SBMatchImage|~|\(number)", picture])
      }
    }
    try old.close()
    #expect(try pictures.indices.allSatisfy { try isIn(folder, Self.mark($0)) })

    let store = try Store(path: path, schema: scorebookSchema)
    let report = try store.assets.moveBlobs(of: "SBMatchImage", from: "image", to: "picture")
    #expect(report.moved == 3 && report.byteCount == pictures.reduce(0) { $0 + $1.count })
    try expectPictures(store, pictures)
    #expect(try store.compact(vacuum: .full).reclaimed >= report.byteCount / 2)

    let other = try Store(path: folder.appendingPathComponent("other.tally").path, schema: scorebookSchema)
    let result = try store.sync(with: other)
    #expect(result.isConverged)
    try expectPictures(other, pictures)
    try other.close()
    try store.close()
    // What is left of a page that is in use again goes only when the file is built anew.
    for name in ["scores.tally", "other.tally"] {
      let database = try DatabaseQueue(path: folder.appendingPathComponent(name).path)
      try database.vacuum()
      try database.close()
    }
    #expect(try pictures.indices.allSatisfy { try !isIn(folder, Self.mark($0)) })
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
