import TallyCRDT
import TallySchema
import TallyWire

/// A message between two sessions. `Docs/SyncProtocol.md` specifies the bytes.
public enum SyncMessage: Sendable, Equatable {
  /// The first message of each side.
  case hello(SyncHello)
  /// The sender's whole vector, in answer to a hello with a different digest.
  case vector(StateVector)
  /// The parts of interrupted transfers that the sender has, sent before its vector. Since version 2.
  case held([SyncPart])
  /// The identity of the sending session, for a peer whose hello names this side's own replica: the peer may be an
  /// echo, or this very store. Since version 3.
  case identity(UInt64)
  /// The introduction of the sender, sent before its vector or, if both are equal and stay connected, after its hello.
  /// Since version 4.
  case about(SyncDevice)
  /// The beginning of a transfer of more than one chunk, at `offset` if the receiver has the bytes before it. Since
  /// version 2.
  case transfer(UInt64, offset: UInt64, byteCount: UInt64)
  /// A piece of a delta. `offset` counts the bytes before it; `isLast` ends the transfer.
  case chunk(transfer: UInt64, offset: UInt64, isLast: Bool, bytes: [UInt8])
  /// The receiver has put aside this many bytes of a transfer, so the sender may continue.
  case received(transfer: UInt64, byteCount: UInt64)
  /// The receiver has applied a transfer. The digest describes its state afterwards.
  case applied(transfer: UInt64, digest: SyncDigest)
  /// A live change that is small enough for one message.
  case live(SyncLive)
  /// The receiver has applied this many live changes so far.
  case liveApplied(UInt64)
  /// The vectors are equal but the contents differ: send everything.
  case repair
  /// The sender has nothing more to send. The digest describes its state.
  case done(SyncDigest)
  /// The sender wants a file from `offset` on. Requests of one side are numbered from 1, and a request replaces the one
  /// before it. Since version 6, like the next five.
  case want(UInt64, AssetName, offset: UInt64)
  /// A piece of the file that was asked for with this number; `offset` counts the bytes before it.
  case piece(UInt64, offset: UInt64, bytes: [UInt8])
  /// The receiver has put aside this many bytes of the file, so the sender may continue.
  case stored(UInt64, byteCount: UInt64)
  /// The sender does not have the file, or cannot read it any more.
  case lacks(UInt64)
  /// The sender wants no file that the peer has.
  case settled
  /// The sender has files that it did not have before, so the peer may ask again.
  case arrived
  /// A sign that the sender is still connected.
  case ping
  /// The sender gives up, for this reason.
  case failure(code: String, message: String)
}

/// The vector and content of a replica, in 24 bytes.
public struct SyncDigest: Sendable, Hashable {
  /// The hash of the canonical vector.
  public var vectorHash: UInt64
  /// The fingerprint of the content.
  public var fingerprint: Fingerprint

  /// Creates the digest of a vector and a fingerprint.
  public init(vector: StateVector, fingerprint: Fingerprint) {
    vectorHash = vector.sipHash
    self.fingerprint = fingerprint
  }

  init(vectorHash: UInt64, fingerprint: Fingerprint) {
    self.vectorHash = vectorHash
    self.fingerprint = fingerprint
  }
}

/// The introduction that each side sends first.
public struct SyncHello: Sendable, Hashable {
  /// The versions of the protocol that the sender supports.
  public var versions: ClosedRange<UInt8>
  /// The zone that the sender wants to sync.
  public var zone: ZoneID
  /// The sender's replica; nil if it has not written and does not introduce itself.
  public var replica: ReplicaID?
  /// The sender's state: a hash of its vector, and its fingerprint.
  public var digest: SyncDigest
  /// Whether the sender wants to stay connected and follow changes.
  public var isLive: Bool
  /// The largest message that the sender accepts, in bytes.
  public var messageLimit: Int

  /// Creates the first message of a session.
  public init(
    versions: ClosedRange<UInt8>, zone: ZoneID = .default, replica: ReplicaID?, digest: SyncDigest, isLive: Bool,
    messageLimit: Int
  ) {
    self.versions = versions
    self.zone = zone
    self.replica = replica
    self.digest = digest
    self.isLive = isLive
    self.messageLimit = messageLimit
  }

  /// The versions that this code supports. A session uses the highest version that both sides support.
  public static let versions: ClosedRange<UInt8> = 1...6
  /// The versions that a side offers whose records name no files.
  static let versionsWithoutFiles: ClosedRange<UInt8> = 1...5

  /// The version that both sides speak; nil if there is none.
  func common(with own: ClosedRange<UInt8>) -> UInt8? {
    let highest = min(versions.upperBound, own.upperBound)
    return versions.contains(highest) && own.contains(highest) ? highest : nil
  }
}

/// A change that is small enough for one message: blocks of a delta without its header.
public struct SyncLive: Sendable, Hashable {
  /// An advance of one replica's sequence: the replica is given by its number in the sender's table, or by its id the
  /// first time.
  public struct Advance: Sendable, Hashable {
    /// The replica's number in the sender's table.
    public var number: Int
    /// The replica's id, if the sender adds it to the table with this message.
    public var added: ReplicaID?
    /// The amount by which the sequence grows.
    public var count: UInt64

    package init(number: Int, added: ReplicaID?, count: UInt64) {
      (self.number, self.added, self.count) = (number, added, count)
    }
  }

  /// The number of this live change in its direction, counted from 1. It exposes a transport that loses, repeats or
  /// reorders messages.
  public var number: UInt64
  /// The replicas whose sequences the change advances, and the amounts.
  public var advances: [Advance]
  /// The canonical bytes of the block; its replica numbers are those of the table.
  public var block: [UInt8]

  package init(number: UInt64, advances: [Advance], block: [UInt8]) {
    (self.number, self.advances, self.block) = (number, advances, block)
  }
}
