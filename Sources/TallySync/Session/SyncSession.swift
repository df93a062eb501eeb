import TallyCRDT
import TallySchema
import TallyStore
import TallyWire

/// The protocol of one connection between two replicas, as a state machine that decides on actions but never performs
/// them.
///
/// Both sides run the same machine. They introduce themselves with a digest of vector and content: two equal replicas
/// part after one message each, unless files are to travel. Otherwise they exchange vectors, and each transfers a delta
/// of what the other lacks, in chunks that the receiver puts aside and applies as a whole. A side that has nothing more
/// to send reports its state; when both have the same state, the sync is done. If both sides are `isLive`, the session
/// continues: each change is sent as soon as it is committed, as one small message.
///
/// If the records of both sides can name files, such as pictures, these travel once the records are equal: a side asks
/// for those that it lacks, and both stay until neither asks for more.
///
/// The performer feeds events into `handle(_:)` and carries out the actions in order. A thrown error ends the session.
public struct SyncSession: Sendable {
  /// An input of a session: something that has happened.
  public enum Event: Sendable {
    /// The connection is open. The values are the store's state and the parts of interrupted transfers that it has, in
    /// ascending order.
    case started(StoreSummary, parts: [SyncPart] = [])
    /// A message has arrived from the peer.
    case message(SyncMessage)
    /// The store has changed, by a local write or by a sync with another peer.
    case noticed
    /// The store now has this state.
    case changed(StoreSummary)
    /// The delta that `.prepare` asked for is ready to be read in chunks from `offset` on; the peer has the bytes
    /// before it.
    case prepared(transfer: UInt64, DeltaHeader, byteCount: UInt64, offset: UInt64 = 0)
    /// The chunk that `.read` asked for.
    case read(transfer: UInt64, [UInt8])
    /// The live change that `.collect` asked for.
    case collected(DeltaHeader, [DeltaBlock])
    /// The delta that `.apply` or `.applyLive` asked for is committed. The values are the store's new state, the vector
    /// that the delta brought it to cover, and the number of records and links that it changed.
    case applied(StoreSummary, target: StateVector, changes: Int = 0)
    /// The delta that `.apply` asked for was not joined, because both sides would have seen the same transactions but
    /// would have different contents. The value is the store's state.
    case refused(StoreSummary)
    /// The mark that `.leaveMark` asked for has been made.
    case marked
    /// The value tells whether the store has the mark that `.lookForMark` asked for.
    case recognized(Bool)
    /// The new replica that `.renewReplica` asked for is in place.
    case renewed(StoreSummary)
    /// The files that this side lacks, in answer to `.listFiles`.
    case filesListed(FileListing)
    /// The file of `.beginFile` can be taken from this byte on.
    case fileBegun(AssetName, byteCount: UInt64)
    /// So many bytes of the file have been put aside.
    case fileKept(byteCount: UInt64)
    /// The attempt to take a file has ended.
    case fileEnded(AssetName, FileEnd)
    /// Whether the file that `.openFile` named is here.
    case fileOpened(UInt64, isHere: Bool)
    /// The piece that `.readFile` asked for; nil if the file cannot be read any more.
    case fileRead(UInt64, [UInt8]?)
    /// The app has asked for files that are not here.
    case filesWanted
    /// Some time has passed since files could not be taken.
    case filesDue
    /// Nothing has come for too long of the file that was asked for with this number.
    case fileStalled(UInt64)
    /// Files have had their time, if the session is not live.
    case filesOver
    /// A file that `.openFile` did not find has come from elsewhere.
    case filesArrived
  }

