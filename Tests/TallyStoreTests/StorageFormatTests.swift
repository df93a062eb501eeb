import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import Testing

/// The bytes in the file are those of the examples in `Docs/StorageFormat.md`. What is found changed here cannot read
/// the files that devices have. The checksums were computed by a program of its own from `Docs/WireFormat.md`.
@Suite struct StorageFormatTests {
  private static let person = EntitySchema("SBPerson", .text("name"), .date("born"))
  private static let game = EntitySchema("SBGame", .text("name"), .real("rating"), .reference("owner", to: "SBPerson"))
  private static let key = "SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db"

  /// A person, a game of hers, something else, and the game's rating: transactions 1 to 4, at these milliseconds of a
  /// minute.
  private func store() throws -> Store {
    let milliseconds = Mutex<[Int64]>([963, 992, 1000, 1056])
    var options = StoreOptions()
    options.now = {
      let next = milliseconds.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
      return Date(timeIntervalSince1970: (1_795_272_574_000 + Double(next)) / 1000)
    }
    options.mintReplica = { ReplicaID(high: 0xA0A1_A2A3_A4A5_A6A7, low: 0xA8A9_AAAB_ACAD_AEAF) }
    let store = try Store(inMemory: Schema([Self.person, Self.game]), options: options)
    for statement in [
      "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|ann', 'Ann')",
      "INSERT INTO SBGame(id, name, rating, owner) VALUES('\(Self.key)', 'Go', 4.5, 'SBPerson|~|ann')",
      "INSERT INTO SBPerson(id, name) VALUES('SBPerson|~|ben', 'Ben')", "UPDATE SBGame SET rating = 5",
    ] { try store.write { db in try db.execute(sql: statement) } }
    return store
  }

  private func hex(_ store: Store, _ column: String, of rows: String) throws -> [String] {
    try store.read { db in try String.fetchAll(db, sql: "SELECT hex(\(column)) FROM \(rows)") }
  }

  @Test func clocksAndBodiesAreThoseOfTheDocumentation() throws {
    let store = try store()
    let ann = "0001" + "00000001" + "01A1FE9587F3" + "DF228D"
    #expect(try hex(store, "tally_clock", of: "SBPerson WHERE name = 'Ann'") == [ann])
    #expect(try hex(store, "tally_clock", of: "SBGame") == ["FFFF" + "000000000001" + "00000000" + "000000"])
    let body = "01" + "82286D" + "02" + "0602A0A0ACE9BF68" + "06048001" + "01" + "03" + "0801" + "00" + "00"
    #expect(try hex(store, "body", of: "tally_extra") == [body])
    #expect(try store.verify().problems == [])
  }

  @Test func theTailIsThatOfTheDocumentation() throws {
    let store = try store()
    let game = "08" + "386C19195F254BE2975F5B34506C51DB"
    let tail =
      "76EEE4A8C79CBD65" + "010104" + "00" + "01010105" + "0503616E6E" + "01010211" + game + "01010305" + "050362656E"
      + "01010411" + game
    #expect(try hex(store, "tail", of: "tally_zone") == [tail])
    #expect(try hex(store, "n", of: "tally_log") == [])
  }

  @Test func aSeedsBodyIsThatOfTheDocumentation() throws {
    let type = EntitySchema("SpeechType", .text("name"), .integer("seconds"))
    let store = try Store(inMemory: Schema([type]))
    try store.seed(
      SeedSet(
        "speech-types", version: 1,
        records: [SeedRecord("toast", type: "SpeechType", ["name": "Toast", "seconds": 120])]))
    let body = "03" + "0317C3" + "01" + "040102" + "00" + "00" + "00" + "00" + "01" + "00" + "02" + "0204" + "00"
    #expect(try hex(store, "body", of: "tally_extra") == [body])
  }
}
