import TallyCRDT
import TallyWire

/// The name of an asset in a mailbox: `tally1-<zone>-<hash>-<bytes>.<type>.asset`. Versions that do not know assets take
/// it for a file of another program.
struct AssetFileName: Hashable {
  static let prefix = "tally1-default-"
  private static let suffix = ".asset"

  let asset: AssetName

  var text: String { "\(Self.prefix)\(asset.hash)-\(asset.byteCount).\(asset.type)\(Self.suffix)" }

  init(_ asset: AssetName) { self.asset = asset }

  /// Reads a name as `text` has it; nil for any other, also for that of a copy that a drive has made.
  init?(_ text: String) {
    guard text.hasPrefix(Self.prefix), text.hasSuffix(Self.suffix) else { return nil }
    let parts = text.dropFirst(Self.prefix.count).dropLast(Self.suffix.count).split(separator: "-")
    guard parts.count == 2, let asset = AssetName("sha256-\(parts[0]).\(parts[1])") else { return nil }
    self.init(asset)
    guard self.text == text else { return nil }
  }
}
