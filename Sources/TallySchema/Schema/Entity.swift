import Foundation
import GRDB
import TallyCRDT

/// A type of record that the app declares once: its table, its columns, and how each column merges.
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
/// An entity is `Identifiable` by its record name, so lists and GRDB's `find(_:id:)` accept it unchanged; a struct
/// whose `id` has another type does not compile. It is also GRDB's `TableRecord`: its table is named after the type.
///
/// Read and write it like any other GRDB record: `insert`, `updateChanges`, `delete`, requests, associations, SQL. Each
/// field is a last-writer-wins register of its own, so edits of different fields of one record all survive. Prefer
/// `updateChanges` to `update`, which writes every column of a struct, including those that another device has changed
/// since the struct was read.
///
/// Every property except `id` must be optional or have a default, because a record can arrive before some of its fields
/// have ever been written. A struct may write only columns of its schema: a debug build compares the two when a store
/// is opened (``Schema/checkDeclarations()``). With the package trait `Macros`, `@Entity` derives the schema from the
/// struct, so the two cannot differ.
///
/// An entity is read and written on the database's threads, so it is `Sendable` and not isolated to the main actor.
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
  /// Make it a `static let`, because it is read for every name that is created. It must be the same in every process
  /// that opens a file. ``EntitySchema`` lists the changes that a later release may make.
  static var schema: EntitySchema { get }
}

extension Entity {
  /// The name of the entity's table, which is its type.
  public static var databaseTableName: String { schema.type }
}

extension Entity where Self: FetchableRecord & Decodable {
  /// Decodes a row. If that fails, values that their fields do not list are read as `unknown`: an enum's case that only
  /// a newer version of the app has does not make a fetch fail.
  ///
  /// ```swift
  /// let games = try store.read { db in try Game.fetchAll(db) }
  /// ```
  ///
  /// The row keeps its values. GRDB's `update` and `save` write all that a struct has, so they also write what was read
  /// in place of such a value; `updateChanges` writes only what the app has changed.
  public init(row: Row) throws {
    do {
      self = try FetchableRecordDecoder().decode(Self.self, from: row)
    } catch {
      var values = Dictionary(row.map { ($0, $1) }) { first, _ in first }
      let unlisted = Self.schema.fields.filter { field in
        values[field.name].map { !$0.isNull && field.oneOf?.contains(Value($0)) == false } ?? false
      }
      for field in unlisted { values[field.name] = (field.unknown ?? field.defaultValue).databaseValue }
      guard !unlisted.isEmpty, var known = try? FetchableRecordDecoder().decode(Self.self, from: Row(values)) else {
        throw error
      }
      // A property that can show its value does.
      for field in unlisted {
        let replaced = values.updateValue(row[field.name] as DatabaseValue, forKey: field.name)
        if let shown = try? FetchableRecordDecoder().decode(Self.self, from: Row(values)) {
          known = shown
        } else {
          values[field.name] = replaced
        }
      }
      self = known
    }
  }
}

/// The name of a record of one entity: `Type|~|UUID`. The `id` column and reference columns hold it.
///
/// ```swift
/// let known = try RecordName<Game>(key: "chess")
/// try store.write { db in try Game(id: known, name: "Chess").insert(db) }
/// let chess = try store.read { db in try Game.find(db, id: known) }
/// ```
///
/// Equal names mean the same record on every device: two devices that insert under one name write to one record, and
/// their fields merge one by one. A new name, as `init()` creates it, holds a time-ordered UUID (version 7, RFC 9562),
/// which no other device generates and which keeps inserts cheap. Inserting under the name of a deleted record begins a
/// new life of that record; ``Store/restore(_:)`` brings the old one back.
///
/// The type parameter keeps the name of a person out of a reference to games at compile time. The text contains the
/// type too, so reading a name of another type fails. In SQL, JSON (including keys of dictionaries), links and command
/// lines a name is its text, `"\(name)"`; ``init(_:)`` reads it back. ``name`` is the same name without the Swift type,
/// for calls that take any record.
public struct RecordName<Record: Entity>: Hashable, Sendable {
  /// The name without the entity's Swift type, for calls that take any record.
  ///
  /// ```swift
  /// let history = try store.history(of: chess.name)
  /// ```
  public let name: AnyRecordName

  /// Creates a name that no other device creates, with a time-ordered UUID for the current time.
  ///
  /// ```swift
  /// let id = RecordName<Game>()
  /// ```
  ///
  /// The UUID contains the milliseconds of the device's clock and 74 random bits, so names sort by their time of
  /// creation as far as the clocks agree; do not use them as dates. Used as the default value of a record's `id`, it
  /// gives every new record a name of its own.
  public init() { self.init(uuid: .timeOrdered()) }

  /// Creates the name with this UUID, in lowercase. Two devices that use the same UUID mean the same record. Use it for
  /// data that already has UUIDs, for instance from an import.
  ///
  /// ```swift
  /// let id = RecordName<Game>(uuid: UUID())
  /// ```
  ///
  /// Random UUIDs work, but inserting many records under them is slower than under time-ordered ones, because each
  /// insert goes to another place in the index.
  /// - Precondition: the type in the entity's schema is an identifier, as ``Schema/validate()`` checks it.
  public init(uuid: UUID) {
    do {
      name = try AnyRecordName(type: Record.schema.type, key: uuid.uuidString.lowercased())
    } catch {
      preconditionFailure("\(Record.schema.type) is not a valid type: \(error)")
    }
  }

  /// Creates a name with a key that the app chooses, such as `"chess"`, for a record that has the same name on every
  /// device.
  ///
  /// ```swift
  /// let chess = try RecordName<Game>(key: "chess")
  /// ```
  ///
  /// A key that is a UUID is converted to lowercase, so `uuid.uuidString` names the same record as `uuid` itself. For
  /// default data use a ``SeedSet``, which also knows whether a person has changed it.
  /// - Throws: `RecordNameError` for a key that is empty, is not printable ASCII, contains `|~|`, or makes the name
  ///   longer than 255 bytes.
  public init(key: String) throws(RecordNameError) {
    let key = key.utf8.count == 36 ? UUID(uuidString: key)?.uuidString.lowercased() ?? key : key
    name = try AnyRecordName(type: Record.schema.type, key: key)
  }

  /// Creates a typed name from a name whose type is known only at run time; nil if it names another type.
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
  /// The whole name, `Type|~|key`, as in the `id` column.
  public var description: String { name.text }
  /// Returns whether one name precedes another by its bytes. Names from `init()` are therefore ordered by their
  /// creation.
  public static func < (lhs: RecordName, rhs: RecordName) -> Bool { lhs.name < rhs.name }
}

extension RecordName: Codable {
  /// Decodes a name; fails if it names a record of another type.
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

  /// Returns the name in a text column; nil for anything else, including the name of a record of another type. GRDB
  /// then fails the fetch, unless an optional is read and the column is null.
  public static func fromDatabaseValue(_ value: DatabaseValue) -> RecordName? {
    String.fromDatabaseValue(value).flatMap { try? AnyRecordName($0) }.flatMap(RecordName.init)
  }
}

extension UUID {
  /// Returns a version 7 UUID: 48 bits of Unix milliseconds, then 74 random bits (RFC 9562, section 5.7).
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

  /// Returns a version 7 UUID for the current time.
  public static func timeOrdered() -> UUID {
    var generator = SystemRandomNumberGenerator()
    return timeOrdered(using: &generator)
  }
}
