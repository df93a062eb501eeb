import Foundation
import TestEffort
import Testing

/// Where the fixtures are.
enum ChinookData {
  /// What is wrong with the place.
  struct NotThere: Error {}

  /// The whole database: `chinook.json` in the folder `TALLY_DATA`, else in `../shared/data` of the repository.
  static var whole: URL {
    let folder =
      ProcessInfo.processInfo.environment["TALLY_DATA"].map { URL(fileURLWithPath: $0, isDirectory: true) }
      ?? repository.appendingPathComponent("../shared/data", isDirectory: true)
    return folder.appendingPathComponent("chinook.json").standardizedFileURL
  }

  static var isWholeThere: Bool { Effort.isLong && FileManager.default.isReadableFile(atPath: whole.path) }

  /// What a skipped test says.
  static var whyNot: Comment {
    guard Effort.isLong else { return "a long test" }
    return "\(whole.path) is not there; set TALLY_DATA to the folder that holds chinook.json"
  }

  /// The small part that the repository carries.
  static func extract() throws -> URL {
    guard let url = Bundle.module.url(forResource: "chinook-extract", withExtension: "json", subdirectory: "Fixtures")
    else { throw NotThere() }
    return url
  }

  private static var repository: URL {
    var url = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { url.deleteLastPathComponent() }
    return url
  }
}
