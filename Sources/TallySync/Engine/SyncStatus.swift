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
/// ``phase`` is what the engine is doing, ``pending`` and ``missing`` are what either side lacks, and ``lastError``
/// with ``errorCode`` is why the last attempt failed. Decide by the code what to tell people: `unauthorized` for a
/// secret that is wrong, `unreachable` for a peer that is away, as it often is. Counts are of this engine, and begin
/// with it. A status is a value, and does not change.
///
/// A peer that has connected to this device is listed for as long as it is connected; ``Store/devices()`` remembers
/// devices for longer.
public struct PeerStatus: Sendable, Equatable, Identifiable {
  /// The engine's activities with regard to a peer, for a symbol or a word beside its name.
  public enum Phase: String, Sendable {
    /// Nothing: the engine is paused, or has not begun.
    case paused
    /// A connection is being opened.
    case connecting
    /// Connected, and deltas are on their way in one direction or both.
    case syncing
    /// Connected and equal; changes go over as they are committed.
    case live
    /// Equal as of the last sync; waiting for a change or the next round.
    case idle
    /// The last attempt failed; waiting before another, see `lastError`.
    case retrying
    /// Given up until `resume()`, because trying again would not help (`TallyError.isPermanent`): the app has to be
    /// updated, or the secret or token to be replaced.
    case blocked
  }

  /// The name of the transport or mailbox.
  public var id: String
  /// The engine's current activity with regard to the peer.
  public var phase: Phase = .paused
  /// The fraction of what is under way that is done, 0 to 1, for one bar: bytes of deltas, of which receiving one
  /// counts as much as applying it; nil if nothing is under way, and while its size is not known.
  public var fraction: Double?
  /// The stage that is under way, with its bytes, its records and the time it may take; nil if nothing is under way.
  public var transfer: TransferProgress?
  /// Bytes of deltas, since the engine began.
  public var bytesSent: UInt64 = 0, bytesReceived: UInt64 = 0
  /// Records and links that changed here, since the engine began; grows with each delta that is committed.
  public var changesReceived = 0
  /// Transactions of this store that the peer is not known to have; nil before the first connection. For a mailbox:
  /// that it is not known to hold. Counts what is written while the peer is away, as it is written.
  public var pending: UInt64?
  /// Transactions of the peer that are not here yet; nil before the first connection, and for a mailbox that holds
  /// something that cannot be taken in.
  public var missing: UInt64?
  /// Files of a mailbox that are not here yet or cannot be read.
  public var waitingFiles = 0
  /// The peer's replica; nil while unknown, and for a mailbox.
  public var replica: ReplicaID?
  /// The peer's introduction; nil if it has given none, and for a mailbox.
  public var device: SyncDevice?
  /// When both were last known to be equal, by this device's clock; nil if not since the engine began.
  public var lastSuccess: Date?
  /// Why the last attempt failed, in English, for a log or a row of details; nil after a success.
  public var lastError: String?
  /// The code of that error, such as `unreachable` or `unauthenticated`, to decide what to tell people; nil after a
  /// success, and if the error is not one of Tally's.
  public var errorCode: String?
  /// Why a mailbox does not tell what is new at present, in English, though syncing goes on: the engine looks into it
  /// every `SyncEngine.Settings.interval`. Nil if it tells, or never can.
  public var pollingError: String?
  /// The code of that error.
  public var pollingErrorCode: String?
  /// Failed attempts in a row.
  public var failures = 0
  /// When the engine tries again by itself, by this device's clock; nil unless the phase is `retrying`. `syncNow()`
  /// does not wait for it.
  public var nextRetry: Date?
  /// The versions of the protocol that the peer speaks, as of the last connection; nil while unknown, and for a
  /// mailbox. The two use the highest that both speak, see `SyncHello.versions`.
  public var protocolVersions: ClosedRange<UInt8>?

  /// The status of a peer of which nothing is known yet, for previews.
  public init(id: String) { self.id = id }
}

/// The state of sync with all peers: what an app's settings screen shows.
///
/// ```swift
/// let status = await engine.status
/// print(status.isPaused ? "off" : status.isUpToDate ? "up to date" : "\(status.peers.count) peers")
/// ```
///
/// ``SyncEngine/statusUpdates()`` gives one after each change, and a ``SyncMonitor`` keeps the newest for a view. It is
/// a value: compare it, keep it, make one for a preview. It says nothing of conflicts and of rows that do not show:
/// ``Store/conflicts(limit:)`` and ``StoreStatus`` do.
public struct SyncStatus: Sendable, Equatable {
  /// Whether the switch is off: ``SyncEngine/pause()`` was called last, or ``SyncEngine/resume()`` never.
  public var isPaused = true
  /// The peers, in the order in which they were added.
  public var peers: [PeerStatus] = []

  /// The status of an engine that has not begun: paused, and without peers.
  public init() {}

  /// Whether there are peers, every one is known to have everything of this store, everything that it has announced is
  /// here, and no last attempt failed.
  ///
  /// It is false without peers, and before the first sync with each. A paused engine keeps what was known when it was
  /// paused. What a peer has written since it was last in touch cannot be known.
  public var isUpToDate: Bool {
    !peers.isEmpty && peers.allSatisfy { $0.pending == 0 && $0.missing == 0 && $0.lastError == nil }
  }
}

/// The status for a view: follows an engine on the main actor.
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
/// A SwiftUI view that reads `status` is drawn again whenever it changes; no property wrapper is needed.
@MainActor @Observable public final class SyncMonitor {
  /// The state of sync, as the engine last published it.
  public private(set) var status = SyncStatus()
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Follows an engine for as long as the monitor exists.
  ///
  /// ```swift
  /// @MainActor func monitor(_ engine: SyncEngine) -> SyncMonitor { SyncMonitor(engine) }
  /// ```
  ///
  /// ``status`` is that of a paused engine without peers until the engine's own has arrived, which takes one hop to it.
  /// Releasing the monitor changes nothing about sync.
  public init(_ engine: SyncEngine) {
    task = Task { [weak self] in
      for await status in await engine.statusUpdates() { self?.status = status }
    }
  }

  isolated deinit { task?.cancel() }
}
