import Tally
import TallySync

/// The output of the tool for the files of assets that have travelled.
enum AssetLines {
  static func of(_ assets: AssetTransfers) -> [String] {
    var lines: [String] = []
    if !assets.taken.isEmpty || !assets.written.isEmpty || !assets.removed.isEmpty || assets.wanted > 0 {
      lines.append(
        "assets: took \(assets.taken.count), put \(assets.written.count), removed \(assets.removed.count)"
          + (assets.wanted > 0 ? "; \(assets.wanted) not there yet" : ""))
    }
    lines += assets.issues.map { "asset \($0.name): \($0.message)" }
    if let failure = assets.failure { lines.append("assets: \(failure)") }
    return lines.map { brief($0) }
  }

  /// - Throws: `Failure` if a file could not travel. The next sync tries again.
  static func check(_ assets: AssetTransfers?) throws {
    guard let assets else { return }
    if let failure = assets.failure { throw Failure(.busy, "no file of an asset could travel: \(failure)") }
    guard let first = assets.issues.first else { return }
    throw Failure(
      .busy,
      "\(count(assets.issues.count, "file")) of assets could not travel; the first is \(first.name): \(first.message)")
  }
}
