import TallyCRDT
import TallyWire

/// Sums what passes by, so that whoever reads or takes everything learns at the end whether it fits the sum that was
/// kept of it.
final class ContentSum {
  private(set) var sum = Fingerprint()

  static func += (sum: ContentSum, part: Fingerprint) { sum.sum += part }

  /// Adds the items of a block that came over the wire. What a whole delta holds of one record, in one part or several,
  /// adds up to what the record adds to the sender's fingerprint.
  func add(_ block: DeltaBlock) {
    for group in block.records {
      let hashes = group.fields.map { SipHash.hash($0) }
      for item in group.items {
        sum += item.state.fingerprint(name: SipHash.hash(item.name.text)) { hashes[Int($0.rawValue)] }
      }
    }
    for group in block.links {
      let wireName = LinkKind.wireName(group.source, group.relationship, group.target)
      for item in group.items {
        let hashes = linkHashes(LinkKey(source: item.source, target: item.target), wireName)
        sum += item.element.fingerprint(link: hashes.link, target: hashes.target)
      }
    }
  }
}
