import Foundation
import GRDB
import Tally
import TallyImport
import TallyStore
import Testing

/// A bit that the disk has flipped in a key of `tally_meta`: what is stored under it is hidden, and what stands beside
/// it may be, since keys are found by their order.
@Suite struct MetaKeyTests {
  let scratch: Scratch
  private var path: String { scratch.path("a.tally") }

  init() throws {
    scratch = try Scratch()
    let store = try scratch.store()
    try store.write { try Person(name: "Ann").insert($0) }
    try store.renewReplica(because: "a test says so")
    try store.write { try Person(name: "Bob").insert($0) }
    let old = scratch.url.appendingPathComponent("old.sqlite")
    try DatabaseQueue(path: old.path).write { try $0.execute(sql: "CREATE TABLE person(id INTEGER PRIMARY KEY)") }
    try store.importDatabase(at: old, map: ImportMap(tables: [.init(from: "person", to: "SBPerson", fields: [:])]))
    try store.close()
  }

  private func rows() throws -> [String] {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.read { db in
      try String.fetchAll(
        db, sql: "SELECT key || iif(key = 'incarnation', '', quote(value)) FROM tally_meta NOT INDEXED ORDER BY +key")
    }
  }

  /// Where the key stands in the file.
  private func place(of key: String) throws -> Int {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    let page = try queue.read {
      try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'tally_meta'")
    }
    let start = (try #require(page) - 1) * 4096
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))[start..<start + 4096]
    let text = Array(key.utf8)
    let places = bytes.indices.filter { bytes[$0...].starts(with: text) }
    return try #require(places.count == 1 ? places[0] : nil)
  }

  private func flip(_ bit: Int, at place: Int) throws {
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.seek(toOffset: UInt64(place))
    let byte = try #require(try handle.read(upToCount: 1)?.first)
    try handle.seek(toOffset: UInt64(place))
    try handle.write(contentsOf: Data([byte ^ 1 << UInt8(bit)]))
    try handle.close()
  }

  @Test(arguments: ["catalog", "imports", "incarnation", "renewal", "schema", "self"])
  func aFlippedBitOfAKeyIsReportedAndPutRight(key: String) throws {
    let before = try rows()
    let replica = try Store(existing: path).summary().replica
    for index in 0..<key.utf8.count {
      try flip(index % 8, at: place(of: key) + index)
      var options = StoreOptions()
      options.isReadOnly = true
      do {
        let report = try Store(existing: path, options: options).verify()
        #expect(!report.isSound, "bit \(index % 8) of byte \(index) passes for sound")
      } catch let error as StoreError {
        #expect(error.code == .corrupt)
      }
      let store = try Store(existing: path)
      #expect(try store.verify().problems == [], "bit \(index % 8) of byte \(index)")
      #expect(try store.summary().replica == replica && store.doubt() == nil)
      try store.close()
      #expect(try rows() == before, "bit \(index % 8) of byte \(index)")
    }
  }

  @Test func aRowThatNothingReadsIsReportedAndRemovedByARebuild() throws {
    let queue = try DatabaseQueue(path: path)
    try queue.write { try $0.execute(sql: "INSERT INTO tally_meta VALUES('nobody knows', 1)") }
    try queue.close()
    let store = try Store(existing: path)
    #expect(try store.verify().problems == ["tally_meta has a row that nothing reads, 'nobody knows'"])
    _ = try store.rebuild()
    #expect(try store.verify().problems == [] && store.doubt() == nil)
  }
}
