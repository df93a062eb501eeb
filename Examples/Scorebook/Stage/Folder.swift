import Foundation

/// The folder of the two stores while the story is told.
struct Folder {
  let url: URL
  private let isTemporary: Bool
  private let isKept: Bool

  /// The folder at the path, created if needed; a new temporary one without a path.
  /// - Throws: `Arguments.Misuse` if a store of an earlier run is there.
  init(_ path: String?, isKept: Bool) throws {
    let temporary = FileManager.default.temporaryDirectory.appendingPathComponent("scorebook-\(UUID().uuidString)")
    url = path.map { URL(fileURLWithPath: $0, isDirectory: true) } ?? temporary
    isTemporary = path == nil
    self.isKept = isKept
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    for file in Self.files where FileManager.default.fileExists(atPath: url.appendingPathComponent(file).path) {
      throw Arguments.Misuse(reason: "there is a \(file) in the folder already")
    }
  }

  /// Removes the stores unless they are to be kept, and the folder if it was a temporary one.
  func clean() {
    guard !isKept else { return }
    if isTemporary {
      try? FileManager.default.removeItem(at: url)
    } else {
      for file in Self.files {
        for suffix in ["", "-wal", "-shm", "-assets"] {
          try? FileManager.default.removeItem(at: url.appendingPathComponent(file + suffix))
        }
      }
    }
  }

  private static let files = ["phone.tally", "tablet.tally"]
}
