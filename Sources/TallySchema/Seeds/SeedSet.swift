import GRDB
import TallyCRDT

/// Default data that an app ships: every installation writes it for itself, also offline, and nothing ever appears
/// twice.
///
/// ```swift
/// let speechTypes = SeedSet("speech-types", version: 2, records: [
///   SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120]),
///   SeedRecord("eulogy", of: SpeechType.self, ["name": "Eulogy", "seconds": 600]),
/// ], retired: [SeedKey("roast", of: SpeechType.self)])
/// try store.seed(speechTypes)   // at every launch
/// ```
///
/// A person always wins: what they edited stays as it is in all later versions, what they deleted never returns. A
/// record that was not edited follows the newest version. A record that a version leaves out stays as the version
/// before has it; to withdraw one, retire it. Raise `version` with every change of the content.
public struct SeedSet: Sendable, Hashable {
  /// The name, which every version keeps: 1 to 64 printable ASCII characters. It is part of the records' identity.
  public var name: String
  /// The version of the content, counted from 1. Raise it with every change.
  public var version: Int
  /// Every record of this version; a version is complete, not a difference.
  public var records: [SeedRecord]
  /// The records that this version withdraws: each disappears where it was not edited. Keep them in later versions.
  public var retired: [SeedKey]
  /// Rules that recognize what older versions of the app, without seed sets, wrote for themselves.
  public var adoptions: [SeedAdoption]

  /// Declares a version of a seed set. The order of the records does not matter.
  ///
  /// ```swift
  /// let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
  /// let speechTypes = SeedSet("speech-types", version: 1, records: [toast])
  /// ```
  ///
  /// Its rules are checked when it is applied (`StoreError.invalidSeeds`). The content is identity: two builds that
  /// ship different records under one version are two sets, of which one shows.
  /// - Parameters:
  ///   - name: what every version is called: 1 to 64 printable ASCII characters.
  ///   - version: counted from 1, and raised with every change.
  ///   - records: all records of this version.
  ///   - retired: records of earlier versions that are withdrawn.
  ///   - adoptions: rules for what older versions of the app, without seed sets, wrote for themselves.
  public init(
    _ name: String, version: Int, records: [SeedRecord], retired: [SeedKey] = [], adoptions: [SeedAdoption] = []
  ) {
    self.name = name
    self.version = version
    self.records = records
    self.retired = retired
    self.adoptions = adoptions
  }
}

/// One record of a seed set: its key, and its content in this version.
///
/// ```swift
/// let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
/// ```
///
/// A record's name follows from the set's name and the key, so every device makes the same record:
/// ``RecordName/init(seed:of:)`` knows it without a database. References and relationships are given by the keys of
/// other seeds of the set.
///
/// Values are literals or `Value`s: texts, numbers, `true` and `false`, and nil for null. Nothing is checked before
/// ``Store/seed(_:)``, which throws `StoreError.invalidSeeds` for an unknown type or field, or a value of another kind.
public struct SeedRecord: Sendable, Hashable {
  /// The permanent identity of the record within its set: 1 to 128 printable ASCII characters. Never a text that is
  /// translated.
  public var key: String
  /// The type of the record.
  public var type: String
  /// The values by field; a field that is left out has its default.
  public var fields: [String: Value]
  /// For each reference the key of the seed that it names.
  public var references: [String: String]
  /// For each relationship the keys of its members: of an ordered one in their order, which a person may change.
  public var relationships: [String: [String]]

  /// Declares a record of a type that is known by name only, for tools that have no Swift type for it.
  ///
  /// Apps use `init(_:of:_:references:relationships:)`. Nothing is checked here: an unknown type or field is
  /// `StoreError.invalidSeeds` when the set is applied.
  /// - Parameters:
  ///   - key: the permanent identity of the record within its set.
  ///   - type: the name of the entity, as its `EntitySchema` has it.
  ///   - fields: the values by field; those that are left out have their defaults.
  ///   - references: for each reference the key of a seed of the same set.
  ///   - relationships: for each relationship the keys of its members.
  public init(
    _ key: String, type: String, _ fields: [String: Value] = [:], references: [String: String] = [:],
    relationships: [String: [String]] = [:]
  ) {
    self.key = key
    self.type = type
    self.fields = fields
    self.references = references
    self.relationships = relationships
  }

  /// Declares a record of an entity by its fields; those that are left out have their defaults.
  ///
  /// ```swift
  /// let roast = SeedRecord("roast", of: SpeechType.self, ["name": "Roast"])
  /// let speech = SeedRecord("first", of: Speech.self, ["title": "To my friends"], references: ["type": "roast"])
  /// ```
  /// - Parameters:
  ///   - key: the permanent identity of the record within its set. Never change or translate it.
  ///   - record: the type of the record.
  ///   - fields: the values by field.
  ///   - references: for each reference the key of a seed of the same set.
  ///   - relationships: for each relationship the keys of its members.
  public init<Record: Entity>(
    _ key: String, of record: Record.Type, _ fields: [String: Value] = [:], references: [String: String] = [:],
    relationships: [String: [String]] = [:]
  ) {
    self.init(
      key, type: Record.schema.type, fields, references: references, relationships: relationships)
  }

