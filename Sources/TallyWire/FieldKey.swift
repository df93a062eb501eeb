import TallyCRDT

/// The text by which a field is known to everybody: on the wire, in the file's catalog and in fingerprints. It is the
/// field's wire name, with a mark behind it unless the field is an ordinary one.
///
/// A join knows no schema, so whatever it must treat differently is told by the key: a reference outlasts the lives of
/// its record (`Life`) since it may mean ownership, and a counter's totals do since they say what was added. Fields of
/// one name and different marks are different fields: where two apps disagree on what a property is, each has its own.
public enum FieldKey {
  /// What a key says of its field.
  public enum Kind: Hashable, Sendable {
    /// A register of what a record says.
    case field
    /// A register that names a record. The key is `name&`.
    case reference
    /// The offset of a counter: a register whose value is null or an integer. The key is `name+`.
    case counter
    /// What one replica has added to a counter: a register whose value is an integer, and whose stamp is the replica's.
    /// The key is `name+` and the thirty-two digits of the replica's id.
    case total(ReplicaID)
    /// A register that keeps the greatest or the least value, which is null or a number. The key is `name>` or `name<`.
    case extremum(Extremum)

    /// Whether registers of the kind are part of a record's presence.
    public var isPresence: Bool {
      switch self {
      case .field, .counter, .extremum: false
      case .reference, .total: true
      }
    }

    /// Whether a register of the kind can hold what a delta says, by the number of the value's storage class: of
    /// counters integers alone, and totals by themselves; of what keeps the greatest or the least numbers.
    package func accepts(_ stamp: Stamp, _ storageClass: UInt8) -> Bool {
      switch self {
      case .field, .reference: true
      case .counter: storageClass == ValueClass.integer || storageClass == ValueClass.null
      case .total(let replica): storageClass == ValueClass.integer && stamp.dot.replica == replica
      case .extremum: [ValueClass.null, ValueClass.integer, ValueClass.real].contains(storageClass)
      }
    }
  }

  /// The byte behind the name of a reference, of a counter, and of what keeps the greatest or the least. No identifier
  /// has them.
  private static let reference = UInt8(ascii: "&")
  private static let counter = UInt8(ascii: "+")
  private static let greatest = UInt8(ascii: ">")
  private static let least = UInt8(ascii: "<")
  private static let replicaDigits = 32

  /// The key of a field with the wire name `name`.
  public static func key(of name: String, _ kind: Kind = .field) -> String {
    switch kind {
    case .field: name
    case .reference: name + "&"
    case .counter: name + "+"
    case .total(let replica): "\(name)+\(replica)"
    case .extremum(.greatest): name + ">"
    case .extremum(.least): name + "<"
    }
  }

  /// The kind of field that a key says. What is no key counts as an ordinary field's.
  public static func kind(of key: String) -> Kind {
    switch key.utf8.last {
    case reference: return .reference
    case counter: return .counter
    case greatest: return .extremum(.greatest)
    case least: return .extremum(.least)
    default: break
    }
    guard key.utf8.count > replicaDigits, key.utf8.dropLast(replicaDigits).last == counter,
      let replica = ReplicaID(String(key.suffix(replicaDigits))), key.hasSuffix("\(replica)")
    else { return .field }
    return .total(replica)
  }

  /// Whether a key is that of a field of presence.
  public static func isPresence(_ key: String) -> Bool { kind(of: key).isPresence }

  /// The wire name in a key.
  public static func name(in key: String) -> String {
    switch kind(of: key) {
    case .field: key
    case .reference, .counter, .extremum: String(key.dropLast())
    case .total: String(key.dropLast(1 + replicaDigits))
    }
  }

  /// Whether only deltas of version 3 may have a field of this key.
  static func needsThirdVersion(_ key: String) -> Bool {
    switch kind(of: key) {
    case .field, .reference: false
    case .counter, .total, .extremum: true
    }
  }
}

extension ByteReader {
  /// The key of a field, and what it says. `limits` are the replicas by number; before version 3 there are fields and
  /// references alone.
  mutating func fieldKey(_ limits: [Dot], version: UInt8) throws(WireError) -> (key: String, kind: FieldKey.Kind) {
    let key = try text(limit: WireLimits.identifierBytes + 1, "a field")
    var kind = FieldKey.kind(of: key)
    let name = kind == .field ? key.utf8[...] : key.utf8.dropLast()
    guard name.count <= WireLimits.identifierBytes, AnyRecordName.isIdentifier(name),
      version >= 3 || !FieldKey.needsThirdVersion(key)
    else {
      throw WireError(.malformed, "a field is not an identifier")
    }
    guard kind == .counter else { return (key, kind) }
    let number = try varint()
    guard number > 0 else { return (key, kind) }
    let replica = try limit(number: number - 1, limits).replica
    kind = .total(replica)
    return ("\(key)\(replica)", kind)
  }
}

extension ByteWriter {
  /// The key of a field. Behind a counter's comes 0 for its offset, or 1 and the number of the replica for a total.
  mutating func fieldKey(_ key: String, _ replicas: ReplicaPlaces) {
    switch FieldKey.kind(of: key) {
    case .field, .reference, .extremum: text(key)
    case .counter:
      text(key)
      varint(0)
    case .total(let replica):
      text(FieldKey.key(of: FieldKey.name(in: key), .counter))
      varint(1 + number(of: replica, replicas))
    }
  }
}
