import Foundation
import GRDB
import TallyStore

/// A temporary file for what was read, beside the new store.
final class Spool {
  private let path: String
  private let handle: FileHandle

  init(besides path: String) throws {
    self.path = path + "-damaged-content"
    guard FileManager.default.createFile(atPath: self.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: "the file \(self.path) cannot be written")
    }
    handle = try FileHandle(forUpdating: URL(fileURLWithPath: self.path))
  }

  func append(_ bytes: [UInt8]) throws {
    do {
      try handle.write(contentsOf: Data(bytes))
    } catch {
      throw DatabaseError(writing: path, error)
    }
  }

  func reader() throws -> () throws -> [UInt8]? {
    try handle.seek(toOffset: 0)
    return { [handle] in
      let data = try handle.read(upToCount: 1 << 18)
      return data.map(Array.init).flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  /// It is in nobody's way, so that it matters little if it stays.
  func remove() {
    try? handle.close()
    try? FileManager.default.removeItem(atPath: path)
  }
}