  /// An action that the performer must carry out.
  public enum Action: Sendable {
    /// Send a message to the peer.
    case send(SyncMessage)
    /// Write a delta of everything that the vector does not cover to a place from which it can be read, or continue an
    /// interrupted one of which the peer has a part. Then report `.prepared`.
    case prepare(transfer: UInt64, since: StateVector, peerHas: [SyncPart])
    /// Read that many bytes of the delta, then report `.read`.
    case read(transfer: UInt64, offset: UInt64, count: Int)
    /// Discard the delta, because the peer has applied it.
    case discard(transfer: UInt64)
    /// Continue the stored part of this length.
    case resume(byteCount: UInt64)
    /// Put bytes of the peer's delta aside.
    case keep([UInt8])
    /// Apply the bytes that were put aside, as a whole, then report `.applied`.
    case apply(isRepair: Bool)
    /// Read the store's state, then report `.changed`.
    case look
    /// Read the blocks of everything that the vector does not cover, then report `.collected`.
    case collect(since: StateVector)
    /// Apply a block, then report `.applied`.
    case applyLive(DeltaHeader, DeltaBlock?)
    /// Leave a mark in the store's file, then report `.marked`.
    case leaveMark(UInt64)
    /// Check whether the store's file has a mark that the peer has left in its own file, then report `.recognized`.
    case lookForMark(UInt64)
    /// Take a new replica id before anything else is written, because another store has the same one. Then report
    /// `.renewed`.
    case renewReplica(reason: String)
    /// Find out which files this side lacks, then report `.filesListed`.
    case listFiles
    /// Go on with what has come of a file, then report `.fileBegun` or `.fileEnded`.
    case beginFile(AssetName)
    /// Put a piece of the file aside, then report `.fileKept` or `.fileEnded`.
    case keepFile([UInt8])
    /// Give the file its name if its bytes are what the name says, then report `.fileEnded`.
    case finishFile
    /// Leave what has come of the file for another session.
    case dropFile
    /// Open a file for the peer, then report `.fileOpened`.
    case openFile(UInt64, AssetName)
    /// Read a piece of that file, then report `.fileRead`.
    case readFile(UInt64, offset: UInt64, count: Int)
    /// Close the file that `.openFile` opened.
    case closeFile
    /// The sync is done: close the connection.
    case finish
  }

  /// The progress of a session, for progress bars and status.
  public struct Progress: Sendable, Equatable {
    /// The parts of a session, in their order.
    public enum Phase: String, Sendable {
      /// The hello was sent, and the peer's is awaited.
      case connecting
      /// Deltas are on their way in one direction or both.
      case syncing
      /// Both are equal; changes are sent as they are committed.
      case live
      /// Both are equal and the session has ended.
      case finished
    }

    /// The part of the session that is under way.
    public var phase: Phase = .connecting
    /// The numbers of bytes of deltas sent and received.
    public var bytesSent: UInt64 = 0, bytesReceived: UInt64 = 0
    /// The number of records and links of this store that the deltas committed so far have changed.
    public var changesReceived = 0
    /// The size of the delta that is being sent; 0 if none.
    public var sendTotal: UInt64 = 0
    /// The number of bytes of that delta that the peer has put aside.
    public var sendAcknowledged: UInt64 = 0
    /// The size of the delta that is being received, and the number of its bytes that have arrived; 0 if there is none,
    /// or if unknown.
    public var receiveTotal: UInt64 = 0, receiveDone: UInt64 = 0
    /// The stage that is under way, with its bytes and its estimated time; nil if nothing is under way. A bare session
    /// does not set it; ``SyncSettings/onProgress`` and ``PeerStatus`` provide it.
    public var transfer: TransferProgress?
    /// The completed fraction of the deltas under way, 0 to 1; nil if none is under way. Receiving a delta counts as
    /// much as applying it.
    public var fraction: Double? { work.total == 0 ? nil : min(1, Double(work.done) / Double(work.total)) }
    /// The bytes to send, to receive and to apply, and how many of them are done.
    package var work: (done: UInt64, total: UInt64) {
      let applied = isApplying ? transfer.map { $0.stage == .applying ? $0.bytes : 0 } ?? 0 : 0
      return (sendAcknowledged + receiveDone + applied, sendTotal + 2 * receiveTotal)
    }
    /// The files that have come and gone in this session, and those that are still to come; nil if none travel: one of
    /// both sides has no records that could name any, or its app is too old.
    public var assets: AssetTransfers?
    /// The file that is being received, and the number of its bytes that are here; nil if none is.
    public var file: AssetName?, fileDone: UInt64 = 0
    /// Whether files are still to travel in either direction, or it is not known yet.
    public internal(set) var hasFilesUnderWay = false
    /// The numbers of bytes of files sent and received.
    public var fileBytesSent: UInt64 = 0, fileBytesReceived: UInt64 = 0
    /// Whether a delta that has arrived is being joined.
    var isApplying = false
    /// Whether a delta for the peer is being written aside.
    var isPreparing = false
    /// The number of transactions of the store that the peer is not known to have.
    public var pending: UInt64 = 0
    /// The number of transactions of the peer that have not arrived yet.
    public var missing: UInt64 = 0
    /// The peer's replica; nil while it is unknown, or if the peer has not written yet and does not introduce
    /// itself.
    public var peer: ReplicaID?
    /// The peer's introduction; nil if it has not introduced itself.
    public var device: SyncDevice?
    /// The versions of the protocol that the peer supports; nil before its hello.
    public var peerVersions: ClosedRange<UInt8>?
    /// The vector that the peer is known to have: a transaction whose dot it covers has arrived there and is committed.
    public var acknowledged = StateVector()
    /// Whether everything was exchanged as a repair, because the vectors were equal but the contents were not.
    public var repaired = false
  }

