/// Faults that the tests put in on purpose, to show that the suite would notice them.
///
/// Those of the model are in `Tests/Support`. Those of stores are compiled only with the package's trait
/// `PlantedFaults`, which no product enables: without it nothing that ships imports this module.
package struct PlantedFault: OptionSet, Sendable {
  package let rawValue: UInt128
  package init(rawValue: UInt128) { self.rawValue = rawValue }

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

  // MARK: Of the join

  /// The dot of an edit that loses its register is forgotten.
  package static let supersededTouchLost = PlantedFault(rawValue: 1 << 13)
  /// Of two writes of one time the receiver keeps its own.
  package static let equalTimesKeepLocal = PlantedFault(rawValue: 1 << 14)
  /// Of two equal values the receiver keeps its own stamp.
  package static let equalValueKeepsLocalStamp = PlantedFault(rawValue: 1 << 15)
  /// A removal from a relationship also removes what the remover had not seen.
  package static let removeWins = PlantedFault(rawValue: 1 << 16)
  /// A record that a delete covers is dropped together with the delete.
  package static let tombstoneDroppedEarly = PlantedFault(rawValue: 1 << 17)

  // MARK: Of deltas

  /// A delta begins one transaction too late.
  package static let vectorEndOffByOne = PlantedFault(rawValue: 1 << 18)
  /// A sender puts a part of a large transaction into a delta and says that it is all.
  package static let groupSplitAcrossBatches = PlantedFault(rawValue: 1 << 19)
  /// A receiver leaves out the end of a delta and raises its vector all the same.
  package static let partialBatch = PlantedFault(rawValue: 1 << 20)
  /// A delta is applied without a look at its base.
  package static let baseNotChecked = PlantedFault(rawValue: 1 << 21)
  /// A delta that comes twice counts twice in the vector.
  package static let duplicateCountedTwice = PlantedFault(rawValue: 1 << 22)
  /// A whole state, for a newcomer, leaves out what is hidden.
  package static let hiddenLeftOutForNewcomers = PlantedFault(rawValue: 1 << 23)
  /// A reference to a record that is not here is dropped when it arrives.
  package static let referenceToAbsentDropped = PlantedFault(rawValue: 1 << 24)

  // MARK: Of local writes

  /// A write takes the time of the clock, also over a later one that it has seen.
  package static let clockMayGoBack = PlantedFault(rawValue: 1 << 25)
  /// An insert under a deleted name brings the old fields and members back.
  package static let newLifeKeepsOld = PlantedFault(rawValue: 1 << 26)
  /// A delete is written to everything that the record owns.
  package static let cascadeWritesDeletes = PlantedFault(rawValue: 1 << 27)
  /// A transaction that only deletes does not use up its number.
  package static let counterReused = PlantedFault(rawValue: 1 << 28)
  /// Removing a member does not change the fingerprint.
  package static let fingerprintForgetsRemovals = PlantedFault(rawValue: 1 << 29)
  /// A write that loses to one that had not seen it goes to no journal.
  package static let losersNotJournalled = PlantedFault(rawValue: 1 << 30)
  /// An edit of a record that another device deleted concurrently does not keep it.
  package static let editsDoNotRevive = PlantedFault(rawValue: 1 << 31)

  // MARK: Of syncing

  /// A receiver of a live change takes its own writes for known to the sender.
  package static let liveChangeClaimsReceiver = PlantedFault(rawValue: 1 << 32)
  /// A session counts what it has sent as received, and a new connection begins there.
  package static let sentCountsAsReceived = PlantedFault(rawValue: 1 << 33)
  /// The vector is written when a delta arrives, and its cells when there is time.
  package static let vectorSavedBeforeCells = PlantedFault(rawValue: 1 << 34)
  /// A mailbox is read from the last file that was seen; what is listed later is taken for read.
  package static let lateListingSkipped = PlantedFault(rawValue: 1 << 35)

  // MARK: Of seeds

  /// Later versions of a seed change what a person has edited.
  package static let seedOverwritesEdits = PlantedFault(rawValue: 1 << 36)
  /// Each installation writes the seeds as a replica of its own.
  package static let seedsOfOwnReplica = PlantedFault(rawValue: 1 << 37)
  /// Copies of seeds that older versions of the app wrote stay.
  package static let seedDuplicatesKept = PlantedFault(rawValue: 1 << 38)
  /// A delete of a seed holds until the next version.
  package static let deletedSeedReturns = PlantedFault(rawValue: 1 << 39)

  // MARK: Of what others' SQL does to a file

  /// The hook misses rows that a statement replaces.
  package static let hookMissesReplaced = PlantedFault(rawValue: 1 << 40)
  /// What a trigger of the app's writes while the store writes is not captured.
  package static let mergeEchoDropped = PlantedFault(rawValue: 1 << 41)
  /// A row that SQLite refuses is left out without a note of it.
  package static let refusedRowDropped = PlantedFault(rawValue: 1 << 42)
  /// A row that was set aside is never tried again.
  package static let setAsideForGood = PlantedFault(rawValue: 1 << 43)
  /// Of two records with one unique value the one with the younger claim shows.
  package static let youngerClaimShows = PlantedFault(rawValue: 1 << 44)
  /// Rows that `REPLACE` deletes through a partial or expression index on another connection go unnoticed.
  package static let lostRowsUnnoticed = PlantedFault(rawValue: 1 << 45)
  /// Dropped capture triggers stay away while the store is open.
  package static let lostTriggersUnnoticed = PlantedFault(rawValue: 1 << 46)
  /// An entry of the change log goes for a later one of the same item, whose replica is another one.
  package static let logPrunedTooFar = PlantedFault(rawValue: 1 << 47)
  /// Any text is taken for a date.
  package static let anyTextIsADate = PlantedFault(rawValue: 1 << 48)
  /// Any text is taken for JSON.
  package static let anyTextIsJSON = PlantedFault(rawValue: 1 << 49)
  /// Of the owners above what has changed only the nearest is looked at.
  package static let climbsOneLevel = PlantedFault(rawValue: 1 << 50)
  /// A delete is not denied, although something refers to the record.
  package static let denyNotChecked = PlantedFault(rawValue: 1 << 51)
  /// A row that `REPLACE` deleted unnoticed and that was inserted again is captured as a record that never existed.
  package static let returnedRowIsNew = PlantedFault(rawValue: 1 << 52)
  /// A record that goes from a delta's bytes to its row is missing from the change log.
  package static let packedRowUnlisted = PlantedFault(rawValue: 1 << 53)
  /// A delete that a peer sends hides a record with edits that it has not seen.
  package static let deleteHidesUnseen = PlantedFault(rawValue: 1 << 66)

  // MARK: Of unique fields

  /// Of several records with one unique value the one with the youngest claim holds it.
  package static let lastHolds = PlantedFault(rawValue: 1 << 100)
  /// What a record shows instead of a unique value is numbered by its place among the others.
  package static let suffixByPlace = PlantedFault(rawValue: 1 << 101)
  /// A claim on a unique value is that of its columns alone, whenever the life of the record began.
  package static let claimOfColumns = PlantedFault(rawValue: 1 << 102)
  /// A record that is brought back takes its unique value from the one that has it by now.
  package static let restoreTakes = PlantedFault(rawValue: 1 << 103)
  /// Of two records with one unique value that are merged the one with the older claim stays.
  package static let mergeByClaim = PlantedFault(rawValue: 1 << 104)
  /// What refers to a record that gave way is forwarded once, and not further if the other one gave way as well.
  package static let forwardedOnce = PlantedFault(rawValue: 1 << 105)
  /// A record that gave way stays hidden when the remaining record is deleted on a device that did not know of that.
  package static let strandedStay = PlantedFault(rawValue: 1 << 106)

  // MARK: Of relays

  /// A page that a relay pushes is taken wherever the device stands.
  package static let pushTakenAnywhere = PlantedFault(rawValue: 1 << 54)
  /// A relay knows a cursor by its position alone.
  package static let cursorIsPosition = PlantedFault(rawValue: 1 << 55)

  // MARK: Of deleting for good (named as in Tests/Models)

  /// What is shown is not said again in a later life.
  package static let noLiftSeen = PlantedFault(rawValue: 1 << 57)
  /// What the sender of a later life lacks is not said again in it.
  package static let noLiftUnsent = PlantedFault(rawValue: 1 << 58)
  /// What comes of an earlier life than the own is dropped, also if it is new.
  package static let noLiftNews = PlantedFault(rawValue: 1 << 59)
  /// A value that is lifted travels by its own dot, as before.
  package static let liftKeepsVia = PlantedFault(rawValue: 1 << 60)
  /// What a local write brings back begins no life.
  package static let restoreBare = PlantedFault(rawValue: 1 << 61)
  /// An insert under a purged name writes only what is given.
  package static let insertBare = PlantedFault(rawValue: 1 << 62)
  /// What is alive is shown, whether anything is said of it or not.
  package static let noHollow = PlantedFault(rawValue: 1 << 63)
  /// Of what the sender of a later life lacks, only values are said again: no move and no member.
  package static let onlyValuesAreUnsent = PlantedFault(rawValue: 1 << 64)
  /// A restore window does not wait for what kept a record in view below it.
  package static let windowIgnoresBelow = PlantedFault(rawValue: 1 << 65)

  // MARK: Of counters

  /// A set does not take off what was added before it.
  package static let setIsRegister = PlantedFault(rawValue: 1 << 80)
  /// A purge drops what was added.
  package static let totalsDropped = PlantedFault(rawValue: 1 << 81)
  /// Of two totals of one replica both count.
  package static let totalsSummed = PlantedFault(rawValue: 1 << 82)
  /// An addition to a record that another device deleted concurrently does not keep it.
  package static let addIsNoTouch = PlantedFault(rawValue: 1 << 83)

  // MARK: Of what keeps the greatest or the least

  /// What raises a value has a time of its own, as any write.
  package static let raiseIsRegister = PlantedFault(rawValue: 1 << 84)
  /// Of two values that were raised from one beginning the later one here stays.
  package static let laterBeatsGreater = PlantedFault(rawValue: 1 << 85)

  // MARK: Of ordered lists

  /// A move of a member counts as an add, and so as an edit of the record that has the list.
  package static let moveIsTouch = PlantedFault(rawValue: 1 << 90)
  /// A member moves by being removed and added again.
  package static let moveIsRemoveAdd = PlantedFault(rawValue: 1 << 91)
  /// A position is the middle between its neighbors'.
  package static let fraction = PlantedFault(rawValue: 1 << 92)
  /// A run between two others begins beneath an element, where the gap between two elements is meant.
  package static let gapIsElement = PlantedFault(rawValue: 1 << 93)
  /// Members without a place stay without one when others come.
  package static let bareStay = PlantedFault(rawValue: 1 << 94)
  /// A link that is not shown loses its place.
  package static let positionPurged = PlantedFault(rawValue: 1 << 95)

  // MARK: Of assets

  /// A blob that becomes a file counts as written when it moves.
  package static let moveIsNow = PlantedFault(rawValue: 1 << 118)
  /// A file that has lost its end is shown.
  package static let lengthUnchecked = PlantedFault(rawValue: 1 << 119)
  /// What has come of a file gets its name whatever it is.
  package static let hashUnchecked = PlantedFault(rawValue: 1 << 120)
  /// A file is evicted whether another place has it or not.
  package static let onlyCopyEvicted = PlantedFault(rawValue: 1 << 121)

  // MARK: Of lenses

  /// A write of a newer field leaves the older one as it is.
  package static let lensNotFollowed = PlantedFault(rawValue: 1 << 122)
  /// An older value that a write of the newer field leaves equal keeps its stamp.
  package static let oldColumnUnstamped = PlantedFault(rawValue: 1 << 123)
  /// A newer column does not follow a later write of the older field that comes from another device.
  package static let lensNotShown = PlantedFault(rawValue: 1 << 124)

  // MARK: Of damage

  /// A delta takes up a state that is not what was last written.
  package static let statesGivenUnchecked = PlantedFault(rawValue: 1 << 56)

  /// Faults inside the fast paths of stores. Any other planted fault switches the fast paths off.
  package static let ofShorterWays: PlantedFault = [.packedRowUnlisted, .deleteHidesUnseen]
}
