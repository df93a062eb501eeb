import Tally

/// A photograph of a match. The picture is a file beside the database; the row has its name, and every device gets the
/// file with the next sync.
///
/// The first version of the app had the picture in the row, as `image` (`FirstVersion`).
struct SBMatchImage: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBMatchImage",
    .text("fileName"), .text("caption"), .blob("image"), .asset("picture", download: .eager),
    .reference("match", to: "SBMatch", onDelete: .cascade))

  static let match = belongsTo(SBMatch.self)

  var id = RecordName<SBMatchImage>()
  var fileName: String?
  var caption: String?
  var picture: AssetName?
  var match: RecordName<SBMatch>?
}
