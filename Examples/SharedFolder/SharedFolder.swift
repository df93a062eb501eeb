import Foundation
import Tally

/// Three devices pack for one trip. They never meet: a drive carries files between their copies of a folder.
///
/// Exit code: 0 if all ended equal and sound, 1 if not.
@main
struct SharedFolder {
  static func main() {
    if failures() > 0 { exit(1) }
  }

  private static func failures() -> Int {
    let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("packing-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    do {
      let story = Story(in: scratch)
      try story.tell()
      return story.failures
    } catch {
      FileHandle.standardError.write(Data("The story broke off: \(error)\n".utf8))
      return 1
    }
  }
}
