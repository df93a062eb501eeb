#if Relay
  import Synchronization
  import Testing

  /// What a test has made that must not outlive it: folders, processes, servers, networks, disks. Whatever makes one
  /// notes how it goes, and it goes when the test has passed or failed.
  final class Leftovers: Sendable {
    /// Ends or removes something, if it is still there.
    typealias Removal = @Sendable () async throws -> Void

    @TaskLocal private static var current: Leftovers?

    private let removals = Mutex<[Removal]>([])

    private init() {}

    /// Notes what is to be done when the test is over; the newest comes first.
    static func note(_ removal: @escaping Removal) {
      guard let current else { preconditionFailure("a test that makes something stands in a suite with .cleansUp") }
      current.removals.withLock { $0.append(removal) }
    }

    /// Runs a body, and then ends and removes what it has made.
    static func run(_ body: () async throws -> Void) async throws {
      let leftovers = Leftovers()
      do {
        try await $current.withValue(leftovers) { try await body() }
      } catch {
        await leftovers.remove()
        throw error
      }
      await leftovers.remove()
    }

    private func remove() async {
      let removals = removals.withLock { removals in
        defer { removals = [] }
        return removals
      }
      for removal in removals.reversed() {
        do { try await removal() } catch { Issue.record(error, "a test's leftovers stay") }
      }
    }
  }

  /// Ends and removes what each test of a suite has made: `Leftovers`.
  struct CleansUp: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
      try await Leftovers.run(function)
    }
  }

  extension Trait where Self == CleansUp {
    /// What tests make goes with them, also when they fail.
    static var cleansUp: CleansUp { CleansUp() }
  }
#endif
