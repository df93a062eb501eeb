import Foundation
import TallyCRDT
import TallySchema
import TallyStore
import TallySync
import TallyTesting

/// The place through which the devices of a history exchange files: a folder in memory that tells no sizes, a folder on
/// the disk, or a log as a relay keeps it.
final class AssetPlace {
  enum Kind: CaseIterable {
    case memory, folder, log
  }

  let kind: Kind
  private let memory = MemoryMailbox()
  private let log = MemoryLog(name: "assets \(UInt64.random(in: .min ... .max))", pageSize: 5, inlineBytes: 400)
  private let folder: URL

  /// An empty place. One on the disk is made in a folder that need not be there.
  init(_ kind: Kind, in folder: URL) throws {
    (self.kind, self.folder) = (kind, folder)
    if kind == .folder { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
  }

  var mailbox: any Mailbox {
    switch kind {
    case .memory: memory
    case .folder: FolderMailbox(folder)
    case .log: log
    }
  }

  /// The name of a file's entry.
  static func entry(_ name: AssetName) -> String { "asset1-default-\(name.hash)-\(name.byteCount).\(name.type)" }

  /// The bytes that the place has under an asset's name; nil if it has none, or something that is no file.
  func bytes(of name: AssetName) -> [UInt8]? {
    let entry = Self.entry(name)
    switch kind {
    case .memory: return memory.files.first { $0.name == entry }?.bytes
    case .folder:
      let url = folder.appendingPathComponent(entry)
      let type = try? FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType
      guard type == .typeRegular else { return nil }
      return (try? Data(contentsOf: url)).map(Array.init)
    case .log:
      var bytes: [UInt8]?
      log.change(entry) { bytes = $0 }
      return bytes
    }
  }

  /// What becomes of an entry without the devices' doing.
  enum Harm {
    case lost, torn, changed, folder, link
  }

  /// What can happen to the entries of this place. A log keeps what it has taken, as it is.
  var harms: [Harm] {
    switch kind {
    case .memory: [.lost, .torn, .changed]
    case .folder: [.lost, .torn, .changed, .folder, .link]
    case .log: []
    }
  }

  /// Harms an entry that is there.
  /// - Returns: whether it has become something else.
  func harm(_ name: AssetName, _ harm: Harm, _ random: inout SplitMix64) throws -> Bool {
    guard var bytes = bytes(of: name) else { return false }
    let entry = Self.entry(name)
    let url = folder.appendingPathComponent(entry)
    switch harm {
    case .torn, .changed:
      guard !bytes.isEmpty else { return false }
      let offset = random.below(bytes.count)
      if harm == .torn { bytes.removeSubrange(offset...) } else { bytes[offset] ^= 1 }
      if kind == .memory { memory.place(bytes, as: entry) } else { try Data(bytes).write(to: url) }
    case .lost where kind == .memory: try memory.remove(entry)
    default:
      guard kind == .folder else { return false }
      try FileManager.default.removeItem(at: url)
      switch harm {
      case .folder: try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
      case .link:
        try FileManager.default.createSymbolicLink(
          atPath: url.path, withDestinationPath: folder.path + "/elsewhere")
      default: break
      }
    }
    return true
  }

  /// The place goes away after some calls, cannot read some entries, or gives other bytes than it has.
  func fail(_ names: [AssetName], _ random: inout SplitMix64) {
    let calls = random.chance(33) ? random.below(12) : nil
    switch kind {
    case .memory:
      var faults = MemoryMailbox.Faults()
      faults.callsLeft = calls
      for name in names where random.below(6) == 0 {
        let entry = Self.entry(name)
        switch random.below(4) {
        case 0: faults.cut[entry] = random.below(name.byteCount + 1)
        case 1: faults.zeroed[entry] = 1 + random.below(100)
        case 2: faults.notDownloaded.insert(entry)
        default: faults.unreadable.insert(entry)
        }
      }
      memory.faults = faults
    case .folder: break
    case .log:
      var faults = MemoryLog.Faults()
      faults.callsLeft = calls
      faults.isFull = random.chance(15)
      if random.chance(25) { (faults.cutAfter, faults.isCutSilent) = (random.below(3_000), random.chance(50)) }
      for name in names where random.below(6) == 0 { faults.damaged.insert(Self.entry(name)) }
      log.faults = faults
    }
  }

  func heal() {
    memory.faults = MemoryMailbox.Faults()
    log.faults = MemoryLog.Faults()
  }
}