  /// A record with the values of one of the app's own; its `id` and its references are not taken.
  ///
  /// ```swift
  /// let toast = try SeedRecord("toast", SpeechType(name: "Toast", seconds: 120))
  /// ```
  ///
  /// All of its columns are part of the set's content, also those that have their defaults: a date of now would make
  /// another set on each device.
  /// - Parameters:
  ///   - key: the permanent identity of the record within its set.
  ///   - record: the values.
  ///   - references: for each reference the key of a seed of the same set.
  ///   - relationships: for each relationship the keys of its members.
  /// - Throws: what encoding the record throws.
  public init<Record: Entity & EncodableRecord>(
    _ key: String, _ record: Record, references: [String: String] = [:], relationships: [String: [String]] = [:]
  ) throws {
    let known = Set(Record.schema.fields.map(\.name))
    let values = try record.databaseDictionary.filter { known.contains($0.key) }.mapValues { Value($0) }
    self.init(
      key, type: Record.schema.type, values, references: references, relationships: relationships)
  }
}

/// Names one record of a seed set, in order to retire it.
///
/// ```swift
/// let next = SeedSet("speeches", version: 3, records: [], retired: [SeedKey("roast", of: SpeechType.self)])
/// ```
///
/// A retired record disappears where it was not edited, also on devices that skip the version that says so, as long as
/// later versions go on listing it. Where a person has edited it, or made a record that it owns, it stays. See
/// ``SeedSet/retired``.
public struct SeedKey: Sendable, Hashable {
  /// The key of the record within its set.
  public var key: String
  /// The type of the record.
  public var type: String

  /// Names a seed of a type that is known by name only. Apps use `init(_:of:)`.
  /// - Parameters:
  ///   - key: the key under which an earlier version declared the record.
  ///   - type: the name of the entity, as its `EntitySchema` has it.
  public init(_ key: String, type: String) {
    self.key = key
    self.type = type
  }

  /// Names a seed of an entity, to retire it.
  ///
  /// ```swift
  /// let next = SeedSet("speeches", version: 3, records: [], retired: [SeedKey("roast", of: SpeechType.self)])
  /// ```
  ///
  /// Where the record was not edited it disappears with the version that retires it; where it was, it stays. Keep the
  /// key in `retired` in later versions, for devices that skip this one.
  public init<Record: Entity>(_ key: String, of record: Record.Type) { self.init(key, type: Record.schema.type) }
}

/// A rule for recognizing the default data of app versions before seed sets: plain inserts, with ids that differ on
/// each device.
///
/// ```swift
/// let rule = SeedAdoption(of: SpeechType.self, matching: ["name"])
/// let set = SeedSet(
///   "speeches", version: 1, records: [SeedRecord("toast", of: SpeechType.self, ["name": "Toast"])], adoptions: [rule])
/// try store.seed(set)
/// ```
///
/// A record is taken for such a duplicate of a seed if its natural key equals that of some version of the seed, if it
/// is untouched as `present` and `absent` say, and if it was not changed since it was inserted here. Then everything
/// that refers to it refers to the seed instead, members move over, attributes that the seed leaves open keep the
/// newest value, and the duplicate is deleted. A concurrent edit of the duplicate, on any device, keeps it, also where
/// deletes win. A member that another device added to the duplicate meanwhile moves to the seed at the next call of
/// ``Store/seed(_:)``; what a person took out of the seed stays out.
public struct SeedAdoption: Sendable, Hashable {
  /// The type of the records that the rule is about.
  public var type: String
  /// The fields that tell which seed a record is: its natural key.
  public var matching: [String]
  /// Fields that an untouched record has, such as the date of its creation.
  public var present: [String]
  /// Fields that an untouched record does not have, such as the date of its last change.
  public var absent: [String]

  /// Declares a rule for a type that is known by name only. Apps use `init(of:matching:present:absent:)`, which says
  /// what the parameters are.
  public init(type: String, matching: [String], present: [String] = [], absent: [String] = []) {
    self.type = type
    self.matching = matching
    self.present = present
    self.absent = absent
  }

  /// Declares a rule for an entity: which of its records are duplicates of a seed.
  ///
  /// ```swift
  /// let rule = SeedAdoption(of: SpeechType.self, matching: ["name"])
  /// ```
  /// - Parameters:
  ///   - record: the type of the records and of the seeds.
  ///   - matching: the fields that together tell which seed a record is. All must equal those of some version of the
  ///     seed.
  ///   - present: fields that are not null in an untouched record.
  ///   - absent: fields that are null in such a record, such as the date of its last change.
  public init<Record: Entity>(
    of record: Record.Type, matching: [String], present: [String] = [], absent: [String] = []
  ) {
    self.init(type: Record.schema.type, matching: matching, present: present, absent: absent)
  }
}
