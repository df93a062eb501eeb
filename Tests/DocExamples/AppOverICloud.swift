#if canImport(CloudKit)
  import CloudKit
  import Tally
  import TallyCloudKit

  // The sync set-up of AppWithMacro with iCloud in the place of the folder, and the store of whoever is signed in.
  // ReadmeTests counts it. Compiled against stubs where there is no CloudKit, and never run.
  enum AppOverICloud {
    // counted: sync set-up
    static func sync(_ container: Container, _ iCloud: CloudKitAccount) async throws -> SyncEngine {
      let engine = SyncEngine(try await container.follow(await iCloud.state(), localData: .move))
      if let mailbox = iCloud.mailbox(for: container.current) { await engine.add(mailbox, named: "iCloud") }
      await engine.resume()
      return engine
    }
  }
#endif
