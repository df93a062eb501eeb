import TallyAssets
import TallyCRDT
import TallySchema

/// The files that records name, such as pictures. They travel once records are equal, one at a time in each direction:
/// a side asks for what it lacks and gives what it is asked for. Nothing about a file ends a session, except a peer
/// that breaks the protocol.
struct SessionFiles: Sendable {
  /// A file that this side has asked for, or is about to ask for.
  struct Asking: Sendable {
    var number: UInt64
    var name: AssetName
    /// The number of bytes that have come; nil until it is known what is here from earlier.
    var byteCount: UInt64?
    /// The number of them that are put aside.
    var kept: UInt64 = 0
    /// Whether the peer was asked, which a file that is complete already does not need.
    var isAsked = false
    /// Whether the peer has sent all of it.
    var isComplete: Bool { byteCount == UInt64(name.byteCount) }
  }

  /// A file that the peer has asked for.
  struct Giving: Sendable {
    var number: UInt64
    var name: AssetName
    var sent: UInt64
    var acknowledged: UInt64
  }

  var asking: Asking?
  /// The request that this side has given up and whose end has not come: until then pieces may be on their way.
  var dropped: Asking?
  var giving: Giving?
  /// Whether an answer of the folder is awaited, and what the peer has asked for meanwhile.
  var isAnswering = false
  var next: Giving?
  /// The files that this side lacks and has not asked for yet, the next one last.
  var wanted: [AssetName] = []
  /// The files that the peer does not have, and those that could not be taken: they are tried again after a while.
  var (lacking, failed) = (Set<AssetName>(), Set<AssetName>())
  /// Whether the app has just asked for files, so that those are tried again which the peer did not have; and whether
  /// the peer has said that it has more.
  var (retriesWishes, peerHasMore) = (false, false)
  /// Whether it is known what this side lacks, at least as of some time ago, and whether the last attempt to find out
  /// has failed or left something out that may be asked for later.
  var (hasListed, listsAgain) = (false, false)
  /// Whether files have had their time in this session.
  var isOver = false
  /// The wanted files that rows name.
  var shown = Set<AssetName>()
  /// The numbers of the last requests of this side and of the peer.
  var (asked, given): (UInt64, UInt64) = (0, 0)
  /// Whether this side does not know what it lacks, and whether it is looking.
  var (owesListing, isListing) = (true, false)
  /// Whether this side and the peer have said that they ask for nothing more.
  var (sentSettled, peerSettled) = (false, false)
  /// Whether the peer does not know that this side asks for nothing more.
  var owesWord = true
}

extension SyncSession {
  /// Whether files travel in this session: both sides have records that can name some.
  var exchangesFiles: Bool { version >= 6 && mode != .compare && stage.isExchanging }

  /// Whether nothing about files keeps the session from its end.
  var isDoneWithFiles: Bool {
    !exchangesFiles
      || files.sentSettled && files.peerSettled && files.asking == nil && files.giving == nil && files.dropped == nil
  }

  /// Whether files may travel: records come first.
  private var isEqual: Bool { stage.phase == .live || sentDone != nil && sentDone == peerDone }

  /// Asks for the next file, or looks which there are, and gives the next piece of one.
  mutating func proceedWithFiles(_ actions: inout [Action]) {
    guard exchangesFiles, !isRenewing else { return }
    defer {
      let isIdle = files.asking == nil && files.giving == nil && files.wanted.isEmpty
      progress.hasFilesUnderWay = !isIdle || files.owesWord || !files.peerSettled || files.retriesWishes
    }
    giveMore(&actions)
    guard isEqual, files.asking == nil else { return }
    if files.peerHasMore, files.wanted.isEmpty {
      (files.peerHasMore, files.lacking) = (false, [])
      oweListing()
    }
    // Between two files: what the app waits for now comes before the rest.
    if files.owesListing, !files.isListing {
      (files.owesListing, files.isListing) = (false, true)
      actions.append(.listFiles)
    }
    if let name = files.wanted.popLast() {
      files.asked += 1
      files.asking = SessionFiles.Asking(number: files.asked, name: name)
      files.owesWord = true
      actions.append(.beginFile(name))
    } else if !files.isListing, !files.sentSettled {
      files.sentSettled = true
      giveWord(&actions)
    } else if isLive, files.hasListed {
      // While records change all the time, one listing follows the other.
      giveWord(&actions)
    }
  }

