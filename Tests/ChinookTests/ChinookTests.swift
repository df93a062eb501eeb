import GRDB
import Tally
import TallyStore
import Testing

/// A real database on two replicas: halves imported apart, edits that overlap, and both end the same to the byte.
@Suite struct ChinookTests {
  @Test func theExtractConverges() throws {
    try converge(ChinookFixture(contentsOf: ChinookData.extract()))
  }

  @Test(.enabled(if: ChinookData.isWholeThere, ChinookData.whyNot))
  func theWholeDatabaseConverges() throws {
    let fixture = try ChinookFixture(contentsOf: ChinookData.whole)
    #expect(fixture.objectCount == 15_607)
    #expect(fixture.records.values.filter { $0.name.type == "Track" }.count == 3_503)
    #expect(fixture.records.values.reduce(0) { $0 + $1.links.values.joined().count } == 8_715)
    try converge(fixture)
  }

  /// The one path that both take.
  private func converge(_ fixture: ChinookFixture) throws {
    let pair = try Pair()
    pair.day(0)
    try pair.importHalves(of: fixture)
    try expectEverything(of: fixture, in: pair)

    pair.day(1)
    var edits = OfflineEdits(pair, fixture.records)
    try edits.differentFields()
    try edits.sameField()
    try edits.members()
    try edits.employees()
    try pair.meet()
    try expectSame(pair.stores, edits.expected)
    for store in pair.stores {
      #expect(try store.conflicts(limit: edits.contested + 1).count == edits.contested)
    }

    pair.day(2)
    try deleteAndRestore(pair, &edits)
    try expectRefusal(pair, edits)

    let third = try pair.newcomer()
    #expect(try third.sync(with: pair.second).isConverged)
    try expectSame(pair.stores + [third], edits.expected)
  }

  private func deleteAndRestore(_ pair: Pair, _ edits: inout OfflineEdits) throws {
    let artists = edits.artistsWithEverything(2)
    try #require(artists.count == 2)
    try edits.contradictDelete(ofArtist: artists[1])
    let before = edits.expected
    try edits.delete(artist: artists[0])
    #expect(edits.expected.count < before.count)
    try pair.meet()
    try expectShown(pair.stores, edits.expected)

    pair.day(3)
    try edits.restore(artist: artists[0], as: before)
    try pair.meet()
    try expectShown(pair.stores, edits.expected)
  }

  /// A media type that tracks refer to stays: `deny`. The attempt changes nothing.
  private func expectRefusal(_ pair: Pair, _ edits: OfflineEdits) throws {
    let dump = try canonicalDump(pair.first)
    let mediaType = try #require(
      edits.expected.values.first { $0.name.type == "Track" }?.fields["mediatype"])
    let text = try #require(String.fromDatabaseValue(mediaType.databaseValue))
    let name = try AnyRecordName(text)
    let error = #expect(throws: StoreError.self) {
      try pair.first.write { db in try Chinook.schema.delete(db, name) }
    }
    #expect(error?.code == .deleteDenied)
    #expect(try canonicalDump(pair.first) == dump)
  }

  /// After the import: the fixture, and a look with plain SQL that shares nothing with the comparison.
  private func expectEverything(of fixture: ChinookFixture, in pair: Pair) throws {
    try expectShown(pair.stores, fixture.records)
    for store in pair.stores {
      let (links, bosses, reports) = try store.read { db in
        (
          try Row.fetchAll(db, sql: "SELECT source, count(*) FROM Playlist_tracks GROUP BY source"),
          try Int.fetchOne(db, sql: "SELECT count(*) FROM Employee WHERE reports_to IS NULL"),
          try Int.fetchOne(db, sql: "SELECT count(*) FROM Employee e JOIN Employee b ON b.id = e.reports_to")
        )
      }
      for row in links {
        let playlist = try AnyRecordName(row[0])
        #expect(fixture.records[playlist]?.links["tracks"]?.count == row[1], "\(playlist)")
      }
      #expect(links.count == fixture.records.values.filter { !$0.links.values.joined().isEmpty }.count)
      // One general manager, seven who report to somebody: in the extract as in the whole.
      #expect(bosses == 1)
      #expect(reports == 7)
    }
  }

  private func expectSame(
    _ stores: [Store], _ expected: [AnyRecordName: DynamicRecord],
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) throws {
    try expectConverged(stores, sourceLocation: sourceLocation)
    try expectShown(stores, expected, sourceLocation: sourceLocation)
  }

  /// What the app sees, row by row: cheaper than the whole state, which is compared at the end of an act.
  private func expectShown(
    _ stores: [Store], _ expected: [AnyRecordName: DynamicRecord],
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) throws {
    for (index, store) in stores.enumerated() {
      try expectContents(store, "store \(index + 1)", equal: expected, sourceLocation: sourceLocation)
    }
  }
}