  struct Outgoing: Sendable {
    var number: UInt64
    var header: DeltaHeader?
    var byteCount: UInt64 = 0
    var sent: UInt64 = 0
    var acknowledged: UInt64 = 0
    var isReading = false
    /// Whether a repair began while this transfer was under way: then the peer may have refused it.
    var mayBeRefused = false
  }

  struct Incoming: Sendable {
    var number: UInt64
    var offset: UInt64
    /// nil if the peer did not say.
    var byteCount: UInt64?
  }

  enum Applying: Sendable {
    case transfer(UInt64)
    case live
  }

  let zone: ZoneID
  let mode: Mode
  /// The versions that this side offers.
  let versions: ClosedRange<UInt8>
  var files = SessionFiles()
  /// How far both sides know each other.
  var stage = Stage.opening { didSet { progress.phase = stage.phase } }
  /// The state of the store now.
  var own: StoreSummary?
  /// The number that distinguishes this session from others.
  let identity: UInt64
  /// The introduction of this side.
  let device: SyncDevice?
  /// The parts of interrupted transfers that this side has, and those that the peer has. The first transfer may
  /// continue from there.
  var ownParts: [SyncPart] = [], peerParts: [SyncPart] = []
  /// The vector that the peer has or will have once it has applied what was sent.
  var delivered = StateVector()
  /// The vector that the peer has said it has.
  var peerVector = StateVector()
  var outgoing: Outgoing?
  var transfers: UInt64 = 0
  var incoming: Incoming?
  /// The peer's last transfer: its numbers grow.
  var lastIncoming: UInt64 = 0
  var applying: Applying?
  var isCollecting = false
  var isLooking = false
  /// The store has changed since it was looked at last.
  var hasNews = false
  var isRenewing = false
  var repair = Repair.none
  var sentDone: SyncDigest?
  var peerDone: SyncDigest?
  var sendTable = LiveTable(StateVector())
  var receiveTable = LiveTable(StateVector())
  /// The targets of live changes that the peer has not confirmed, oldest first.
  var liveSent: [StateVector] = []
  var liveConfirmed: UInt64 = 0
  var liveReceived: UInt64 = 0
  /// Messages that wait until the store is free. Windows bound them.
  var waiting: [SyncMessage] = []
  /// The progress of the session, for a progress bar.
  public internal(set) var progress = Progress()
  /// The result of the comparison, once a session that only compares has ended.
  public internal(set) var comparison: SyncComparison?

  /// Creates a session that has not begun.
  /// - Parameters:
  ///   - zone: the zone to sync; the peer must sync the same.
  ///   - mode: the purpose of the session.
  ///   - device: the introduction of this side; nil to stay unnamed.
  ///   - carriesFiles: whether this side's records can name files.
  public init(
    zone: ZoneID = .default, mode: Mode = .once, device: SyncDevice? = nil, carriesFiles: Bool = false
  ) {
    identity = .random(in: 1 ... .max)
    (self.zone, self.mode, self.device) = (zone, mode, device)
    versions = carriesFiles ? SyncHello.versions : SyncHello.versionsWithoutFiles
  }

