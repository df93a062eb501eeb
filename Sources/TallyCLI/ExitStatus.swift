import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRelay
import TallyWire

/// The exit status of the tool, after the BSD `sysexits(3)`.
enum ExitStatus: Int32 {
  case usage = 64
  case badData = 65
  case notFound = 66
  case unreachable = 69
  case software = 70
  case cannotCreate = 73
  case inputOutput = 74
  case busy = 75
  case protocolViolated = 76
  case noPermission = 77
  case newerFormat = 78

  static let table = """
    0 done; 64 wrong command line; 65 bad data: an unknown or malformed name, type, field or value, damaged bytes, something \
    that is not a store, a refused delete or reference, problems found by verify, rows that an import left behind; 66 no such file, record or space; 69 a peer \
    or relay cannot be reached or went away; 70 a fault of the tool; 73 the file cannot be created, or a relay's space has no \
    room left; 74 a disk is full, read-only or failing; 75 somebody else is writing or a relay is busy, try again; 76 a peer \
    or relay does not keep to the protocol; 77 no permission; 78 written by a newer version, or a peer speaks another one.
    """

  /// The one place where errors become codes.
  init(of error: any Error) {
    switch error {
    case let error as Failure: self = error.status
    case let error as StoreError: self = Self.status(error)
    case let error as WireError: self = error.code == .unsupportedVersion ? .newerFormat : .badData
    case let error as SyncError: self = Self.status(error)
    case let error as RelayError: self = Self.status(error)
    case let error as AssetError: self = Self.status(error)
    case is RecordNameError: self = .badData
    case let error as DatabaseError: self = Self.status(error)
    case let error as CocoaError: self = Self.status(error)
    default: self = .software
    }
  }

  private static func status(_ error: StoreError) -> ExitStatus {
    switch error.code {
    case .noSuchStore, .noSuchRecord: .notFound
    case .newerFormat: .newerFormat
    case .pathTaken: .cannotCreate
    case .readOnly: .inputOutput
    default: .badData
    }
  }

  private static func status(_ error: SyncError) -> ExitStatus {
    switch error.code {
    case .unreachable, .disconnected, .timedOut: .unreachable
    case .protocolViolation, .limitExceeded, .wrongZone, .peerFailed: .protocolViolated
    case .unauthorized: .noPermission
    case .upgradeRequired: .newerFormat
    case .notConverged, .damaged, .sameStore: .badData
    }
  }

  private static func status(_ error: RelayError) -> ExitStatus {
    switch error.code {
    case .unreachable: .unreachable
    case .noSuchSpace, .noSuchEntry: .notFound
    case .unauthenticated, .forbidden: .noPermission
    case .quotaExceeded, .tooLarge: .cannotCreate
    case .busy: .busy
    case .notARelay, .failed, .damaged: .protocolViolated
    case .invalidAddress: .badData
    }
  }

  private static func status(_ error: AssetError) -> ExitStatus {
    switch error.code {
    case .inMemory, .invalidType, .tooLarge, .wrongContent, .damaged: .badData
    case .notAFile: .notFound
    case .changed, .missing, .busy: .busy
    case .unreadable, .unwritable: .inputOutput
    }
  }

  private static func status(_ error: DatabaseError) -> ExitStatus {
    switch error.resultCode.primaryResultCode {
    case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY: .inputOutput
    case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: .busy
    case .SQLITE_PERM, .SQLITE_AUTH: .noPermission
    // The tool's own SQL is fixed: if SQLite does not understand it, what is wrong is the file's schema.
    case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_ERROR: .badData
    default: .software
    }
  }

  private static func status(_ error: CocoaError) -> ExitStatus {
    switch error.code {
    case .fileReadNoSuchFile, .fileNoSuchFile: .notFound
    case .fileReadNoPermission: .noPermission
    case .fileWriteFileExists, .fileWriteInvalidFileName: .cannotCreate
    case .fileReadCorruptFile, .fileReadInapplicableStringEncoding: .badData
    default: .inputOutput
    }
  }
}

/// An error of the tool itself.
struct Failure: Error {
  var status: ExitStatus
  var message: String
  /// The error of SQLite's that it tells of; nil for any other.
  var cause: DatabaseError?

  init(_ status: ExitStatus, _ message: String, cause: DatabaseError? = nil) {
    self.status = status
    self.message = message
    self.cause = cause
  }

  /// Creates the status for an `errno` of an action on a file.
  init(errno number: Int32, _ doing: FileAction, _ path: String) {
    let status: ExitStatus =
      switch (doing, number) {
      case (_, ENOSPC), (_, EDQUOT), (_, EIO): .inputOutput
      case (.create, _): .cannotCreate
      case (.read, ENOENT), (.read, ENOTDIR): .notFound
      case (_, EACCES), (_, EPERM): .noPermission
      case (.read, EISDIR): .badData
      default: .inputOutput
      }
    self.init(status, "cannot \(doing.rawValue) \(path): \(String(cString: strerror(number)))")
  }

  /// One line for people.
  static func message(of error: any Error) -> String {
    switch error {
    case let error as Failure: error.message
    case let error as DatabaseError:
      "SQLite: \(error.message ?? "error") (\(error.extendedResultCode.rawValue))\(unreadableObject(error))"
    case let error as RecordNameError: "malformed record name: \(error.message)"
    case let error as StoreError where error.code == .baseNotCovered:
      "the delta starts after what is here; make one with --since '\(error.vector?.description ?? "")'"
    // The library's words name a call that the tool does not have.
    case let error as StoreError where error.code == .positionTooDeep:
      "there is no room for a position at this place of the list; link its members again in their order, each with "
        + "--at last (positionTooDeep)"
    case let error as StoreError: "\(error)"
    case let error as WireError: "\(error)"
    case let error as SyncError: error.message
    case let error as RelayError: error.message
    case let error as AssetError: error.message
    case let error as CocoaError: error.localizedDescription
    default: "\(error)"
    }
  }

  /// SQLite reads all of a schema or nothing, so that one trigger in a newer SQLite's words looks like damage.
  private static func unreadableObject(_ error: DatabaseError) -> String {
    guard error.message?.hasPrefix("malformed database schema (") == true else { return "" }
    let version = try? DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
    return """
      ; SQLite \(version ?? ""), which this program uses, cannot read what is in parentheses. If \
      a newer SQLite made it, drop it there, or read the file with that one; otherwise the file is damaged: see \
      'tally help recover'
      """
  }
}

/// An action on a file.
enum FileAction: String {
  case read, write, create
}

/// The reader of the output has seen enough.
struct ReaderWentAway: Error {}

/// A text in quotes that is safe to print: short, without control characters.
func shown(_ text: String) -> String { "'\(brief(text, 80))'" }

/// A text of others that is safe to print, and cut where it is too long for a line.
func brief(_ text: String, _ limit: Int = 1000) -> String {
  let head = String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit)))
  return printable(head) + (text.unicodeScalars.dropFirst(limit).isEmpty ? "" : "…")
}

/// A text of others in a line of its own: without anything that a terminal takes for a command, or that turns the
/// direction of the rest of the line.
func printable(_ text: String) -> String {
  String(String.UnicodeScalarView(text.unicodeScalars.map { isPrintable($0) ? $0 : "?" }))
}

/// Whether a terminal shows a character as one, and turns nothing else by it.
func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .lineSeparator, .paragraphSeparator: false
  case .format: !scalar.properties.isBidiControl
  default: true
  }
}
