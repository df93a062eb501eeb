import TallyCRDT
import TallyWire

@testable import TallyStore
@testable import TallySync

extension FuzzSamples {
  /// An entry of a mailbox that leads to the first replica's beginning.
  static let named: (content: [UInt8], name: MailboxFileName) = {
    let content = seal(DeltaHeader(base: StateVector(), target: vector([(first, 2)]), version: 3).bytes)
    let check = content.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    return (content, MailboxFileName(replica: first, sequence: 2, check: check, kind: .snapshot))
  }()

  /// A delta that builds on that entry, with a header that names it.
  static func openRelativeDelta() throws -> [UInt8] {
    var header = DeltaHeader(base: vector([(first, 2)]), target: self.header.target, version: 3)
    header.fingerprint = self.header.fingerprint
    let blocks = try write(header, blocks()).dropFirst(header.bytes.count).dropLast(9)
    let relative = RelativeHeader(header, since: vector([(first, 2)]), of: named.name.reference)
    return (relative?.bytes ?? []) + blocks
  }
}

extension FuzzTarget {
  static let sync = [message, frames, session, mailboxName, mailboxFile]

  private static let message = FuzzTarget("message", seeds: SyncSamples.messages.map { $0.encoded() }) { bytes in
    guard let message = try accepted(WireError.self, { try SyncMessage(bytes) }) else { return }
    // A hello of another version is read only as far as all versions agree.
    if case .hello(let hello) = message, !hello.versions.overlaps(SyncHello.versions) { return }
    let again = try accepted(WireError.self) { try SyncMessage(message.encoded()) }
    try claim(again == message, "a message reads back as it was")
  }

  /// A stream of frames, in pieces as long as its first byte says.
  private static let frames = FuzzTarget("frames", seeds: [[5] + (try SyncSamples.stream()), [1, 0]]) { bytes in
    guard let size = bytes.first.map({ max(1, Int($0)) }) else { return }
    let whole = try all(of: [Array(bytes.dropFirst())])
    let pieces = stride(from: 1, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    try claim(try all(of: pieces) == whole, "frames do not depend on the pieces they come in")
    var again: [UInt8] = []
    for frame in whole ?? [] {
      if case .message(let message) = frame { again += try FrameDecoder.frame(message) } else { again.append(0) }
    }
    guard let whole else { return }
    try claim(try all(of: [again]) == whole, "frames read back as they were")
  }

  private static func all(of pieces: [[UInt8]]) throws -> [FrameDecoder.Frame]? {
    try accepted(SyncError.self) {
      var decoder = FrameDecoder()
      var frames: [FrameDecoder.Frame] = []
      for piece in pieces {
        decoder.append(piece)
        while let frame = try decoder.next() { frames.append(frame) }
      }
      return frames
    }
  }

  /// A peer that says anything in any order. The first byte says whether the session is live and where the store
  /// stands.
  private static let session = FuzzTarget(
    "session", seeds: try (0..<4).map { [$0] + (try SyncSamples.stream()) }
  ) { bytes in
    guard let first = bytes.first else { return }
    let messages = try accepted(SyncError.self) {
      var decoder = FrameDecoder()
      decoder.append(Array(bytes.dropFirst()))
      var messages: [[UInt8]] = []
      while case .message(let message)? = try decoder.next() { messages.append(message) }
      return messages
    }
    var performer = Performer(isLive: first & 1 == 1, isEmpty: first & 2 == 2)
    do {
      try performer.handle(.started(performer.summary))
      for message in messages ?? [] { try performer.handle(.message(try SyncMessage(message))) }
    } catch is SyncError {
    } catch is WireError {}
  }

  private static let mailboxName = FuzzTarget(
    "mailbox-name", maximumLength: 200, seeds: SyncSamples.fileNames.map { Array($0.utf8) }
  ) { bytes in
    guard case .file(var name) = MailboxFileName.parse(String(decoding: bytes, as: UTF8.self)) else { return }
    name.isCopy = false
    try claim(MailboxFileName.parse(name.text) == .file(name), "a name reads back as it was")
  }

  /// A file in a mailbox, under a name that fits: the first byte chooses the kind.
  private static let mailboxFile = FuzzTarget(
    "mailbox-file",
    seeds: try (0..<3).map { [$0] + (try FuzzSamples.openDeltas()[0]) } + [[0] + (try FuzzSamples.openRelativeDelta())]
  ) { bytes in
    guard let first = bytes.first else { return }
    let kinds = MailboxFileName.Kind.allCases
    let content = FuzzSamples.seal(Array(bytes.dropFirst()))
    let check = content.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    let name = MailboxFileName(
      replica: FuzzSamples.first, sequence: 300, check: check, kind: kinds[Int(first) % kinds.count])
    // Only what reads as a delta is worth a store.
    let mailbox = MemoryMailbox()
    if case .relative = (try? MailboxHeader.decode(content))?.header {
      mailbox.place(FuzzSamples.named.content, as: FuzzSamples.named.name.text)
    } else {
      guard (try? FuzzSamples.read(content)) != nil || first & 0x80 != 0 else { return }
    }
    mailbox.place(content, as: name.text)
    let store = try StoreSamples.store()
    _ = try store.sync(through: mailbox)
    try StoreSamples.checkSound(store)
  }
}

/// Performs what a session asks for, without a store.
private struct Performer {
  private var session: SyncSession
  private(set) var summary: StoreSummary
  private var budget = 1000
  private var kept: UInt64 = 0

