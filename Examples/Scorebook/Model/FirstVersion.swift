import Tally

/// The first version of the app, which had its pictures in the rows.
///
/// The schema keeps those fields for devices that still have this version, and the structs do not.
enum FirstVersion {
  /// The fields that had pictures, and those that name the files now.
  static let pictures: [(entity: String, blob: String, asset: String)] = [
    ("SBPerson", "avatarImage", "avatar"), ("SBGame", "thumbnailImage", "thumbnail"),
    ("SBMatchImage", "image", "picture"),
  ]

  /// Makes files of the pictures that are in rows: those of the first version's file, and those that devices with that
  /// version still write. Call it at each launch, before the first sync.
  @discardableResult
  static func movePictures(in store: Store) throws -> [BlobReport] {
    try pictures.map { try store.assets.moveBlobs(of: $0.entity, from: $0.blob, to: $0.asset) }
  }
}
