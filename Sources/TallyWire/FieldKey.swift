import TallyCRDT

/// The text by which a field is known to everybody: on the wire, in the file's catalog and in fingerprints. It is the
/// field's wire name; a reference's has `&` behind it.
///
/// A reference outlasts the lives of its record (`Life`) since it may mean ownership, and a join, which knows no
/// schema, must tell it from a field. So the two are never one: where two apps disagree on whether a property is a
/// reference, each has its own.
public enum FieldKey {
  /// The byte behind a reference's name; no identifier has it, and it orders before all that they have.
  static let mark = UInt8(ascii: "&")

  /// The key of a field or of a reference with the wire name `name`.
  public static func key(of name: String, isReference: Bool) -> String { isReference ? name + "&" : name }

  /// Whether a key is that of a reference.
  public static func isReference(_ key: String) -> Bool { key.utf8.last == mark }

  /// The wire name in a key.
  public static func name(in key: String) -> String { isReference(key) ? String(key.dropLast()) : key }
}

extension ByteReader {
  /// The key of a field or reference.
  mutating func fieldKey() throws(WireError) -> String {
    let key = try text(limit: WireLimits.identifierBytes + 1, "a field")
    let name = key.utf8.last == FieldKey.mark ? key.utf8.dropLast() : key.utf8[...]
    guard name.count <= WireLimits.identifierBytes, AnyRecordName.isIdentifier(name) else {
      throw WireError(.malformed, "a field is not an identifier")
    }
    return key
  }
}
