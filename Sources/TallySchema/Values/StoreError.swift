import TallyCRDT
import TallyWire

/// The reason why a store refused something. The store is as it was before the call.
///
/// ```swift
/// do {
///   try store.write { db in _ = try Person.deleteOne(db, id: ann) }
/// } catch let error as StoreError where error.code == .deleteDenied {
///   print("Somebody still refers to this person.")
/// }
/// ```
///
/// Decide by ``code`` what to do. ``message`` is for a log; it names records, types and fields, never values. The codes
/// that an app meets in its own writes are those of mistakes (``Code/typeMismatch``, ``Code/unknownField``), of
/// references (``Code/danglingReference``, ``Code/deleteDenied``) and ``Code/closed``; at launch, those of files
/// (``Code/newerFormat``: the app has to be updated) and of schemas (``Code/incompatibleSchema``).
///
/// Faults of the disk and of SQLite itself are thrown as GRDB's `DatabaseError`, damaged or foreign bytes as
/// `WireError`. All of Tally's errors conform to ``TallyError``.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kinds of refusals. Later versions may add codes: include a `default` in a `switch`.
  public enum Code: String, Sendable {
    /// The file exists but is not a Tally store.
    case notAStore
    /// There is no file at the path.
    case noSuchStore
    /// The file's name, or the name of a file beside it, belongs to another database. Nothing was opened or created.
    case pathTaken
    /// The file has a newer version of the format: update the app. The file is untouched. An open store throws this too
    /// once another program has upgraded its file to such a format.
    case newerFormat
    /// The file was written by a version from before the first release, in a format that is no longer supported.
    case olderFormat
    /// A schema breaks a rule; nothing was created.
    case invalidSchema
    /// A schema is not compatible with the one in the file: a field has another kind or default, or a reference or
    /// relationship names another type. The message names it. The file is unchanged.
    case incompatibleSchema
    /// The app has rebuilt a table of an entity or relationship in a way that no store can use. The message names the
    /// table and explains how to build it. Nothing was changed.
    case incompatibleTable
    /// A record name is malformed.
    case invalidName
    /// The type is not in the schema.
    case unknownType
    /// The field is not in the schema.
    case unknownField
    /// The relationship is not in the schema.
    case unknownRelationship
    /// A value has the wrong type for its field, such as a text that is not a date in a column of dates.
    case typeMismatch
    /// There is no room for another position at this place of an ordered list: it would have more than 512 bytes, or
    /// another program created the neighbors' positions. `setOrder` gives the list new positions.
    case positionTooDeep
    /// A text or blob exceeds `WireLimits.valueBytes`, or all values of a record together exceed `recordBytes`; or a
    /// number that is added to a counter, or to which it is set, does not fit into 64 bits.
    case valueTooLarge
    /// A reference, or an end of a relationship, names a record that does not exist.
    case danglingReference
    /// A write would have made a record its own direct owner, and it would then be shown without its owner.
    case ownsItself
    /// A record was deleted to which others refer with `onDelete: .deny`. Change those records first, in the same
    /// transaction if you like.
    case deleteDenied
    /// The named record does not exist.
    case noSuchRecord
    /// The record exists, so it cannot be restored.
    case notDeleted
    /// The content of the record was removed for good, here or on another device, so there is nothing to restore.
    case purged
    /// The file can only shrink by being rebuilt whole, which may renumber rows, and something in the app's part of the
    /// file, such as a full-text index, depends on row numbers. Nothing was changed.
    case dependsOnRowIDs
    /// A seed set breaks a rule; none of it was applied.
    case invalidSeeds
    /// A seed set has a lower version than the one that this store has already applied; nothing was applied.
    case seedVersionBackwards
    /// The file to import is not an SQLite database, or is a store itself.
    case notADatabase
    /// A map for an import does not fit the schema or the imported database; nothing was written.
    case invalidMap
    /// A row of an imported database cannot become a record according to the map; everything before it is committed.
    case rowNotMapped
    /// The base of a delta is not covered by this store; ask for a delta since an older vector.
    case baseNotCovered
    /// A delta belongs to another zone.
    case wrongZone
    /// Another program has written to the file, and this store cannot capture those writes because it is read-only.
    case notCaptured
    /// A delta contains writes of a rank that only a newer version of Tally knows. None of it was joined.
    case unknownRank
    /// The store was closed, by `close()` or because the account changed.
    case closed
    /// A write was attempted on a store that was opened with `StoreOptions.isReadOnly`.
    case readOnly
    /// A write committed or rolled back its own transaction, with COMMIT or ROLLBACK or through `OR ROLLBACK`; none of
    /// it was kept. Or it rolled back a savepoint within which it had called the store, for instance `restore(_:_:)`.
    /// Or something was written directly after a transaction, in `afterNextTransaction` or by an observer; then only
    /// that statement has failed.
    case transactionEnded
    /// The requested operation would put another database in the store's place, as `erase()` and a backup into a store
    /// do. The store is restored to its state before the access, except in memory, where there is no other copy.
    case wouldReplaceStore
    /// The operation must run within a write, but was given a database other than that of a `write` of this store.
    case notInWrite
    /// The store is in memory and has only one connection, but the requested operation needs two.
    case inMemory
    /// A write created the file's first triggers and also wrote to the store's tables; they would not have fired.
    case triggersMadeTooLate
    /// A BEFORE DELETE trigger of the app moved, renamed or deleted the row that the store was deleting, which is
    /// undefined behavior in SQLite. The message names the table. The merge or write was rolled back.
    case rowMovedByTrigger
    /// A trigger of the app with RAISE(IGNORE), or a constraint with ON CONFLICT IGNORE, made SQLite skip a write that
    /// Tally was asked to make. Or an index, a check or a trigger of the app refused the value that a write of a field
    /// also gives to the older field whose place it takes. None of it was written.
    case writeIgnored
    /// One transaction changed more rows than can be recorded.
    case transactionTooLarge
    /// The stored data breaks an invariant.
    case corrupt
    /// The stored data does not match its checksum or cannot be read. The store sends nothing until it is healed.
    case damaged
    /// A whole delta does not match the sum that came with it: the sender's data is damaged. None of it was joined.
    case damagedSender
    /// After a delta both sides should have the same content, but they would not; none of it was joined.
    case contentsDiffer
  }

  /// The kind of refusal, to decide what to do about it. Its raw value is stable, for logs and statistics.
  public let code: Code
  /// A message for a log. It names records, types and fields, never values.
  public let message: String
  /// The underlying error, such as GRDB's; nil if there is none.
  public let cause: (any Error)?
  /// For `baseNotCovered`, the vector since which to ask for a delta.
  public let vector: StateVector?

  /// Creates an error. Apps only catch errors and need this at most for tests.
  public init(_ code: Code, _ message: String, vector: StateVector? = nil, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.vector = vector
    self.cause = cause
  }

  /// The message and the code.
  public var description: String { "\(message) (\(code.rawValue))" }
}
