import TallyCRDT
import TallyWire

/// The parts of a file's name: `tally1-<zone>-<replica>-<sequence>-<check>.<kind>`.
///
/// The name is a claim for people, for files that are not on this device yet, and for tidying up; what a file holds is
/// read from its bytes. Since the checksum of the content is part of it, a name never stands for two contents, no
/// matter which store writes, however often a store is copied or restored.
package struct MailboxFileName: Hashable, Sendable {
  /// The purpose of the content.
  package enum Kind: String, CaseIterable, Sendable {
    /// The changes that others lack.
    case delta
    /// Everything.
    case snapshot
    /// Everything, to be joined also by those who believe that they have it.
    case repair
  }

  /// The result of parsing a name.
  package enum Parsed: Hashable, Sendable {
    case file(MailboxFileName)
    /// A name of a later version of the scheme.
    case newer
    /// A file of another program.
    case foreign
  }

  package static let prefix = "tally"
  private static let version = "1"

  package var zone = ZoneID.default
  /// The replica that wrote the file; zeros if it had not written anything of its own.
  package var replica: ReplicaID
  /// The replica's own transactions that the file leads to.
  package var sequence: UInt64
  /// The checksum at the end of the content.
  package var check: UInt64
  package var kind: Kind
  /// Whether something has been added to the name: "(conflicted copy)", " 2".
  package var isCopy = false

  package var text: String {
    let zone = zone == .default ? "default" : Hexadecimal.text(zone.high) + Hexadecimal.text(zone.low)
    let number = String(sequence)
    let padding = String(repeating: "0", count: max(0, 12 - number.count))
    return
      "\(Self.prefix)\(Self.version)-\(zone)-\(replica)-\(padding)\(number)-\(Hexadecimal.text(check)).\(kind.rawValue)"
  }

  /// Reads a name in either case, also if a drive has added something after the checksum.
  package static func parse(_ text: String) -> Parsed {
    let parts = text.lowercased().split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
    guard let first = parts.first, first.hasPrefix(prefix) else { return .foreign }
    let version = first.dropFirst(prefix.count)
    guard !version.isEmpty, version.utf8.allSatisfy({ (0x30...0x39).contains($0) }), parts.count > 1 else {
      return .foreign
    }
    guard version == Self.version else { return .newer }
    return MailboxFileName(parts).map(Parsed.file) ?? .foreign
  }

  private init?(_ parts: [String]) {
    guard parts.count == 5, let zone = Self.zone(parts[1]), let replica = ReplicaID(parts[2]),
      let sequence = UInt64(parts[3]), sequence <= UInt64(Int64.max), parts[4].utf8.count > 16,
      let check = ReplicaID(String(repeating: "0", count: 16) + parts[4].prefix(16))?.low
    else { return nil }
    let tail = parts[4].dropFirst(16)
    guard let kind = Kind.allCases.first(where: { tail.contains(".\($0.rawValue)") }) else { return nil }
    self.init(replica: replica, sequence: sequence, check: check, kind: kind)
    self.zone = zone
    isCopy = tail != ".\(kind.rawValue)"
  }

  package init(replica: ReplicaID, sequence: UInt64, check: UInt64, kind: Kind) {
    self.replica = replica
    self.sequence = sequence
    self.check = check
    self.kind = kind
  }

  // MARK: References

  /// Headers number the kinds in this order, so it must stay.
  private static let kinds: [Kind] = [.delta, .snapshot, .repair]

  /// The name as another entry's header refers to it.
  var reference: RelativeHeader.Reference {
    let kind = UInt8(Self.kinds.firstIndex(of: kind) ?? 0)
    return RelativeHeader.Reference(writer: replica, sequence: sequence, check: check, kind: kind)
  }

  /// The name to which a header refers; nil if it is of a kind that is not known here.
  init?(_ reference: RelativeHeader.Reference, zone: ZoneID) {
    guard Self.kinds.indices.contains(Int(reference.kind)) else { return nil }
    self.init(
      replica: reference.writer, sequence: reference.sequence, check: reference.check,
      kind: Self.kinds[Int(reference.kind)])
    self.zone = zone
  }

  private static func zone(_ text: String) -> ZoneID? {
    if text == "default" { return .default }
    return ReplicaID(text).map { ZoneID(high: $0.high, low: $0.low) }
  }
}
