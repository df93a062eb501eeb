import TallyCRDT
import TallyWire

/// Sums what passes by, so that whoever reads or takes everything learns at the end whether it fits the sum that was
/// kept of it.
final class ContentSum {
  private(set) var sum = Fingerprint()

  static func += (sum: ContentSum, part: Fingerprint) { sum.sum += part }

  /// Adds the items of a group of links that came over the wire. What a whole delta holds of one link, in one part or
  /// several, adds up to what the link adds to the sender's fingerprint; so it is with records.
  func add(_ group: DeltaBlock.Links) {
    let wireName = LinkKind.wireName(group.source, group.relationship, group.target)
    for item in group.items {
      let hashes = linkHashes(LinkKey(source: item.source, target: item.target), wireName)
      self.sum += item.element.fingerprint(link: hashes.link, target: hashes.target)
    }
  }
}
