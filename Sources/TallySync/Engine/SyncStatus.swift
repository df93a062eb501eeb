import Foundation
import Observation
import TallyCRDT

/// How one peer stands.
public struct PeerStatus: Sendable, Equatable, Identifiable {
  /// What is being done about the peer.
  public enum Phase: String, Sendable {
    /// Nothing: the engine is paused, or has not begun.
    case paused
    /// A connection is being opened.
    case connecting
    /// Deltas are under way.
    case syncing
    /// Connected and equal; changes go over as they are committed.
    case live
    /// Equal as of the last sync; waiting for a change or the next round.
    case idle
    /// Waiting before another attempt.
    case retrying
    /// Given up until `resume()`: trying again would not help.
    case blocked
  }

  /// The name of the transport or mailbox.
  public var id: String
  /// What is being done.
  public var phase: Phase = .paused
  /// How much of the deltas under way has arrived, 0 to 1; nil if none is under way.
  public var fraction: Double?
  /// Bytes of deltas, since the engine began.
  public var bytesSent: UInt64 = 0, bytesReceived: UInt64 = 0
  /// Records and links that changed here.
  public var changesReceived = 0
  /// Transactions of this store that the peer is not known to have; nil before the first connection.
  public var pending: UInt64?
  /// Files of a mailbox that are not here yet or cannot be read.
  public var waitingFiles = 0
  /// The peer's replica; nil while unknown, and for a mailbox.
  public var replica: ReplicaID?
  /// When both were last known to be equal.
  public var lastSuccess: Date?
  /// Why the last attempt failed; nil after a success.
  public var lastError: String?
  /// Failed attempts in a row.
  public var failures = 0

  /// A peer of which nothing is known.
  public init(id: String) { self.id = id }
}

/// How sync stands: what an app's settings screen shows.
public struct SyncStatus: Sendable, Equatable {
  /// Whether the switch is off.
  public var isPaused = true
  /// The peers, in the order in which they were added.
  public var peers: [PeerStatus] = []

  /// The status of an engine that has not begun.
  public init() {}

  /// Whether every peer is known to have everything.
  public var isUpToDate: Bool { !peers.isEmpty && peers.allSatisfy { $0.pending == 0 && $0.lastError == nil } }
}

/// The status for a view: follows an engine on the main actor.
@MainActor @Observable public final class SyncMonitor {
  /// How sync stands.
  public private(set) var status = SyncStatus()
  @ObservationIgnored private var task: Task<Void, Never>?

  /// A monitor of an engine, until it is released.
  public init(_ engine: SyncEngine) {
    task = Task { [weak self] in
      for await status in await engine.statusUpdates() { self?.status = status }
    }
  }

  isolated deinit { task?.cancel() }
}