  private mutating func giveWord(_ actions: inout [Action]) {
    if files.owesWord { actions.append(.send(.settled)) }
    files.owesWord = false
  }

  /// What rows name may have changed.
  mutating func oweListing() {
    // In a session that ends, the peer may have taken this side's word and gone.
    guard isLive || !files.sentSettled, !files.isOver else { return }
    (files.owesListing, files.sentSettled) = (true, false)
  }

  /// The app waits for files.
  mutating func wantFiles() {
    files.retriesWishes = true
    oweListing()
  }

  /// A while has passed since files could not be taken: a disk may have room again, another session may have ended.
  mutating func retryFiles() {
    guard isLive, !files.failed.isEmpty || files.listsAgain else { return }
    files.failed = []
    oweListing()
  }

  /// Nothing has come for too long of the file that was asked for.
  mutating func giveUpFile(_ number: UInt64, _ actions: inout [Action]) {
    guard let asking = files.asking, asking.number == number else { return }
    files.failed.insert(asking.name)
    dropFile(&actions)
  }

  /// Files have had their time in a session that is not live: records must not wait for all of them.
  mutating func endFiles(_ actions: inout [Action]) {
    guard exchangesFiles, !isLive, !files.sentSettled else { return }
    if files.asking != nil { dropFile(&actions) }
    (files.wanted, files.owesListing, files.isOver) = ([], false, true)
    var assets = progress.assets ?? AssetTransfers()
    // Where nothing has come, the next session can wait.
    assets.isUnfinished = progress.fileBytesReceived > 0 || !assets.taken.isEmpty
    progress.assets = assets
  }

  private mutating func dropFile(_ actions: inout [Action]) {
    if let asking = files.asking, asking.isAsked, !asking.isComplete { files.dropped = asking }
    files.asking = nil
    (progress.file, progress.fileDone) = (nil, 0)
    actions.append(.dropFile)
  }

  /// A file has come from elsewhere that the peer has asked for in vain.
  mutating func haveMore(_ actions: inout [Action]) {
    guard exchangesFiles, isLive else { return }
    actions.append(.send(.arrived))
  }

  // MARK: Asking

  mutating func listed(_ listing: FileListing) {
    (files.isListing, files.hasListed) = (false, true)
    files.listsAgain = listing.failure != nil || listing.refused > 0
    // A wish that came while this was listed is in the next one.
    if files.retriesWishes, !files.owesListing, listing.failure == nil {
      files.retriesWishes = false
      files.lacking.subtract(listing.wishes)
    }
    guard !files.isOver else { return }
    let asked = files.asking?.name
    files.wanted = listing.names.filter {
      !files.lacking.contains($0) && !files.failed.contains($0) && $0 != asked
    }.reversed()
    files.shown = listing.shown
    progress.assets = progress.assets ?? AssetTransfers()
    progress.assets?.wanted = listing.names.count + listing.refused
    progress.assets?.missing = listing.missing
    progress.assets?.failure = listing.failure
  }

  mutating func begun(_ name: AssetName, _ byteCount: UInt64, _ actions: inout [Action]) {
    guard let asking = files.asking, asking.name == name, asking.byteCount == nil else { return }
    files.asking?.byteCount = byteCount
    files.asking?.kept = byteCount
    (progress.file, progress.fileDone) = (name, byteCount)
    if byteCount == UInt64(name.byteCount) {
      actions.append(.finishFile)
    } else {
      files.asking?.isAsked = true
      files.dropped = nil
      actions.append(.send(.want(asking.number, name, offset: byteCount)))
    }
  }

