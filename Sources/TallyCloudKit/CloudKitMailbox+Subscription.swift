#if canImport(CloudKit)
  import CloudKit

  extension CloudKitMailbox {
    /// Subscribes to changes of the zone, once in a process, if it is time to: the subscription stays, but may have
    /// gone with the zone.
    ///
    /// Without one passes ask each time, and nothing else is different. So no error of it ends a pass, or is believed
    /// for longer than until the next try.
    /// - Throws: ``CloudKitError`` if the zone is not there and cannot be made; `CancellationError`.
    func subscribe() async throws {
      guard follower.wantsSubscription(at: settings.now()), follower.pause(at: settings.now()) == nil else { return }
      do {
        try await inZone {
          do { try await saveSubscription() } catch let error as CloudKitError where error.cloudKitCode != .zoneNotFound
          {
            throw NotSubscribed(error: error)
          }
        }
        follower.noteSubscribed()
      } catch let failure as NotSubscribed {
        follower.noteNotSubscribed(failure.error, at: settings.now())
      }
    }

    private struct NotSubscribed: Error {
      var error: CloudKitError
    }

    private func saveSubscription() async throws {
      let subscription = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID)
      let info = CKSubscription.NotificationInfo()
      info.shouldSendContentAvailable = true
      subscription.notificationInfo = info
      do {
        let results = try await request(pausesAll: false) {
          try await database.modifySubscriptions(saving: [subscription], deleting: [])
        }
        switch results.saveResults[subscriptionID] {
        case .success: return
        case .failure(let error): throw try failure(error, pausesAll: false)
        case nil: throw CloudKitError(.failed, "iCloud does not say whether there is a subscription")
        }
      } catch let error as CloudKitError where error.cloudKitCode == .serverRejectedRequest {
        // Of one that is there already, perhaps, and of much else.
        guard try await hasSubscription() else { throw error }
      }
    }

    private func hasSubscription() async throws -> Bool {
      let found = try await request(pausesAll: false) { try await database.subscriptions(for: [subscriptionID]) }
      do {
        return (try found[subscriptionID]?.get() as? CKRecordZoneSubscription)?.zoneID.zoneName == zoneName
      } catch {
        let failure = try failure(error, pausesAll: false)
        guard failure.cloudKitCode == .unknownItem else { throw failure }
        return false
      }
    }
  }
#endif
