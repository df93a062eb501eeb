import GRDB
import TallyCRDT

extension Relationship {
  /// The relationship as a GRDB association from a record to its members, under the relationship's name.
  ///
  /// ```swift
  /// struct GameWithPlayers: Decodable, FetchableRecord {
  ///   var game: Game
  ///   var players: [Person]
  ///
  ///   static func all(_ db: Database) throws -> [GameWithPlayers] {
  ///     let players = Game.players.association.order(Column("name"))
  ///     return try Game.including(all: players).asRequest(of: Self.self).fetchAll(db)
  ///   }
  /// }
  /// ```
  ///
  /// It can be ordered, filtered and aggregated like any other association, and `forKey(_:)` gives it another name. A
  /// request with it costs one query for all records together, and an observation of it follows the join table too.
  public var association: HasManyThroughAssociation<Source, Target> {
    let joins = Table(table)
    return Source.hasMany(
      Target.self, through: Source.hasMany(joins, using: ForeignKey(["source"])),
      using: joins.belongsTo(Target.self, using: ForeignKey(["target"]))
    ).forKey(name)
  }

  /// The association in the other direction, from a member to the records that have it, which needs no declaration.
  ///
  /// ```swift
  /// let busy = try Person.having(Game.players.inverse.isEmpty == false).fetchAll(db)
  /// ```
  ///
  /// Its name is the plural that GRDB derives from the name of the source's table; `forKey(_:)` gives it another name.
  public var inverse: HasManyThroughAssociation<Target, Source> {
    let joins = Table(table)
    return Target.hasMany(
      Source.self, through: Target.hasMany(joins, using: ForeignKey(["target"])),
      using: joins.belongsTo(Source.self, using: ForeignKey(["source"])))
  }
}
