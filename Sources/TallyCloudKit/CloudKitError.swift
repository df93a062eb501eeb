#if canImport(CloudKit)
  import CloudKit
  import Foundation
  import TallyStore

  /// Why iCloud did not do what it was asked, or may not be asked.
  ///
  /// ```swift
  /// do {
  ///   try await store.sync(through: mailbox)
  /// } catch let error as CloudKitError where error.code == .full {
  ///   print("Your iCloud storage is full. Nothing is lost; it syncs when there is room.")
  /// }
  /// ```
  ///
  /// An engine catches these errors itself: the peer's status has the code, ``isPermanent`` decides whether it is given
  /// up, and ``retryAfter`` is kept to. Whatever the error, the store has all that it had: nothing is ever deleted here
  /// because iCloud failed, was full, signed out or emptied. `Docs/CloudKit.md` has a row for each of Apple's errors,
  /// with what an app should say.
  public struct CloudKitError: TallyError {
    /// The kinds of failures. What people read, an app says by these.
    public enum Code: String, Sendable, Hashable, CaseIterable {
      /// iCloud cannot be reached, or did not answer. It is tried again.
      case unreachable
      /// iCloud asks for a pause. It is tried again after ``CloudKitError/retryAfter``.
      case busy
      /// The person's iCloud storage has no room left. Taking in goes on, and what is new here waits.
      case full
      /// iCloud takes no record of that size, and no asset either.
      case tooLarge
      /// Nobody is signed in to iCloud, or iCloud is switched off for the app. Given up until somebody is.
      case notSignedIn
      /// The person has to confirm the account in Settings. It is tried again.
      case temporarilyUnavailable
      /// Another person is signed in than the one whose store this is. Given up until it is the same person.
      case accountChanged
      /// A profile or parental controls keep the app from iCloud. Given up.
      case restricted
      /// The person has deleted the app's data from iCloud, in Settings. Given up until the app has asked what they
      /// want: ``CloudKitMailbox/putAgain()``.
      case zoneDeleted
      /// This version of the app is too old for its container. Given up until it is updated.
      case outdated
      /// The app is not set up for iCloud: its entitlements, its container, or the record type in production.
      case misconfigured
      /// A fault of iCloud's, or one that is not known here. It is tried again.
      case failed
    }

    /// The kind of failure, to decide what to do about it.
    public let code: Code
    /// A description of the error in English, for a log, without any of the person's data.
    public let message: String
    /// The time that iCloud asks to wait before the next request.
    public let retryAfter: Duration?
    /// The error of CloudKit beneath, by its code; nil if there is none.
    public let cloudKitCode: CKError.Code?
    /// Whether a zone went with the keys of what was encrypted in it.
    let isReset: Bool

    /// Creates an error from a code and a message, as the mailbox does.
    public init(_ code: Code, _ message: String, retryAfter: Duration? = nil, cloudKitCode: CKError.Code? = nil) {
      (self.code, self.message, self.retryAfter, self.cloudKitCode) = (code, message, retryAfter, cloudKitCode)
      isReset = false
    }

    /// True where only a person can help: who signs in, in Settings or by answering the app, or who updates the app.
    public var isPermanent: Bool {
      switch code {
      case .notSignedIn, .accountChanged, .restricted, .zoneDeleted, .outdated, .misconfigured: true
      case .unreachable, .busy, .full, .tooLarge, .temporarilyUnavailable, .failed: false
      }
    }

    /// The message and the code, and CloudKit's code if there is one.
    public var description: String {
      cloudKitCode.map { "\(message) (\(code.rawValue), CKError \($0.rawValue))" } ?? "\(message) (\(code.rawValue))"
    }
  }

  extension CloudKitError {
    /// Creates the error for what a call of CloudKit has thrown, or for what it says of one item.
    init(_ error: any Error) {
      switch error {
      case let error as CloudKitError: self = error
      case let error as CKError:
        let items = (error.partialErrorsByItemID ?? [:]).values.compactMap { ($0 as? CKError)?.retryAfterSeconds }
        self.init(Self.innermost(error), ([error.retryAfterSeconds].compactMap(\.self) + items).max())
      default: self.init(.unreachable, "iCloud was not reached: \(type(of: error))")
      }
    }

    /// The error that says most: of a `partialFailure` that of an item.
    private static func innermost(_ error: CKError) -> CKError {
      guard error.code == .partialFailure, let items = error.partialErrorsByItemID else { return error }
      // In a dictionary they have no order. `batchRequestFailed` only says that another item failed, and an item that
      // is not there is the least of what can be wrong.
      let errors = items.values.compactMap { $0 as? CKError }.sorted { $0.code.rawValue < $1.code.rawValue }
      return errors.first { $0.code != .batchRequestFailed && $0.code != .unknownItem }
        ?? errors.first { $0.code == .unknownItem } ?? errors.first ?? error
    }

    private init(_ error: CKError, _ seconds: Double?) {
      let (code, message) = Self.meaning(of: error.code)
      (self.code, self.message, cloudKitCode) = (code, message, error.code)
      // What is asked for is kept to, within reason: an hour at most, so that a clock that is wrong blocks nothing.
      retryAfter = (seconds ?? error.retryAfterSeconds).map { .milliseconds(Int64(min(max($0, 0), 3_600) * 1_000)) }
      isReset = (error.userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber)?.boolValue ?? false
    }

    /// A row for each of Apple's codes; those of sharing, which a mailbox does not use, are faults.
    static func meaning(of code: CKError.Code) -> (Code, String) {
      switch code {
      case .networkUnavailable: (.unreachable, "there is no network")
      case .networkFailure: (.unreachable, "there is a network, but iCloud does not answer")
      case .serverResponseLost: (.unreachable, "iCloud's answer was lost")
      case .serviceUnavailable: (.busy, "iCloud is not available")
      case .requestRateLimited: (.busy, "iCloud asks for fewer requests")
      case .zoneBusy: (.busy, "iCloud has too much to do")
      case .quotaExceeded: (.full, "the person's iCloud storage is full")
      case .limitExceeded: (.tooLarge, "iCloud takes nothing of that size")
      case .notAuthenticated: (.notSignedIn, "nobody is signed in to iCloud")
      case .accountTemporarilyUnavailable: (.temporarilyUnavailable, "the iCloud account waits for its person")
      case .managedAccountRestricted: (.restricted, "the account's administrator does not allow iCloud")
      case .userDeletedZone: (.zoneDeleted, "the person has deleted the app's data from iCloud")
      case .incompatibleVersion: (.outdated, "this version of the app is too old for its container")
      case .badContainer: (.misconfigured, "the container is unknown, or not this app's")
      case .missingEntitlement: (.misconfigured, "the app lacks the entitlement for iCloud")
      case .permissionFailure: (.misconfigured, "the app may not use this database")
      case .badDatabase: (.misconfigured, "the database is not this container's")
      case .invalidArguments: (.misconfigured, "iCloud finds the request malformed: is the record type in production?")
      case .zoneNotFound: (.failed, "the zone is not there")
      case .changeTokenExpired: (.failed, "the change token is too old")
      case .unknownItem: (.failed, "the record is not there")
      case .serverRecordChanged: (.failed, "the record is there already")
      case .assetFileNotFound, .assetFileModified, .assetNotAvailable: (.failed, "the file of a record is not there")
      case .serverRejectedRequest: (.failed, "iCloud refuses the request")
      case .constraintViolation, .batchRequestFailed, .partialFailure: (.failed, "iCloud has done a part of it")
      case .internalError: (.failed, "iCloud has a fault")
      case .operationCancelled: (.failed, "the request was cancelled")
      default: (.failed, "iCloud answers with an error that is not known here")
      }
    }
  }
#endif
