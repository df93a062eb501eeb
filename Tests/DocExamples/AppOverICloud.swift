#if canImport(CloudKit)
  import CloudKit
  import Tally
  import TallyCloudKit

  // The sync set-up of AppWithMacro with iCloud in the place of the folder, and a store for each person who signs in.
  // ReadmeTests counts it. Compiled against stubs where there is no CloudKit, and never run.
  enum AppOverICloud {
    // counted: sync set-up
    static func sync(
      _ container: Container, _ iCloud: CloudKitAccount, show: (Store, AsyncStream<SyncStatus>) -> Void
    ) async throws {
      try await iCloud.run(container, localData: .move) { show($0, await $1.statusUpdates()) }
    }
  }
#endif
