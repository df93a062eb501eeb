import Foundation
import TallyStore
import TallyWire

/// What Core Data has put beside its database, since it was large: an attribute that allows external storage holds the
/// byte 01 and the content, or 02, the name of a file, and 00.
struct ExternalData {
  /// The place of the content of a value.
  enum Place {
    case inline([UInt8])
    case file(String)
  }

  /// A file beside the database.
  struct File {
    let url: URL
    let byteCount: Int
  }

  private let folders: [URL]
  /// The folder, for messages.
  private let shown: String

  /// The support folder has the name of the database without its extension.
  init(of database: URL) {
    let (folder, name) = (database.deletingLastPathComponent(), database.deletingPathExtension().lastPathComponent)
    folders = [name, database.lastPathComponent].map {
      folder.appendingPathComponent(".\($0)_SUPPORT").appendingPathComponent("_EXTERNAL_DATA")
    }
    shown = ".\(name)_SUPPORT"
  }

  /// A condition in SQL: a value is none of those that an attribute with external storage holds.
  private static func isNone(_ column: String) -> String {
    "(\(column) NOT NULL AND (typeof(\(column)) <> 'blob' OR length(\(column)) > 0 "
      + "AND substr(\(column), 1, 1) <> x'01' AND NOT \(isFile(column))))"
  }

  /// A condition in SQL: a value is the name of a file.
  private static func isFile(_ column: String) -> String {
    let text = "CAST(substr(\(column), 2, 36) AS TEXT)"
    let pattern = [8, 4, 4, 4, 12].map { String(repeating: "[0-9A-Fa-f]", count: $0) }.joined(separator: "-")
    return "(typeof(\(column)) = 'blob' AND length(\(column)) BETWEEN 37 AND 38 AND substr(\(column), 1, 1) = x'02' "
      + "AND \(text) GLOB '\(pattern)')"
  }

  /// Whether a column of the rows of a query holds what an attribute with external storage holds: the name of a file,
  /// or nothing but values that begin with 01.
  static func isIn(_ column: String, _ rest: String, of table: String, _ source: ForeignDatabase) throws -> Bool {
    if try source.exists("SELECT 1 \(rest) AND \(isFile(column)) LIMIT 1", of: table) { return true }
    return try source.exists("SELECT 1 \(rest) AND length(\(column)) > 0 LIMIT 1", of: table)
      && !source.exists("SELECT 1 \(rest) AND \(isNone(column)) LIMIT 1", of: table)
  }

  /// The place of a value's content.
  /// - Throws: a mismatch if Core Data does not write such values.
  static func place(_ bytes: [UInt8]) throws(ForeignValue.Mismatch) -> Place {
    switch bytes.first {
    case nil: return .inline([])
    case 1: return .inline(Array(bytes.dropFirst()))
    default:
      guard let name = fileName(bytes) else {
        throw ForeignValue.Mismatch(
          reason: "has a BLOB that begins with neither 01 nor 02 and a UUID, and so is no coreDataBlob")
      }
      return .file(name)
    }
  }

  /// The name of the file that a value refers to. It is a UUID, so it leads nowhere else.
  static func fileName(_ bytes: [UInt8]) -> String? {
    guard bytes.first == 2, bytes.count == 37 || bytes.count == 38 && bytes[37] == 0,
      let name = String(validating: bytes[1..<37], as: UTF8.self), UUID(uuidString: name) != nil
    else { return nil }
    return name
  }

  /// The number of bytes of a file; nil if it is not there.
  func byteCount(of name: String) -> Int? { file(name)?.byteCount }

  /// A file by its name, which is not opened.
  func find(_ name: String) throws(ForeignValue.Mismatch) -> File {
    guard let file = file(name) else {
      throw ForeignValue.Mismatch(
        reason: "is in the file \(name), which is not in \(shown)/_EXTERNAL_DATA beside the database; copy the hidden "
          + "folder \(shown) with it, or leave the field out of the map")
    }
    return file
  }

  /// The content of a file.
  func read(_ name: String) throws(ForeignValue.Mismatch) -> [UInt8] {
    let file = try find(name)
    // Not read only to be refused.
    guard file.byteCount <= WireLimits.valueBytes else { throw ForeignValue.tooLarge(file.byteCount) }
    do {
      return Array(try Data(contentsOf: file.url))
    } catch {
      throw ForeignValue.Mismatch(reason: "is in the file \(name), which cannot be read: \(error.localizedDescription)")
    }
  }

  /// A link that leads elsewhere is none of Core Data's.
  private func file(_ name: String) -> File? {
    for folder in folders {
      let url = folder.appendingPathComponent(name)
      guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path),
        attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? NSNumber
      else { continue }
      return File(url: url, byteCount: size.intValue)
    }
    return nil
  }
}
