import Foundation
import Tally
import Testing

/// The fixture and its reader.
@Suite struct FixtureTests {
  @Test func theExtractIsSmallAndClosedUnderReferences() throws {
    let fixture = try ChinookFixture(contentsOf: ChinookData.extract())
    #expect((150...250).contains(fixture.objectCount))
    #expect(Set(fixture.records.keys.map(\.type)) == Set(Chinook.types.values))
    for record in fixture.records.values {
      for reference in Chinook.schema[record.name.type]?.references ?? [] {
        guard case .text(let target)? = record.fields[reference.name] else { continue }
        #expect(fixture.records[try AnyRecordName(target)] != nil, "\(record.name).\(reference.name)")
      }
    }
  }

  @Test(.enabled(if: ChinookData.isWholeThere, ChinookData.whyNot))
  func theExtractIsAPartOfTheWhole() throws {
    let part = try ChinookFixture(contentsOf: ChinookData.extract())
    let whole = try ChinookFixture(contentsOf: ChinookData.whole)
    for (name, record) in part.records {
      #expect(record.fields == whole.records[name]?.fields)
      #expect(Set(record.links["tracks"] ?? []).isSubset(of: whole.records[name]?.links["tracks"] ?? []))
    }
  }

  @Test func accentsNullsDatesAndPricesArriveAsWritten() throws {
    let records = try ChinookFixture(contentsOf: ChinookData.extract()).records
    let adams = try #require(records[ChinookFixture.name("Employee", 1)])
    #expect(adams.fields["birthdate"] == .text("1962-02-18 00:00:00.000"))
    #expect(adams.fields["reports_to"] == .null)
    let album = try #require(records[ChinookFixture.name("Album", 224)])
    #expect(album.fields["title"] == .text("Acústico"))
    let prices = Set(records.values.filter { $0.name.type == "Track" }.compactMap { $0.fields["unit_price"] })
    #expect(prices == [.real(0.99), .real(1.99)])
  }

  @Test func namesAreTheSameOnEveryDevice() throws {
    // A golden value: a change of it would make duplicates of what other devices have imported.
    #expect(try ChinookFixture.name("Track", 3503).text == "Track|~|9e85800d-3700-831c-8000-000000000daf")
    #expect(try ChinookFixture.name("Track", 1) != ChinookFixture.name("Track", 2))
    #expect(try ChinookFixture.name("Track", 1).key != ChinookFixture.name("Album", 1).key)
  }

  @Test func everyRecordSurvivesAsALineOfJSON() throws {
    let fixture = try ChinookFixture(contentsOf: ChinookData.extract())
    let lines = try fixture.jsonLines().split(separator: "\n")
    #expect(lines.count == fixture.records.count)
    for line in lines {
      let record = try JSONDecoder().decode(JSONLine.self, from: Data(line.utf8)).record(in: Chinook.schema)
      #expect(record == fixture.records[record.name])
    }
  }

  @Test(arguments: [
    #"{}"#,
    #"[{"pk": 1, "fields": {}}]"#,
    #"[{"pk": 1, "model": "chinook.label", "fields": {"name": "EMI"}}]"#,
    #"[{"pk": 1, "model": "chinook.artist", "fields": {"name": 1}}]"#,
    #"[{"pk": 1, "model": "chinook.artist", "fields": {"title": "Ann"}}]"#,
    #"[{"pk": 1, "model": "chinook.playlisttrack", "fields": {"playlist": 1, "track": 1}}]"#,
    #"[{"pk": 1, "model": "chinook.genre", "fields": {"name": "a"}}, {"pk": 1, "model": "chinook.genre", "fields": {"name": "b"}}]"#,
  ])
  func aMalformedFixtureIsRefused(_ json: String) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("tally-fixture-\(UUID().uuidString).json")
    try Data(json.utf8).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    #expect(throws: ChinookFixture.Malformed.self) { try ChinookFixture(contentsOf: url) }
  }
}
