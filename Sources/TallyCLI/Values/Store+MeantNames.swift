import Foundation
import Tally

extension Store {
  /// The record that a person means by a name. Names are compared byte by byte, and apps write a UUID in small letters
  /// (`RecordName(uuid:)`): one in capitals, as other programs print it, means the same record, unless the store knows
  /// one of that very name.
  func meant(_ name: AnyRecordName) throws -> AnyRecordName {
    guard let usual = name.inSmallLetters, try history(of: name) == nil else { return name }
    return usual
  }
}

extension AnyRecordName {
  /// The name that apps give the record, if the key is a UUID in other letters than theirs.
  var inSmallLetters: AnyRecordName? {
    let key = key
    guard key.utf8.count == 36, let uuid = UUID(uuidString: key)?.uuidString.lowercased(), uuid != key else {
      return nil
    }
    return try? AnyRecordName(type: type, key: uuid)
  }
}

extension RecordInput {
  /// The same with the names that are meant.
  func meant(in store: Store, _ schema: Schema) throws -> RecordInput {
    var result = RecordInput(try store.meant(name))
    let references = Set(try schema.entity(of: name).references.map(\.name))
    result.fields = try Dictionary(
      uniqueKeysWithValues: fields.map { field, value in
        guard references.contains(field), case .text(let text) = value else { return (field, value) }
        return (field, .text(try store.meant(recordName(text)).text))
      })
    result.links = try links.map { ($0.relationship, try store.meant($0.target)) }
    (result.additions, result.settings) = (additions, settings)
    return result
  }
}
