/// Faults that the tests put in on purpose, to show that the suite would notice them. No public API reaches them.
package struct PlantedFault: OptionSet, Sendable {
  package let rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// A receiver of a delta in chunks raises its vector with the first chunk instead of the last.
  package static let vectorPerChunk = PlantedFault(rawValue: 1 << 0)
  /// A delta leaves out the touches whose cells have been superseded.
  package static let touchesOfLiveCellsOnly = PlantedFault(rawValue: 1 << 1)
  /// Two concurrent deletes of a record become one with both contexts.
  package static let concurrentDeletesMerged = PlantedFault(rawValue: 1 << 2)
  /// A delete drops the cells that it covers.
  package static let tombstoneDropsCells = PlantedFault(rawValue: 1 << 3)
  /// A receiver limits the time of a stamp to its own clock.
  package static let receiverClampsStamps = PlantedFault(rawValue: 1 << 4)
  /// Relationship members are a timestamp of the last add against a timestamp of the last remove.
  package static let timestampedSet = PlantedFault(rawValue: 1 << 5)
  /// The vector that goes with a delta is read after the delta's snapshot.
  package static let vectorOutsideSnapshot = PlantedFault(rawValue: 1 << 6)
  /// Of two cells with one stamp and different values the receiver keeps its own.
  package static let equalStampKeepsLocal = PlantedFault(rawValue: 1 << 7)
  /// A new version of a seed counts as an edit of the record.
  package static let seedUpgradeIsTouch = PlantedFault(rawValue: 1 << 8)
  /// Seeding writes ordinary cells, as if a person had entered them at the time of the version.
  package static let seedCellsAreOrdinary = PlantedFault(rawValue: 1 << 9)

  // MARK: Of identity and durability

  /// A delta with own changes is handed out before they are on the disk.
  package static let publishedBeforeDurable = PlantedFault(rawValue: 1 << 10)
  /// A store that was restored from a backup goes on with its replica id.
  package static let restoredIDReused = PlantedFault(rawValue: 1 << 11)
  /// Two copies of one store that meet both keep their replica id.
  package static let cloneKeepsID = PlantedFault(rawValue: 1 << 12)
}
