import Foundation
import Observation
import TallyCRDT

/// The state of sync with one peer or mailbox, for a row of a settings screen.
///
/// ```swift
/// for peer in await engine.status.peers {
///   let behind = peer.pending.map { "\($0) changes to send" } ?? "not met yet"
///   print(peer.device?.name ?? peer.id, peer.phase, peer.lastError ?? behind)
/// }
/// ```
///
/// ``phase`` is the current activity of the engine, ``pending`` and ``missing`` count what either side lacks, and
/// ``lastError`` and ``errorCode`` tell why the last attempt failed. Decide by the code what to tell people:
/// `unauthorized` means a wrong secret, `unreachable` a peer that is absent, which is common. The counts are those of
/// this engine and begin with it. A status is a value and does not change.
///
/// A peer that has connected to this device is listed only while it is connected; ``Store/devices()`` remembers devices
/// for longer.
public struct PeerStatus: Sendable, Equatable, Identifiable {
  /// The engine's activities for a peer, for a symbol or a word beside its name.
  public enum Phase: String, Sendable {
    /// Nothing is done: the engine is paused or was never resumed.
    case paused
    /// The engine is opening a connection.
    case connecting
    /// Connected, and deltas are on their way in one direction or both.
    case syncing
    /// Connected and equal; changes are sent as they are committed.
    case live
    /// Equal at the end of the last sync; waiting for a change or the next interval.
    case idle
    /// The last attempt failed; waiting before the next one. See `lastError`.
    case retrying
    /// Given up until `resume()` or `syncNow()`, because a retry would not help (`TallyError.isPermanent`): the app has
    /// to be updated, or the secret or token replaced.
    case blocked
  }

  /// The name of the transport or mailbox.
  public var id: String
  /// The engine's current activity for the peer.
  public var phase: Phase = .paused
  /// The completed fraction of the sync under way, 0 to 1, for one progress bar. It counts bytes of deltas; receiving a
  /// byte counts as much as applying it. Nil if nothing is under way, and while the size is unknown.
  public var fraction: Double?
  /// The stage that is under way, with its bytes, its records and its estimated time; nil if nothing is under way.
  public var transfer: TransferProgress?
  /// The number of bytes of deltas, since the engine was created.
  public var bytesSent: UInt64 = 0, bytesReceived: UInt64 = 0
  /// The number of records and links that changed in this store since the engine was created; it grows with each
  /// committed delta.
  public var changesReceived = 0
  /// The number of transactions of this store that the peer, or mailbox, is not known to have; nil before the first
  /// connection. Writes made while the peer is absent are counted at once.
  public var pending: UInt64?
  /// The number of transactions of the peer that have not arrived yet; nil before the first connection, and for a
  /// mailbox with an entry that cannot be taken in.
  public var missing: UInt64?
  /// The number of files of a mailbox that have not arrived yet or cannot be read.
  public var waitingFiles = 0
  /// The files of assets, such as pictures, of the last session or pass through a mailbox: those that have come and
  /// gone, and those that are left. Nil before the first one, and for a peer whose records can name no files or whose
  /// app is too old.
  public var assets: AssetTransfers?
  /// Whether the files of all devices are kept there: it is a mailbox that takes files.
  var keepsAssets = false
  /// Whether files are under way in a session, or it is not known yet whether there are any.
  var hasFilesUnderWay = false
  /// The peer's replica; nil while unknown, and for a mailbox.
  public var replica: ReplicaID?
  /// The peer's introduction; nil if it has not introduced itself, and for a mailbox.
  public var device: SyncDevice?
  /// The last time at which both sides were known to be equal, by this device's clock; nil if they have not been since
  /// the engine was created.
  public var lastSuccess: Date?
  /// The reason why the last attempt failed, in English, for a log or a row of details; nil after a success.
  public var lastError: String?
  /// The code of the last error, such as `unreachable` or `unauthenticated`, to decide what to tell people; nil after a
  /// success, and if the error is not one of Tally's.
  public var errorCode: String?
  /// The reason why a mailbox does not announce new entries at present, in English. Syncing continues: the engine
  /// checks the mailbox every `SyncEngine.Settings.interval`. Nil if the mailbox announces new entries, or never can.
  public var pollingError: String?
  /// The code of ``pollingError``, to decide what to tell people; nil if there is no such error.
  public var pollingErrorCode: String?
  /// The number of failed attempts in a row.
  public var failures = 0
  /// The time at which the engine retries by itself, by this device's clock; nil unless the phase is `retrying`.
  /// `syncNow()` does not wait for it.
  public var nextRetry: Date?
  /// The versions of the protocol that the peer supported at the last connection; nil while unknown, and for a mailbox.
  /// The two sides use the highest version that both offer; this store offers `SyncHello.versions`, and only 1 to 5 if
  /// its records can name no files.
  public var protocolVersions: ClosedRange<UInt8>?

