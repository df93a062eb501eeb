import TallyCRDT
import TallyWire

/// Why a store refused something. The store is as it was before the call.
///
/// ```swift
/// do {
///   try store.write { db in _ = try Person.deleteOne(db, id: ann) }
/// } catch let error as StoreError where error.code == .deleteDenied {
///   print("Somebody still refers to this person.")
/// }
/// ```
///
/// ``code`` says what to do about it, ``message`` is for a log and names records, types and fields, never values. Codes
/// that an app meets in its own writes are those of mistakes (``Code/typeMismatch``, ``Code/unknownField``), of
/// references (``Code/danglingReference``, ``Code/deleteDenied``) and ``Code/closed``; at launch those of files
/// (``Code/newerFormat``: the app has to be updated) and of schemas (``Code/incompatibleSchema``).
///
/// Faults of the disk and of SQLite itself arrive as GRDB's `DatabaseError`, damaged or foreign bytes as `WireError`.
/// ``TallyError`` is the shape that all of Tally's errors share.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kinds of refusals. Codes may be added: have a `default` in a `switch`.
  public enum Code: String, Sendable {
    /// The file exists but is not a Tally store.
    case notAStore
    /// There is no file at the path.
    case noSuchStore
    /// The name, or that of a file beside it, belongs to another database. Nothing was opened or created.
    case pathTaken
    /// The file was written by a newer version of the format: update the app. The file is untouched. A store that is
    /// open throws it, too, once another program has brought its file to such a format.
    case newerFormat
    /// The file was written by a version from before the first release, in a format that is no longer read.
    case olderFormat
    /// A schema breaks a rule; nothing was created.
    case invalidSchema
    /// A schema cannot follow the one in the file: a field has another kind or default, or a reference or relationship
    /// another type. The message names it. The file is as it was.
    case incompatibleSchema
    /// The app has rebuilt a table of an entity or relationship in a way that no store can use; the message names it
    /// and says how to build it. Nothing was changed.
    case incompatibleTable
    /// A record name is malformed.
    case invalidName
    /// The type is not in the schema.
    case unknownType
    /// The field is not in the schema.
    case unknownField
    /// The relationship is not in the schema.
    case unknownRelationship
    /// A value has the wrong type for its field, such as a text that is no date in a column of dates.
    case typeMismatch
    /// There is no room for another position at this place of an ordered list: it would have more than 512 bytes, or
    /// its neighbors' positions were made by another program. `setOrder` gives the list new ones.
    case positionTooDeep
    /// A text or blob is over the limit of `WireLimits.valueBytes`, or all values of a record together over
    /// `recordBytes`; or what is added to a counter, or set, does not fit into 64 bits.
    case valueTooLarge
    /// A reference, or an end of a relationship, names a record that is not there.
    case danglingReference
    /// A record was to own itself, directly. It would be shown without its owner.
    case ownsItself
    /// A record that others refer to with `onDelete: .deny` was deleted. Write those first, in the same transaction if
    /// you like.
    case deleteDenied
    /// The record is not there.
    case noSuchRecord
    /// The record is there, so it cannot be restored.
    case notDeleted
    /// The content of the record was removed for good, here or on another device, so there is nothing to restore.
    case purged
    /// The file can only be rebuilt whole to get smaller, which may give rows other numbers, and something of the app's
    /// goes by those, such as a full-text index. Nothing was changed.
    case dependsOnRowIDs
    /// A seed set breaks a rule; nothing of it was applied.
    case invalidSeeds
    /// A seed set has a lower version than the one that this store has applied; nothing was applied.
    case seedVersionBackwards
    /// What is to be imported is not an SQLite database, or is a store itself.
    case notADatabase
    /// A map for an import does not fit the schema, or the database that is imported; nothing was written.
    case invalidMap
    /// A row of an imported database cannot become a record as the map says; everything before it is committed.
    case rowNotMapped
    /// A delta starts after what this store has; ask for one since an older vector.
    case baseNotCovered
    /// A delta belongs to another zone.
    case wrongZone
    /// Another program has written to the file, and this store, which only reads, cannot capture that.
    case notCaptured
    /// A delta holds writes of a rank that only a newer version of Tally knows. Nothing of it was joined.
    case unknownRank
    /// The store was closed: by `close()`, or because the account changed.
    case closed
    /// The store was opened with `StoreOptions.isReadOnly`, and was to be written to.
    case readOnly
    /// A write committed or rolled back its own transaction, with COMMIT or ROLLBACK or through `OR ROLLBACK`. Nothing
    /// of it was kept. Or it rolled back a savepoint within which it had called the store, as with `restore(_:_:)`.
    /// Or something was written right after a transaction, in `afterNextTransaction` or by an observer:
    /// that statement alone has failed.
    case transactionEnded
    /// The requested operation would put another database in the store's place, as `erase()` and a backup into a store
    /// do. The store is restored to what it was before the access, except in memory, where there is no other copy.
    case wouldReplaceStore
    /// The requested operation is part of a write, and was given a database other than that of a `write` of this
    /// store.
    case notInWrite
    /// The store is in memory, where there is but one connection, and what was asked for needs two.
    case inMemory
    /// A write made the file's first triggers and wrote to the store's tables too; they would not have fired.
    case triggersMadeTooLate
    /// A BEFORE DELETE trigger of the app's moved, renamed or deleted the row that the store was deleting, which SQLite
    /// leaves undefined; the message names the table. The merge or write was rolled back.
    case rowMovedByTrigger
    /// A trigger of the app's with RAISE(IGNORE), or a constraint with ON CONFLICT IGNORE, made SQLite pass over a
    /// write that Tally was asked for. Nothing of it was written.
    case writeIgnored
    /// One transaction has changed more rows than can be noted.
    case transactionTooLarge
    /// The stored data breaks an invariant.
    case corrupt
    /// The stored data does not match the sum that is kept of it, or cannot be read: the store gives nothing away
    /// before it is healed.
    case damaged
    /// A whole delta does not fit the sum that came with it: what its sender holds is damaged. Nothing of it was
    /// joined.
    case damagedSender
    /// After a delta both sides should hold the same, and do not; nothing of it was joined.
    case contentsDiffer
  }

  /// The kind of refusal, to decide what to do about it. Its raw value is stable, for logs and statistics.
  public let code: Code
  /// A message for a log. Names records, types and fields, never values.
  public let message: String
  /// The underlying error, such as GRDB's; nil if there is none.
  public let cause: (any Error)?
  /// For `baseNotCovered`: the vector to ask for a delta since.
  public let vector: StateVector?

  /// Creates an error. Apps catch errors, and need this for tests at most.
  public init(_ code: Code, _ message: String, vector: StateVector? = nil, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.vector = vector
    self.cause = cause
  }

  /// The message and the code.
  public var description: String { "\(message) (\(code.rawValue))" }
}
