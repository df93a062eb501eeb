import Tally

/// A player's total in a match: an ordinary query over ordinary tables.
struct Standing: Decodable, FetchableRecord {
  var name: String
  var points: Int

  /// The totals of one match, the most points first.
  static func all(in match: RecordName<SBMatch>, _ db: Database) throws -> [Standing] {
    try fetchAll(
      db,
      sql: """
        SELECT SBPlayer.name, coalesce(sum(SBScore.points), 0) AS points
        FROM SBPlayer LEFT JOIN SBScore ON SBScore.player = SBPlayer.id
        WHERE SBPlayer.match = ? GROUP BY SBPlayer.id ORDER BY points DESC, SBPlayer.seat
        """, arguments: [match])
  }
}
