import Foundation
import Tally
import TallyCRDT
import TallyStore
import Testing

/// The file of a seed set says the same as its declaration in Swift.
@Suite struct SeedJSONTests {
  private static let schema = Schema(
    [
      EntitySchema(
        "SpeechType", .text("name"), .integer("seconds"), .real("share"), .bool("isLoud"), .blob("icon"),
        .date("createdAt"), .date("updatedAt"), .reference("category", to: "Category"), .toMany("tags", to: "Category")),
      EntitySchema("Category", .text("name")),
    ])

  private static let set = SeedSet(
    "speech-types", version: 2,
    records: [
      SeedRecord(
        "toast", type: "SpeechType",
        [
          "name": "Toast \"é\" 🥂", "seconds": 120, "share": 0.1, "isLoud": true, "icon": .blob([0, 171]),
          "createdAt": nil,
        ],
        references: ["category": "short"], relationships: ["tags": ["short", "b"]]),
      SeedRecord("short", type: "Category", ["name": "a/b"]), SeedRecord("b", type: "Category"),
    ],
    retired: [SeedKey("roast", type: "SpeechType")],
    adoptions: [
      SeedAdoption(type: "SpeechType", matching: ["name"], present: ["createdAt"], absent: ["updatedAt"])
    ])

  private func replica(_ set: SeedSet) throws -> ReplicaID { try Store(inMemory: Self.schema).seed(set).replica }

  private func refusal(_ json: String) -> StoreError? {
    do {
      _ = try SeedSet(json: Data(json.utf8))
      return nil
    } catch { return error }
  }

  @Test func whatIsWrittenReadsBack() throws {
    let json = try Self.set.json()
    #expect(try SeedSet(json: json) == Self.set)
    #expect(try SeedSet(json: json).json() == json)
  }

  @Test func theFormIsThatOfTheDocumentation() throws {
    let text = """
      {"name":"speech-types","version":2,"records":[{"key":"toast","type":"SpeechType",\
      "fields":{"name":"Toast","seconds":120},"references":{"category":"short"},"relationships":{"tags":["a"]}}],\
      "retired":[{"key":"roast","type":"SpeechType"}],\
      "adoptions":[{"type":"SpeechType","matching":["name"],"present":["createdAt"],"absent":["updatedAt"]}]}
      """
    var set = Self.set
    set.records = [
      SeedRecord(
        "toast", type: "SpeechType", ["name": "Toast", "seconds": 120], references: ["category": "short"],
        relationships: ["tags": ["a"]])
    ]
    #expect(try SeedSet(json: Data(text.utf8)) == set)
  }

  @Test func whatIsEmptyIsLeftOut() throws {
    let set = SeedSet("a", version: 1, records: [SeedRecord("b", type: "Category")])
    let text = #"{"name":"a","records":[{"key":"b","type":"Category"}],"version":1}"#
    #expect(try String(decoding: set.json(), as: UTF8.self) == text)
    #expect(try SeedSet(json: Data(#"{"name":"a","version":1}"#.utf8)).records == [])
  }

  @Test func aFileHasTheIdentityOfItsDeclaration() throws {
    #expect(try replica(SeedSet(json: Self.set.json())) == replica(Self.set))
  }

  /// The bytes of the example in `Docs/Seeds.md`, hashed by other means than this code.
  @Test func identityOfTheExampleIsThatOfTheDocumentation() throws {
    let text = """
      {"name":"speech-types","version":1,"records":[{"key":"toast","type":"SpeechType","fields":{"name":"Toast","seconds":120}}]}
      """
    let store = try Store(inMemory: Self.schema)
    #expect(try store.seed(SeedSet(json: Data(text.utf8))).replica.description == "7229304851995a1b97ee3c6ef80f690b")
    #expect(try store.summary().fingerprint.description == "1fa961cd5bdab9f778178a02759f918c")
    let toast = SeedIdentity.uuid(ofKey: "toast", set: "speech-types").uuidString
    #expect(toast == "814DCBB8-1417-53AB-9CE6-6E8BB96E2B22")
  }

