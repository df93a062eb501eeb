import Foundation
import TallyCRDT
import TallyWire

/// Holds a delta between being read and being applied: in memory while it is small, in a file beyond that.
final class DeltaSpool {
  private static let memoryLimit = 4 << 20
  /// Small enough for a progress that follows a delta piece by piece.
  private static let pieceSize = 1 << 16
  private var memory: [UInt8] = []
  private var file: FileHandle?
  private let prepareFolder: () throws -> Void
  /// Whether the file's name is not needed: then it has none, and goes with the process however that ends.
  private let isNameless: Bool
  /// The destination of the file, or its place once it is there.
  private(set) var url: URL
  private(set) var byteCount = 0

  /// An empty spool whose file, if it comes to that, is a temporary one.
  convenience init() {
    let folder = FileManager.default.temporaryDirectory
    self.init(at: folder.appendingPathComponent("tally-\(UUID().uuidString).delta"), isNameless: true) {}
  }

  /// An empty spool whose file, if it comes to that, is that one.
  init(at url: URL, isNameless: Bool = false, prepareFolder: @escaping () throws -> Void) {
    (self.url, self.isNameless, self.prepareFolder) = (url, isNameless, prepareFolder)
  }

  /// A spool that goes on with a file that is there.
  init(of file: FileHandle, at url: URL, byteCount: Int) {
    (self.file, self.url, self.byteCount, isNameless, prepareFolder) = (file, url, byteCount, false, {})
  }

  func append(_ bytes: [UInt8]) throws {
    if file == nil, memory.count + bytes.count > Self.memoryLimit { try spill() }
    if let file {
      try file.seekToEnd()
      try file.write(contentsOf: Data(bytes))
    } else {
      memory += bytes
    }
    byteCount += bytes.count
  }

  /// Moves what is in memory to the file.
  func spill() throws {
    guard file == nil else { return }
    try prepareFolder()
    let file = try FileHandle(creating: url)
    if isNameless { unlink(url.path) }
    self.file = file
    try file.write(contentsOf: Data(memory))
    memory = []
  }

  /// Gives the bytes back, piece by piece.
  func reader() throws -> () throws -> [UInt8]? {
    guard let file else {
      var rest = memory[...]
      return {
        defer { rest = rest.dropFirst(Self.pieceSize) }
        return rest.isEmpty ? nil : Array(rest.prefix(Self.pieceSize))
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

  /// Returns the same delta with another header in the place of its first bytes, and the checksum that goes with it.
  func replacingHeader(ofLength length: Int, with header: [UInt8]) throws -> DeltaSpool {
    let spool = DeltaSpool()
    var sum = SipHash()
    func append(_ bytes: [UInt8]) throws {
      bytes.withUnsafeBytes { sum.combine(bytes: $0) }
      try spool.append(bytes)
    }
    do {
      try append(header)
      var offset = length
      while case let count = min(Self.pieceSize, byteCount - 8 - offset), count > 0 {
        try append(try read(at: offset, count))
        offset += count
      }
      var writer = ByteWriter()
      writer.fixed(sum.finalized())
      try spool.append(writer.bytes)
    } catch {
      spool.discard()
      throw error
    }
    return spool
  }

  /// Gives the file another name.
  func move(to target: URL) throws {
    guard rename(url.path, target.path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    url = target
  }

  /// Lets go of the file, which stays.
  func close() {
    try? file?.close()
    file = nil
  }

  /// Removes the file.
  func discard() {
    guard file != nil else { return }
    close()
    if !isNameless { try? FileManager.default.removeItem(at: url) }
  }
}
