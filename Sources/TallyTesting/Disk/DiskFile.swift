/// One file: its bytes as programs see them, and what of that a power cut may still take.
struct DiskFile: Sendable {
  /// Something done to the file since its last sync, with what was there before.
  private enum Change: Sendable {
    case write(offset: Int, new: [UInt8], old: [UInt8], oldCount: Int)
    case truncate(count: Int, oldTail: [UInt8])
  }

  private(set) var bytes: [UInt8] = []
  private var unsynced: [Change] = []

  init(synced bytes: [UInt8] = []) { self.bytes = bytes }

  var isSynced: Bool { unsynced.isEmpty }

  /// A disk writes sectors whole or not at all; what a program writes at once may span many.
  static let sector = 512

  mutating func write(_ new: UnsafeRawBufferPointer, at offset: Int) {
    let old = part(offset..<offset + new.count)
    unsynced.append(.write(offset: offset, new: [UInt8](new), old: old, oldCount: bytes.count))
    put(new, at: offset)
  }

  /// The bytes of a range, as far as the file goes.
  func part(_ range: Range<Int>) -> [UInt8] {
    bytes.withUnsafeBytes { [UInt8](UnsafeRawBufferPointer(rebasing: $0[range.clamped(to: 0..<$0.count)])) }
  }

  mutating func truncate(to count: Int) {
    guard count < bytes.count else { return }
    unsynced.append(.truncate(count: count, oldTail: Array(bytes[count...])))
    bytes.removeSubrange(count...)
  }

  /// From here on a power cut takes nothing of what is there now.
  mutating func sync() { unsynced = [] }

  private mutating func put(_ new: UnsafeRawBufferPointer, at offset: Int) {
    let missing = offset + new.count - bytes.count
    if missing > 0 { bytes += [UInt8](repeating: 0, count: missing) }
    bytes.withUnsafeMutableBytes { all in
      UnsafeMutableRawBufferPointer(rebasing: all[offset..<offset + new.count]).copyMemory(from: new)
    }
  }

  private mutating func put(_ new: [UInt8], _ range: Range<Int>, at offset: Int) {
    new.withUnsafeBytes { put(UnsafeRawBufferPointer(rebasing: $0[range]), at: offset) }
  }
}

// MARK: - Power cuts

/// The fate of everything that was not synced. Disks and file systems differ, so each cut draws one.
enum DiskLoss: Sendable {
  /// Nothing of it was written yet.
  case all
  /// The disk happened to have written everything.
  case nothing
  /// Written in order up to somewhere, and there in the middle of a sector.
  case afterAPoint
  /// Written in any order: each sector is there, is not, or is torn.
  case scattered(percent: Int)

  static func draw(using generator: inout some RandomNumberGenerator) -> DiskLoss {
    switch generator.below(5) {
    case 0: .all
    case 1: .nothing
    case 2: .afterAPoint
    default: .scattered(percent: [5, 30, 50, 70, 95][generator.below(5)])
    }
  }
}

extension DiskFile {
  /// Leaves what remains after a power cut.
  mutating func lose(_ loss: DiskLoss, using generator: inout some RandomNumberGenerator) {
    let changes = unsynced
    unsynced = []
    if case .nothing = loss { return }
    for change in changes.reversed() { undo(change) }
    switch loss {
    case .all, .nothing: break
    case .afterAPoint:
      guard !changes.isEmpty else { return }
      let kept = generator.below(changes.count)
      for change in changes[..<kept] { redo(change) }
      if case .write(let offset, let new, _, _) = changes[kept] {
        put(new, 0..<generator.below(new.count + 1), at: offset)
      }
    case .scattered(let percent):
      for change in changes { scatter(change, percent, using: &generator) }
    }
  }

  private mutating func undo(_ change: Change) {
    switch change {
    case .write(let offset, _, let old, let oldCount):
      bytes.removeSubrange(oldCount...)
      put(old, 0..<old.count, at: min(offset, oldCount))
    case .truncate(_, let oldTail):
      bytes += oldTail
    }
  }

  private mutating func redo(_ change: Change) {
    switch change {
    case .write(let offset, let new, _, _): put(new, 0..<new.count, at: offset)
    case .truncate(let count, _): bytes.removeSubrange(min(count, bytes.count)...)
    }
  }

  private mutating func scatter(_ change: Change, _ percent: Int, using generator: inout some RandomNumberGenerator) {
    guard case .write(let offset, let new, _, _) = change else {
      if generator.below(100) < percent { redo(change) }
      return
    }
    var start = 0
    while start < new.count {
      let end = min(new.count, start + Self.sector - (offset + start) % Self.sector)
      switch generator.below(100) {
      case ..<percent: put(new, start..<end, at: offset + start)
      // One in twenty of the others is torn: SQLite expects that of a sector, https://sqlite.org/atomiccommit.html,
      // section 2.
      case 95...: put(new, start..<start + generator.below(end - start), at: offset + start)
      default: break
      }
      start = end
    }
  }
}

extension RandomNumberGenerator {
  /// A number from 0 up to and without `bound`, the same on every platform and in every version of the standard
  /// library.
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
