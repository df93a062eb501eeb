import Foundation
import TallyCRDT
import TallyStore

/// The names of records that had other ids in another database.
enum ForeignID {
  /// The name of the record that had this id.
  ///
  /// A number becomes a UUID of version 8 (RFC 9562): the first 58 of its free bits are those of the namespace and the
  /// table, the last 64 the number. No two numbers of a table share a name.
  /// - Returns: nil for null, a real, a blob that is no UUID, and a text that no name can hold.
  static func name(_ id: Value, type: String, table: String, namespace: UUID) -> AnyRecordName? {
    let key: String?
    if case .integer(let number) = id {
      key = uuid(of: number, table, namespace).uuidString.lowercased()
    } else {
      key = self.key(id)
    }
    return key.flatMap { try? AnyRecordName(type: type, key: $0) }
  }

  /// The key of an id, of a number its digits; nil for what names nothing.
  static func key(_ id: Value) -> String? {
    switch id {
    case .integer(let number): return String(number)
    case .text(let text): return text.utf8.count == 36 ? UUID(uuidString: text)?.uuidString.lowercased() ?? text : text
    case .blob(let bytes):
      guard bytes.count == 16 else { return nil }
      return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString.lowercased()
    case .null, .real: return nil
    }
  }

  /// The UUID of a number: six bytes of the namespace, the version and four bits of it, six bits of it and two of the
  /// number, the variant and the other 62. What is of the namespace is combined with the hash of the table's name, so
  /// that two tables which become one type have names of their own.
  static func uuid(of number: Int64, _ table: String, _ namespace: UUID) -> UUID {
    let hash = Array(table.utf8).withUnsafeBytes { SipHash.hash($0) }
    let space = namespace.uuid
    let number = UInt64(bitPattern: number)
    func byte(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (56 - 8 * index)) }
    let last = (space.7 ^ byte(hash, 7)) & 0xFC | byte(number, 0) >> 6
    return UUID(
      uuid: (
        space.0 ^ byte(hash, 0), space.1 ^ byte(hash, 1), space.2 ^ byte(hash, 2), space.3 ^ byte(hash, 3),
        space.4 ^ byte(hash, 4), space.5 ^ byte(hash, 5), 0x80 | (space.6 ^ byte(hash, 6)) & 0x0F, last,
        0x80 | byte(number, 0) & 0x3F, byte(number, 1), byte(number, 2), byte(number, 3), byte(number, 4),
        byte(number, 5), byte(number, 6), byte(number, 7)
      ))
  }
}
