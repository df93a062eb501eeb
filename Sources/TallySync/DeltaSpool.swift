import Foundation

/// Holds a delta between being read and being applied: in memory while it is small, in a temporary file beyond that.
final class DeltaSpool {
  private static let memoryLimit = 4 << 20
  private static let pieceSize = 1 << 18
  private var memory: [UInt8] = []
  private var file: FileHandle?
  private var url: URL?
  private(set) var byteCount = 0

  func append(_ bytes: [UInt8]) throws {
    byteCount += bytes.count
    if file == nil, memory.count + bytes.count <= Self.memoryLimit {
      memory += bytes
      return
    }
    if file == nil { try spill() }
    try file?.write(contentsOf: Data(bytes))
  }

  private func spill() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString).delta")
    guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
    }
    self.url = url
    let file = try FileHandle(forUpdating: url)
    self.file = file
    try file.write(contentsOf: Data(memory))
    memory = []
  }

  /// Gives the bytes back, piece by piece.
  func reader() throws -> () throws -> [UInt8]? {
    guard let file else {
      var rest: [UInt8]? = memory
      return {
        defer { rest = nil }
        return rest
      }
    }
    try file.seek(toOffset: 0)
    return { try file.read(upToCount: Self.pieceSize).flatMap { $0.isEmpty ? nil : Array($0) } }
  }

  /// Bytes from a place in what was appended.
  func read(at offset: Int, _ count: Int) throws -> [UInt8] {
    guard let file else { return Array(memory[min(offset, memory.count)..<min(offset + count, memory.count)]) }
    try file.seek(toOffset: UInt64(offset))
    return Array(try file.read(upToCount: count) ?? Data())
  }

  /// Removes the temporary file.
  func discard() {
    try? file?.close()
    if let url { try? FileManager.default.removeItem(at: url) }
  }
}
