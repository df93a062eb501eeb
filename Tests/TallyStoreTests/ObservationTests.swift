import Foundation
import GRDB
import Observation
import Tally
import TallyCRDT
import Testing

/// What views follow.
@Suite(.timeLimit(.minutes(30))) struct ObservationTests {
  private struct Note: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Note", .text("text"))
    var id = RecordName<Note>()
    var text: String?
  }

  private static let texts: @Sendable (Database) throws -> [String] = { db in
    try String.fetchAll(db, sql: "SELECT text FROM Note ORDER BY text")
  }

  private func store() throws -> Store { try Store(inMemory: Schema(Note.self)) }

  /// Changes until the value is as wanted.
  @MainActor private func until<Value>(_ observed: Observed<Value>, _ isWanted: (Observed<Value>) -> Bool) async {
    while !isWanted(observed) {
      await withCheckedContinuation { continuation in
        withObservationTracking {
          _ = (observed.value, observed.error, observed.isLoading)
        } onChange: {
          continuation.resume()
        }
      }
    }
  }

  @Test func valuesFollowWritesAndMerges() async throws {
    let (phone, tablet) = (try store(), try store())
    var values = phone.values(Self.texts).makeAsyncIterator()
    #expect(try await values.next() == [])
    try await phone.write { try Note(text: "b").insert($0) }
    #expect(try await values.next() == ["b"])
    try await tablet.write { db in for text in ["a", "c"] { try Note(text: text).insert(db) } }
    try await phone.sync(with: tablet)
    // A merge is one transaction: both at once.
    #expect(try await values.next() == ["a", "b", "c"])
  }

  @Test func equalValuesAreToldOnce() async throws {
    let phone = try store()
    var counts = phone.values { try Note.fetchCount($0) }.makeAsyncIterator()
    #expect(try await counts.next() == 0)
    try await phone.write { try Note(text: "a").insert($0) }
    #expect(try await counts.next() == 1)
    try await phone.write { try $0.execute(sql: "UPDATE Note SET text = 'b'") }
    try await phone.write { try Note(text: "c").insert($0) }
    #expect(try await counts.next() == 2)
  }

  @MainActor @Test func anObservedQueryIsALiveList() async throws {
    let (phone, tablet) = (try store(), try store())
    let list = Observed([], in: phone, Self.texts)
    #expect(list.isLoading && list.value == [])
    await until(list) { !$0.isLoading }
    try await tablet.write { try Note(text: "tea").insert($0) }
    try await phone.sync(with: tablet)
    await until(list) { $0.value == ["tea"] }
    #expect(list.error == nil)
  }

  @MainActor @Test func aQueryThatFailsSaysSoAndKeepsWhatItHad() async throws {
    let phone = try store()
    let list = Observed(["before"], in: phone) { try String.fetchAll($0, sql: "SELECT nothing FROM Note") }
    await until(list) { $0.error != nil }
    #expect(list.error is DatabaseError && list.value == ["before"] && !list.isLoading)
  }

  @MainActor @Test func anotherQueryTakesThePlaceOfTheFirst() async throws {
    let phone = try store()
    try await phone.write { db in for text in ["tea", "toast"] { try Note(text: text).insert(db) } }
    let list = Observed([], in: phone) { try String.fetchAll($0, sql: "SELECT nothing FROM Note") }
    await until(list) { $0.error != nil }
    list.follow(in: phone, Self.texts)
    #expect(list.isLoading && list.error == nil)
    await until(list) { $0.value == ["tea", "toast"] }
    // One that is replaced before it has answered gives nothing.
    list.follow(in: phone) { try String.fetchAll($0, sql: "SELECT 'never' FROM Note") }
    list.follow(in: phone) { try String.fetchAll($0, sql: "SELECT text FROM Note WHERE text LIKE 'te%'") }
    #expect(list.isLoading && list.value == ["tea", "toast"])
    await until(list) { !$0.isLoading }
    #expect(list.value == ["tea"])
    try await phone.write { try Note(text: "tent").insert($0) }
    await until(list) { $0.value.count > 1 }
    #expect(list.value == ["tea", "tent"])
  }

  // MARK: Filters

  private enum Level: String { case beginner, expert }

  @Test func casesOfAnEnumAreComparedByTheirRawValues() throws {
    let phone = try store()
    try phone.write { db in for text in ["beginner", "expert", nil] { try Note(text: text).insert(db) } }
    func texts(_ filter: SQLExpression) throws -> [String?] {
      try phone.read { db in try Note.filter(filter).order(Column("text")).fetchAll(db).map(\.text) }
    }
    let column = Column("text")
    #expect(try texts(column == Level.expert) == ["expert"])
    #expect(try texts(column != Level.expert) == ["beginner"])
    #expect(try texts(column == Level?.none) == [nil])
    #expect(try texts(column != Level?.none) == ["beginner", "expert"])
    #expect(try texts([Level.beginner, .expert].contains(column)) == ["beginner", "expert"])
  }

  // MARK: Sections

  @Test func sectionsKeepTheOrderOfTheRows() throws {
    let words = ["tea", "apple", "toast", "bread", "ale"]
    let sections = words.sections { $0.first }
    #expect(sections.map(\.id) == ["t", "a", "b"])
    #expect(sections.map(\.rows) == [["tea", "toast"], ["apple", "ale"], ["bread"]])
    #expect([String]().sections { $0.first }.isEmpty)
    struct Refused: Error {}
    #expect(throws: Refused.self) { try words.sections { _ -> Int in throw Refused() } }
  }

  @MainActor @Test func aQueryMayGiveSections() async throws {
    let phone = try store()
    try await phone.write { db in for text in ["tea", "ale", "toast"] { try Note(text: text).insert(db) } }
    let list = Observed([], in: phone) { db in
      try Note.order(Column("text")).fetchAll(db).compactMap(\.text).sections { $0.first }
    }
    await until(list) { !$0.isLoading }
    #expect(list.value.map(\.rows) == [["ale"], ["tea", "toast"]])
  }

  @MainActor @Test func whoIsReleasedFollowsNoMore() async throws {
    let phone = try store()
    weak var released: Observed<[String]>?
    do {
      let list = Observed([], in: phone, Self.texts)
      await until(list) { !$0.isLoading }
      released = list
    }
    #expect(released == nil)
  }

  // MARK: Names

  @Test func aNameIsItsText() throws {
    let id = RecordName<Note>()
    #expect(RecordName<Note>("\(id)") == id && RecordName<Note>("Other|~|a") == nil && RecordName<Note>("") == nil)
    #expect(id.uuid.map { RecordName<Note>(uuid: $0) } == id)
    #expect(try RecordName<Note>(key: "first").uuid == nil)
  }

  @Test func namesAreKeysOfJSON() throws {
    let id = try RecordName<Note>(key: "first")
    let json = try JSONEncoder().encode([id: 3])
    #expect(String(decoding: json, as: UTF8.self) == #"{"Note|~|first":3}"#)
    #expect(try JSONDecoder().decode([RecordName<Note>: Int].self, from: json) == [id: 3])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([RecordName<Note>: Int].self, from: Data(#"{"Other|~|first":3}"#.utf8))
    }
    let names = [id.name]
    #expect(try JSONDecoder().decode([AnyRecordName].self, from: try JSONEncoder().encode(names)) == names)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([AnyRecordName].self, from: Data(#"["no name"]"#.utf8))
    }
  }
}
