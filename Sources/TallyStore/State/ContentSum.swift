import TallyCRDT
import TallyWire

/// Sums what passes by, so that a reader or receiver of everything learns at the end whether it fits the sum that was
/// kept of it.
final class ContentSum {
  private(set) var sum = Fingerprint()
  /// The records with a life in this block, and in the block before.
  private var lives = Set<AnyRecordName>()
  private var livesBefore = Set<AnyRecordName>()

  static func += (sum: ContentSum, part: Fingerprint) { sum.sum += part }

  /// Says that another block follows. Of a record that is too large for one, each block has a part.
  func beginBlock() { (livesBefore, lives) = (lives, []) }

  /// Adds a record, or a part of one, that came over the wire. `fingerprint` gives that of a state of it.
  /// - Returns: the fingerprint of what came.
  @discardableResult
  func add(_ name: AnyRecordName, _ state: RecordState, _ fingerprint: (RecordState) -> Fingerprint) -> Fingerprint {
    let part = fingerprint(state)
    sum += part
    guard let life = state.life else { return part }
    // Each part says which life it is of, and the sender's sum has that once.
    if livesBefore.contains(name) {
      var beginning = RecordState()
      beginning.life = life.beginning
      sum -= fingerprint(beginning)
    }
    lives.insert(name)
    return part
  }

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
