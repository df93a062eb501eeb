import Foundation
import TallyCRDT
import TallyStore
import TallyWire

/// The part of an interrupted transfer that a side has: its length, and a checksum by which the sender recognizes its
/// own bytes.
public struct SyncPart: Sendable, Hashable {
  /// The number of bytes, counted from the beginning of the transfer.
  public var byteCount: UInt64
  /// The SipHash of `byteCount` and of the first and the last 64 KiB of these bytes.
  public var check: UInt64

  /// Creates a part from its size and its checksum.
  public init(byteCount: UInt64, check: UInt64) {
    (self.byteCount, self.check) = (byteCount, check)
  }

  /// The part that these bytes are.
  package init(of bytes: [UInt8]) {
    let (count, sample) = (bytes.count, min(bytes.count, SyncLimits.chunkBytes))
    var hash = SipHash()
    hash.combine(word: UInt64(count))
    for piece in [bytes[..<sample], bytes[(count - sample)...]] {
      Array(piece).withUnsafeBytes { hash.combine(bytes: $0) }
    }
    self.init(byteCount: UInt64(count), check: hash.finalized())
  }

  /// The maximum number of parts that a side offers to continue.
  public static let limit = 16
}

/// The rest of transfers that lost connections, in a folder beside the store, so that the next session sends only what
/// is missing.
///
/// The receiver keeps what has come: `in-*.part`. The sender keeps the delta: `out-*.delta`, so that it can go on
/// although the store has changed since. Nothing depends on either: without them, or with damaged ones, a transfer
/// starts over. A few files are kept, for a few days. While a session writes a file it holds a lock on it, which the
/// system takes back from a process that dies.
struct TransferShelf {
  /// The most files of either kind, and the most bytes of all, that stay between sessions.
  static let fileLimit = SyncPart.limit, byteLimit: UInt64 = 1 << 30
  /// The time for which a file stays.
  static let age: TimeInterval = 3 * 86_400
  /// Less is not worth a file.
  static let smallest = SyncLimits.chunkBytes

  private let folder: URL

  init(besides store: String) { folder = URL(fileURLWithPath: store + Self.suffix, isDirectory: true) }

  /// The suffix that the folder's name adds to the store's.
  static let suffix = FileRole.transfers

  /// A spool whose file, if it gets one, can stay.
  func spool(_ kind: Kind) -> DeltaSpool {
    DeltaSpool(
      at: folder.appendingPathComponent("\(kind.rawValue)-\(UUID().uuidString).part"), prepareFolder: makeFolder)
  }

  enum Kind: String, CaseIterable {
    case incoming = "in"
    case outgoing = "out"
  }

  private func makeFolder() throws {
    guard mkdir(folder.path, 0o700) == 0 || errno == EEXIST else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    #if canImport(Darwin)
      var (url, values) = (folder, URLResourceValues())
      values.isExcludedFromBackup = true
      try url.setResourceValues(values)
    #endif
  }

  // MARK: Receiving

  /// Returns the parts of interrupted transfers that are here and that no other session has taken; ascending, no two
  /// of one length.
  func parts() -> [(part: SyncPart, url: URL)] {
    var found: [UInt64: (part: SyncPart, url: URL)] = [:]
    for url in files("in-", ".part") where found.count < SyncPart.limit {
      guard let spool = take(url), spool.byteCount >= Self.smallest, found[UInt64(spool.byteCount)] == nil else {
        continue
      }
      defer { spool.close() }
      guard let part = try? spool.part(UInt64(spool.byteCount)) else { continue }
      found[part.byteCount] = (part, url)
    }
    return found.values.sorted { $0.part.byteCount < $1.part.byteCount }
  }

  /// Goes on with a part.
  /// - Throws: `SyncError` if it is no longer what it was.
  func resume(_ part: SyncPart, at url: URL) throws -> DeltaSpool {
    guard let spool = take(url), UInt64(spool.byteCount) == part.byteCount else {
      throw SyncError(.disconnected, "the received part of a transfer is gone; the next sync starts it over")
    }
    return spool
  }