  @Test func wholeNumbersOfARealFieldHaveOneIdentity() throws {
    func set(_ share: Value) -> SeedSet {
      SeedSet("a", version: 1, records: [SeedRecord("b", type: "SpeechType", ["share": share])])
    }
    let read = try SeedSet(json: set(.real(2)).json())
    #expect(read.records[0].fields["share"] == 2)
    #expect(try replica(read) == replica(set(.real(2))))
    #expect(try replica(read) == replica(set(2)))
    #expect(try replica(SeedSet(json: set(.real(1e300)).json())) == replica(set(.real(1e300))))
  }

  @Test func extremeValuesReadBack() throws {
    let values: [String: Value] = [
      "a": .integer(.max), "b": .integer(.min), "c": .real(.infinity), "d": .real(-.infinity),
      "e": .real(.leastNonzeroMagnitude), "f": .text(""), "g": .text("\u{0}\u{1}\u{2028}"), "h": .blob([]),
      "i": .real(0.1 + 0.2),
    ]
    let set = SeedSet("a", version: .max, records: [SeedRecord("b", type: "T", values)])
    #expect(try SeedSet(json: set.json()) == set)
  }

  @Test func aKeyThatMeansNothingIsRefused() {
    #expect(refusal(#"{"name":"a","version":1,"recrods":[]}"#)?.message.contains("'recrods'") == true)
    #expect(
      refusal(#"{"name":"a","version":1,"records":[{"key":"b","type":"T","field":{}}]}"#)?.message
        == "the seed set is not readable: records[0]: the key 'field' is not one of key, type, fields, references, "
        + "relationships")
    #expect(refusal(#"{"name":"a","version":1,"retired":[{"key":"b","type":"T","x":1}]}"#)?.code == .invalidSeeds)
    #expect(
      refusal(#"{"name":"a","version":1,"adoptions":[{"type":"T","matching":[],"x":1}]}"#)?.code == .invalidSeeds)
  }

  @Test func whatIsMissingIsNamed() {
    #expect(refusal(#"{"version":1}"#)?.message == "the seed set is not readable: the key name is missing")
    #expect(
      refusal(#"{"name":"a","version":1,"records":[{"key":"b","type":"T"},{"type":"T"}]}"#)?.message
        == "the seed set is not readable: records[1]: the key key is missing")
    #expect(refusal(#"{"name":"a","version":1,"adoptions":[{"type":"T"}]}"#)?.code == .invalidSeeds)
  }

  @Test(arguments: [
    "[1]", #"{"a":1}"#, #"{"blob":"0"}"#, #"{"blob":"xy"}"#, #"{"blob":1}"#, #"{"real":"much"}"#,
    #"{"blob":"00","real":"1"}"#, "{}", "1e999",
  ])
  func aValueOfNoKindIsRefusedWithItsPlace(value: String) {
    let error = refusal(#"{"name":"a","version":1,"records":[{"key":"b","type":"T","fields":{"c":\#(value)}}]}"#)
    #expect(error?.code == .invalidSeeds)
    #expect(error?.message.contains("records[0].fields.c: a value is ") == true)
  }

  /// Every prefix, and every byte replaced: a set or an error, never a trap.
  @Test func aDamagedFileIsATypedError() throws {
    let json = try Self.set.json()
    for length in 0..<json.count { #expect(refusal(String(decoding: json.prefix(length), as: UTF8.self)) != nil) }
    for index in json.indices {
      for byte in [0x00, 0x22, 0x30, 0x7D, 0xFF] as [UInt8] {
        var damaged = json
        damaged[index] = byte
        do throws(StoreError) { _ = try SeedSet(json: damaged) } catch { #expect(error.code == .invalidSeeds) }
      }
    }
  }
}
