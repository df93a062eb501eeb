import Tally

/// A photograph of a match: where the file is and what is in it. The picture itself is a file, not a blob in the
/// database.
struct SBMatchImage: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBMatchImage",
    .text("fileName"), .text("sha256"), .text("caption"),
    .reference("match", to: "SBMatch", onDelete: .cascade))

  static let match = belongsTo(SBMatch.self)

  var id = RecordName<SBMatchImage>()
  var fileName: String?
  var sha256: String?
  var caption: String?
  var match: RecordName<SBMatch>?
}