  mutating func kept(_ byteCount: UInt64, _ actions: inout [Action]) {
    guard let asking = files.asking, let received = asking.byteCount, byteCount <= received else { return }
    files.asking?.kept = byteCount
    progress.fileDone = byteCount
    actions.append(.send(.stored(asking.number, byteCount: byteCount)))
    if byteCount == UInt64(asking.name.byteCount) { actions.append(.finishFile) }
  }

  /// A file has come, or has not.
  mutating func ended(_ name: AssetName, _ end: FileEnd) {
    guard let asking = files.asking, asking.name == name else { return }
    if asking.isAsked, !asking.isComplete { files.dropped = asking }
    files.asking = nil
    (progress.file, progress.fileDone) = (nil, 0)
    switch end {
    case .taken:
      progress.assets?.taken.append(name)
      progress.assets?.issues.removeAll { $0.name == name }
    case .here: break
    case .again: return files.wanted.append(name)
    case .busy:
      files.failed.insert(name)
      return
    case .failed(let issue):
      files.failed.insert(name)
      progress.assets?.issues.removeAll { $0.name == name }
      progress.assets?.issues.append(issue)
      // With a full disk no other file fares better.
      if issue.code == AssetError.Code.unwritable.rawValue {
        files.failed.formUnion(files.wanted)
        files.wanted = []
      }
      return
    }
    guard let counts = progress.assets else { return }
    progress.assets?.wanted = max(0, counts.wanted - 1)
    if files.shown.contains(name) { progress.assets?.missing = max(0, counts.missing - 1) }
  }

  mutating func receivedPiece(_ number: UInt64, _ offset: UInt64, _ bytes: [UInt8], _ actions: inout [Action]) throws {
    guard number <= files.asked else { throw violation("a piece of a file that was not asked for") }
    // It was given up, and what was on its way comes all the same.
    if let dropped = files.dropped, dropped.number == number, offset + UInt64(bytes.count) >= dropped.name.byteCount {
      files.dropped = nil
    }
    guard let asking = files.asking, asking.number == number, let byteCount = asking.byteCount else { return }
    let end = offset + UInt64(bytes.count)
    guard offset == byteCount, !bytes.isEmpty, end <= UInt64(asking.name.byteCount) else {
      throw violation("a piece of a file came out of its order")
    }
    guard end - asking.kept <= UInt64(SyncLimits.windowBytes + SyncLimits.chunkBytes) else {
      throw violation("the peer does not wait until its pieces are put aside")
    }
    files.asking?.byteCount = end
    progress.fileBytesReceived += UInt64(bytes.count)
    actions.append(.keepFile(bytes))
  }

  mutating func peerLacks(_ number: UInt64, _ actions: inout [Action]) throws {
    guard number <= files.asked else { throw violation("a file is missing that was not asked for") }
    if files.dropped?.number == number { files.dropped = nil }
    guard let asking = files.asking, asking.number == number else { return }
    files.lacking.insert(asking.name)
    dropFile(&actions)
    files.dropped = nil
  }

  // MARK: Giving

  mutating func wants(_ number: UInt64, _ name: AssetName, _ offset: UInt64, _ actions: inout [Action]) throws {
    guard number > files.given else { throw violation("a file was asked for twice") }
    guard offset < UInt64(name.byteCount) else { throw violation("a file is asked for from beyond its end") }
    files.given = number
    files.peerSettled = false
    let giving = SessionFiles.Giving(number: number, name: name, sent: offset, acknowledged: offset)
    // One answer of the folder is awaited at a time, however fast the peer asks.
    if files.isAnswering {
      files.next = giving
    } else {
      open(giving, &actions)
    }
  }

  private mutating func open(_ giving: SessionFiles.Giving, _ actions: inout [Action]) {
    (files.giving, files.isAnswering) = (giving, true)
    actions.append(.openFile(giving.number, giving.name))
  }

  /// Turns to what the peer has asked for meanwhile.
  private mutating func turn(_ actions: inout [Action]) -> Bool {
    guard let next = files.next else { return false }
    files.next = nil
    open(next, &actions)
    return true
  }

