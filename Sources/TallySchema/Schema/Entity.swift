import Foundation
import GRDB
import TallyCRDT

/// A record type: its table, its columns and how each of them merges, declared once.
///
/// ```swift
/// struct Game: Entity, Codable, FetchableRecord, PersistableRecord {
///   static let schema = EntitySchema("SBGame", .text("name"), .reference("owner", to: "SBPerson"))
///   var id = RecordName<Game>()
///   var name: String?
///   var owner: RecordName<Person>?
/// }
/// ```
///
/// An entity is `Identifiable` by its record name, so lists and GRDB's `find(_:id:)` take it as it is; a struct whose
/// `id` is of another type does not compile. It is also GRDB's `TableRecord`: its table has the name of the schema's
/// type.
///
/// Read and write it as any record of GRDB's: `insert`, `updateChanges`, `delete`, requests, associations, SQL. Each
/// field is a last-writer-wins register of its own, so edits of different fields of one record all stay. Prefer
/// `updateChanges` to `update`, which writes every column of a struct, also those that another device has changed since
/// the struct was read.
///
/// Every property except `id` must be optional or have a default, because a field can arrive before it was ever
/// written. What a struct writes must be columns of its schema: a debug build compares the two when a store is opened
/// (``Schema/checkDeclarations()``). With the package trait `Macros`, `@Entity` makes the schema from the struct, and
/// the two cannot differ.
///
/// An entity is read and written on the database's threads, so it is `Sendable`, and not isolated to the main actor.
public protocol Entity: TableRecord, Identifiable, Sendable where ID == RecordName<Self> {
  /// The table, its columns and how they merge.
  ///
  /// ```swift
  /// struct Tag: Entity, Codable, FetchableRecord, PersistableRecord {
  ///   static let schema = EntitySchema("Tag", .text("name", default: ""))
  ///   var id = RecordName<Tag>()
  ///   var name = ""
  /// }
  /// ```
  ///
  /// Make it a `static let`: it is read for every name that is made. It must be the same in every process that opens a
  /// file; what may change with a release, ``EntitySchema`` says.
  static var schema: EntitySchema { get }
}

extension Entity {
  /// The entity's type is its table's name.
  public static var databaseTableName: String { schema.type }
}

/// The name of a record of one entity: `Type|~|UUID`. It is what the `id` column and reference columns hold.
///
/// ```swift
/// let known = try RecordName<Game>(key: "chess")
/// try store.write { db in try Game(id: known, name: "Chess").insert(db) }
/// let chess = try store.read { db in try Game.find(db, id: known) }
/// ```
///
/// Equal names mean the same record on every device: two devices that insert under one name write to one record, and
/// their fields merge one by one. A new name, as `init()` makes it, holds a time-ordered UUID (version 7, RFC 9562)
/// that no other device makes and that keeps inserts cheap. Inserting under the name of a deleted record begins a new
/// life of it; ``Store/restore(_:)`` brings the old one back.
///
/// The type parameter keeps a person's name out of a reference to games, at compile time; the text has the type as
/// well, and reading a name of another type fails. A name goes through SQL, JSON (also as a dictionary's key), links
/// and command lines as its text, `"\(name)"`, and ``init(_:)`` reads it. ``name`` is the same without the Swift type,
/// for calls that take any record.
public struct RecordName<Record: Entity>: Hashable, Sendable {
  /// The name without the entity's Swift type, as calls for any record take it.
  ///
  /// ```swift
  /// let history = try store.history(of: chess.name)
  /// ```
  public let name: AnyRecordName

  /// Creates a name that no other device creates, with a time-ordered UUID of now.
  ///
  /// ```swift
  /// let id = RecordName<Game>()
  /// ```
  ///
  /// The UUID has the milliseconds of the device's clock and 74 random bits, so names sort by when they were made, as
  /// far as clocks agree; do not take them for a date. As the default of a record's `id` it gives every new record a
  /// name of its own.
  public init() { self.init(uuid: .timeOrdered()) }

