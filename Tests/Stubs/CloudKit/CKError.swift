import Foundation

/// Apple: https://developer.apple.com/documentation/cloudkit/ckerror. Public code that compiles
/// `CKError(.zoneNotFound)`, `error.code` and `retryAfterSeconds`: pointfreeco/sqlite-data (`MockCloudDatabase.swift`),
/// ryanashcraft/CloudSyncSession (`CKErrorExtensions.swift`).
public struct CKError: Error, @unchecked Sendable {
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckerror/code. The numbers are those of CKError.h.
  public enum Code: Int, Sendable, CaseIterable {
    case internalError = 1
    case partialFailure = 2
    case networkUnavailable = 3
    case networkFailure = 4
    case badContainer = 5
    case serviceUnavailable = 6
    case requestRateLimited = 7
    case missingEntitlement = 8
    case notAuthenticated = 9
    case permissionFailure = 10
    case unknownItem = 11
    case invalidArguments = 12
    case serverRecordChanged = 14
    case serverRejectedRequest = 15
    case assetFileNotFound = 16
    case assetFileModified = 17
    case incompatibleVersion = 18
    case constraintViolation = 19
    case operationCancelled = 20
    case changeTokenExpired = 21
    case batchRequestFailed = 22
    case zoneBusy = 23
    case badDatabase = 24
    case quotaExceeded = 25
    case zoneNotFound = 26
    case limitExceeded = 27
    case userDeletedZone = 28
    case tooManyParticipants = 29
    case alreadyShared = 30
    case referenceViolation = 31
    case managedAccountRestricted = 32
    case participantMayNeedVerification = 33
    case serverResponseLost = 34
    case assetNotAvailable = 35
    case accountTemporarilyUnavailable = 36
  }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckerror
  public let code: Code
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckerror
  public let userInfo: [String: Any]

  /// What Foundation's bridged errors have: a code, and what comes with it.
  public init(_ code: Code, userInfo: [String: Any] = [:]) { (self.code, self.userInfo) = (code, userInfo) }

  /// Apple: https://developer.apple.com/documentation/cloudkit/ckerror/retryafterseconds
  public var retryAfterSeconds: Double? { (userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue }
  /// Apple: https://developer.apple.com/documentation/cloudkit/ckerror/partialerrorsbyitemid
  public var partialErrorsByItemID: [AnyHashable: any Error]? {
    userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
  }
}

/// Apple: https://developer.apple.com/documentation/cloudkit/ckerrorretryafterkey
// swift-format-ignore: AlwaysUseLowerCamelCase, AllPublicDeclarationsHaveDocumentation
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// Apple: https://developer.apple.com/documentation/cloudkit/ckpartialerrorsbyitemidkey
// swift-format-ignore: AlwaysUseLowerCamelCase, AllPublicDeclarationsHaveDocumentation
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// Apple: https://developer.apple.com/documentation/cloudkit/ckerroruserdidresetencrypteddatakey
// swift-format-ignore: AlwaysUseLowerCamelCase, AllPublicDeclarationsHaveDocumentation
public let CKErrorUserDidResetEncryptedDataKey = "CKErrorUserDidResetEncryptedDataKey"
