import Foundation
import TallyStore
import TallyWire

extension MailboxReader.Fault {
  /// Creates the fault of a file from an error of applying it; nil if the error concerns the store, or neither, so
  /// that the pass cannot go on.
  ///
  /// An unknown error of the database ends the pass: a store whose disk is full or damaged must not go on as if one
  /// file had been to blame. The converse does no harm. An error of the store that is taken for the file's comes again
  /// when the pass puts what is new.
  init?(applying error: any Error) {
    switch error {
    case let fault as Self: self = fault
    case let error as WireError: self.init(error)
    case let error as StoreError:
      switch error.code {
      case .baseNotCovered: self.init(.waitsForOthers, error.message)
      case .wrongZone: self.init(.wrongZone, error.message)
      // No store can take it, so it must not count as there.
      case .damagedSender: self.init(.incomplete, error.message)
      // The store itself is not what it should be, or may not be written.
      case .corrupt, .damaged, .notCaptured, .notAStore, .noSuchStore, .newerFormat, .olderFormat, .invalidSchema,
        .incompatibleSchema:
        return nil
      default: self.init(.refusedByStore, error.message)
      }
    default:
      guard Self.isAboutContent(error) else { return nil }
      self.init(.refusedByStore, "\(error)")
    }
  }

  /// Whether SQLite has refused what was to be written, and not failed to write it. GRDB is not known here; its errors
  /// say who they are like those of any other library (`CustomNSError`).
  private static func isAboutContent(_ error: any Error) -> Bool {
    guard let error = error as? any CustomNSError, type(of: error).errorDomain == "GRDB.DatabaseError" else {
      return false
    }
    // The lowest byte is the primary code: https://sqlite.org/rescode.html
    switch error.errorCode & 0xFF {
    // SQLITE_ERROR is what a trigger of the app's fails with if it calls a function that this connection has not;
    // SQLITE_TOOBIG a value above a limit of this build; then SQLITE_CONSTRAINT with all its kinds, RAISE among them,
    // and SQLITE_MISMATCH.
    case 1, 18, 19, 20: return true
    default: return false
    }
  }
}
