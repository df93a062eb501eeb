import Foundation
import TallyStore
import TallySync

/// A live session of two stores of this process, which goes on by itself while a history writes.
final class RawLive {
  /// How long two stores may need to agree, and a session to end.
  private static let patience = Duration.seconds(120)

  let devices: (Int, Int)
  private let stores: (Store, Store)
  private let ends: (MemoryConnection, MemoryConnection)
  private let progress = DispatchSemaphore(value: 0)
  private let endings: RawEndings
  private let executor = ThreadExecutor()

  init(_ one: RawDevice, _ other: RawDevice, _ first: Store, _ second: Store) {
    devices = (one.index, other.index)
    stores = (first, second)
    ends = MemoryConnection.pair()
    endings = RawEndings()
    var settings = SyncSettings()
    settings.isLive = true
    settings.outsideInterval = .milliseconds(5)
    settings.onProgress = { [progress] _ in progress.signal() }
    for (store, end) in [(first, ends.0), (second, ends.1)] {
      Task(executorPreference: executor) { [settings, endings, progress] in
        do {
          try await store.sync(over: end, settings)
          endings.add(nil)
        } catch {
          endings.add(error)
        }
        progress.signal()
      }
    }
  }

  /// Waits until both hold the same, then hangs up.
  /// - Parameter expectsMeeting: whether they must come to hold the same.
  /// - Returns: whether they did.
  /// - Throws: `RawDamaged` if a store has noticed damage, and a `RawFinding` for all else.
  func end(expectsMeeting: Bool) throws -> Bool {
    let limit = ContinuousClock.now + (expectsMeeting ? Self.patience : .milliseconds(200))
    var areEqual = try holdTheSame()
    while !areEqual, ContinuousClock.now < limit, endings.all.isEmpty {
      _ = progress.wait(timeout: .now() + .milliseconds(50))
      areEqual = try holdTheSame()
    }
    let early = endings.all
    let (first, second) = ends
    Task(executorPreference: executor) {
      await first.close()
      await second.close()
    }
    let end = ContinuousClock.now + Self.patience
    while endings.all.count < 2 {
      guard ContinuousClock.now < end else { throw RawFinding("a live session does not end") }
      _ = progress.wait(timeout: .now() + .milliseconds(50))
    }
    executor.stop()
    if endings.all.contains(where: Self.isDamage) { throw RawDamaged() }
    for error in endings.all.compactMap({ $0 }) where !Self.isHangingUp(error) || !early.isEmpty {
      throw RawFinding("a live session threw \(error)")
    }
    if expectsMeeting, !areEqual { throw RawFinding("a live session did not bring both stores to the same state") }
    return areEqual
  }

  private func holdTheSame() throws -> Bool {
    let (a, b) = (try stores.0.summary(), try stores.1.summary())
    return a.vector == b.vector && a.fingerprint == b.fingerprint
  }

  private static func isDamage(_ error: (any Error)?) -> Bool {
    (error as? StoreError)?.code == .damaged || (error as? SyncError)?.code == .damaged
  }

  private static func isHangingUp(_ error: any Error) -> Bool {
    (error as? SyncError)?.code == .disconnected || error is CancellationError
  }
}