  /// Whether both sides stay connected.
  public var isLive: Bool { mode == .live && stage.hello?.isLive == true }
  /// The peer's replica; nil while it is unknown.
  public var peerReplica: ReplicaID? { progress.peer }
  /// Whether everything is exchanged, because contents were different at equal vectors.
  var isRepairing: Bool { repair != .none }
  /// The version of the protocol that both speak.
  var version: UInt8 { stage.hello?.common(with: versions) ?? 1 }
  /// The latest version of the wire format that both sides read.
  var wireVersion: UInt8 { version >= 5 ? 3 : 2 }

  /// - Throws: `SyncError.upgradeRequired` if the peer could not read a delta.
  func checkVersion(of header: DeltaHeader) throws(SyncError) {
    guard header.version > wireVersion else { return }
    throw SyncError(
      .upgradeRequired,
      "the app on the peer's side is too old: it knows no counters, greatest or least values, or ordered relationships")
  }
  /// The vector of the store, as far as the session knows.
  package var standing: StateVector { own?.vector ?? StateVector() }
  /// Whether the session has nothing more to do.
  public var isFinished: Bool { stage.phase == .finished }

  /// Handles an event and returns the actions to carry out.
  /// - Throws: `SyncError`, or `WireError` for damaged bytes. Then the session is over.
  public mutating func handle(_ event: Event) throws -> [Action] {
    guard !isFinished else { return [] }
    var actions: [Action] = []
    switch event {
    case .started(let summary, let parts):
      (stage, own, ownParts) = (.greeting(summary), summary, parts)
      actions.append(.send(.hello(hello(summary))))
    case .message(let message): try queue(message)
    case .noticed:
      hasNews = true
      if isLive { oweListing() }
    case .changed(let summary):
      if isLive, summary != own { oweListing() }
      own = summary
      isLooking = false
    case .prepared(let transfer, let header, let byteCount, let offset):
      try prepared(transfer, header, byteCount, offset, &actions)
    case .read(let transfer, let bytes): chunk(transfer, bytes, &actions)
    case .collected(let header, let blocks): try collected(header, blocks, &actions)
    case .applied(let summary, let target, let changes):
      progress.changesReceived += changes
      applied(summary, target, &actions)
    case .refused(let summary): try refused(summary, &actions)
    case .marked: actions.append(.send(.identity(identity)))
    case .recognized(let isSame): try recognized(isSame, &actions)
    case .renewed(let summary):
      own = summary
      isRenewing = false
    case .filesListed(let listing): listed(listing)
    case .fileBegun(let name, let byteCount): begun(name, byteCount, &actions)
    case .fileKept(let byteCount): kept(byteCount, &actions)
    case .fileEnded(let name, let end): ended(name, end)
    case .fileOpened(let number, let isHere): opened(number, isHere, &actions)
    case .fileRead(let number, let bytes): gave(number, bytes, &actions)
    case .filesWanted: wantFiles()
    case .filesDue: retryFiles()
    case .fileStalled(let number): giveUpFile(number, &actions)
    case .filesOver: endFiles(&actions)
    case .filesArrived: haveMore(&actions)
    }
    while stage.takesMessages, applying == nil, !isRenewing, !waiting.isEmpty {
      try take(waiting.removeFirst(), &actions)
    }
    try proceed(&actions)
    proceedWithFiles(&actions)
    if exchangesFiles, !isLive, isDoneWithFiles { try proceed(&actions) }
    look(&actions)
    return actions
  }

  private mutating func queue(_ message: SyncMessage) throws {
    guard waiting.count < 256 else { throw SyncError(.limitExceeded, "the peer does not wait for its messages") }
    waiting.append(message)
  }

  func hello(_ summary: StoreSummary) -> SyncHello {
    var (replica, digest) = (summary.replica, SyncDigest(summary))
    if mode == .compare {
      // No replica, since a session that compares is no second writer of one id; and a hash that is certainly another,
      // so that the peer answers with its vector and does not begin to repair a difference.
      replica = nil
      digest = SyncDigest(vectorHash: ~digest.vectorHash, fingerprint: Fingerprint())
    }
    return SyncHello(
      versions: versions, zone: zone, replica: replica, digest: digest, isLive: mode == .live,
      messageLimit: SyncLimits.messageBytes)
  }