  /// Creates the status of a peer of which nothing is known yet, for previews.
  public init(id: String) { self.id = id }

  mutating func note(pollingErrorOf mailbox: any Mailbox) {
    let error = mailbox.pollingError
    (pollingError, pollingErrorCode) = (error.map { "\($0)" }, error?.code.rawValue)
  }
}

/// The state of sync with all peers, for an app's settings screen.
///
/// ```swift
/// let status = await engine.status
/// print(status.isPaused ? "off" : status.isUpToDate ? "up to date" : "\(status.peers.count) peers")
/// ```
///
/// ``SyncEngine/statusUpdates()`` returns one after each change, and a ``SyncMonitor`` keeps the newest for a view. It
/// is a value: compare it, keep it, create one for a preview. It does not cover conflicts and rows that are not shown:
/// for these see ``Store/conflicts(limit:)`` and ``StoreStatus``.
public struct SyncStatus: Sendable, Equatable {
  /// Whether sync is switched off: ``SyncEngine/pause()`` was called last, or ``SyncEngine/resume()`` never.
  public var isPaused = true
  /// The peers, in the order in which they were added.
  public var peers: [PeerStatus] = []
  /// The number of files of assets, such as pictures, that are on this device and that no mailbox is known to have; nil
  /// if they could not be counted. The engine's log has the reason.
  public var unsentAssets: Int? = 0

  /// Creates the status of a new engine: paused, and without peers.
  public init() {}

  /// Whether all peers are up to date: there is at least one, each is known to have everything from this store, this
  /// store has everything that they have announced, no last attempt failed, and if there is a mailbox for files, every
  /// file of an asset is in one.
  ///
  /// It is false without peers, and until the first sync with each of them. A paused engine keeps the state from when
  /// it was paused. Anything that a peer has written since its last contact is unknown.
  public var isUpToDate: Bool {
    !peers.isEmpty && (unsentAssets == 0 || !peers.contains { $0.keepsAssets })
      && peers.allSatisfy { $0.pending == 0 && $0.missing == 0 && $0.lastError == nil }
  }
}

/// The status of an engine for a view, on the main actor.
///
/// ```swift
/// @MainActor final class Settings {
///   let monitor: SyncMonitor
///   init(_ engine: SyncEngine) { monitor = SyncMonitor(engine) }
///   var line: String {
///     monitor.status.isPaused ? "paused" : monitor.status.isUpToDate ? "up to date" : "not up to date"
///   }
/// }
/// ```
///
/// A SwiftUI view that reads `status` is redrawn whenever it changes; no property wrapper is needed.
@MainActor @Observable public final class SyncMonitor {
  /// The state of sync, as the engine last published it.
  public private(set) var status = SyncStatus()
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Creates a monitor that follows an engine for as long as the monitor exists.
  ///
  /// ```swift
  /// @MainActor func monitor(_ engine: SyncEngine) -> SyncMonitor { SyncMonitor(engine) }
  /// ```
  ///
  /// Until the engine's status has arrived, which takes one hop to the engine, ``status`` is that of a paused engine
  /// without peers. Releasing the monitor does not affect sync.
  public init(_ engine: SyncEngine) {
    task = Task { [weak self] in
      for await status in await engine.statusUpdates() { self?.status = status }
    }
  }

  isolated deinit { task?.cancel() }
}