  // MARK: Sending

  /// A delta that is kept here and of which the peer has a part; nil if there is none. `peer` is the peer's vector,
  /// which must cover what the delta builds on, and `own` this store's: a delta beyond it is of a store that was
  /// replaced by an older copy.
  func delta(for parts: [SyncPart], peer: StateVector, own: StateVector) -> Resumed? {
    guard !parts.isEmpty else { return nil }
    for url in files("out-", ".delta") {
      guard let file = try? FileHandle(sharing: url), let size = try? file.seekToEnd() else { continue }
      let spool = DeltaSpool(of: file, at: url, byteCount: Int(size))
      if let header = try? DeltaReader(from: spool.reader()).header, peer.covers(header.base),
        own.covers(header.target),
        !peer.covers(header.target), let offset = try? spool.offset(after: parts)
      {
        return Resumed(spool: spool, header: header, offset: offset)
      }
      spool.close()
    }
    return nil
  }

  struct Resumed {
    let spool: DeltaSpool
    let header: DeltaHeader
    let offset: UInt64
  }

  // MARK: Keeping

  /// Leaves a spool for a later session, and makes room for it.
  func keep(_ spool: DeltaSpool, _ kind: Kind) throws {
    guard spool.byteCount >= Self.smallest, UInt64(spool.byteCount) <= Self.byteLimit else { return spool.discard() }
    try spool.spill()
    if kind == .outgoing, spool.url.pathExtension != "delta" {
      try spool.move(to: spool.url.deletingPathExtension().appendingPathExtension("delta"))
    }
    spool.close()
    tidy()
  }

  /// Removes what is too old or too much, and the folder when it is empty.
  func tidy() {
    let now = Date()
    var bytes: UInt64 = 0
    for kind in Kind.allCases {
      for (index, url) in files("\(kind.rawValue)-", "").enumerated() {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
        let age = (attributes?[.modificationDate] as? Date).map { now.timeIntervalSince($0) } ?? 0
        bytes += (attributes?[.size] as? NSNumber)?.uint64Value ?? 0
        guard index >= Self.fileLimit || age > Self.age || bytes > Self.byteLimit, !isTaken(url) else { continue }
        try? FileManager.default.removeItem(at: url)
      }
    }
    rmdir(folder.path)
  }

  // MARK: Files

  /// Those of one kind, newest first.
  private func files(_ prefix: String, _ suffix: String) -> [URL] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else { return [] }
    let urls = names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }.map(folder.appendingPathComponent)
    func time(_ url: URL) -> Date {
      (try? FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate] as? Date) ?? .distantPast
    }
    return urls.map { ($0, time($0)) }.sorted { ($1.1, $1.0.path) < ($0.1, $0.0.path) }.map(\.0)
  }

  private func take(_ url: URL) -> DeltaSpool? {
    guard let file = try? FileHandle(taking: url), let size = try? file.seekToEnd() else { return nil }
    return DeltaSpool(of: file, at: url, byteCount: Int(size))
  }

  private func isTaken(_ url: URL) -> Bool {
    do {
      try FileHandle(taking: url).close()
      return false
    } catch let error as POSIXError {
      return error.code == .EWOULDBLOCK
    } catch {
      return false
    }
  }
}

extension DeltaSpool {
  /// Returns the part that describes the first bytes.
  func part(_ count: UInt64) throws -> SyncPart {
    let sample = UInt64(SyncLimits.chunkBytes)
    var hash = SipHash()
    hash.combine(word: count)
    for (offset, size) in [(0, min(sample, count)), (count - min(sample, count), min(sample, count))] {
      try read(at: Int(offset), Int(size)).withUnsafeBytes { hash.combine(bytes: $0) }
    }
    return SyncPart(byteCount: count, check: hash.finalized())
  }

  /// Returns the number of bytes of this delta that a peer has that holds one of these parts: the longest.
  func offset(after parts: [SyncPart]) throws -> UInt64? {
    try parts.reversed().first { try $0.byteCount <= UInt64(byteCount) && part($0.byteCount) == $0 }?.byteCount
  }
}