  func violation(_ text: String) -> SyncError { SyncError(.protocolViolation, text) }

  private mutating func take(_ message: SyncMessage, _ actions: inout [Action]) throws {
    switch message {
    case .hello(let hello): return try greeted(hello, &actions)
    case .failure(SyncError.compared, _): return finish(&actions)
    case .failure(let code, let text):
      throw SyncError(SyncError.Code(rawValue: code) ?? .peerFailed, "the peer says: \(text)")
    case .ping: return
    case .identity(let session): return try identified(session, &actions)
    case .about(let device): return try introduced(device)
    case .vector(let vector): return try learned(vector, &actions)
    case .held(let parts): return try learned(parts)
    default: break
    }
    guard stage.isExchanging else { throw violation("a message before the vectors are known") }
    switch message {
    case .transfer(let transfer, let offset, let byteCount): try announced(transfer, offset, byteCount, &actions)
    case .chunk(let transfer, let offset, let isLast, let bytes):
      try received(transfer, offset, isLast, bytes, &actions)
    case .received(let transfer, let byteCount): try confirmed(transfer, byteCount, &actions)
    case .applied(let transfer, _): try peerApplied(transfer, &actions)
    case .live(let live): try receive(live, &actions)
    case .liveApplied(let count): try peerAppliedLive(count)
    case .repair:
      // Both find out by themselves, before either goes live.
      guard stage.phase != .live else { throw violation("a repair of what was equal") }
      try beginRepair(&actions, tell: false)
    case .done(let digest): peerDone = digest
    case .want, .piece, .stored, .lacks, .settled, .arrived: try takeFile(message, &actions)
    case .hello, .failure, .ping, .vector, .held, .identity, .about: break
    }
  }
}

// MARK: - Deciding

extension SyncSession {
  /// Decides what to do next when nothing else is under way.
  private mutating func proceed(_ actions: inout [Action]) throws {
    guard let own, stage.isExchanging, !isRenewing else { return }
    progress.pending = own.vector.distance(beyond: progress.acknowledged)
    progress.missing = peerVector.distance(beyond: own.vector)
    guard applying == nil, outgoing == nil, !isCollecting else { return }
    // After its last word a side waits for the peer's: if they agree, both part, even if there are newer writes.
    let waitsForPeer = stage.phase != .live && sentDone != nil && peerDone == nil
    if !waitsForPeer, repair == .owed || !delivered.covers(own.vector) {
      guard sentDone == nil || sentDone != peerDone else { return try conclude(&actions) }
      return offer(since: repair == .owed ? StateVector() : delivered, &actions)
    }
    guard stage.phase != .live, incoming == nil else { return }
    let digest = SyncDigest(own)
    if sentDone == nil {
      sentDone = digest
      actions.append(.send(.done(digest)))
    }
    try compare(&actions)
  }

  private mutating func compare(_ actions: inout [Action]) throws {
    guard let mine = sentDone, let theirs = peerDone else { return }
    if mine == theirs { return try conclude(&actions) }
    guard mine.vectorHash == theirs.vectorHash else {
      // One of the two spoke before it had everything: both say again where they stand.
      peerDone = nil
      return
    }
    guard !isRepairing else {
      throw SyncError(.notConverged, "both stores exchanged everything and still differ")
    }
    try beginRepair(&actions, tell: true)
  }

  /// Ends the session; the connection is closed next.
  mutating func finish(_ actions: inout [Action]) {
    stage = .finished
    actions.append(.finish)
  }

  private mutating func conclude(_ actions: inout [Action]) throws {
    guard isLive || isDoneWithFiles else { return }
    repair = .none
    (sentDone, peerDone) = (nil, nil)
    guard isLive, let hello = stage.hello else { return finish(&actions) }
    stage = .live(hello)
    // What was written since the last word goes out now: nothing else may happen for long.
    try proceed(&actions)
  }
}

extension SyncDigest {
  /// Creates the digest of a store.
  public init(_ summary: StoreSummary) { self.init(vector: summary.vector, fingerprint: summary.fingerprint) }
}
