import Foundation
import Tally

/// Somebody who plays.
///
/// This is a whole entity: the schema says which columns there are and how each merges, the struct is what GRDB reads
/// and writes. Every property except `id` is optional or has a default, because any field can arrive before it was ever
/// written.
struct SBPerson: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBPerson",
    .text("name"), .text("nickname"), .date("birthday"),
    // The avatar is a file beside the database. The first version of the app had it in the row (`FirstVersion`).
    .asset("avatar", download: .eager), .blob("avatarImage"))

  /// The person's player entries in all matches.
  static let players = hasMany(SBPlayer.self)

  var id = RecordName<SBPerson>()
  var name: String?
  var nickname: String?
  var birthday: Date?
  var avatar: AssetName?
}