  init(isLive: Bool, isEmpty: Bool) {
    session = SyncSession(mode: isLive ? .live : .once, carriesFiles: true)
    let vector = isEmpty ? StateVector() : FuzzSamples.header.target
    summary = StoreSummary(vector: vector, fingerprint: Fingerprint(), replica: isEmpty ? nil : FuzzSamples.second)
  }

  mutating func handle(_ event: SyncSession.Event) throws {
    var events = [event]
    while let next = events.popLast() {
      budget -= 1
      try claim(budget > 0, "a session comes to rest")
      for action in try session.handle(next) { events += answer(action) }
    }
  }

  private mutating func answer(_ action: SyncSession.Action) -> [SyncSession.Event] {
    switch action {
    case .prepare(let transfer, let base, _):
      return [.prepared(transfer: transfer, DeltaHeader(base: base, target: summary.vector), byteCount: 100)]
    case .read(let transfer, _, let count):
      return [.read(transfer: transfer, [UInt8](repeating: 7, count: min(count, 100)))]
    case .apply, .applyLive:
      summary.vector.include(Dot(replica: FuzzSamples.first, sequence: summary.vector[FuzzSamples.first] + 1))
      return [.applied(summary, target: summary.vector)]
    case .collect(let base): return [.collected(DeltaHeader(base: base, target: summary.vector), [])]
    case .look: return [.changed(summary)]
    case .leaveMark: return [.marked]
    case .lookForMark: return [.recognized(false)]
    case .renewReplica:
      summary.replica = nil
      return [.renewed(summary)]
    case .listFiles:
      var listing = FileListing()
      listing.names = [SyncSamples.file].compactMap(\.self)
      return [.filesListed(listing)]
    case .beginFile(let name):
      kept = 0
      return [.fileBegun(name, byteCount: 0)]
    case .keepFile(let bytes):
      kept += UInt64(bytes.count)
      return [.fileKept(byteCount: kept)]
    case .finishFile: return SyncSamples.file.map { [.fileEnded($0, .taken)] } ?? []
    case .openFile(let number, let name): return [.fileOpened(number, isHere: name.byteCount < 1 << 20)]
    case .readFile(let number, _, let count): return [.fileRead(number, [UInt8](repeating: 7, count: count))]
    case .send, .discard, .keep, .resume, .dropFile, .closeFile, .finish: return []
    }
  }
}

/// What peers say.
enum SyncSamples {
  /// A file that a session lacks.
  static let file = AssetName(hash: String(repeating: "ab", count: 32), byteCount: 3, type: "jpg")

  static var messages: [SyncMessage] {
    let digest = SyncDigest(vector: FuzzSamples.header.target, fingerprint: Fingerprint())
    let hello = SyncHello(
      versions: 1...1, replica: FuzzSamples.first, digest: digest, isLive: true, messageLimit: 1 << 20)
    let advance = SyncLive.Advance(number: 0, added: nil, count: 1)
    return [
      .hello(hello), .vector(FuzzSamples.header.target),
      .chunk(transfer: 1, offset: 0, isLast: false, bytes: [1, 2, 3]),
      .chunk(transfer: 1, offset: 3, isLast: true, bytes: [4]), .received(transfer: 1, byteCount: 100),
      .applied(transfer: 1, digest: digest), .live(SyncLive(number: 1, advances: [advance], block: [])),
      .liveApplied(1), .repair, .done(digest), .ping, .failure(code: "peerFailed", message: "no"),
      .hello(
        SyncHello(versions: 1...6, replica: FuzzSamples.first, digest: digest, isLive: true, messageLimit: 1 << 20)),
      .piece(1, offset: 0, bytes: [1, 2, 3]), .stored(1, byteCount: 3), .lacks(1), .settled,
      .arrived,
    ] + [file].compactMap { $0.map { .want(1, $0, offset: 0) } }
  }

  static var fileNames: [String] {
    MailboxFileName.Kind.allCases.map { kind in
      MailboxFileName(replica: FuzzSamples.first, sequence: 12, check: 0xABCD, kind: kind).text
    } + ["tally2-x"]
  }

  static func stream() throws -> [UInt8] {
    try messages.flatMap { try FrameDecoder.frame($0.encoded()) } + FrameDecoder.farewell
  }
}