  /// The peer asks for nothing more, also not for what it was being given.
  mutating func settled(_ actions: inout [Action]) {
    files.peerSettled = true
    guard let last = files.next ?? files.giving else { return }
    (files.next, files.giving) = (nil, nil)
    // With that the peer knows that nothing more is on its way.
    actions.append(.send(.lacks(last.number)))
    actions.append(.closeFile)
  }

  mutating func opened(_ number: UInt64, _ isHere: Bool, _ actions: inout [Action]) {
    files.isAnswering = false
    guard !turn(&actions), files.giving?.number == number else { return }
    if !isHere { lack(number, &actions) }
  }

  private mutating func lack(_ number: UInt64, _ actions: inout [Action]) {
    files.giving = nil
    actions.append(.send(.lacks(number)))
    actions.append(.closeFile)
  }

  /// Pieces wait for deltas, and for what the peer has not put aside yet.
  private mutating func giveMore(_ actions: inout [Action]) {
    guard let giving = files.giving, !files.isAnswering, outgoing == nil,
      giving.sent - giving.acknowledged < UInt64(SyncLimits.windowBytes)
    else { return }
    files.isAnswering = true
    let count = min(SyncLimits.chunkBytes, giving.name.byteCount - Int(giving.sent))
    actions.append(.readFile(giving.number, offset: giving.sent, count: count))
  }

  /// A piece has been read; nil if the file cannot be read any more.
  mutating func gave(_ number: UInt64, _ bytes: [UInt8]?, _ actions: inout [Action]) {
    files.isAnswering = false
    guard !turn(&actions), let giving = files.giving, giving.number == number else { return }
    guard let bytes, !bytes.isEmpty else { return lack(number, &actions) }
    files.giving?.sent += UInt64(bytes.count)
    progress.fileBytesSent += UInt64(bytes.count)
    actions.append(.send(.piece(number, offset: giving.sent, bytes: bytes)))
    guard giving.sent + UInt64(bytes.count) == UInt64(giving.name.byteCount) else { return }
    files.giving = nil
    progress.assets = progress.assets ?? AssetTransfers()
    progress.assets?.written.append(giving.name)
    actions.append(.closeFile)
  }

  mutating func stored(_ number: UInt64, _ byteCount: UInt64) throws {
    guard number <= files.given else { throw violation("a piece was put aside that was not sent") }
    guard let giving = files.giving, giving.number == number else { return }
    guard byteCount <= giving.sent else { throw violation("more of a file was put aside than was sent") }
    files.giving?.acknowledged = max(giving.acknowledged, byteCount)
  }
}

extension SyncSession {
  /// Takes a message about files.
  mutating func takeFile(_ message: SyncMessage, _ actions: inout [Action]) throws {
    guard exchangesFiles else { throw violation("a message about files in a session without") }
    switch message {
    case .want(let number, let name, let offset): try wants(number, name, offset, &actions)
    case .piece(let number, let offset, let bytes): try receivedPiece(number, offset, bytes, &actions)
    case .stored(let number, let byteCount): try stored(number, byteCount)
    case .lacks(let number): try peerLacks(number, &actions)
    case .settled: settled(&actions)
    case .arrived: files.peerHasMore = true
    default: break
    }
  }

  /// How the attempt to take a file has ended.
  public enum FileEnd: Sendable {
    /// It has come, and it has its name.
    case taken
    /// It was here already, or its record was removed meanwhile, so nothing was to be taken.
    case here
    /// It was not what its name says, and part of it may be from elsewhere: it is taken again from its beginning.
    case again
    /// Something else is bringing it.
    case busy
    /// It could not be taken.
    case failed(AssetTransfers.Issue)
  }
}

/// The files that a side lacks.
public struct FileListing: Sendable {
  /// Those that it asks for, in this order.
  public var names: [AssetName] = []
  /// Those of them that the app has asked for.
  public var wishes = Set<AssetName>()
  /// Those of them that rows name.
  public var shown = Set<AssetName>()
  /// The number of files that rows name and that are not here.
  public var missing = 0
  /// The number of files that it waits for and does not ask this peer for, which has had something else.
  public var refused = 0
  /// Why they could not be listed, for a log.
  public var failure: String?

  /// Creates a listing of no files.
  public init() {}
}