  /// The name with this UUID, in small letters; two devices that use the same UUID mean the same record. For data that
  /// has UUIDs already, as from an import.
  ///
  /// ```swift
  /// let id = RecordName<Game>(uuid: UUID())
  /// ```
  ///
  /// Random UUIDs work; inserts of many records under them are slower than under time-ordered ones, because each goes
  /// to another place of the index.
  /// - Precondition: the type in the entity's schema is an identifier, as ``Schema/validate()`` checks it.
  public init(uuid: UUID) {
    do {
      name = try AnyRecordName(type: Record.schema.type, key: uuid.uuidString.lowercased())
    } catch {
      preconditionFailure("\(Record.schema.type) is not a valid type: \(error)")
    }
  }

  /// The name with a key of the app's own, such as `"chess"`, for a record that every device is to know by one name.
  ///
  /// ```swift
  /// let chess = try RecordName<Game>(key: "chess")
  /// ```
  ///
  /// A UUID is written in small letters, so that `uuid.uuidString` names the same record as `uuid` itself. For default
  /// data use a ``SeedSet``, which also tells whether a person has changed it.
  /// - Throws: `RecordNameError` for a key that is empty, not printable ASCII, holds `|~|`, or makes the name longer
  ///   than 255 bytes.
  public init(key: String) throws(RecordNameError) {
    let key = key.utf8.count == 36 ? UUID(uuidString: key)?.uuidString.lowercased() ?? key : key
    name = try AnyRecordName(type: Record.schema.type, key: key)
  }

  /// A name whose type is known only now; nil if the type is another.
  ///
  /// ```swift
  /// for conflict in try store.conflicts() {
  ///   if let game = RecordName<Game>(conflict.name) { print("of a game: \(game)") }
  /// }
  /// ```
  public init?(_ name: AnyRecordName) {
    guard name.type == Record.schema.type else { return nil }
    self.name = name
  }
}

extension RecordName: CustomStringConvertible, Comparable {
  /// The whole name, `Type|~|key`, as the `id` column holds it.
  public var description: String { name.text }
  /// Orders names by bytes. Those that `init()` makes are therefore ordered by the time of their creation.
  public static func < (lhs: RecordName, rhs: RecordName) -> Bool { lhs.name < rhs.name }
}

extension RecordName: Codable {
  /// Reads a name of the right type.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let name = try? AnyRecordName(text), let typed = RecordName(name) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not the name of a record of type \(Record.schema.type)")
    }
    self = typed
  }

  /// Encodes the whole name as one string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name.text)
  }
}

extension RecordName: DatabaseValueConvertible, SQLExpressible {
  /// The whole name as text.
  public var databaseValue: DatabaseValue { name.text.databaseValue }

  /// Reads a name from a text column; nil for anything else, also for the name of a record of another type. GRDB then
  /// fails the fetch, unless an optional is read and the column is null.
  public static func fromDatabaseValue(_ value: DatabaseValue) -> RecordName? {
    String.fromDatabaseValue(value).flatMap { try? AnyRecordName($0) }.flatMap(RecordName.init)
  }
}

extension UUID {
  /// A version 7 UUID: 48 bits of Unix milliseconds, then 74 random bits (RFC 9562, section 5.7).
  public static func timeOrdered(
    at date: Date = Date(), using generator: inout some RandomNumberGenerator
  ) -> UUID {
    let milliseconds = UInt64(max(0, date.timeIntervalSince1970 * 1000)) & 0xFFFF_FFFF_FFFF
    let high = milliseconds << 16 | 0x7000 | UInt64.random(in: 0...0xFFF, using: &generator)
    let low = 0x8000_0000_0000_0000 | generator.next() as UInt64 >> 2
    func byte(_ word: UInt64, _ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * index)) }
    return UUID(
      uuid: (
        byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5), byte(high, 6),
        byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3), byte(low, 4), byte(low, 5), byte(low, 6),
        byte(low, 7)
      ))
  }

  /// A version 7 UUID of now.
  public static func timeOrdered() -> UUID {
    var generator = SystemRandomNumberGenerator()
    return timeOrdered(using: &generator)
  }
}
