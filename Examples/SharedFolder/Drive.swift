import Foundation

/// A model of a cloud drive: it copies files from each device's folder to those of the others, when it likes and in
/// any order.
struct Drive {
  private(set) var folders: [URL] = []

  mutating func connect(_ device: Device) { folders.append(device.folder.url) }

  /// Copies what is missing anywhere, except a file that stays where it is for now.
  func carry(except late: String? = nil) throws {
    let files = FileManager.default
    for source in folders {
      for name in try files.contentsOfDirectory(atPath: source.path) where name != late {
        for folder in folders where !files.fileExists(atPath: folder.appendingPathComponent(name).path) {
          try files.copyItem(at: source.appendingPathComponent(name), to: folder.appendingPathComponent(name))
        }
      }
    }
    print("          ☁ the drive carries \(late == nil ? "the files" : "one file, and leaves one behind")")
  }
}
