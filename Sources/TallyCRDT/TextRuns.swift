/// Names the runs that one opening of a text begins, and remembers them: only these go on.
///
/// It is kept in memory alone, one for each text that is open for writing, and at least to the end of a transaction. A
/// copy of a store, or a backup that was put back, draws a number of its own, so two that write under one replica id
/// never write into one run.
package struct TextRuns: Sendable {
  private let salt: UInt64
  /// The places behind the last elements of the runs that were begun here.
  private var ends: [TextRunID: UInt32] = [:]
  /// How many runs the latest transaction has begun, and which one that is.
  private var begun: (dot: Dot, count: Int)?
  /// The last element that was inserted: what can stand at several places is put behind it.
  package private(set) var last: TextElement?

  /// As many runs are remembered; then all are forgotten, which begins new ones and does nothing else.
  private static let limit = 4096
  /// One transaction begins at most as many.
  static let transactionLimit = 1 << 16

  /// Draws the number of an opening.
  package init(using generator: inout some RandomNumberGenerator) {
    // Neither that of an insert, 0, nor that of a base.
    salt = UInt64.random(in: 1..<(1 << 24 - 1), using: &generator)
  }

  /// An opening with a number that a model has drawn.
  package init(salt: UInt64) { self.salt = salt }

  /// Whether a transaction can begin so many runs more.
  func hasRoom(for count: Int, in dot: Dot) -> Bool {
    (begun.map { $0.dot == dot ? $0.count : 0 } ?? 0) + count <= Self.transactionLimit
  }

  /// Names a new run of a transaction.
  mutating func begin(_ dot: Dot) -> TextRunID {
    let count = begun.map { $0.dot == dot ? $0.count : 0 } ?? 0
    begun = (dot, count + 1)
    var number = salt << 16 | UInt64(count)
    #if PlantedFaults
      if fault == .runsWithoutSalt { number = UInt64(count) + 1 }
    #endif
    return TextRunID(dot: dot, number: number)
  }

  /// Whether a run that ends in an element was begun here, and ends there as far as was ever known here: no name is
  /// given twice, even if a purge has taken what was written behind.
  func canContinue(_ element: TextElement, with count: Int) -> Bool {
    #if PlantedFaults
      if fault == .extendOthersRun { return true }
      if fault == .orderByTime { return false }
    #endif
    return ends[element.run] == element.offset + 1 && count < TextStretch.limit - element.offset
  }

  /// Remembers what was inserted.
  mutating func note(_ id: TextRunID, first: UInt32, count: Int) {
    if ends.count == Self.limit { ends = [:] }
    let end = first + UInt32(count)
    ends[id] = end
    last = TextElement(run: id, offset: end - 1)
  }

  // MARK: Faults that tests plant

  #if PlantedFaults
    package enum Fault: Sendable, CaseIterable {
      /// A run hangs right of the character before it, and the newest stands first.
      case orderByTime
      /// A run of another replica goes on.
      case extendOthersRun
      /// An insertion looks at neighbors that are not deleted only.
      case skipsDeleted
      /// A change is what lies between the ends that are the same.
      case endsOnly
      /// What can stand at several places stays where the comparison has put it.
      case noSlide
      /// Copies of a store give the same numbers to their runs.
      case runsWithoutSalt
    }

    package var fault: Fault?
  #endif
}
