import Foundation
import GRDB
import Tally
import TallyAssets
import TallyCRDT
import TallyTesting
import TallyWire

/// W19: files that records refer to: one of 100 MB is added, a store that has ten thousand is opened, and a file is
/// found.
enum AssetWorkload {
  private struct Picture: Entity {
    static let schema = EntitySchema("Picture", .text("title"), .asset("photo"))
    var id = RecordName<Picture>()
  }

  private static let schema = Schema(Picture.self)
  private static let fileCount = 10_000

  static func run(_ round: Round) throws {
    try add(round)
    let (with, without) = (round.newPath(), round.newPath())
    let pictures = try makeStore(with, in: round, hasFiles: true)
    _ = try makeStore(without, in: round, hasFiles: false)
    try open(round, with, without, pictures)
    try find(round, with, pictures)
  }

  // MARK: Adding

  private static let byteCount = 100_000_000

  /// Both read the file once, and both have the copy on the disk when they return.
  private static func add(_ round: Round) throws {
    let source = URL(fileURLWithPath: round.newPath())
    try writeNoise(to: source)
    let store = try Store(path: round.newPath(), schema: schema)
    // The first makes the folder.
    _ = try store.assets.add(bytes: [], type: "bin")
    let (copy, hasSystemHash) = (round.newPath(), SystemHash() != nil)
    let baseline = "copying it, hashing it \(hasSystemHash ? "with OpenSSL" : "alike"), syncing it to the disk"
    var (hash, name) = ([UInt8](), AssetName?.none)
    try round.compare(Figure("W19.add", "add a file of 100 MB", against: baseline)) {
      hash = try copyAndHash(source.path, to: copy)
    } tally: {
      name = try store.assets.add(contentsOf: source, type: "bin")
    }
    try store.close()
    if let name, name.hash != Hexadecimal.text(hash) { throw Mistake("the two hashes of one file differ") }
  }

  private static func writeNoise(to url: URL) throws {
    var random = SplitMix64(seed: 19)
    let noise = Data((0..<1_000_000).map { _ in UInt8.random(in: 0...255, using: &random) })
    guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
      throw Mistake("no file at \(url.path)")
    }
    let file = try FileHandle(forWritingTo: url)
    defer { try? file.close() }
    for number in 0..<byteCount / noise.count {
      try file.write(contentsOf: Data("\(number)".utf8) + noise.dropFirst("\(number)".utf8.count))
    }
    try file.synchronize()
  }

  private static func copyAndHash(_ path: String, to copy: String) throws -> [UInt8] {
    let (from, to) = (Foundation.open(path, O_RDONLY), Foundation.open(copy, O_WRONLY | O_CREAT | O_EXCL, 0o666))
    defer {
      close(from)
      close(to)
    }
    guard from >= 0, to >= 0 else { throw Mistake("no copy at \(copy)") }
    var (piece, own, system) = ([UInt8](repeating: 0, count: 1 << 20), SHA256(), SystemHash())
    while true {
      let count = piece.withUnsafeMutableBytes { read(from, $0.baseAddress, $0.count) }
      guard count >= 0 else { throw Mistake("\(path) cannot be read") }
      guard count > 0 else { break }
      try piece.withUnsafeBytes { bytes in
        let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<count])
        if let system { system.update(bytes) } else { own.update(bytes) }
        guard write(to, bytes.baseAddress, count) == count else { throw Mistake("\(copy) cannot be written") }
      }
    }
    guard fsync(to) == 0 else { throw Mistake("\(copy) cannot be synced") }
    defer { system = nil }
    return system?.finalized() ?? own.finalized()
  }

  // MARK: Opening

  /// A store with as many records as there are files; without them, no record names any.
  /// - Returns: the records' names.
  private static func makeStore(_ path: String, in round: Round, hasFiles: Bool) throws -> [String] {
    var random = SplitMix64(seed: 1_910)
    let ids = (0..<fileCount).map { _ in "Picture|~|\(UUID.random(&random).text)" }
    let store = try Store(path: path, schema: schema)
    let names = hasFiles ? try makeFiles(store) : []
    try store.run("INSERT INTO Picture(id, title, photo) VALUES(?, 'picture', ?)", fileCount) { index in
      [ids[index], hasFiles ? names[index] : nil]
    }
    try store.close()
    return ids
  }

  /// Puts small files where assets have them. Adding them one by one would sync each to the disk.
  private static func makeFiles(_ store: Store) throws -> [AssetName] {
    let folder = try store.assets.folder
    // The first as apps add it, which makes the folder.
    let first = try store.assets.add(bytes: bytes(0), type: "bin")
    return try [first]
      + (1..<fileCount).map { number in
        let content = bytes(number)
        guard let name = AssetName(hash: Hexadecimal.text(SHA256.hash(content)), byteCount: content.count, type: "bin")
        else { throw Mistake("a file has no name") }
        let path = folder.path(of: name)
        try FileManager.default.createDirectory(
          atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        guard FileManager.default.createFile(atPath: path, contents: Data(content)) else {
          throw Mistake("no file at \(path)")
        }
        return name
      }
  }

  private static func bytes(_ number: Int) -> [UInt8] { Array("the picture with the number \(number)".utf8) }

  private static func open(_ round: Round, _ with: String, _ without: String, _ pictures: [String]) throws {
    func openOften(_ path: String) throws {
      for id in pictures.prefix(20) {
        let store = try Store(path: path, schema: schema)
        try store.transaction { db in
          try db.execute(sql: "UPDATE Picture SET title = 'opened' WHERE id = ?", arguments: [id])
        }
        try store.close()
      }
    }
    try round.compare(
      Figure("W19.open", "20 × open a store with 10,000 files, first write, close", against: "the same without files")
    ) {
      try openOften(without)
    } tally: {
      try openOften(with)
    }
  }

  // MARK: Finding

  private static func find(_ round: Round, _ path: String, _ pictures: [String]) throws {
    guard !round.measuresMemory else { return }
    let store = try Store(path: path, schema: schema)
    let wanted = stride(from: 0, to: pictures.count, by: 10).map { pictures[$0] }
    var found = 0
    let cost = try Meter.measure {
      for id in wanted {
        let name = try store.read { db in
          try AssetName.fetchOne(db, sql: "SELECT photo FROM Picture WHERE id = ?", arguments: [id])
        }
        if let name, try store.assets.url(of: name) != nil { found += 1 }
      }
    }
    try store.close()
    guard found == wanted.count else { throw Mistake("\(wanted.count - found) files are not found") }
    let count = Double(wanted.count)
    round.note(
      Figure("W19.url", "from a row to the URL of its file, which is there, each of 1,000"),
      cost: Cost(cpu: cost.cpu / count, wall: cost.wall / count))
  }
}
