import Foundation
import TallySchema

/// The reason why a file could not be added, found or removed. The files and the store are then as they were.
///
/// ```swift
/// do {
///   print(try store.assets.add(contentsOf: url))
/// } catch let error as AssetError where error.code == .tooLarge {
///   print("choose a smaller one")
/// }
/// ```
public struct AssetError: TallyError {
  /// The kinds of failures of files.
  public enum Code: String, Sendable {
    /// The store is in memory, so there is no folder beside it.
    case inMemory
    /// The extension is not 1 to 12 lowercase letters and digits.
    case invalidType
    /// The item to add does not exist, or is a folder, a pipe or a device.
    case notAFile
    /// The file has more than `AssetName.byteLimit` bytes.
    case tooLarge
    /// The file changed while it was read.
    case changed
    /// The file is not on this device, or not whole.
    case missing
    /// The bytes are not those of the name.
    case wrongContent
    /// The store's content is damaged, so it cannot tell which files it names.
    case damaged
    /// Another thread or process is getting the same file.
    case busy
    /// The disk cannot be read.
    case unreadable
    /// The disk cannot be written to, for instance because it is full.
    case unwritable
  }

  /// The kind of failure, to decide what to do about it.
  public let code: Code
  /// A description of the error in one sentence, for a log.
  public let message: String
  /// The underlying error, such as a `POSIXError`; nil if there is none.
  public let cause: (any Error)?

  package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    (self.code, self.message, self.cause) = (code, message, cause)
  }

  /// The error of the system call that has just failed.
  static func posix(_ code: Code, _ doing: String) -> AssetError {
    let number = errno
    return AssetError(
      code, "cannot \(doing): \(String(cString: strerror(number)))",
      cause: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
  }

  /// True unless the disk may have room again, or the file may arrive.
  public var isPermanent: Bool {
    ![.changed, .missing, .wrongContent, .damaged, .busy, .unreadable, .unwritable].contains(code)
  }

  /// The message with the code in parentheses.
  public var description: String { "\(message) (\(code.rawValue))" }
}
