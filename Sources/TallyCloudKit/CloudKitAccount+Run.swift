#if canImport(CloudKit)
  import CloudKit
  import TallyStore
  import TallySync

  extension CloudKitAccount {
    /// Shows the store of who is signed in to iCloud, and syncs it through their iCloud, for the life of the app.
    ///
    /// ```swift
    /// try await iCloud.run(container, localData: .move) { store, engine in
    ///   await engine.add(FolderMailbox(folder), named: "iCloud Drive")
    /// }
    /// ```
    ///
    /// At each change of the account it asks who is signed in, and follows as `Container.follow` does. Where that
    /// changes whose data is shown, the engine of the store before is paused, and the new store gets one of its own,
    /// which has the person's mailbox as the peer `iCloud` and runs. Where it does not, the engine tries again what
    /// iCloud has refused before: who had to confirm the account, say, has done so. An engine that the person has
    /// switched off stays off. When the task is cancelled the engine is paused, and `run` returns.
    ///
    /// Let `show` return soon: the account is not followed meanwhile. Call it once for the app, not for each window.
    /// Costs nothing between changes.
    /// - Parameters:
    ///   - container: the app's stores.
    ///   - localData: what becomes of what was made while nobody was signed in.
    ///   - settings: those of the engines.
    ///   - isolation: the actor that `show` runs on; the caller's unless told otherwise.
    ///   - show: is given the store to show, at once and whenever it is another one, and its engine.
    /// - Throws: what `Container.follow` and `show` throw. The engine is paused then. What `follow` throws
    ///   leaves the account as before: call it again, when there is room on the disk for instance.
    public func run(
      _ container: Container, localData: LocalData, _ settings: SyncEngine.Settings = SyncEngine.Settings(),
      isolation: isolated (any Actor)? = #isolation, show: (Store, SyncEngine) async throws -> Void
    ) async throws {
      var engine: SyncEngine?
      var shown: Account?
      do {
        var unknown = 0
        for await _ in changes() {
          let state = await state()
          unknown = state == .unknown ? unknown + 1 : 0
          if unknown > 0 { askAgain(after: unknown) }
          guard !Task.isCancelled else { break }
          guard shown == nil || shown != container.current || container.isShowingAnother(than: state) else {
            await engine?.syncNow()
            continue
          }
          await engine?.pause()
          let store = try await container.follow(state, localData: localData)
          let next = SyncEngine(store, settings)
          if let mailbox = mailbox(for: container.current) { await next.add(mailbox, named: "iCloud") }
          await next.resume()
          (engine, shown) = (next, container.current)
          try await show(store, next)
        }
      } catch is CancellationError where Task.isCancelled {
        // Paused below.
      } catch {
        await engine?.pause()
        throw error
      }
      await engine?.pause()
    }
  }

  extension Container {
    /// Whether what iCloud says of the account means another store than the one that is shown.
    func isShowingAnother(than state: CloudKitAccount.State) -> Bool {
      switch (state, current) {
      case (.person(let id), let current): current != .person(id)
      case (.noAccount, let current): current != .local
      case (.restricted, _), (.temporarilyUnavailable, _), (.unknown, _): false
      }
    }
  }
#endif
