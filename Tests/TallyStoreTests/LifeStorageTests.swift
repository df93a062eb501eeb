import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyTesting
import TallyWire
import Testing

@testable import TallyStore

/// Lives of records, and the mark of references, in the file. Nothing here begins a life yet: a peer did.
@Suite struct LifeStorageTests {
  private static let schema = Schema([
    EntitySchema("Shelf", .text("name")),
    EntitySchema(
      "Book", .text("title"), .integer("pages"), .reference("shelf", to: "Shelf", onDelete: .cascade)),
  ])
  private static let peer = ReplicaID(high: 7, low: 7)
  private static let other = ReplicaID(high: 8, low: 8)

  private static func stamp(_ sequence: UInt64, of replica: ReplicaID = peer) -> Stamp {
    Stamp(time: HybridTime(milliseconds: 1000 + sequence), dot: Dot(replica: replica, sequence: sequence))
  }

  private static func vector(_ entries: (ReplicaID, UInt64)...) -> StateVector { StateVector(entries) }

  private static func delta(_ block: DeltaBlock, of target: StateVector) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: DeltaHeader(base: StateVector(), target: target)) { bytes += $0 }
    try writer.append(block)
    try writer.finish()
    return bytes
  }

  private static func cell(_ field: UInt32, _ stamp: Stamp, _ value: Value) -> FieldCell {
    FieldCell(field: FieldID(rawValue: field), stamp: stamp, value: value)
  }

  /// Books in their second life: shredded, lifted, said again, and one whose life stands under a delete's stamp.
  private static func books() throws -> DeltaBlock {
    let (insert, edit, shred) = (stamp(1), stamp(1, of: other), stamp(4))
    let shelf = Value(text: "Shelf|~|top")
    let seen = vector((peer, 4), (other, 1))
    var stub = RecordState(inserted: insert, fields: [cell(2, insert, shelf)])
    stub.deletes = [Delete(stamp: stamp(3), context: vector((peer, 3), (other, 1)))]
    stub.life = Life(time: shred.time, dot: shred.dot, context: seen)
    var lifted = RecordState(inserted: insert, fields: [cell(0, insert, .text("Emma")), cell(1, edit, .integer(474))])
    lifted.life = Life(time: shred.time, dot: shred.dot, context: seen)
    lifted.life?.said = Dot(replica: other, sequence: 2)
    lifted.life?[via: FieldID(rawValue: 1)] = Dot(replica: other, sequence: 2)
    var again = RecordState(
      inserted: insert,
      fields: [cell(0, insert, .text("Ada")), cell(1, edit, .integer(589)), cell(2, insert, shelf)])
    again.life = Life(time: shred.time, dot: shred.dot, context: seen)
    again.life?.said = shred.dot
    for field in [0, 1] as [UInt32] { again.life?[via: FieldID(rawValue: field)] = shred.dot }
    var copied = RecordState(inserted: insert, fields: [])
    copied.deletes = [Delete(stamp: stamp(5), context: vector((peer, 5), (other, 2)))]
    copied.life = Life(time: stamp(5).time, dot: stamp(5).dot, context: vector((peer, 5), (other, 1)))
    let states = ["stub": stub, "lifted": lifted, "again": again, "copied": copied]
    let items = try states.map { DeltaBlock.Record(name: try AnyRecordName("Book|~|\($0)"), state: $1) }
    let top = RecordState(inserted: insert, fields: [cell(0, insert, .text("Top"))])
    return DeltaBlock(records: [
      .init(type: "Book", fields: ["title", "pages", "shelf&"], items: items),
      .init(
        type: "Shelf", fields: ["name"], items: [.init(name: try AnyRecordName("Shelf|~|top"), state: top)]),
    ])
  }

  private func dump(_ store: Store) throws -> String {
    var text = ""
    try store.dump(.canonical) { text += $0 }
    return text
  }

  private static let target = vector((peer, 5), (other, 2))

  private func books(of delta: [UInt8]) throws -> [AnyRecordName: RecordState] {
    var reader = try DeltaReader(delta)
    var found: [AnyRecordName: RecordState] = [:]
    while let block = try reader.nextBlock() {
      for group in block.records where group.type == "Book" {
        let keys = ["title", "pages", "shelf&"]
        for item in group.items {
          var state = item.state
          state.renumberFields { field in
            FieldID(rawValue: UInt32(keys.firstIndex(of: group.fields[Int(field.rawValue)]) ?? keys.count))
          }
          found[item.name] = state
        }
      }
    }
    return found
  }

  @Test(arguments: CapturePath.allCases)
  func aStoreKeepsAndPassesOnTheLivesThatItIsGiven(_ path: CapturePath) throws {
    let scratch = try Scratch()
    let options = Lab.options(path)
    let block = try Self.books()
    try scratch.store("a", schema: Self.schema, options: options).apply(Self.delta(block, of: Self.target))
    // From the file alone.
    let store = try scratch.store("a", schema: Self.schema, options: options)
    let expected = Dictionary(uniqueKeysWithValues: block.records[0].items.map { ($0.name, $0.state) })
    #expect(try books(of: store.delta()) == expected)
    #expect(try store.verify().problems == [])
    let next = try Store(inMemory: Self.schema, options: options)
    try next.apply(store.delta())
    try expectConverged(store, next)
    #expect(try dump(next) == dump(store))
    #expect(try dump(store).contains("\"life\":"))
  }

  /// The log finds a record under every dot, or a later one of its replica: what a delta since any vector holds
  /// is what the whole state has beyond it.
  @Test func deltasSinceEveryVectorMissNothing() throws {
    let store = try Store(inMemory: Self.schema)
    let block = try Self.books()
    try store.apply(Self.delta(block, of: Self.target))
    for mine in 0...5 as ClosedRange<UInt64> {
      for theirs in 0...2 as ClosedRange<UInt64> {
        let base = StateVector([(Self.peer, mine), (Self.other, theirs)].filter { $0.1 > 0 })
        // Who has the life has all that its author had seen.
        guard !base.covers(Self.stamp(4).dot) || theirs >= 1, mine < 5 || theirs >= 2 else { continue }
        var expected: [AnyRecordName: RecordState] = [:]
        for item in block.records[0].items { expected[item.name] = item.state.delta(since: base) }
        #expect(try books(of: store.delta(since: base)) == expected, "since \(base)")
      }
    }
  }

  /// A damaged life is damage of the state.
  @Test func aBodyWithALifeIsReadStrictly() throws {
    let scratch = try Scratch()
    try scratch.store("a", schema: Self.schema).apply(Self.delta(Self.books(), of: Self.target))
    let queue = try DatabaseQueue(path: scratch.path("a"))
    // The last byte of the body of "again" says how its registers travel.
    try queue.write { db in
      try db.execute(
        sql: """
          UPDATE tally_extra SET body = CAST(substr(body, 1, length(body) - 1) || x'09' AS BLOB)
          WHERE hex(body) LIKE '05%01'
          """)
      #expect(db.changesCount == 1)
    }
    try queue.close()
    let store = try scratch.store("a", schema: Self.schema)
    #expect(try store.verify().problems != [])
  }

  // MARK: References

  /// One app has a reference where another has a text: each keeps its own, and passes on the other's.
  @Test func aReferenceAndATextOfOneNameAreTwoFields() throws {
    let referring = try Store(inMemory: Self.schema)
    let spelling = try Store(
      inMemory: Schema([EntitySchema("Book", .text("title"), .integer("pages"), .text("shelf"))]))
    try referring.write { db in
      try db.execute(sql: "INSERT INTO Shelf(id, name) VALUES('Shelf|~|top', 'Top')")
      try db.execute(sql: "INSERT INTO Book(id, title, shelf) VALUES('Book|~|a', 'Emma', 'Shelf|~|top')")
    }
    try spelling.apply(referring.delta())
    #expect(try spelling.read { try String.fetchOne($0, sql: "SELECT shelf FROM Book") } == nil)
    try spelling.write { try $0.execute(sql: "UPDATE Book SET shelf = 'over the door'") }
    try referring.apply(spelling.delta())
    #expect(try referring.read { try String.fetchOne($0, sql: "SELECT shelf FROM Book") } == "Shelf|~|top")
    try expectConverged(referring, spelling)
    let text = try dump(referring)
    #expect(text.contains("\"shelf\":") && text.contains("\"shelf&\":"))
    #expect(try text == dump(spelling))
  }

  /// A store forwards references that its schema lacks, still marked as references.
  @Test func anOlderAppForwardsTheReferencesOfANewerOne() throws {
    let newer = try Store(inMemory: Self.schema)
    let older = try Store(inMemory: Schema([EntitySchema("Book", .text("title"))]))
    let third = try Store(inMemory: Self.schema)
    try newer.write { db in
      try db.execute(sql: "INSERT INTO Shelf(id, name) VALUES('Shelf|~|top', 'Top')")
      try db.execute(sql: "INSERT INTO Book(id, title, shelf) VALUES('Book|~|a', 'Emma', 'Shelf|~|top')")
    }
    try older.apply(newer.delta())
    try older.write { try $0.execute(sql: "UPDATE Book SET title = 'Persuasion'") }
    try third.apply(older.delta())
    #expect(try third.read { try String.fetchOne($0, sql: "SELECT shelf FROM Book") } == "Shelf|~|top")
    try expectConverged(older, third)
  }
}
