import Foundation
import GRDB
import Testing

/// `tally assets move-blobs`: what it says, and what is there then.
@Suite(.timeLimit(.minutes(15))) struct MoveBlobsTests {
  @Test func blobsBecomeFiles() throws {
    let bench = try Bench()
    try bench.write(
      #"{"entities": [{"type": "Person", "fields": {"name": "text", "image": "blob", "photo": "asset"}}]}"#,
      to: "people.json")
    try bench.done("new", "a", "--schema", "people.json")
    try bench.done("put", "a", "-", input: "Person|~|ann name=Ann\nPerson|~|bob name=Bob\n")
    let picture = Data([0xFF, 0xD8, 0xFF, 0xE0]) + Data("Ann".utf8)
    let database = try DatabaseQueue(path: bench.url.appendingPathComponent("a").path)
    try database.write { try $0.execute(sql: "UPDATE Person SET image = ? WHERE name = 'Ann'", arguments: [picture]) }
    try database.close()
    let move = ["assets", "move-blobs", "a", "Person", "image", "photo"]
    try bench.unchanged("a") {
      try bench.refused(65, ["assets", "move-blobs", "a", "Person", "name", "photo"], saying: "not a blob")
      try bench.refused(65, move + ["--type", "J PG"], saying: "not a file type")
    }
    let kept = try bench.tally(move + ["--keep-old-apps"])
    #expect(kept.status == 0 && kept.output == "moved 1 blob, 7 bytes; cleared 0\n")
    let moved = try bench.tally(move)
    #expect(moved.status == 0 && moved.output == "moved 0 blobs, 0 bytes; cleared 1\n")
    try bench.unchanged("a") {
      let again = try bench.tally(move)
      #expect(again.status == 0 && again.output == "moved 0 blobs, 0 bytes; cleared 0\n")
    }
    try bench.done("assets", "get", "a", "Person|~|ann", "photo", "-o", "ann.jpg")
    #expect(try Data(contentsOf: bench.url.appendingPathComponent("ann.jpg")) == picture)
    #expect(try bench.done("assets", "list", "a").contains(".7.jpg here shown"))
  }
}
