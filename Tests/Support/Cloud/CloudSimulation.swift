#if CloudKitStub
  import Foundation
  import Synchronization
  import TallyStore
  import TallyTesting

  /// What the tier of iCloud plays of each seed: devices that meet there alone, held to the specification; passes that
  /// end with iCloud's errors; and people who sign in and out.
  package enum CloudSimulation {
    /// What one seed finds; nil if all is well. Blocks its thread.
    package static func failure(_ seed: UInt64) -> String? {
      worldFailure(seed)?.description
        ?? waiting {
          var history = try CloudHistory(seed: seed)
          do {
            try await history.run(steps: 80)
            return nil
          } catch {
            return "\(error)\n\(history.trace.joined(separator: "\n"))"
          }
        } ?? waiting { try await CloudPeople.failure(seed) }
    }

    /// What a world finds whose devices meet in iCloud.
    package static func worldFailure(_ seed: UInt64) -> SimulationFailure? {
      var random = SplitMix64(seed: seed &* 7)
      var options = StoreOptions()
      options.chooseCapture(by: seed)
      return World.failure(
        Playground.schema, replicas: 2 + random.below(3), seed: seed, steps: 30 + random.below(60), options: options,
        relay: CloudRelay(seed: seed))
    }

    /// Runs the body in a task, for a caller that is in none.
    private static func waiting(_ body: @escaping @Sendable () async throws -> String?) -> String? {
      let result = Mutex<String?>(nil)
      let ended = DispatchSemaphore(value: 0)
      Task.detached {
        let failure: String?
        do { failure = try await body() } catch { failure = "\(error)" }
        result.withLock { $0 = failure }
        ended.signal()
      }
      ended.wait()
      return result.withLock { $0 }
    }
  }
#endif
