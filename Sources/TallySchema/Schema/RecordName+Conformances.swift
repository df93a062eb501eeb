import Foundation
import TallyCRDT

extension RecordName: LosslessStringConvertible {
  /// Reads a name from its text; nil if the text is not a name, or names a record of another type.
  ///
  /// ```swift
  /// let id = RecordName<Game>("Game|~|chess")
  /// ```
  ///
  /// `description` returns the text, so a name can travel through a link, a notification or a command line and back.
  /// The record need not exist. ``AnyRecordName/init(_:)`` reports the mistake in an invalid text.
  public init?(_ description: String) {
    guard let name = try? AnyRecordName(description) else { return nil }
    self.init(name)
  }

  /// The UUID in the name; nil if the key is not a UUID.
  public var uuid: UUID? { name.key.utf8.count == 36 ? UUID(uuidString: name.key) : nil }
}

extension RecordName: CodingKeyRepresentable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// The whole name as a coding key, so a dictionary whose keys are names becomes a JSON object.
  public var codingKey: any CodingKey { Key(stringValue: name.text) }

  /// Reads a name from a coding key; nil if the key is not a name, or names a record of another type.
  public init?<T: CodingKey>(codingKey: T) { self.init(codingKey.stringValue) }
}

extension AnyRecordName: Codable {
  /// Decodes a name from one string. Throws `DecodingError` if it is not a record name.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    do {
      try self.init(try container.decode(String.self))
    } catch let error as RecordNameError {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no record's name: \(error)")
    }
  }

  /// Encodes the whole name as one string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
