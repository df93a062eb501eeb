import TallyCRDT
import TallySchema

/// The name of an asset in a mailbox: `asset1-<zone>-<hash>-<bytes>.<type>`. It does not begin as the names of files
/// with records do, so that listings of these do not have it.
struct AssetFileName: Hashable {
  static let prefix = "asset1-default-"

  let asset: AssetName

  var text: String { "\(Self.prefix)\(asset.hash)-\(asset.byteCount).\(asset.type)" }

  /// The name of a file's doubt: an entry by which a device says that what the place has of the file is something else.
  /// No version takes it for a file.
  var doubt: String { text + Self.doubtSuffix }
  private static let doubtSuffix = ".wrong"

  init(_ asset: AssetName) { self.asset = asset }

  /// Reads the name of a doubt.
  init?(doubt text: String) {
    guard text.hasSuffix(Self.doubtSuffix) else { return nil }
    self.init(String(text.dropLast(Self.doubtSuffix.count)))
  }

  /// Reads a name as `text` has it; nil for any other, also for that of a copy that a drive has made.
  init?(_ text: String) {
    guard text.hasPrefix(Self.prefix) else { return nil }
    let parts = text.dropFirst(Self.prefix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let asset = AssetName("sha256-\(parts[0]).\(parts[1])") else { return nil }
    self.init(asset)
    guard self.text == text else { return nil }
  }
}
