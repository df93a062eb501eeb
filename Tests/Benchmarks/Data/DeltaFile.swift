import Foundation
import Tally
import TallyCRDT

/// A delta in a file, so that memory holds only the piece in hand.
struct DeltaFile {
  let path: String

  init(_ path: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil) else { throw Mistake("no file at \(path)") }
    self.path = path
  }

  var byteCount: Int {
    get throws { try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0 }
  }

  func write(_ store: Store, since base: StateVector = StateVector()) throws {
    guard let file = FileHandle(forWritingAtPath: path) else { throw Mistake("no file at \(path)") }
    defer { try? file.close() }
    try store.writeDelta(since: base) { try file.write(contentsOf: $0) }
  }

  func apply(to store: Store, isRepair: Bool = false) throws {
    guard let file = FileHandle(forReadingAtPath: path) else { throw Mistake("no file at \(path)") }
    defer { try? file.close() }
    try store.apply(from: { try file.read(upToCount: 1 << 16).map { [UInt8]($0) } }, isRepair: isRepair)
  }
}
